// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tests/sim/nemesis.h"

#include <utility>

#include "tests/sim/hub_node.h"
#include "tests/sim/strangers.h"
#include "tests/sim/wire.h"

namespace tensorhub::fault {

void Nemesis::Every(Nanos mean, Fault fault) {
  if (mean == 0) return;
  Later(scene_.dice.Gap(mean), [this, mean, fault] {
    ++scene_.counts.faults;
    (this->*fault)();
    Every(mean, fault);
  });
}

void Nemesis::Later(Nanos after, Action end) {
  scene_.agenda.After(after, nullptr, [this, round = round_, end = std::move(end)] {
    if (round == round_) end();
  });
}

void Nemesis::Start() {
  ++round_;
  scene_.faults_on = true;
  const FaultPlan& plan = scene_.plan;
  Every(plan.breaks, &Nemesis::BreakSession);
  Every(plan.hub_partitions, &Nemesis::CutFromHub);
  Every(plan.peer_breaks, &Nemesis::BreakPeers);
  Every(plan.peer_partitions, &Nemesis::CutFromPeer);
  Every(plan.worker_crashes, &Nemesis::CrashWorker);
  Every(plan.supplanted, &Nemesis::SupplantWorker);
  Every(plan.hub_crashes, &Nemesis::CrashHub);
  Every(plan.hub_storms, &Nemesis::StormHub);
  Every(plan.worker_pauses, &Nemesis::StopWorker);
  Every(plan.hub_pauses, &Nemesis::StopHub);
  Every(plan.clock_jumps, &Nemesis::JumpClock);
  Every(plan.drains, &Nemesis::DrainWorker);
  Every(plan.rots, &Nemesis::RotMemory);
  if (!plan.guarded_late) Every(plan.strangers, &Nemesis::SendStranger);
}

void Nemesis::Heal() {
  ++round_;
  scene_.faults_on = false;
  scene_.Log("healed");
  if (!scene_.hub->up()) scene_.hub->Start();
  scene_.agenda.Resume(scene_.hub->node());
  scene_.wire->UnblockAll();
  for (size_t i = 0; i < scene_.processes.size(); ++i) {
    Process& process = *scene_.processes[i];
    if (process.node().dead()) continue;
    scene_.agenda.Resume(process.node());
    process.link().Unblock();
  }
  // When the hub has caught up with what it missed.
  scene_.agenda.After(kSecond, nullptr, [this] {
    for (const auto& process : scene_.processes) {
      if (scene_.plan.drains == 0 || process->node().dead()) continue;
      scene_.hub->Drain(process->identity().key, /*undo=*/true);
    }
  });
  // Their ranks are to be whole again.
  for (const auto& group : groups_) group->EndAllOutlived();
}

Process* Nemesis::AnyLive() {
  Group& group = *groups_[scene_.dice.Below(groups_.size())];
  Process* process = group.process(static_cast<Rank>(scene_.dice.Below(group.world_size())));
  if (process->node().dead()) return nullptr;
  const std::vector<Process*> copies = process->copies().running();
  if (copies.empty() || scene_.dice.Below(2) == 0) return process;
  return copies[scene_.dice.Below(copies.size())];
}

void Nemesis::BreakSession() {
  if (Process* process = AnyLive()) {
    scene_.Log(process->name(), " loses its connection to the hub");
    process->link().Break();
  }
}

void Nemesis::CutFromHub() {
  if (Process* process = AnyLive()) CutFromHub(*process);
}

void Nemesis::CutFromHub(Process& process) {
  const uint64_t way = scene_.dice.Below(3);
  scene_.Log(process.name(), " is cut from the hub, way ", way);
  process.link().Block(way != 1, way != 0);
  Later(scene_.dice.Time(50 * kMillisecond, 12 * kSecond),
        [&process] { process.link().Unblock(); });
}

void Nemesis::BreakPeers() {
  Process* one = AnyLive();
  Process* other = AnyLive();
  if (one == nullptr || other == nullptr || one == other) return;
  scene_.wire->Break(*one, *other);
}

void Nemesis::CutFromPeer() {
  const Process* one = AnyLive();
  const Process* other = AnyLive();
  if (one == nullptr || other == nullptr || one == other) return;
  const bool both = scene_.dice.Below(2) == 0;
  const size_t a = one->place();
  const size_t b = other->place();
  scene_.Log(one->name(), " is cut from ", other->name(), both ? ", both ways" : ", one way");
  scene_.wire->Block(a, b);
  if (both) scene_.wire->Block(b, a);
  Later(scene_.dice.Time(50 * kMillisecond, 10 * kSecond), [this, a, b] {
    scene_.wire->Unblock(a, b);
    scene_.wire->Unblock(b, a);
  });
}

void Nemesis::CrashWorker() {
  Group& group = *groups_[scene_.dice.Below(groups_.size())];
  const auto rank = static_cast<Rank>(scene_.dice.Below(group.world_size()));
  group.Kill(rank, !scene_.dice.Chance(scene_.plan.silent_deaths));
}

// A scheduler that cannot see the old one, for a network that the hub may or may not share.
void Nemesis::SupplantWorker() {
  Group& group = *groups_[scene_.dice.Below(groups_.size())];
  const auto rank = static_cast<Rank>(scene_.dice.Below(group.world_size()));
  Process* process = group.process(rank);
  if (!group.Supplant(rank)) return;
  if (scene_.dice.Below(3) != 0) CutFromHub(*process);
  Later(scene_.dice.Time(kSecond, 30 * kSecond), [this, &group, process] {
    group.EndOutlived(*process, /*told=*/scene_.dice.Below(2) == 0);
  });
}

void Nemesis::CrashHub() {
  if (!scene_.hub->up()) return;
  scene_.hub->Crash(scene_.dice.Chance(scene_.plan.data_lost));
  Later(scene_.dice.Time(50 * kMillisecond, 8 * kSecond), [this] {
    if (!scene_.hub->up()) scene_.hub->Start();
  });
}

void Nemesis::StormHub() { RestartHub(2 + scene_.dice.Below(4)); }

void Nemesis::RestartHub(uint64_t times) {
  if (times == 0) return;
  scene_.hub->Crash(/*data_lost=*/false);
  Later(scene_.dice.Time(20 * kMillisecond, 500 * kMillisecond), [this, times] {
    if (!scene_.hub->up()) scene_.hub->Start();
    Later(scene_.dice.Time(500 * kMillisecond, 3 * kSecond),
          [this, times] { RestartHub(times - 1); });
  });
}

void Nemesis::StopWorker() {
  Process* process = AnyLive();
  if (process == nullptr) return;
  scene_.Log(process->name(), " is stopped");
  scene_.agenda.Pause(process->node());
  Later(scene_.dice.Time(10 * kMillisecond, scene_.plan.pause_max), [this, process] {
    scene_.Log(process->name(), " goes on");
    scene_.agenda.Resume(process->node());
  });
}

void Nemesis::StopHub() {
  if (!scene_.hub->up()) return;
  scene_.Log("the hub is stopped");
  Node* node = &scene_.hub->node();
  scene_.agenda.Pause(*node);
  Later(scene_.dice.Time(10 * kMillisecond, scene_.plan.pause_max), [this, node] {
    scene_.Log("the hub goes on");
    scene_.agenda.Resume(*node);
  });
}

// An operator, who repeats the order with each look, or does not.
void Nemesis::DrainWorker() {
  Process* process = AnyLive();
  if (process == nullptr) return;
  const WorkerKey key = process->identity().key;
  scene_.hub->Drain(key, /*undo=*/false);
  if (scene_.dice.Below(2) == 0) {
    Later(scene_.dice.Time(kSecond, 5 * kSecond), [this, key] { scene_.hub->Drain(key, false); });
  }
  Later(scene_.dice.Time(100 * kMillisecond, 40 * kSecond),
        [this, key] { scene_.hub->Drain(key, /*undo=*/true); });
}

void Nemesis::SendStranger() {
  Process* stranger = AnyLive();
  Process* source = AnyLive();
  if (stranger == nullptr || source == nullptr || stranger == source) return;
  TryToRead(scene_, *stranger, *source);
}

void Nemesis::RotMemory() {
  if (Process* process = AnyLive()) process->Rot();
}

void Nemesis::JumpClock() {
  const Nanos by = scene_.dice.Time(kMillisecond, scene_.plan.clock_jump_max);
  if (scene_.dice.Below(4) == 0) {
    if (scene_.hub->up()) scene_.hub->JumpClock(by);
  } else if (Process* process = AnyLive()) {
    process->JumpClock(by);
  }
}

}  // namespace tensorhub::fault
