// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// What the server keeps (R6, R8): killed whenever it has just written, it comes back with what
// anybody has heard; and it ends when it can write no more.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <filesystem>
#include <tuple>
#include <utility>

#include "tests/integration/cluster.h"

namespace tensorhub::harness {
namespace {

const std::vector<std::string> kShortGrace = {"--lease", "1s"};

// The moments at which the server writes, as seen from outside.
class Writes {
 public:
  explicit Writes(const std::string& data_dir) : path_(data_dir + "/hub.db-wal"), last_(Now()) {}
  // Waits for the next one; false if none comes in time.
  bool Await(milliseconds timeout) {
    return Eventually(timeout, [this] {
      const Moment before = std::exchange(last_, Now());
      return last_ != before;
    });
  }

 private:
  using Moment = std::tuple<off_t, time_t, long>;
  Moment Now() const {
    struct stat facts {};
    if (stat(path_.c_str(), &facts) != 0) return {};
    return {facts.st_size, facts.st_mtim.tv_sec, facts.st_mtim.tv_nsec};
  }
  const std::string path_;
  Moment last_;
};

uint64_t LatestSeenBy(WorkerProcess& observer) {
  const std::string answer = observer.Do("wait latest timeout=30000");
  EXPECT_THAT(answer, StartsWith("ok version=")) << observer.process().Describe();
  const std::string version = Field(answer, "version");
  return version.empty() ? 0 : std::stoull(version);
}

TEST(ServerRecoveryTest, KilledAtEveryWriteWhileGroupsPublishAndFetch) {
  Cluster cluster(kServed, kShortGrace);
  const std::vector<Worker> trainers = cluster.JoinGroup("trainer", 2);
  const std::vector<Worker> readers = cluster.JoinGroup("rollout", 2);
  const Worker observer = cluster.Join("observer");
  uint64_t seen = 0;
  for (uint64_t version = 1; version <= 12; ++version) {
    for (const std::string& answer : DoAll(trainers, "unpublish drain=2000")) {
      ASSERT_THAT(answer, StartsWith("ok"));
    }
    for (const Worker& trainer : trainers) {
      ASSERT_EQ(trainer->Do("fill " + std::to_string(version)), "ok");
    }
    Writes writes(cluster.server().data_dir());
    const std::string fetch = "fetch newer=" + std::to_string(version - 1) + " timeout=50000";
    for (const Worker& reader : readers) reader->Send(fetch);
    for (const Worker& trainer : trainers) trainer->Send("publish " + std::to_string(version));
    // The readers give up the version before; the mark, the decision and the outcome follow.
    for (uint64_t i = 0; i <= version % 4; ++i) writes.Await(seconds(1));
    cluster.server().Restart();
    const uint64_t now = LatestSeenBy(*observer);
    EXPECT_GE(now, seen);
    seen = now;
    for (const Worker& trainer : trainers) ASSERT_THAT(trainer->Answer(), StartsWith("ok"));
    for (const Worker& reader : readers) ExpectFetched(*reader, reader->Answer(), version);
    EXPECT_EQ(LatestSeenBy(*observer), version);
  }
}

TEST(ServerRecoveryTest, LatestOutlivesItsHolders) {
  Cluster cluster(kServed, kShortGrace);
  Worker trainer = cluster.Join("trainer");
  FillAndPublish(*trainer, 5);
  ASSERT_THAT(trainer->Do("unpublish"), StartsWith("ok"));
  Worker other = cluster.Join("other");
  ASSERT_EQ(other->Do("fill 4"), "ok");
  cluster.server().Restart();
  EXPECT_EQ(LatestSeenBy(*other), 5u);
  EXPECT_THAT(other->Do("fetch latest"),
              testing::AllOf(StartsWith("error NOT_FOUND"), HasSubstr("version 5")));
  EXPECT_THAT(other->Do("publish 4"),
              testing::AllOf(StartsWith("error FAILED_PRECONDITION"), HasSubstr("supersede")));
}

TEST(ServerRecoveryTest, AServerThatCannotWriteEndsAndWorkersRideItOut) {
  Cluster cluster(kServed, kShortGrace);
  Worker trainer = cluster.Join("trainer");
  FillAndPublish(*trainer, 1);
  ASSERT_THAT(trainer->Do("unpublish"), StartsWith("ok"));
  ASSERT_EQ(trainer->Do("fill 2"), "ok");
  // A file that may not grow stands for a disk that is full.
  const std::string log = cluster.server().data_dir() + "/hub.db-wal";
  const rlimit limit{std::filesystem::file_size(log), RLIM_INFINITY};
  Process& server = cluster.server().process();
  ASSERT_EQ(prlimit(server.pid(), RLIMIT_FSIZE, &limit, nullptr), 0);
  trainer->Send("publish 2 timeout=50000");
  EXPECT_EQ(server.Wait(seconds(20)), 1) << server.Describe();
  EXPECT_THAT(server.Describe(), testing::AllOf(HasSubstr(cluster.server().data_dir() + "/hub.db"),
                                                HasSubstr("room to spare")));
  cluster.server().Restart();
  EXPECT_THAT(trainer->Answer(), StartsWith("ok"));
  Worker reader = cluster.Join("reader");
  ExpectFetched(*reader, reader->Do("fetch latest"), 2);
}

}  // namespace
}  // namespace tensorhub::harness
