// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Wrong calls and wrong surroundings: each is refused in one line that names what is wrong, and
// what was there before goes on.
// Covers: R9.1, R9.2

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/integration/cluster.h"

namespace tensorhub::harness {
namespace {

using testing::AllOf;
using testing::AnyOf;

TEST(BadInputTest, NobodyAtTheAddress) {
  WorkerProcess worker;
  const std::string address = "127.0.0.1:" + std::to_string(FreePort());
  EXPECT_THAT(worker.Do("connect server=" + address + " model=m group=g timeout=500"),
              AllOf(StartsWith("error UNAVAILABLE"), HasSubstr(address)));
}

TEST(BadInputTest, AddressThatIsNone) {
  WorkerProcess worker;
  for (const std::string address : {"nowhere.invalid:7070", "127.0.0.1:notaport", "127.0.0.1"}) {
    EXPECT_THAT(worker.Do("connect server=" + address + " model=m group=g timeout=500"),
                AllOf(AnyOf(StartsWith("error UNAVAILABLE"), StartsWith("error INVALID_ARGUMENT")),
                      HasSubstr(address)));
  }
}

TEST(BadInputTest, NamesAndRanks) {
  Cluster cluster;
  Worker worker = cluster.Start();
  const std::string server = "connect server=" + cluster.server().address();
  EXPECT_THAT(worker->Do(server + " model=m group=g rank=2 world=2"),
              AllOf(StartsWith("error INVALID_ARGUMENT"), HasSubstr("rank"), HasSubstr("2")));
  EXPECT_THAT(worker->Do(server + " model=m group=g rank=0 world=0"),
              AllOf(StartsWith("error INVALID_ARGUMENT"), HasSubstr("world")));
  EXPECT_THAT(worker->Do(server + " group=g"),
              AllOf(StartsWith("error INVALID_ARGUMENT"), HasSubstr("model")));
  EXPECT_THAT(worker->Do(server + " model=m"),
              AllOf(StartsWith("error INVALID_ARGUMENT"), HasSubstr("group")));
  EXPECT_EQ(worker->Do(cluster.ConnectCommand("g")), "ok");
}

TEST(BadInputTest, UnknownModelAndVersion) {
  Cluster cluster;
  Worker reader = cluster.Join("rollout");
  EXPECT_THAT(reader->Do("fetch latest"),
              AllOf(StartsWith("error NOT_FOUND"), HasSubstr("m/actor")));
  Worker trainer = cluster.Join("trainer");
  FillAndPublish(*trainer, 1);
  EXPECT_THAT(reader->Do("fetch exact=9"), AllOf(StartsWith("error NOT_FOUND"), HasSubstr("9")));
  ExpectFetched(*reader, reader->Do("fetch latest"), 1);
}

TEST(BadInputTest, CallsOutOfOrder) {
  Cluster cluster;
  Worker worker = cluster.Start();
  ASSERT_EQ(worker->Do(cluster.ConnectCommand("g")), "ok");
  EXPECT_THAT(worker->Do("publish 1"), StartsWith("error FAILED_PRECONDITION"));
  EXPECT_THAT(worker->Do("fetch latest"), StartsWith("error FAILED_PRECONDITION"));
  EXPECT_THAT(worker->Do("unpublish"), StartsWith("ok"));
  ASSERT_EQ(worker->Do("register"), "ok");
  EXPECT_THAT(worker->Do("register"), StartsWith("error FAILED_PRECONDITION"));
  FillAndPublish(*worker, 1);
  EXPECT_THAT(worker->Do("publish 1"), StartsWith("ok"));
  EXPECT_THAT(worker->Do("publish 2"), StartsWith("error FAILED_PRECONDITION"));
}

TEST(BadInputTest, TheSecondWorkerOfARankWaitsForTheFirstToDie) {
  Cluster cluster;
  Worker first = cluster.Join("trainer");
  FillAndPublish(*first, 1);
  Worker second = cluster.Start();
  EXPECT_THAT(second->Do(cluster.ConnectCommand("trainer") + " timeout=500"),
              AllOf(StartsWith("error ALREADY_EXISTS"), HasSubstr("trainer")));
  EXPECT_THAT(first->Do("list"), HasSubstr("1:visible"));
  first->process().Kill();
  EXPECT_EQ(second->Do(cluster.ConnectCommand("trainer") + " timeout=20000"), "ok");
}

TEST(BadInputTest, LayoutsThatDiffer) {
  Cluster cluster;
  Worker trainer = cluster.Join("trainer", "seed=1");
  FillAndPublish(*trainer, 1);
  Worker reader = cluster.Join("rollout", "seed=2");
  EXPECT_THAT(reader->Do("fetch latest"), AllOf(StartsWith("error FAILED_PRECONDITION"),
                                                HasSubstr("cannot be read as rollout cuts it")));
  Worker other = cluster.Join("trainer-2", "seed=2");
  EXPECT_THAT(other->Do("publish 1"),
              AllOf(StartsWith("error ALREADY_EXISTS"), HasSubstr("layout")));
  Worker sound = cluster.Join("rollout-2", "seed=1");
  ExpectFetched(*sound, sound->Do("fetch latest"), 1);
}

TEST(BadInputTest, TensorsThatCannotBe) {
  Cluster cluster;
  Worker worker = cluster.Start();
  ASSERT_EQ(worker->Do(cluster.ConnectCommand("trainer")), "ok");
  for (const std::string fault : {"overlap", "null", "duplicate", "size", "dtype"}) {
    const std::string tensor = fault == "duplicate" ? "layers.0.weight" : "layers.1.weight";
    EXPECT_THAT(worker->Do("register fault=" + fault),
                AllOf(StartsWith("error INVALID_ARGUMENT"), HasSubstr(tensor)))
        << fault;
  }
  // None of that has left anything behind.
  EXPECT_EQ(worker->Do("register empty=3 unaligned=1"), "ok");
  FillAndPublish(*worker, 1);
}

TEST(BadInputTest, NoTensorHasAByte) {
  Cluster cluster;
  Worker trainer = cluster.Join("trainer", "tensors=0 bytes=0 empty=5");
  FillAndPublish(*trainer, 1);
  Worker reader = cluster.Join("rollout", "tensors=0 bytes=0 empty=5");
  ExpectFetched(*reader, reader->Do("fetch latest"), 1);
}

// Exit code 1, nothing on standard output, and one line that names the trouble.
void ExpectRefusedToStart(const std::vector<std::string>& args, const std::string& named) {
  const Finished second =
      RunToEnd({.binary = BinaryPath("tensorhub-server"), .args = args}, seconds(20));
  EXPECT_EQ(second.exit_code, 1) << second.errors;
  EXPECT_EQ(second.output, "");
  EXPECT_THAT(second.errors, HasSubstr(named));
  EXPECT_EQ(std::count(second.errors.begin(), second.errors.end(), '\n'), 1) << second.errors;
}

TEST(BadInputTest, ASecondServerOnThePort) {
  Cluster cluster;
  const TempDir data;
  ExpectRefusedToStart({"--listen", cluster.server().address(), "--data-dir", data.path()},
                       cluster.server().address());
  Worker worker = cluster.Join("g");
}

TEST(BadInputTest, ASecondServerOnTheData) {
  Cluster cluster;
  ExpectRefusedToStart({"--listen", "127.0.0.1:0", "--data-dir", cluster.server().data_dir()},
                       cluster.server().data_dir());
  Worker worker = cluster.Join("g");
}

TEST(BadInputTest, ServerUsage) {
  for (const std::string args : {"--no-such-flag", "--listen=nonsense", "surplus"}) {
    const Finished run =
        RunToEnd({.binary = BinaryPath("tensorhub-server"), .args = {args}}, seconds(20));
    EXPECT_EQ(run.exit_code, 2) << args << ": " << run.errors;
    EXPECT_EQ(run.output, "");
    EXPECT_EQ(std::count(run.errors.begin(), run.errors.end(), '\n'), 1) << run.errors;
  }
}

}  // namespace
}  // namespace tensorhub::harness
