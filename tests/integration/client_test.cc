// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The public interface from within one process: several clients in it, what they wait for, what
// travels with a version, and what a forked child may do with them.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <tensorhub/ros.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/layout.h"
#include "tests/integration/harness/server_process.h"
#include "tests/integration/worker/content.h"
#include "tools/ctl/admin_client.h"

namespace tensorhub::harness {
namespace {

using absl::StatusCode;
using testing::AnyOf;
using testing::Each;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr size_t kBytes = 3000001;

// A client with one tensor in memory of its own.
class TestClient {
 public:
  TestClient(tensorhub::ConnectOptions options, bool shared) : memory_(kBytes) {
    if (options.model.empty()) options.model = "m";
    auto client = tensorhub::Client::Connect(options);
    EXPECT_TRUE(client.ok()) << client.status();
    client_ = *std::move(client);
    data_ = memory_.data();
    if (shared) data_ = static_cast<std::byte*>(client_->Allocate(kBytes).value());
    tensorhub::Tensor tensor;
    tensor.name = "w";
    tensor.data = data_;
    tensor.bytes = kBytes;
    tensor.dtype = "U8";
    tensor.shape = {kBytes};
    EXPECT_TRUE(client_->Register({tensor}).ok());
  }

  tensorhub::Client* operator->() { return client_.get(); }
  std::unique_ptr<tensorhub::Client>& client() { return client_; }

  absl::Status Publish(uint64_t version, const tensorhub::PublishOptions& options = {}) {
    worker::FillContent({version, 0, "w"}, data_, kBytes);
    return client_->Publish(version, options);
  }
  void ExpectHolds(uint64_t version) const {
    EXPECT_EQ(worker::FirstDifference({version, 0, "w"}, data_, kBytes), std::nullopt);
  }

 private:
  std::vector<std::byte> memory_;
  std::byte* data_ = nullptr;
  std::unique_ptr<tensorhub::Client> client_;
};

// By anybody, as the server lists it.
bool IsHeld(tensorhub::Client& observer) {
  const auto listed = observer.List();
  EXPECT_TRUE(listed.ok()) << listed.status();
  return std::any_of(listed->begin(), listed->end(),
                     [](const tensorhub::VersionInfo& info) { return !info.replicas.empty(); });
}

class ClientTest : public testing::Test {
 protected:
  TestClient Join(const std::string& group, const std::string& attachment = "",
                  bool shared = false) {
    tensorhub::ConnectOptions options;
    options.server = server_.address();
    options.group = group;
    options.location = "us/dc1/r1/h1";
    options.attachment = attachment;
    return TestClient(options, shared);
  }

