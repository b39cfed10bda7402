// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tests/sim/gets.h"

#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "tests/sim/process.h"

namespace tensorhub::fault {
namespace {

// What an owner takes to get its buffers back if nobody waits for readers: a call to the hub.
constexpr Nanos kTakeBack = 2 * kMillisecond;

}  // namespace

bool Gets::IsMapped(const Process& reader, Incarnation peer) const {
  return mapped_.contains({reader.number(), peer});
}

Nanos Gets::Moment() {
  Nanos moment = scene_.dice.Time(0, scene_.plan.data_latency_max);
  if (scene_.Happens(scene_.plan.get_delay)) {
    moment += scene_.dice.Time(0, scene_.plan.data_delay_max);
  }
  return moment;
}

// A load from mapped memory takes none, unless its thread is held up.
Nanos Gets::MomentOrNone() { return scene_.dice.Below(2) == 0 ? 0 : Moment(); }

// A description is kept from an earlier read, or came with this message.
void Gets::Import(Process& reader, const agent::ImportMemory& effect) {
  const Incarnation peer = effect.peer;
  const std::pair<uint32_t, Incarnation> key{reader.number(), peer};
  if (!effect.description.empty()) described_.insert(key);
  const Process* source = FindProcess(scene_, peer);
  const bool there =
      described_.contains(key) && source != nullptr && source->host() == reader.host();
  const bool fits = there && (!effect.same_size || source->memory().chunking().total_bytes ==
                                                       reader.memory().chunking().total_bytes);
  const bool ok = fits && !scene_.Happens(scene_.plan.import_fails);
  if (ok) mapped_.insert(key);
  scene_.agenda.After(0, &reader.node(), [&reader, peer, ok] {
    reader.Step(agent::MemoryImported{
        peer, ok ? absl::OkStatus() : absl::FailedPreconditionError("cannot be mapped")});
  });
}

void Gets::Get(Process& reader, const agent::Get& effect) {
  if (!IsMapped(reader, effect.peer)) {
    scene_.agenda.After(0, &reader.node(), [&reader, token = effect.token] {
      reader.Step(agent::GetDone{token, absl::UnavailableError("not mapped")});
    });
    return;
  }
  uint64_t cells = 0;
  for (const agent::CopyRun& run : effect.runs) {
    if (!reader.memory().MayWrite(run.to, run.bytes)) {
      scene_.Fail("R5",
                  absl::StrCat(reader.name(), " reads a committed chunk again, at byte ", run.to));
    }
    if (HasInto(reader, run.to, run.bytes)) {
      scene_.Fail("R4", absl::StrCat(reader.name(), " has two gets into byte ", run.to));
    }
    cells += Memory::CellsIn(run.to, run.bytes);
  }
  const Key key{reader.number(), effect.token};
  Process* source = FindProcess(scene_, effect.peer);
  scene_.Said(reader.name(), source->name(), kGet);
  pending_[key] = Pending{&reader,
                          source,
                          {effect.runs.begin(), effect.runs.end()},
                          scene_.dice.Below(cells + 1),
                          source->memory().word().generation};
  const bool taken_back = scene_.Happens(scene_.plan.taken_back);
  const Nanos first = Moment();
  const Nanos second = first + Moment() + (taken_back ? scene_.dice.Time(0, kTakeBack) : 0);
  scene_.agenda.After(first, nullptr, [this, key] { Move(key, false); });
  scene_.agenda.After(second, nullptr, [this, key] { Move(key, true); });
  if (taken_back) {
    scene_.agenda.After(scene_.dice.Time(0, first), nullptr,
                        [this, source] { scene_.take_back(*source); });
  }
  if (scene_.Happens(scene_.plan.get_hangs)) return;
  const bool ok = !scene_.Happens(scene_.plan.get_fails);
  scene_.agenda.After(second + MomentOrNone(), nullptr, [this, key, ok] { End(key, 0, ok); });
}

void Gets::Move(Key key, bool second) {
  const auto found = pending_.find(key);
  if (found == pending_.end()) return;
  Pending& get = found->second;
  if (get.word) {
    get.value = Pack(get.source->memory().word());
    return;
  }
  if (get.reader->node().dead()) return;
  const uint64_t from = second ? get.half : 0;
  const uint64_t to = second ? std::numeric_limits<uint64_t>::max() : get.half;
  for (uint64_t first = 0; const agent::CopyRun& run : get.runs) {
    const uint64_t end = first + Memory::CellsIn(run.to, run.bytes);
    MoveCells(get, run, std::clamp(from, first, end) - first, std::clamp(to, first, end) - first);
    first = end;
  }
}

// Of the cells that the run touches, here and there alike.
void Gets::MoveCells(const Pending& get, const agent::CopyRun& run, uint64_t from, uint64_t to) {
  if (from == to) return;
  Cells cells;
  get.source->memory().Read(run.from, from, to, cells);
  scene_.Damage(cells);
  const uint64_t first_cell = run.to / kCellBytes;
  const uint64_t begin = std::max(run.to, (first_cell + from) * kCellBytes);
  const uint64_t end = std::min(run.to + run.bytes, (first_cell + to) * kCellBytes);
  get.reader->Write(begin, end - begin, cells.data());
}

void Gets::GetWord(Process& reader, const agent::GetWord& effect) {
  if (!IsMapped(reader, effect.peer)) {
    scene_.agenda.After(0, &reader.node(), [&reader, token = effect.token] {
      reader.Step(agent::WordArrived{token, absl::UnavailableError("not mapped"), 0});
    });
    return;
  }
  const Key key{reader.number(), effect.token};
  Pending& get = pending_[key];
  get.reader = &reader;
  get.source = FindProcess(scene_, effect.peer);
  get.word = true;
  const Nanos moment = MomentOrNone();
  scene_.agenda.After(moment, nullptr, [this, key] { Move(key, false); });
  if (scene_.Happens(scene_.plan.get_hangs)) return;
  const bool ok = !scene_.Happens(scene_.plan.get_fails);
  scene_.agenda.After(moment + MomentOrNone(), nullptr, [this, key, ok] { End(key, 0, ok); });
}

void Gets::End(Key key, Nanos delay, bool ok) {
  const auto found = pending_.find(key);
  if (found == pending_.end() || found->second.ending) return;
  found->second.ending = true;
  Process* reader = found->second.reader;
  scene_.agenda.After(delay, &reader->node(), [this, key, reader, ok] {
    const Pending get = pending_.at(key);
    pending_.erase(key);
    const absl::Status status = ok ? absl::OkStatus() : absl::UnavailableError("the get failed");
    if (get.word) {
      reader->Step(agent::WordArrived{key.second, status, get.value});
    } else {
      reader->Step(agent::GetDone{key.second, status});
    }
  });
}

void Gets::Close(Process& reader, Incarnation peer) {
  mapped_.erase({reader.number(), peer});
  const Process* source = FindProcess(scene_, peer);
  for (auto& [key, get] : pending_) {
    if (key.first != reader.number() || get.source != source) continue;
    End(key, scene_.dice.Time(0, kMillisecond), false);
  }
}

bool Gets::HasInto(const Process& reader, uint64_t begin, uint64_t bytes) const {
  for (auto it = pending_.lower_bound({reader.number(), 0});
       it != pending_.end() && it->first.first == reader.number(); ++it) {
    const Pending& get = it->second;
    if (get.word) continue;
    const bool touches = std::any_of(get.runs.begin(), get.runs.end(), [&](const auto& run) {
      return run.to < begin + bytes && begin < run.to + run.bytes;
    });
    if (touches) return true;
  }
  return false;
}

bool Gets::HasAny(const Process& reader) const {
  const auto it = pending_.lower_bound({reader.number(), 0});
  return it != pending_.end() && it->first.first == reader.number();
}

std::set<const Process*> Gets::ReadersOf(const Process& source, Generation generation) const {
  std::set<const Process*> readers;
  for (const auto& [key, get] : pending_) {
    const bool reads = get.source == &source && !get.word && get.generation == generation;
    if (reads) readers.insert(get.reader);
  }
  return readers;
}

}  // namespace tensorhub::fault
