// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Readers that get on by themselves, for scenarios in which it matters how fast.

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tests/unit/server/core/hub_script.h"

namespace tensorhub::hub {
namespace {

constexpr TimeMs kReportMs = 100;  // as often as agents report
constexpr uint64_t kPlenty = 1'000'000;

}  // namespace

void HubScript::Flow(const Arguments& words) {
  std::vector<std::string> names;
  for (size_t i = 2; i < words.size(); ++i) {
    const std::vector<std::string> parts = absl::StrSplit(words.At(i), '=');
    const std::vector<std::string> rates = absl::StrSplit(parts.at(1), '/');
    names.push_back(absl::StrCat(parts.at(0), "/0"));
    Agent& agent = agents_[names.back()];
    agent.in = std::stoull(rates.at(0));
    agent.out = rates.size() > 1 ? std::stoull(rates.at(1)) : agent.in;
  }
  const TimeMs end = now_ + static_cast<TimeMs>(std::stoull(words.At(1)));
  while (now_ < end) {
    Pass(Arguments(absl::StrCat("wait ", kReportMs)));
    passing_ = true;
    for (const std::string& name : names) FlowInto(name, kReportMs);
    passing_ = false;
  }
}

void HubScript::FlowInto(const std::string& name, TimeMs ms) {
  Agent& agent = agents_[name];
  const bool reads =
      agent.fetch && agent.fetch->source && agent.holding && !agent.holding->complete;
  if (!reads || agent.session == 0) return;
  const AssignmentNumber before = std::exchange(agent.follows, agent.fetch->assignment);
  if (before != 0 && before < agent.follows) {
    Send(SourceReleased{{agent.fetch->transaction, before}, agent.session});
  }
  const std::string source_name = NameOf(agent.fetch->source->key);
  const Agent& source = agents_[source_name];
  if (!source.holding) return;
  uint64_t sharers = 0;
  for (const auto& [other_name, other] : agents_) {
    const bool shares = other.fetch && other.fetch->source && other.holding &&
                        !other.holding->complete && NameOf(other.fetch->source->key) == source_name;
    if (shares) ++sharers;
  }
  const uint64_t out = (source.out == 0 ? kPlenty : source.out) / std::max<uint64_t>(1, sharers);
  agent.excess += std::min(agent.in, out) * static_cast<uint64_t>(ms);
  const uint64_t chunks = layouts_.at(agent.layout)->total_bytes() / agent.holding->chunk_bytes;
  const uint64_t offered = source.holding->complete ? chunks : source.holding->valid_chunks;
  const uint64_t wanted = agent.holding->valid_chunks + agent.excess / 1000;
  agent.excess %= 1000;
  const uint64_t valid = std::min(wanted, offered);
  if (valid <= agent.holding->valid_chunks) return;
  agent.holding->valid_chunks = static_cast<uint32_t>(valid);
  Send(Progress{{agent.holding->publication, agent.generation, agent.holding->valid_chunks},
                agent.session});
}

}  // namespace tensorhub::hub