  ServerProcess server_;
};

TEST_F(ClientTest, TwoClientsInOneProcess) {
  for (const bool shared : {false, true}) {
    TestClient trainer = Join("trainer", "", shared);
    TestClient reader = Join("rollout", "", shared);
    const uint64_t version = shared ? 2 : 1;
    ASSERT_TRUE(trainer.Publish(version).ok());
    const auto fetched = reader->Fetch(tensorhub::Latest());
    ASSERT_TRUE(fetched.ok()) << fetched.status();
    EXPECT_EQ(fetched->version, version);
    EXPECT_EQ(fetched->bytes_read, kBytes);
    EXPECT_THAT(fetched->way, HasSubstr(shared ? "one-sided" : "served"));
    reader.ExpectHolds(version);
    // One goes, the other stays.
    trainer.client().reset();
    const auto listed = reader->List();
    ASSERT_TRUE(listed.ok()) << listed.status();
    ASSERT_FALSE(listed->empty());
    EXPECT_EQ(listed->back().state, "visible");
    EXPECT_EQ(listed->back().replicas.size(), 1u);
  }
}

TEST_F(ClientTest, MemoryThatCannotBeTouchedIsRefused) {
  const auto connect = [&](const std::string& group) {
    tensorhub::ConnectOptions options;
    options.server = server_.address();
    options.model = "m";
    options.group = group;
    options.world_size = 1;
    return *tensorhub::Client::Connect(options);
  };
  void* const memory = mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  tensorhub::Tensor tensor;
  tensor.name = "w";
  tensor.data = memory;
  tensor.bytes = 4096;
  tensor.dtype = "U8";
  tensor.shape = {4096};
  const auto trainer = connect("trainer");
  EXPECT_EQ(trainer->Register({tensor}).code(), StatusCode::kInvalidArgument);
  ASSERT_EQ(mprotect(memory, 4096, PROT_READ), 0);
  EXPECT_TRUE(trainer->Register({tensor}).ok());
  EXPECT_TRUE(trainer->Publish(1).ok()) << "it can be read";
  const auto rollout = connect("rollout");
  EXPECT_TRUE(rollout->Register({tensor}).ok());
  const absl::Status status = rollout->Fetch(tensorhub::Latest()).status();
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("tensor \"w\""));
  EXPECT_TRUE(trainer->Leave().ok());
  EXPECT_TRUE(rollout->Leave().ok());
  munmap(memory, 4096);
}

TEST_F(ClientTest, TheLibrarySaysItsVersion) {
  EXPECT_EQ(std::string(tensorhub::Version()), std::to_string(TENSORHUB_VERSION_MAJOR) + "." +
                                                   std::to_string(TENSORHUB_VERSION_MINOR) + "." +
                                                   std::to_string(TENSORHUB_VERSION_PATCH));
}

TEST_F(ClientTest, WaitsForVersions) {
  constexpr milliseconds kLong(20000);
  TestClient trainer = Join("trainer");
  TestClient reader = Join("rollout");
  auto waiting = std::async(std::launch::async,
                            [&] { return reader->WaitForVersion(tensorhub::Latest(), kLong); });
  ASSERT_TRUE(trainer.Publish(4).ok());
  const auto first = waiting.get();
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_EQ(first->version, 4u);
  for (const auto& selector :
       {tensorhub::NewerThan(3), tensorhub::Version(4), tensorhub::Version(2)}) {
    const auto found = reader->WaitForVersion(selector, kLong);
    ASSERT_TRUE(found.ok()) << found.status();
    EXPECT_EQ(found->version, 4u);
  }
  for (const auto& selector : {tensorhub::NewerThan(4), tensorhub::Version(5)}) {
    EXPECT_EQ(reader->WaitForVersion(selector, milliseconds(50)).status().code(),
              StatusCode::kDeadlineExceeded);
  }
}

// Lag counts versions, not numbers, and whether or not anybody still holds them.
TEST_F(ClientTest, WaitsUntilItLagsTooFar) {
  TestClient trainer = Join("trainer");
  TestClient reader = Join("rollout");
  const auto wait = [&](uint64_t max_lag, milliseconds timeout) {
    return reader->WaitForVersion(tensorhub::NewerThan(10), timeout, {.max_lag = max_lag});
  };
  for (const uint64_t version : {10, 20}) {
    ASSERT_TRUE(trainer.Publish(version).ok());
    ASSERT_TRUE(trainer->Unpublish().ok());
  }
  EXPECT_TRUE(wait(0, milliseconds(20000)).ok());
  EXPECT_EQ(wait(1, milliseconds(50)).status().code(), StatusCode::kDeadlineExceeded);
  auto waiting = std::async(std::launch::async, [&] { return wait(1, milliseconds(20000)); });
  ASSERT_TRUE(trainer.Publish(30).ok());
  const auto found = waiting.get();
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->version, 30u);
}

TEST_F(ClientTest, ATrainerGoesBackThoughANewerVersionIsHeld) {
  TestClient trainer = Join("trainer");
  TestClient reader = Join("rollout");
  TestClient other = Join("other");
  ASSERT_TRUE(trainer.Publish(9).ok());
  ASSERT_TRUE(reader->Fetch(tensorhub::Latest()).ok());
  ASSERT_TRUE(trainer->Unpublish().ok());
  const absl::Status plain = trainer.Publish(5);
  EXPECT_EQ(plain.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(plain.message()), HasSubstr("supersede"));
  auto waiting = std::async(std::launch::async, [&] {
    return reader->WaitForVersion(tensorhub::NewerThan(9), milliseconds(20000));
  });
  ASSERT_TRUE(trainer.Publish(5, {.supersede = true}).ok());
  const auto next = waiting.get();
  ASSERT_TRUE(next.ok()) << next.status();
  EXPECT_EQ(next->version, 5u);
  const auto superseded = [&] { return reader->Health().code() == StatusCode::kOutOfRange; };
  EXPECT_TRUE(Eventually(seconds(20), superseded)) << reader->Health();
  const auto listed = reader->List();
  ASSERT_TRUE(listed.ok()) << listed.status();
  ASSERT_EQ(listed->size(), 2u);
  EXPECT_EQ(listed->front().state, "visible");
  EXPECT_EQ(listed->front().term, 1u);
  EXPECT_EQ(listed->back().state, "superseded");
  const auto fetched = reader->Fetch(tensorhub::NewerThan(9));
  ASSERT_TRUE(fetched.ok()) << fetched.status();
  EXPECT_EQ(fetched->version, 5u);
  reader.ExpectHolds(5);
  EXPECT_TRUE(reader->Health().ok());
  // Whoever publishes on as if nothing had happened is told by whom it is over.
  const absl::Status late = other.Publish(10);
  EXPECT_EQ(late.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(late.message()), HasSubstr("was begun by group trainer"));
}

