// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Many readers of one version in several datacenters, who come, go, complain and get ahead of each
// other. After every event CheckInvariants holds the choice that the index makes for each reader
// against the ranking of all holders, and demands one seed per datacenter, no cycle, and counts
// that fit.

#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/random.h"
#include "tests/unit/seeds_to_try.h"
#include "tests/unit/server/core/hub_script.h"

namespace tensorhub::hub {
namespace {

constexpr uint64_t kCrowds = SeedsToTry(150);
constexpr int kCrowdCommands = 300;
constexpr uint64_t kWorkers = 20;
constexpr uint64_t kCrowdChunks = 64;

std::string crowd_commands;  // of the run in progress

void PrintCrowdCommands(int) { std::fputs(crowd_commands.c_str(), stderr); }

class Crowd {
 public:
  // Every second seed has no complaints: then there is no excuse for a second seed anywhere.
  explicit Crowd(uint64_t seed)
      : random_(seed), complaints_(seed % 2 == 0), script_(Options(seed)) {
    crowd_commands = absl::StrCat("# seed ", seed, "\n");
    Do(absl::StrCat("layout L bytes=", kCrowdChunks * 4096));
    for (uint64_t i = 0; i < kWorkers; ++i) {
      Do(absl::StrCat("open ", Name(i), " at=us/dc", Below(3), "/r", Below(2), "/h", Below(2),
                      Below(4) == 0 ? " spot" : ""));
    }
    Do("publish " + Name(0) + " v1");
    Do("publish " + Name(1) + " v1");
  }

  void Run() {
    for (int i = 0; i < kCrowdCommands; ++i) Step(Name(Below(kWorkers)));
  }

 private:
  static HubOptions Options(uint64_t seed) {
    HubOptions options;
    options.readers_per_source = static_cast<uint32_t>(1 + seed / 2 % 3);
    options.long_chain = static_cast<uint32_t>(2 + seed % 7);
    return options;
  }
  static std::string Name(uint64_t index) { return absl::StrCat("w", index, "/0"); }
  uint64_t Below(uint64_t bound) { return random_.Below(bound); }

  void Do(const std::string& command) noexcept {
    absl::StrAppend(&crowd_commands, "> ", command, "\n");
    script_.Do(command);
  }

  void Step(const std::string& worker) {
    const uint64_t dice = Below(100);
    if (dice < 55) return GetFurther(worker);
    if (dice < 72) return Fetch(worker);
    if (dice < 74) return Do("finish " + worker);
    if (dice < 78) return Do(absl::StrCat("release ", worker, " ", 1 + Below(4)));
    if (dice < 80) return Do(absl::StrCat("unpublish ", worker, " drain=", Below(2) * 300));
    if (dice < 81) return Do("publish " + worker + " v1");
    if (dice < 85) return Do(absl::StrCat("wait ", 1 + Below(700)));
    if (dice < 88) return Do("leave " + worker);
    if (dice < 92) return Do("open " + worker);
    if (!complaints_) return;
    if (dice < 93) return Do("doubt-source " + worker);
    if (dice < 96) return Do(absl::StrCat("fail-source ", worker, " number=", 1 + Below(3)));
    Do(dice < 98 ? "fail-source " + worker : "answer " + worker + " holds");
  }

  void GetFurther(const std::string& worker) {
    uint64_t& chunks = progress_[worker];
    chunks = std::min<uint64_t>(kCrowdChunks, chunks + Below(12));
    Do(absl::StrCat("progress ", worker, " ", chunks));
  }

  void Fetch(const std::string& worker) {
    Do("join " + worker + " v1");
    const std::string begin = "begin " + worker;
    if (script_.NextStep(worker) != begin) return;
    progress_[worker] = 0;
    Do(begin);
  }

  Random random_;
  const bool complaints_;
  HubScript script_;
  std::map<std::string, uint64_t> progress_;
};

class SourceChoiceTest : public testing::Test {
 protected:
  void SetUp() override { previous_ = std::signal(SIGABRT, PrintCrowdCommands); }
  void TearDown() override { std::signal(SIGABRT, previous_); }

 private:
  void (*previous_)(int) = SIG_DFL;
};

TEST_F(SourceChoiceTest, TheIndexFindsTheBestAndDatacentersHaveOneSeed) {
  for (uint64_t seed = 1; seed <= kCrowds; ++seed) Crowd(seed).Run();
}

}  // namespace
}  // namespace tensorhub::hub
