// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Random verbs and random misfortune. Safety is checked by the world at every effect; afterwards
// everything is healed, and every verb that is still open has to end.

#include "tests/unit/seeds_to_try.h"
#include "tests/unit/worker_agent/core/world.h"

namespace tensorhub::agent::testing {
namespace {

class Chaos {
 public:
  Chaos(uint64_t seed, bool one_sided)
      : world_({.seed = seed,
                .workers = 4,
                .total_bytes = 5 * 4096 + 7,
                .one_sided = one_sided,
                .digests = static_cast<DigestMode>(seed % 3),
                .digests_on_the_way_percent = seed % 4 * 40}),
        random_(seed * 77) {
    // Each seed leaves out whole kinds of misfortune.
    for (uint64_t& weight : weights_) weight = random_.Below(3);
    world_.network.import_failure_percent = random_.Below(2) * 20;
    world_.network.rendezvous_percent = random_.Below(101);
    world_.hub.knows_then_read = seed % 5 != 0;
    // Only where every byte is checked is it nobody's loss.
    if (seed % 6 == 2) world_.network.corrupted_percent = 3;
  }

  void Run() {
    for (int step = 0; step < 60 && !::testing::Test::HasFailure(); ++step) {
      for (size_t index = 0; index < world_.size(); ++index) MaybeAsk(index);
      Misfortune();
      world_.RunFor(TimeMs(random_.Below(40)));
    }
    Heal();
    for (size_t index = 0; index < world_.size(); ++index) {
      EXPECT_TRUE(world_.Run([&] { return world_.Idle(index); }, 30'000)) << "worker " << index;
    }
  }

 private:
  void MaybeAsk(size_t index) {
    if (!world_.Idle(index) || random_.Below(3) != 0) return;
    Worker& worker = world_.at(index);
    switch (random_.Below(5)) {
      case 0:
        return world_.Ask(index, UnpublishVerb{TimeMs(random_.Below(200))});
      case 1:
      case 2: {
        if (worker.core->Report().holding) return;
        const VersionNumber version = next_version_++;
        worker.memory = world_.Content(version);
        PublishVerb publish;
        publish.version = version;
        publish.timeout_ms = TimeMs(1 + random_.Below(500));
        return world_.Ask(index, publish);
      }
      default: {
        FetchVerb fetch;
        fetch.timeout_ms = TimeMs(1 + random_.Below(1000));
        return world_.Ask(index, fetch);
      }
    }
  }

  void Misfortune() {
    const size_t one = random_.Below(world_.size());
    const size_t other = (one + 1 + random_.Below(world_.size() - 1)) % world_.size();
    const uint64_t kind = random_.Below(6);
    if (random_.Below(3) >= weights_[kind]) return;
    switch (kind) {
      case 0:
        return world_.network.BreakLink(one, other);
      case 1:
        return world_.schedule.Pause(one);
      case 2:
        return world_.schedule.Resume(one);
      case 3:
        return world_.SetHubAway(!world_.hub.away());
      case 4:
        return world_.hub.Abort(one, absl::AbortedError("a rank failed"));
      default:
        world_.network.gets_hang = !world_.network.gets_hang;
    }
  }

  void Heal() {
    world_.network.gets_hang = false;
    for (size_t index = 0; index < world_.size(); ++index) world_.schedule.Resume(index);
    world_.SetHubAway(false);
  }

  World world_;
  Random random_;
  uint64_t weights_[6] = {};
  VersionNumber next_version_ = 1;
};

TEST(Chaos, Served) {
  for (uint64_t seed = 1; seed <= SeedsToTry(400) && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    Chaos(seed, false).Run();
  }
}

TEST(Chaos, OneSided) {
  for (uint64_t seed = 1; seed <= SeedsToTry(400) && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    Chaos(seed, true).Run();
  }
}

}  // namespace
}  // namespace tensorhub::agent::testing