// The publisher's opaque bytes, for whoever lists the version; its readers' own do not count.
TEST_F(ClientTest, AttachmentsStayWithTheVersion) {
  const std::string attachment("opaque\0bytes\xff\n", 14);
  TestClient trainer = Join("trainer", attachment);
  ASSERT_TRUE(trainer.Publish(1).ok());
  TestClient reader = Join("rollout", "the reader's own");
  ASSERT_TRUE(reader->Fetch(tensorhub::Version(1)).ok());
  ASSERT_TRUE(trainer->Leave().ok());
  ctl::AdminClient admin(server_.address(), seconds(5));
  const auto versions = admin.ListVersions("m");
  ASSERT_TRUE(versions.ok()) << versions.status();
  ASSERT_EQ(versions->versions_size(), 1);
  ASSERT_EQ(versions->versions(0).attachments_size(), 1);
  const auto content = admin.GetAttachment(versions->versions(0).attachments(0));
  ASSERT_TRUE(content.ok()) << content.status();
  EXPECT_TRUE(*content == attachment);
}

TEST_F(ClientTest, LargeAttachments) {
  ctl::AdminClient admin(server_.address(), seconds(5));
  for (const char fill : {'a', 'b', 'c'}) {
    const std::string attachment(size_t{30} << 20, fill);
    TestClient trainer = Join("trainer", attachment);
    ASSERT_TRUE(trainer.Publish(1).ok());
    const auto content = admin.GetAttachment(ToBytes(FingerprintOf(attachment)));
    ASSERT_TRUE(content.ok()) << content.status();
    EXPECT_TRUE(*content == attachment);
  }
}

TEST_F(ClientTest, MemoryOfAllocateOutlivesLeave) {
  TestClient trainer = Join("trainer", "", /*shared=*/true);
  TestClient reader = Join("rollout", "", /*shared=*/true);
  ASSERT_TRUE(trainer.Publish(1).ok());
  ASSERT_TRUE(reader->Fetch(tensorhub::Latest()).ok());
  ASSERT_TRUE(trainer->Leave().ok());
  ASSERT_TRUE(reader->Leave().ok());
  reader.ExpectHolds(1);
  EXPECT_EQ(trainer.Publish(2).code(), StatusCode::kFailedPrecondition);  // and it has written
  trainer.ExpectHolds(2);
}

// Whoever returns from Leave frees the memory: the server has been told by then.
TEST_F(ClientTest, LeaveFromTwoThreadsEndsOnceForBoth) {
  TestClient observer = Join("observer");
  for (uint64_t version = 1; version <= 10; ++version) {
    TestClient trainer = Join("trainer");
    ASSERT_TRUE(trainer.Publish(version).ok());
    const auto leave = [&] { return trainer->Leave().ok() && !IsHeld(*observer.client()); };
    auto other = std::async(std::launch::async, leave);
    EXPECT_TRUE(leave());
    EXPECT_TRUE(other.get());
  }
}

