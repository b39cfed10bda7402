// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Workers that do whatever comes to mind, sensible or not, and a hub that restarts now and then.
// The invariants are checked after every event (HubScript). A failure prints the seed and every
// command, which make a scenario.

#include <gtest/gtest.h>

#include <csignal>
#include <cstdio>

#include "absl/strings/str_cat.h"
#include "common/random.h"
#include "tests/unit/seeds_to_try.h"
#include "tests/unit/server/core/hub_script.h"

namespace tensorhub::hub {
namespace {

constexpr uint64_t kSeeds = SeedsToTry(1000);
constexpr int kCommands = 250;

std::string commands;  // of the run in progress

void PrintCommands(int) { std::fputs(commands.c_str(), stderr); }

class Chaos {
 public:
  explicit Chaos(uint64_t seed) : random_(seed), script_(Options(seed)) {
    commands = absl::StrCat("# seed ", seed, "\n");
    Do("note A");
    Do("layout K");
    for (const char* group : kGroups) {
      for (const std::string& worker : Ranks(group)) Do(Opening(worker));
    }
  }

  std::string Run() {
    for (int i = 0; i < kCommands; ++i) Step();
    return trace_;
  }

 private:
  static constexpr const char* kGroups[] = {"trainer", "a", "b", "c"};

  static HubOptions Options(uint64_t seed) {
    HubOptions options;
    options.seed = seed;
    options.limits.dead_workers = 3;
    options.limits.past_versions = 5;
    options.limits.layouts.count = 2;
    options.limits.waits = 4;
    options.limits.excluded_sources = 2;
    options.readers_per_source = static_cast<uint32_t>(1 + seed % 2);
    options.sources_per_reader = static_cast<uint32_t>(1 + seed % 3);
    return options;
  }

  static std::vector<std::string> Ranks(const std::string& group) {
    return {group + "/0", group + "/1"};
  }

  uint64_t Below(uint64_t bound) { return random_.Below(bound); }
  std::string Group() { return kGroups[Below(4)]; }
  std::string Worker() { return absl::StrCat(Group(), "/", Below(2)); }
  std::string AnyVersion() { return absl::StrCat("v", 1 + Below(newest_ + 1)); }
  std::string Selection() {
    switch (Below(4)) {
      case 0:
        return AnyVersion();
      case 1:
        return absl::StrCat("newer=", Below(newest_ + 1));
      default:
        return "latest";
    }
  }

  std::string Opening(const std::string& worker) {
    return absl::StrCat("open ", worker, " world=2 at=us/dc", Below(2), "/r", Below(2), "/h",
                        Below(2), " endpoint=e", Below(2), Below(4) == 0 ? "" : " streams");
  }

  // What throws ends the program, as a failed check does.
  void Do(const std::string& command) noexcept {
    absl::StrAppend(&commands, "> ", command, "\n");
    absl::StrAppend(&trace_, command, "\n", script_.Do(command));
  }

  void Step() {
    const uint64_t dice = Below(100);
    if (dice < 30) return Advance(Worker());
    if (dice < 42) return Fetch(Group());
    if (dice < 50) return PublishAll(Group());
    if (dice < 60) return Say(Worker());
    if (dice < 75) return Operate(Worker());
    if (dice < 88) return Connect(Worker());
    if (dice < 89) return Do(absl::StrCat("asleep ", 1 + Below(9000)));
    if (dice < 99) return Do(absl::StrCat("wait ", 1 + Below(Below(8) == 0 ? 9000 : 900)));
    Restart(Worker());
  }

  // Also in the middle of what a worker does; with the rows that the hub kept, or without.
  void Restart(const std::string& worker) {
    static constexpr const char* kWays[] = {"restart", "restart clean", "restart bare",
                                            "restart kept", "restart kept bare"};
    if (Below(2) == 0) return Do(kWays[Below(5)]);
    const std::string ends = Below(4) == 0 ? "lose " : "crash ";
    if (Below(3) == 0) return Do(absl::StrCat(ends, "publish ", worker, " v", ++newest_));
    if (Below(3) == 0) return Do(absl::StrCat(ends, "join ", worker, " latest"));
    if (const auto step = script_.NextStep(worker)) Do(ends + *step);
  }

  void Advance(const std::string& worker) {
    if (const auto step = script_.NextStep(worker)) Do(*step);
  }

  void Fetch(const std::string& group) {
    const std::string selection = Selection();
    for (const std::string& worker : Ranks(group)) Do("join " + worker + " " + selection);
    if (Below(2) == 0) return;
    for (int round = 0; round < 2; ++round) {
      for (const std::string& worker : Ranks(group)) Advance(worker);
    }
  }

