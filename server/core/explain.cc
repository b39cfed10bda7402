// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// What the hub tells people of its choices (fetch_record.h).

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/core/looks.h"
#include "server/core/source_selection.h"
#include "server/core/state.h"

namespace tensorhub::hub {
namespace {

// With more holders it is not looked for who would have been second.
constexpr size_t kComparedMax = 64;

// What was with the source that this stream had before `source`.
std::string WhyLeft(const Worker& reader, const Stream& stream, const Worker& source) {
  const Read& read = *reader.read;
  if (stream.last == 0) return "";
  const auto before = read.assignments.find(stream.last);
  if (before == read.assignments.end()) {
    return read.last_failure.ok()
               ? "it was lost"
               : absl::StrCat("it was lost: ", std::string(read.last_failure.message()));
  }
  const Worker& left = *before->second.source;
  if (&left == &source) return "it has connected anew";
  if (left.reference->state == ReferenceState::kDraining) return "it drains";
  if (read.barred.contains(left.id)) return "it failed, or fell silent";
  return left.slow || stream.left.contains(left.id) ? "it was slow" : "there was a better one";
}

bool MayFollow(const Worker& reader, const Worker& holder) {
  if (!reader.read->ranges) return !holder.node.IsBelow(reader.node);
  return reader.read->origin == nullptr ? MayFeedRanges(holder) : MayFeedParts(holder, reader);
}

}  // namespace

std::optional<Candidate> Hub::State::Looks::SecondTo(const Worker& reader, const Shard& shard,
                                                     const Worker& source) const {
  if (shard.holders.size() > kComparedMax) return std::nullopt;
  std::vector<Candidate> others;
  for (const auto& [serial, holder] : shard.holders) {
    if (holder == &source || !state.MayServe(*holder, reader)) continue;
    if (!MayFollow(reader, *holder)) continue;
    others.push_back(state.CandidateOf(*holder, reader));
  }
  return Best(others);
}

// Before it is assigned.
void Hub::State::NoteChoice(Worker& reader, const Stream& stream, const Worker& source) {
  FetchRecord& record = reader.record;
  if (record.fed == 0) record.fed = now_;
  if (record.choices.size() >= FetchRecord::kChoicesMax) {
    ++record.more;
    return;
  }
  SourceChoice& choice = record.choices.emplace_back();
  choice.at = now_;
  choice.part = static_cast<uint32_t>(&stream - reader.read->streams.data());
  choice.valid_chunks = reader.reference->valid_chunks;
  choice.source = source.id.key;
  choice.tier = TierBetween(source.location, reader.location);
  choice.left = WhyLeft(reader, stream, source);
  const Shard& shard = stream.from == nullptr ? *reader.reference->shard : *stream.from;
  const std::optional<Candidate> second = Looks{*this}.SecondTo(reader, shard, source);
  if (!second) {
    choice.why = shard.holders.size() > kComparedMax ? "the best of many" : "no other can serve";
    return;
  }
  const Candidate chosen = CandidateOf(source, reader);
  choice.second = FindRow(second->serial)->id.key;
  choice.why = IsBetter(chosen, *second) ? WhatDecides(chosen, *second) : "one of several";
}

// Fetches by group and rank. A worker that waits for one has no version yet.
std::vector<FetchView> Hub::State::Looks::Fetches(const std::string& model,
                                                  std::optional<VersionNumber> version,
                                                  const std::string& group) const {
  std::vector<FetchView> views;
  for (auto it = state.workers_.lower_bound({model, group, 0});
       it != state.workers_.end() && it->first.model == model; ++it) {
    if (!group.empty() && it->first.group != group) break;
    const FetchRecord& record = it->second.record;
    if (record.joined == 0 || (version && record.version != *version)) continue;
    views.push_back({it->first, record});
  }
  return views;
}

}  // namespace tensorhub::hub