// The thread that handles SIGTERM does not wait for one that fetches, which may take ten minutes.
TEST_F(ClientTest, LeaveEndsWhatOtherThreadsWaitFor) {
  TestClient reader = Join("rollout");
  EXPECT_EQ(reader->Health(), absl::OkStatus());
  auto fetch = std::async(std::launch::async,
                          [&] { return reader->Fetch(tensorhub::NewerThan(5)).status().code(); });
  auto wait = std::async(std::launch::async, [&] {
    return reader->WaitForVersion(tensorhub::Latest(), std::chrono::minutes(10)).status().code();
  });
  EXPECT_TRUE(reader->Leave().ok());
  // The second, if they had not begun yet.
  EXPECT_THAT(fetch.get(), AnyOf(StatusCode::kCancelled, StatusCode::kFailedPrecondition));
  EXPECT_EQ(wait.get(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(reader->Health().code(), StatusCode::kFailedPrecondition);
}

// It would wait for itself.
TEST_F(ClientTest, ACallbackMayNotCallItsClient) {
  TestClient trainer = Join("trainer");
  TestClient reader = Join("rollout");
  ASSERT_TRUE(trainer.Publish(1).ok());
  std::vector<StatusCode> answers;
  tensorhub::FetchOptions options;
  options.progress = [&](const tensorhub::FetchProgress&) {
    answers.push_back(reader->Unpublish().code());
    answers.push_back(reader->Allocate(4096).status().code());
    answers.push_back(reader->List().status().code());
    answers.push_back(reader->Leave().code());
  };
  EXPECT_TRUE(reader->Fetch(tensorhub::Latest(), options).ok());
  EXPECT_THAT(answers, Not(IsEmpty()));
  EXPECT_THAT(answers, Each(StatusCode::kFailedPrecondition));
  reader.ExpectHolds(1);
}

TEST_F(ClientTest, WhatIsHeldAfterAnError) {
  TestClient trainer = Join("trainer");
  TestClient reader = Join("rollout");
  EXPECT_EQ(reader->Held(), std::nullopt);
  ASSERT_TRUE(trainer.Publish(1).ok());
  EXPECT_EQ(trainer->Held(), 1u);
  ASSERT_TRUE(reader->Fetch(tensorhub::Latest()).ok());
  EXPECT_EQ(reader->Held(), 1u);
  EXPECT_EQ(reader->Fetch(tensorhub::Version(7)).status().code(), StatusCode::kNotFound);
  EXPECT_EQ(reader->Fetch(tensorhub::NewerThan(1), {.timeout = milliseconds(50), .progress = {}})
                .status()
                .code(),
            StatusCode::kDeadlineExceeded);
  EXPECT_EQ(reader->Held(), 1u);
  reader.ExpectHolds(1);
  ASSERT_TRUE(reader->Unpublish().ok());
  EXPECT_EQ(reader->Held(), std::nullopt);
  ASSERT_TRUE(reader->Leave().ok());
  EXPECT_EQ(reader->Held(), std::nullopt);
}

// Runs `body` in a forked child, which has no thread but this one; true if it returned true.
bool InChild(const std::function<bool()>& body) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);  // a hang is a failure
    _exit(body() ? 0 : 1);
  }
  int status = -1;
  return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

bool IsForeign(const absl::Status& status) {
  return status.code() == StatusCode::kFailedPrecondition &&
         std::string(status.message()).find("forked from") != std::string::npos;
}

TEST_F(ClientTest, AForkedChildIsRefused) {
#ifdef TENSORHUB_SANITIZED
  GTEST_SKIP() << "the sanitizer's allocator may be locked by another thread during the fork, and "
                  "stays so in the child";
#endif
  TestClient trainer = Join("trainer");
  TestClient reader = Join("rollout");
  ASSERT_TRUE(trainer.Publish(1).ok());
  EXPECT_TRUE(InChild([&] {
    return IsForeign(reader->Register({})) && IsForeign(reader->Publish(1)) &&
           IsForeign(reader->Unpublish()) &&
           IsForeign(reader->Fetch(tensorhub::Latest()).status()) &&
           IsForeign(reader->WaitForVersion(tensorhub::Latest(), seconds(5)).status()) &&
           IsForeign(reader->List().status()) && IsForeign(reader->Allocate(1).status()) &&
           IsForeign(reader->Leave());
  }));
  EXPECT_TRUE(InChild([&] {
    tensorhub::ConnectOptions options;
    options.server = server_.address();
    options.model = "m";
    options.group = "child";
    return IsForeign(tensorhub::Client::Connect(options).status());
  }));
  EXPECT_TRUE(InChild([&] {
    reader.client().reset();
    return true;
  }));
  // The parent's clients have noticed nothing.
  ASSERT_TRUE(reader->Fetch(tensorhub::Latest()).ok());
  reader.ExpectHolds(1);
}

}  // namespace
}  // namespace tensorhub::harness
