// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tests/unit/worker_agent/core/world.h"

#include <algorithm>
#include <type_traits>

#include "absl/strings/str_cat.h"

namespace tensorhub::agent::testing {

namespace {

// Memory in pieces of all sizes, others in every run.
std::vector<uint64_t> PieceBegins(const WorldOptions& options) {
  Random random(options.seed);
  std::vector<uint64_t> begins;
  for (uint64_t at = 0; at < options.total_bytes; at += 1 + random.Below(3000)) {
    begins.push_back(at);
  }
  return begins;
}

}  // namespace

World::World(const WorldOptions& options)
    : schedule(options.seed),
      network(schedule, *this),
      hub(schedule, *this, options.chunk_bytes),
      options_(options),
      workers_(options.workers),
      verbs_(options.workers) {
  if (options.one_sided) hub.tier = Tier::kHost;
  network.digests_on_the_way_percent = options.digests_on_the_way_percent;
  network.words_are_asked = options.devices;
  hub.signs = options.guarded;
  for (size_t index = 0; index < size(); ++index) {
    Worker& worker = at(index);
    worker.options.self.key = {"m", absl::StrCat("g", index), 0};
    worker.options.self.incarnation = Network::IncarnationOf(index);
    worker.options.endpoint = Network::EndpointOf(index);
    worker.options.seed = options.seed * 31 + index;
    worker.options.frame_bytes = 1500;
    worker.options.window_bytes = 3 * options.chunk_bytes;
    worker.options.window_bytes_max = 24 * options.chunk_bytes;
    worker.options.send_ahead_bytes = options.chunk_bytes;
    worker.options.digests = options.digests;
    if (options.guarded) {
      worker.options.read_key = CapabilityKey::Guessable(worker.options.self.incarnation);
    }
    worker.memory.assign(options.total_bytes, '?');
    Restart(index, worker.options);
  }
}

void World::Restart(size_t index, const CoreOptions& options) {
  Worker& worker = at(index);
  worker.options = options;
  worker.core = std::make_unique<AgentCore>(worker.options);
  if (!options_.connect) return;
  Deliver(index, SessionUp{.welcome = {.guards_reads = options_.guarded}});
  Registered registered;
  registered.layout = {1, 1};
  registered.total_bytes = options_.total_bytes;
  registered.description = options_.one_sided ? "here" : "";
  if (options_.devices) {
    registered.get_bytes = 2 * options_.chunk_bytes + 100;
    registered.check_bytes = 3 * options_.chunk_bytes;
  }
  registered.piece_begins = PieceBegins(options_);
  Deliver(index, registered);
}

uint32_t World::chunks() const {
  return Chunking{options_.total_bytes, options_.chunk_bytes}.count();
}

const std::string& World::Content(VersionNumber version) {
  std::string& content = contents_[version];
  if (content.empty() && options_.total_bytes != 0) {
    Random random(version);
    content.resize(options_.total_bytes);
    for (char& byte : content) byte = static_cast<char>(random.Next());
  }
  return content;
}

void World::Derive(VersionNumber version, VersionNumber from,
                   const std::vector<uint32_t>& changed) {
  std::string content = Content(from);
  for (const uint32_t chunk : changed) content[chunk * options_.chunk_bytes] ^= 1;
  contents_[version] = std::move(content);
}

// --- verbs ---------------------------------------------------------------------------------------

void World::Ask(size_t index, const Verb& verb) {
  ++at(index).asked;
  verbs_[index] = verb;
  if (const auto* publish = std::get_if<PublishVerb>(&verb)) at(index).means = publish->version;
  Deliver(index, VerbAsked{verb});
}

absl::Status World::Do(size_t index, const Verb& verb) {
  Ask(index, verb);
  return Finish(index);
}

absl::Status World::Finish(size_t index) {
  EXPECT_TRUE(Run([&] { return Idle(index); })) << "the verb of worker " << index << " hangs";
  return Idle(index) ? at(index).done.back().status : absl::InternalError("it hangs");
}

OpId World::FetchUntilItWaits(size_t index) {
  const auto waiting = std::make_shared<OpId>(0);
  hub.script = [waiting](size_t, const Call& call) {
    if (!std::holds_alternative<protocol::FinishRead>(call.request)) return false;
    *waiting = call.op;
    return true;
  };
  Ask(index, FetchVerb{});
  EXPECT_TRUE(Run([&] { return *waiting != 0; }));
  return *waiting;
}

absl::Status World::Publish(size_t index, VersionNumber version) {
  at(index).memory = Content(version);
  return Do(index, PublishVerb{.version = version});
}

bool World::Holds(size_t index, VersionNumber version) {
  const auto report = at(index).core->Report();
  return report.holding && report.holding->complete && report.holding->version == version &&
         at(index).memory == Content(version);
}

// --- running -------------------------------------------------------------------------------------

TimeUs World::NextTick(size_t& index) {
  TimeUs first = -1;
  for (size_t each = 0; each < size(); ++each) {
    if (!schedule.running(each)) continue;
    const auto deadline = at(each).core->NextDeadline();
    if (!deadline || (first >= 0 && *deadline * 1000 >= first)) continue;
    first = std::max(*deadline * 1000, schedule.now());
    index = each;
  }
  return first;
}

// Does the next thing that is due, at the latest at `end`.
void World::Step(TimeUs end) {
  size_t index = 0;
  const TimeUs tick = NextTick(index);
  const TimeUs next = schedule.empty() ? end + 1 : schedule.next();
  if (next <= end && (tick < 0 || next < tick)) return schedule.DoNext();
  if (tick < 0 || tick > end) return schedule.AdvanceTo(end + 1);
  schedule.AdvanceTo(tick + 1);
  Deliver(index, Tick{});
}

bool World::Run(const std::function<bool()>& until, TimeMs limit_ms) {
  const TimeUs end = schedule.now() + limit_ms * 1000;
  while (!until()) {
    if (schedule.now() > end) return false;
    Step(end);
  }
  return true;
}

void World::RunFor(TimeMs duration_ms) {
  Run([] { return false; }, duration_ms);
}

bool World::RunToValid(size_t index, uint32_t chunks) {
  return Run([&] { return at(index).word.valid_chunks >= chunks; });
}

void World::SetHubAway(bool away) {
  hub.SetAway(away);
  for (size_t index = 0; index < size(); ++index) {
    schedule.Soon(index, [this, index, away] {
      if (hub.away() != away) return;  // it changed its mind
      if (away) return Deliver(index, SessionDown{});
      hub.OnSession(index, at(index).core->Report());
      Deliver(index, SessionUp{.welcome = {.guards_reads = options_.guarded}});
    });
  }
}

void World::Kill(size_t index) {
  network.Kill(index);
  if (options_.devices) at(index).memory.assign(at(index).memory.size(), '!');
  hub.OnDeath(index);
}

void World::Hear(size_t index, PeerMessage message, std::string_view payload) {
  message.to = Network::IncarnationOf(index);
  Deliver(index, MessageArrived{Encode(message), payload});
}

std::vector<PeerMessage> World::Heard(Incarnation peer) {
  std::vector<PeerMessage> messages;
  std::erase_if(network.strangers, [&](const SentToStranger& sent) {
    if (sent.to != peer) return false;
    messages.push_back(*DecodePeerMessage(sent.header));
    return true;
  });
  return messages;
}

// --- what a core asks for, and what must hold meanwhile ------------------------------------------

void World::Deliver(size_t index, const Event& event) {
  if (const auto* reply = std::get_if<CallReply>(&event)) {
    const auto* decision = std::get_if<FetchDecision>(&reply->payload);
    if (decision != nullptr && !decision->already_held) at(index).means = decision->version;
  }
  Effects effects;
  at(index).core->Step(event, now_ms(), effects);
  for (const Effect& effect : effects) CarryOut(index, effect);
}

void World::CarryOut(size_t index, const Effect& effect) {
  std::visit(
      [&](const auto& what) {
        using What = std::decay_t<decltype(what)>;
        if constexpr (std::is_same_v<What, Call>) {
          hub.OnCall(index, what);
        } else if constexpr (std::is_same_v<What, CancelCall>) {
          hub.OnCancel(index, what.op);
        } else if constexpr (std::is_same_v<What, PutDocuments>) {
          hub.OnDocuments(index);
        } else if constexpr (std::is_same_v<What, SessionSend>) {
          hub.OnSaid(index, what);
        } else if constexpr (std::is_same_v<What, MoveSession>) {
          hub.moved[index] = what.endpoint;
          schedule.Soon(index, [this, index] {
            Deliver(index, SessionDown{});
            Deliver(index, SessionUp{.welcome = {.guards_reads = options_.guarded}});
          });
        } else if constexpr (std::is_same_v<What, LogLine>) {
          at(index).log.push_back(what.text);
        } else if constexpr (std::is_same_v<What, CopyWanted>) {
          at(index).copies_wanted.push_back(what.version);
        } else if constexpr (std::is_same_v<What, CopyReleased>) {
          ++at(index).copy_released;
        } else if constexpr (std::is_same_v<What, ReadersAbandoned>) {
          ++at(index).readers_left;
        } else if constexpr (std::is_same_v<What, MakeReadPlan>) {
          hub.OnPlanWanted(index, what);
        } else if constexpr (std::is_same_v<What, FetchAdvanced>) {
          EXPECT_LE(what.bytes_done, what.bytes_total);
        } else if constexpr (std::is_same_v<What, SetControlWord> || std::is_same_v<What, CopyIn> ||
                             std::is_same_v<What, HashChunks> || std::is_same_v<What, VerbDone>) {
          Do(index, what);
        } else {
          if constexpr (std::is_same_v<What, Get>) {
            for (const CopyRun& run : what.runs) CheckWrite(index, run.to, run.bytes);
          }
          network.Do(index, what);
        }
      },
      effect);
}

// R4: generations rise; within one the count does not fall, and what it covers is whole.
void World::Do(size_t index, const SetControlWord& effect) {
  Worker& worker = at(index);
  const ControlWord before = worker.word;
  worker.word = effect.word;
  EXPECT_GE(worker.word.generation, before.generation);
  if (worker.word.generation != before.generation) {
    EXPECT_EQ(worker.word.valid_chunks, 0u);
    return;
  }
  EXPECT_GE(worker.word.valid_chunks, before.valid_chunks);
  const uint64_t begin = before.valid_chunks * options_.chunk_bytes;
  const uint64_t end = worker.word.valid_chunks * options_.chunk_bytes;
  EXPECT_TRUE(worker.memory.substr(begin, end - begin) ==
              Content(worker.means).substr(begin, end - begin))
      << "seed " << options_.seed << ": worker " << index << " committed torn bytes in chunks "
      << before.valid_chunks << " to " << worker.word.valid_chunks << " of version "
      << worker.means;
}

// A byte that is valid is not written, and one that is being written not twice.
void World::CheckWrite(size_t index, uint64_t begin, uint64_t bytes) {
  Worker& worker = at(index);
  EXPECT_GE(begin, worker.word.valid_chunks * options_.chunk_bytes) << "seed " << options_.seed;
  EXPECT_FALSE(network.HasGetInto(index, begin, begin + bytes)) << "seed " << options_.seed;
  EXPECT_LE(begin + bytes, worker.memory.size());
  EXPECT_FALSE(Idle(index)) << "seed " << options_.seed;
  EXPECT_TRUE(std::holds_alternative<FetchVerb>(verbs_[index]));
  worker.written_bytes += bytes;
}

void World::Do(size_t index, const CopyIn& effect) {
  std::string_view payload = effect.payload;
  for (const ByteRange& range : effect.ranges) {
    CheckWrite(index, range.begin, range.bytes);
    at(index).memory.replace(range.begin, range.bytes, payload.substr(0, range.bytes));
    payload.remove_prefix(range.bytes);
  }
  EXPECT_TRUE(payload.empty());
}

void World::Do(size_t index, const HashChunks& effect) {
  EXPECT_TRUE(!effect.ranges.empty() || effect.chunking.total_bytes == options_.total_bytes);
  EXPECT_LE(effect.first + effect.count, effect.ranges.empty() ? chunks() : effect.ranges.size());
  schedule.Soon(index, [this, index, effect] { Hash(index, effect); });
}

// Some time later, whatever the memory is then.
void World::Hash(size_t index, const HashChunks& effect) {
  if (hashing_hangs) {
    return schedule.At(schedule.now() + 10'000, index,
                       [this, index, effect] { Hash(index, effect); });
  }
  ChunksHashed hashed{effect.token, {}};
  for (uint32_t chunk = effect.first; chunk < effect.first + effect.count; ++chunk) {
    const auto [begin, bytes] = effect.at(chunk);
    hashed.digests.push_back(ChunkHash(at(index).memory, begin, bytes));
    at(index).hashed_bytes += bytes;
    if (effect.beside) at(index).hashed_beside_bytes += bytes;
  }
  schedule.Soon(index, [this, index, hashed] { Deliver(index, hashed); });
}

void World::Do(size_t index, const VerbDone& effect) {
  Worker& worker = at(index);
  const Verb& verb = verbs_[index];
  worker.done.push_back(effect);
  EXPECT_LE(static_cast<int>(worker.done.size()), worker.asked);
  EXPECT_FALSE(network.HasGets(index)) << "seed " << options_.seed;
  if (!effect.status.ok()) return;
  if (std::holds_alternative<FetchVerb>(verb)) {
    EXPECT_TRUE(worker.memory == Content(effect.fetch.version)) << "seed " << options_.seed;
  } else if (!std::holds_alternative<PublishVerb>(verb) && worker.scribbles) {
    worker.memory.assign(worker.memory.size(), static_cast<char>(schedule.random.Next()));
  }
}

}  // namespace tensorhub::agent::testing