  void PublishAll(const std::string& group) {
    const std::string version = Below(2) == 0 ? AnyVersion() : absl::StrCat("v", ++newest_);
    const std::string options = Below(4) == 0 ? " wait=700" : Below(4) == 0 ? " supersede" : "";
    for (const std::string& worker : Ranks(group)) {
      if (Below(2) == 0) Do(absl::StrCat("unpublish ", worker, " drain=", Below(3) * 300));
      if (Below(10) != 0) Do("publish " + worker + " " + version + options);
    }
  }

  // Within a session; true or not.
  void Say(const std::string& worker) {
    switch (Below(7)) {
      case 6:
        return Do("copy-failed " + worker + " " + AnyVersion());
      case 0:
        return Do(absl::StrCat(Below(2) == 0 ? "fail-source " : "doubt-source ", worker));
      case 1:
        return Do("answer " + worker + (Below(2) == 0 ? " holds" : " gone"));
      case 2:
        return Do(absl::StrCat("release ", worker, " ", Below(4)));
      case 3:
        return Do(absl::StrCat("fail-source ", worker, " number=", Below(4)));
      default:
        return Do(absl::StrCat("progress ", worker, " ", Below(12)));
    }
  }

  void Operate(const std::string& worker) {
    switch (Below(18)) {
      case 0:
        return Do("leave " + worker);
      case 1:
        return Do("retry " + worker);
      case 2:
        return Do("cancel " + worker);
      case 3:
        return Do("begin " + worker);
      case 4:
        return Do("finish " + worker);
      case 5:
        return Do("finish " + worker + " error=disk");
      case 6:
        return Do(absl::StrCat("begin ", worker, " gen=", Below(20)));
      case 7:
        return Do("join " + worker + " " + Selection());
      case 8:
        return Do(absl::StrCat("publish ", worker, " ", AnyVersion(), " gen=", Below(20)));
      case 9:
        return Do(absl::StrCat("publish ", worker, " ", AnyVersion(), " note=A layout=K"));
      case 10:
        return Do(absl::StrCat("layout ", Below(2) == 0 ? "L" : "X"));
      case 11:
        return Do(absl::StrCat("wait-version w m newer=", Below(newest_ + 2), " lag=", Below(2)));
      case 12:
        return Do("wait-version any m any timeout=100");
      case 13:
        return Do(absl::StrCat("retain ", Below(3)));
      case 14:
        if (Below(3) == 0) return Do("supersede " + AnyVersion());
        return Do(Below(2) == 0 ? "unpin gold" : "pin gold " + AnyVersion() + " ttl=3000");
      case 15:
        return Do("drain " + worker + (Below(2) == 0 ? " undo" : ""));
      default:
        return Do(absl::StrCat("unpublish ", worker, " drain=", Below(3) * 300,
                               Below(4) == 0   ? " leaving"
                               : Below(4) == 0 ? " force"
                               : Below(4) == 0 ? " then-read"
                                               : ""));
    }
  }

  void Connect(const std::string& worker) {
    switch (Below(12)) {
      case 0:
        return Do("kill " + worker);
      case 1:
        return Do("drop " + worker);
      case 2:
        return Do("silence " + worker);
      case 3:
        return Do(absl::StrCat(Opening(worker), " inc=", 1 + Below(6)));
      case 4:
        return Do(absl::StrCat(Opening(worker), " forget"));
      case 5:
        return Do(absl::StrCat(Opening(worker), " resumed reads=", Worker()));
      case 6:
      case 7:
        return Claim(worker);
      default:
        return Do(absl::StrCat(Opening(worker), Below(2) == 0 ? " resumed" : "",
                               Below(2) == 0   ? " copies"
                               : Below(4) == 0 ? " copy-of=a"
                                               : ""));
    }
  }

  // A report that need not be true, also while an operation of the worker is pending.
  void Claim(const std::string& worker) {
    if (Below(3) == 0) Do(absl::StrCat("publish ", worker, " ", AnyVersion(), " wait=700"));
    Do(absl::StrCat(Opening(worker), " holds=", AnyVersion(), " as=P", 1 + Below(8),
                    Below(2) == 0 ? absl::StrCat(" gen=", Below(20)) : "",
                    Below(4) == 0 ? " part" : "",
                    Below(3) == 0 ? absl::StrCat(" term=", Below(4), " since=", Below(6)) : ""));
  }

  Random random_;
  HubScript script_;
  VersionNumber newest_ = 0;
  std::string trace_;
};

class RandomOperationsTest : public testing::Test {
 protected:
  void SetUp() override { previous_ = std::signal(SIGABRT, PrintCommands); }
  void TearDown() override { std::signal(SIGABRT, previous_); }

 private:
  void (*previous_)(int) = SIG_DFL;
};

TEST_F(RandomOperationsTest, InvariantsHold) {
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) Chaos(seed).Run();
}

TEST_F(RandomOperationsTest, TheSameSeedGivesTheSameTrace) {
  for (uint64_t seed = 1; seed <= 10; ++seed) EXPECT_EQ(Chaos(seed).Run(), Chaos(seed).Run());
}

}  // namespace
}  // namespace tensorhub::hub
