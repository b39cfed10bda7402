// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// R6, R8: nobody hears of what is not kept yet; and what becomes of it if it cannot be kept.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>

#include <future>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "server/rpc/hub_loop.h"
#include "server/store/memory_store.h"

namespace tensorhub::rpc {
namespace {

// From Gate on it keeps nothing before it is told to.
class GatedStore final : public store::Store {
 public:
  absl::StatusOr<store::Loaded> Load() override { return store::Loaded{}; }
  absl::Status Commit(const hub::Persist& rows) override {
    MutexLock lock(mutex_);
    batches_.push_back(rows);
    changed_.NotifyAll();
    while (open_ < batches_.size()) changed_.Wait(mutex_);
    return result_;
  }
  bool blocks() const override { return true; }

  void Gate() {
    MutexLock lock(mutex_);
    batches_.clear();
    open_ = 0;
  }
  void Let(size_t commits, const absl::Status& result = absl::OkStatus()) {
    MutexLock lock(mutex_);
    open_ += commits;
    result_ = result;
    changed_.NotifyAll();
  }
  // Waits until so many have begun.
  hub::Persist Batch(size_t index) {
    MutexLock lock(mutex_);
    while (batches_.size() <= index) changed_.Wait(mutex_);
    return batches_[index];
  }
  size_t begun() {
    MutexLock lock(mutex_);
    return batches_.size();
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  std::vector<hub::Persist> batches_ ABSL_GUARDED_BY(mutex_);
  size_t open_ ABSL_GUARDED_BY(mutex_) = std::numeric_limits<size_t>::max();
  absl::Status result_ ABSL_GUARDED_BY(mutex_);
};

class NullSink final : public SessionSink {
 public:
  void Deliver(const hub::Directive&) override {}
  void ReadNext() override {}
  void Close(const absl::Status&) override {}
};

class ListingWatcher final : public Watcher {
 public:
  void ListOnLoop(const hub::Hub& hub) override { listed.set_value(hub.Models().at(0).latest); }
  void ChangeOnLoop(const hub::ModelChange&) override {}
  void Close(const absl::Status&) override { ++closed; }
  std::promise<VersionNumber> listed;
  std::atomic<int> closed{0};
};

// In place of the program's logger, from Install to Uninstall.
class LoggedLines final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  static std::shared_ptr<LoggedLines> Install() {
    auto lines = std::make_shared<LoggedLines>();
    lines->before_ = spdlog::default_logger();
    spdlog::set_default_logger(std::make_shared<spdlog::logger>("test", lines));
    return lines;
  }
  void Uninstall() { spdlog::set_default_logger(before_); }
  // What an operator is told of good days is not looked at.
  std::string FirstWarning() { return warning_.get_future().get(); }

 private:
  void sink_it_(const spdlog::details::log_msg& line) override {
    if (line.level < spdlog::level::warn || std::exchange(warned_, true)) return;
    warning_.set_value({line.payload.data(), line.payload.size()});
  }
  void flush_() override {}

  std::shared_ptr<spdlog::logger> before_;
  std::promise<std::string> warning_;
  bool warned_ = false;
};

class KeptFirstTest : public testing::Test {
 protected:
  KeptFirstTest() { Start(store_); }

  void Start(store::Store& store) {
    HubLoop::Options options;
    options.store = &store;
    options.on_failure = [this](const absl::Status& status) { failure_.set_value(status); };
    loop_ = std::make_unique<HubLoop>(options);
    layout_ = std::make_shared<const Layout>(
        Layout::Make({{.name = "w", .dtype = DType::kU8, .shape = {1 << 20}, .slice = {}}})
            .value());
    EXPECT_TRUE(Call(hub::PutLayoutOp{0, layout_}).get().ok());
    // That they have joined is kept as well.
    for (const char* group : {"a", "b", "c"}) workers_[group] = Open(group);
    AwaitKept();
    store_.Gate();
  }

  // A group of its own, so that each publishes a version at once.
  WorkerIdentity Open(const std::string& group) {
    hub::SessionOpened opened;
    opened.session = loop_->NewSession();
    opened.worker = {{"m", group, 0}, 1};
    opened.number = opened.world_size = 1;
    loop_->OpenSession(opened, std::make_shared<NullSink>());
    return opened.worker;
  }
  std::future<absl::Status> Publish(const std::string& group, VersionNumber version) {
    hub::PublishOp op;
    op.worker = workers_.at(group);
    op.op = 1;
    op.version = version;
    op.layout = layout_->fingerprint();
    op.chunk_bytes = 1 << 20;
    op.generation = 1;
    return Call(op);
  }
  template <typename Op>
  std::future<absl::Status> Call(Op op) {
    auto answer = std::make_shared<std::promise<absl::Status>>();
    op.call = last_call_ = loop_->NewCall();
    loop_->StartCall(op.call, op,
                     [answer](const hub::Reply& reply) { answer->set_value(reply.status); });
    return answer->get_future();
  }
  // Waits until all that was posted before has been applied: a call that is given up is answered at
  // once.
  void Flush() {
    hub::WaitOp wait;
    wait.model = "nobody's";
    wait.timeout_ms = 1'000'000;
    auto answer = Call(wait);
    loop_->CancelCall(last_call_);
    EXPECT_EQ(answer.get().code(), absl::StatusCode::kCancelled);
  }
  // The same, and until all of it is kept.
  void AwaitKept() {
    std::promise<void> kept;
    EXPECT_TRUE(loop_->Query([&](const hub::Hub&, TimeMs) { kept.set_value(); }));
    kept.get_future().wait();
  }
  static bool Answered(std::future<absl::Status>& answer) {
    return answer.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  }

