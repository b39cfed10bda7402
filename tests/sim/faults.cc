// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tests/sim/faults.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace tensorhub::fault {
namespace {

// Half of the kinds are off; the others come seldom or often.
class Draws {
 public:
  explicit Draws(uint64_t seed) : dice_(Random(~seed).Next()) {}

  Ppm Share(Ppm low, Ppm high) { return On() ? Spread(low, high) : 0; }
  Nanos Every(Nanos often, Nanos seldom) {
    return On() ? static_cast<Nanos>(Spread(uint64_t(often), uint64_t(seldom))) : 0;
  }
  Nanos Upto(Nanos low, Nanos high) {
    return static_cast<Nanos>(Spread(uint64_t(low), uint64_t(high)));
  }
  bool On() { return dice_.Below(2) == 0; }
  size_t Of(size_t kinds) { return dice_.Below(kinds); }

 private:
  // Even over the orders of magnitude.
  uint64_t Spread(uint64_t low, uint64_t high) {
    uint64_t top = low;
    while (top < high && dice_.Below(3) != 0) top *= 2;
    top = std::min(top, high);
    return low + dice_.Below(top - low + 1);
  }

  Dice dice_;
};

}  // namespace

Nanos Dice::Gap(Nanos mean) {
  const Nanos tenth = mean / 10;
  Nanos gap = tenth + static_cast<Nanos>(random_.Below(uint64_t(mean)));
  while (gap < 4 * mean && random_.Below(3) == 0) gap += mean / 2;
  return gap;
}

