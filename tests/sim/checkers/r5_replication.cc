// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tests/sim/checkers/r5_replication.h"

#include <algorithm>
#include <set>
#include <variant>

#include "absl/strings/str_cat.h"
#include "tests/sim/hub_node.h"
#include "tests/sim/process.h"

namespace tensorhub::fault {

namespace {

// The same shard, by the same sharding: a hub that has restarted may list equal ones apart (R7, not
// covered).
bool ReadsAs(const Process& one, const Process& other) {
  if (one.sharding() != other.sharding() || !one.decision() || !other.decision()) return false;
  return one.decision()->sharding.id == other.decision()->sharding.id;
}

}  // namespace

void R5Replication::OnHubStep(const HubStep& step) {
  std::set<const Process*> readers;
  for (const hub::Effect& effect : step.effects) {
    const auto* directive = std::get_if<hub::Directive>(&effect);
    const auto* assign =
        directive == nullptr ? nullptr : std::get_if<hub::Assign>(&directive->body);
    if (assign == nullptr) continue;
    const Process* reader = scene_.hub->stream(directive->session).process;
    if (assignments_.IsNew(*assign, reader->number())) readers.insert(reader);
  }
  for (const Process* reader : readers) {
    CheckNoCycle(*reader);
    CheckOneSeed(*reader);
  }
}

// One without a session is given another source without a word.
bool R5Replication::IsTold(const Process& process) const {
  return scene_.hub->IsOpen(process.link().session());
}

bool R5Replication::IsWithdrawn(const Process& process) const {
  const auto workers = scene_.hub->core().Workers(scene_.hub->NowMs());
  return std::any_of(workers.begin(), workers.end(), [&](const hub::WorkerView& view) {
    return view.worker == process.identity() && view.withdrawn;
  });
}

// Of buffers that have come to mean something else, nobody reads.
void R5Replication::CheckNoCycle(const Process& reader) {
  const Assignments::Place* place = assignments_.Current(reader.number());
  for (size_t steps = 0; place != nullptr && steps < scene_.processes.size(); ++steps) {
    const Process* source = FindProcess(scene_, place->source.incarnation);
    if (source->memory().word().generation != place->generation) return;
    if (source == &reader) {
      return scene_.Fail(
          "R5", absl::StrCat(reader.name(), " reads from itself, ", steps, " workers away"));
    }
    if (!IsTold(*source)) return;
    place = assignments_.Current(source->number());
  }
}

// Only of those that have never been moved: whoever complained, or was slow, may have its reasons.
void R5Replication::CheckOneSeed(const Process& reader) {
  const auto innocent = [this](const Process& process) {
    const auto& state = assignments_.readers().at(process.number());
    const Assignments::Place* place = assignments_.Current(process.number());
    return place != nullptr && place->tier == Tier::kRemote && state.moves == 1 &&
           state.last == 1 && !state.complained;
  };
  if (!innocent(reader) || IsWithdrawn(reader)) return;
  const Assignments::Place& mine = *assignments_.Current(reader.number());
  for (const auto& [number, state] : assignments_.readers()) {
    const Process& other = *scene_.processes[number];
    if (&other == &reader || other.identity().key.rank != reader.identity().key.rank) continue;
    if (!ReadsAs(other, reader)) continue;
    if (other.datacenter() != reader.datacenter() || !innocent(other)) continue;
    if (assignments_.Current(number)->publication != mine.publication) continue;
    // One that is out of service feeds nobody, nor did it while it was.
    if (!IsTold(other) || IsWithdrawn(other)) continue;
    scene_.Fail("R5", absl::StrCat(reader.name(), " and ", other.name(),
                                   " are both seeds of their datacenter"));
  }
}

}  // namespace tensorhub::fault