  std::shared_ptr<const Layout> layout_;
  std::map<std::string, WorkerIdentity> workers_;
  GatedStore store_;
  std::promise<absl::Status> failure_;
  std::unique_ptr<HubLoop> loop_;
  hub::CallId last_call_ = 0;
};

TEST_F(KeptFirstTest, ADiskThatStandsStillIsSaid) {
  const auto lines = LoggedLines::Install();
  auto published = Publish("a", 7);
  EXPECT_THAT(lines->FirstWarning(), testing::HasSubstr("the store has not kept a commit for"));
  EXPECT_FALSE(Answered(published));
  store_.Let(1);
  EXPECT_TRUE(published.get().ok());
  lines->Uninstall();
}

TEST_F(KeptFirstTest, TheAnswerComesAfterTheRows) {
  auto published = Publish("a", 7);
  EXPECT_EQ(store_.Batch(0).models.at("m")->latest, 7u);
  EXPECT_FALSE(Answered(published));
  store_.Let(1);
  EXPECT_TRUE(published.get().ok());
}

TEST_F(KeptFirstTest, WhatComesMeanwhileIsOneBatch) {
  auto first = Publish("a", 1);
  store_.Batch(0);
  auto second = Publish("b", 2);
  auto third = Publish("c", 3);
  // Changes nothing that is kept, and yet comes after what came before it.
  hub::WaitOp wait;
  wait.model = "m";
  wait.any = true;
  auto waited = Call(wait);
  Flush();
  store_.Let(1);
  EXPECT_TRUE(first.get().ok());
  EXPECT_EQ(store_.Batch(1).models.at("m")->latest, 3u);
  EXPECT_FALSE(Answered(second) || Answered(third) || Answered(waited));
  store_.Let(1);
  EXPECT_TRUE(second.get().ok() && third.get().ok() && waited.get().ok());
  EXPECT_EQ(store_.begun(), 2u);
}

TEST_F(KeptFirstTest, WhoLooksSeesWhatIsKept) {
  auto published = Publish("a", 7);
  store_.Batch(0);
  std::promise<VersionNumber> looked;
  loop_->Query([&](const hub::Hub& hub, TimeMs) { looked.set_value(hub.Models().at(0).latest); });
  const auto watcher = std::make_shared<ListingWatcher>();
  loop_->AddWatcher("m", watcher);
  auto answer = looked.get_future();
  auto listed = watcher->listed.get_future();
  EXPECT_EQ(answer.wait_for(std::chrono::seconds(0)), std::future_status::timeout);
  store_.Let(1);
  EXPECT_EQ(answer.get(), 7u);
  EXPECT_EQ(listed.get(), 7u);
}

TEST_F(KeptFirstTest, AWatcherThatLeavesWhileItWaitsIsForgotten) {
  auto published = Publish("a", 7);
  store_.Batch(0);
  const auto watcher = std::make_shared<ListingWatcher>();
  loop_->AddWatcher("m", watcher);
  loop_->RemoveWatcher("m", watcher.get());
  store_.Let(1);
  EXPECT_TRUE(published.get().ok());
  loop_.reset();
  EXPECT_EQ(watcher->closed, 0);
}

TEST_F(KeptFirstTest, AStoreThatFailsEndsItAll) {
  auto published = Publish("a", 7);
  store_.Batch(0);
  bool looked = false;
  std::promise<void> refused;
  loop_->Query([&](const hub::Hub&, TimeMs) { looked = true; }, [&] { refused.set_value(); });
  const auto watcher = std::make_shared<ListingWatcher>();
  loop_->AddWatcher("m", watcher);
  store_.Let(1, absl::ResourceExhaustedError("the disk is full"));
  EXPECT_EQ(failure_.get_future().get().message(), "the disk is full");
  // Not known, and to be asked again, of a server that can keep what it decides.
  EXPECT_EQ(published.get().code(), absl::StatusCode::kUnavailable);
  refused.get_future().wait();
  EXPECT_EQ(Publish("b", 8).get().code(), absl::StatusCode::kUnavailable);
  EXPECT_FALSE(loop_->Query([&](const hub::Hub&, TimeMs) { looked = true; }));
  loop_.reset();
  EXPECT_FALSE(looked);
  EXPECT_EQ(watcher->closed, 1);
  EXPECT_EQ(store_.begun(), 1u);
}

TEST_F(KeptFirstTest, AStoreThatDoesNotBlockNeedsNoThread) {
  store::MemoryStore store;
  Start(store);
  EXPECT_TRUE(Publish("a", 7).get().ok());
  EXPECT_TRUE(Publish("b", 8).get().ok());
  loop_.reset();
}

TEST_F(KeptFirstTest, WhatWasAppliedIsKeptAndToldBeforeTheEnd) {
  auto first = Publish("a", 1);
  store_.Batch(0);
  auto second = Publish("b", 2);
  loop_->Stop();
  store_.Let(2);
  EXPECT_TRUE(first.get().ok() && second.get().ok());
  loop_.reset();
  EXPECT_EQ(store_.begun(), 2u);
}

}  // namespace
}  // namespace tensorhub::rpc