FaultPlan FaultPlan::Draw(uint64_t seed) {
  Draws draws(seed);
  FaultPlan plan;
  plan.control_delay = draws.Share(1'000, 100'000);
  plan.control_delay_max = draws.Upto(5 * kMillisecond, 4 * kSecond);
  plan.call_lost = draws.Share(1'000, 60'000);
  plan.answer_lost = draws.Share(1'000, 60'000);
  plan.call_late = draws.Share(1'000, 60'000);
  plan.breaks = draws.Every(2 * kSecond, 60 * kSecond);
  plan.hub_partitions = draws.Every(5 * kSecond, 60 * kSecond);
  plan.data_latency_max = draws.Upto(200 * kMicrosecond, 40 * kMillisecond);
  plan.data_delay = draws.Share(1'000, 200'000);
  plan.data_delay_max = draws.Upto(5 * kMillisecond, 4 * kSecond);
  plan.connect_fails = draws.Share(10'000, 300'000);
  plan.rendezvous = draws.Share(100'000, 900'000);
  plan.peer_breaks = draws.Every(kSecond, 30 * kSecond);
  plan.peer_partitions = draws.Every(3 * kSecond, 60 * kSecond);
  plan.import_fails = draws.Share(10'000, 300'000);
  plan.get_fails = draws.Share(1'000, 50'000);
  plan.get_hangs = draws.Share(1'000, 30'000);
  plan.get_delay = draws.Share(1'000, 200'000);
  plan.addresses_reused = draws.On();
  plan.worker_crashes = draws.Every(3 * kSecond, 60 * kSecond);
  plan.hub_crashes = draws.Every(10 * kSecond, 80 * kSecond);
  plan.worker_pauses = draws.Every(3 * kSecond, 60 * kSecond);
  plan.hub_pauses = draws.Every(10 * kSecond, 80 * kSecond);
  plan.pause_max = draws.Upto(100 * kMillisecond, 12 * kSecond);
  plan.clock_jumps = draws.Every(5 * kSecond, 60 * kSecond);
  plan.clock_jump_max = draws.Upto(50 * kMillisecond, 10 * kSecond);
  plan.drift_ppm_max = draws.On() ? 20'000 : 0;
  plan.silent_deaths = draws.Share(100'000, 900'000);
  plan.keeps_data = draws.On() || draws.On();
  plan.data_lost = draws.On() && draws.On() ? 100'000 : 0;
  plan.small_limits = draws.On() && draws.On();
  plan.one_sided = draws.Share(300'000, 1'000'000);
  plan.keep_latest = draws.On() ? 1 : 0;
  plan.taken_back = draws.Share(10'000, 300'000);
  plan.deafened = draws.Share(100'000, 900'000);
  plan.host_copies = draws.On();
  plan.hub_dies_of_comers = draws.Share(200'000, 900'000);
  plan.hub_dies_of_calls = draws.Share(2'000, 60'000);
  plan.fatal_call = draws.Of(6);
  plan.breaks_of_calls = draws.Share(10'000, 300'000);
  plan.callers_die = draws.Share(3'000, 60'000);
  plan.sources_die = draws.Share(3'000, 60'000);
  plan.other_bytes = draws.Share(20'000, 400'000);
  constexpr DigestUse kUses[] = {DigestUse::kOn,   DigestUse::kOn,    DigestUse::kAuto,
                                 DigestUse::kAuto, DigestUse::kMixed, DigestUse::kOff};
  plan.digests = kUses[draws.Of(6)];
  plan.hashing_max = draws.Upto(kMillisecond, 4 * kSecond);
  // Two live processes have two addresses.
  if (!plan.addresses_reused) plan.supplanted = draws.Every(4 * kSecond, 60 * kSecond);
  plan.hub_storms = draws.Every(15 * kSecond, 60 * kSecond);
  plan.sources_per_reader = static_cast<uint32_t>(1 + draws.Of(3));
  plan.cuts = draws.On();
  plan.long_chain = draws.On() ? static_cast<uint32_t>(2 + draws.Of(3)) : 0;
  plan.drains = draws.Every(2 * kSecond, 30 * kSecond);
  plan.adopts = draws.On();
  plan.guarded_late = draws.On() && draws.On();
  plan.strangers = draws.Every(200 * kMillisecond, 5 * kSecond);
  const bool compared = plan.digests == DigestUse::kOn || plan.digests == DigestUse::kAuto;
  if (plan.cuts && compared) plan.unlike = draws.Share(10'000, 300'000);
  if (plan.digests != DigestUse::kOn) return plan;
  plan.damaged = draws.Share(10'000, 300'000);
  // Who reads parts of another sharding is told what is in its source's memory, and no more.
  if (!plan.cuts) plan.rots = draws.Every(500 * kMillisecond, 20 * kSecond);
  return plan;
}

agent::DigestMode FaultPlan::DrawDigests(Dice& dice) const {
  constexpr agent::DigestMode kModes[] = {agent::DigestMode::kOn, agent::DigestMode::kAuto,
                                          agent::DigestMode::kOff};
  switch (digests) {
    case DigestUse::kOn:
      return agent::DigestMode::kOn;
    case DigestUse::kAuto:
      return agent::DigestMode::kAuto;
    case DigestUse::kOff:
      return agent::DigestMode::kOff;
    case DigestUse::kMixed:
      return kModes[dice.Below(3)];
  }
  return agent::DigestMode::kOn;
}

std::string FaultPlan::Describe() const {
  std::string text;
  const auto add = [&text](bool on, const char* name) {
    if (on) absl::StrAppend(&text, text.empty() ? "" : " ", name);
  };
  add(control_delay != 0, "slow-control");
  add(call_lost != 0, "lost-calls");
  add(answer_lost != 0, "lost-answers");
  add(call_late != 0, "late-calls");
  add(breaks != 0, "broken-sessions");
  add(hub_partitions != 0, "cut-from-hub");
  add(data_delay != 0, "slow-data");
  add(connect_fails != 0, "failed-connects");
  add(rendezvous != 0, "torn-sends");
  add(peer_breaks != 0, "broken-peers");
  add(peer_partitions != 0, "cut-from-peers");
  add(one_sided != 0, "one-sided");
  add(worker_crashes != 0, "worker-crashes");
  add(supplanted != 0, "supplanted-workers");
  add(hub_crashes != 0, keeps_data ? "hub-crashes" : "hub-crashes-without-data");
  add(hub_storms != 0, "hub-storms");
  add(hub_dies_of_comers != 0, "hub-dies-of-comers");
  add(hub_dies_of_calls != 0, absl::StrCat("hub-dies-of-call-", fatal_call).c_str());
  add(breaks_of_calls != 0, absl::StrCat("breaks-of-call-", fatal_call).c_str());
  add(callers_die != 0, absl::StrCat("dies-of-call-", fatal_call).c_str());
  add(sources_die != 0, "sources-die");
  add(worker_pauses != 0, "stopped-workers");
  add(hub_pauses != 0, "stopped-hub");
  add(clock_jumps != 0, "clock-jumps");
  add(drift_ppm_max != 0, "drift");
  add(small_limits, "small-limits");
  add(keep_latest != 0, "retention");
  add(keep_latest != 0 && host_copies, "host-copies");
  add(sources_per_reader > 1, absl::StrCat("sources-", sources_per_reader).c_str());
  add(cuts, "cuts");
  add(long_chain > 0, absl::StrCat("long-chain-", long_chain).c_str());
  add(taken_back != 0, "taken-back");
  add(deafened != 0, "deafened");
  add(drains != 0, "drains");
  add(strangers != 0, "strangers");
  add(guarded_late, "guarded-late");
  add(damaged != 0, "damaged-on-the-way");
  add(rots != 0, "rotten-memory");
  return text.empty() ? "none" : text;
}

}  // namespace tensorhub::fault
