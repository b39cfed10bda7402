// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// What the hub tells people of its choices (fetch_record.h).

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/core/read_graph.h"
#include "server/core/source_selection.h"

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
  if (read.excluded.contains(left.id)) return "it failed, or fell silent";
  return left.slow || stream.left.contains(left.id) ? "it was slow" : "there was a better one";
}

bool MayFollow(const Worker& reader, const Worker& holder) {
  if (!reader.read->ranges) return !holder.node.IsBelow(reader.node);
  return reader.read->origin == nullptr ? MayFeedRanges(holder) : MayFeedParts(holder, reader);
}

}  // namespace

std::optional<Candidate> ReadGraph::SecondTo(const Worker& reader, const Shard& shard,
                                             const Worker& source) const {
  if (shard.holders.size() > kComparedMax) return std::nullopt;
  std::vector<Candidate> others;
  for (const auto& [serial, holder] : shard.holders) {
    if (holder == &source || !MayServe(*holder, reader)) continue;
    if (!MayFollow(reader, *holder)) continue;
    others.push_back(CandidateOf(*holder, reader));
  }
  return Best(others);
}

// Before it is assigned.
void ReadGraph::NoteChoice(Worker& reader, const Stream& stream, const Worker& source) {
  FetchRecord& record = reader.record;
  if (record.fed == 0) record.fed = turn_.now();
  if (record.choices.size() >= FetchRecord::kChoicesMax) {
    ++record.more;
    return;
  }
  SourceChoice& choice = record.choices.emplace_back();
  choice.at = turn_.now();
  choice.part = static_cast<uint32_t>(&stream - reader.read->streams.data());
  choice.valid_chunks = reader.reference->valid_chunks;
  choice.source = source.id.key;
  choice.tier = TierBetween(source.location, reader.location);
  choice.left = WhyLeft(reader, stream, source);
  const Shard& shard = stream.from == nullptr ? *reader.reference->shard : *stream.from;
  const std::optional<Candidate> second = SecondTo(reader, shard, source);
  if (!second) {
    choice.why = shard.holders.size() > kComparedMax ? "the best of many" : "no other can serve";
    return;
  }
  const Candidate chosen = CandidateOf(source, reader);
  choice.second = roster_.FindRow(second->serial)->id.key;
  choice.why = IsBetter(chosen, *second) ? WhatDecides(chosen, *second) : "one of several";
}

}  // namespace tensorhub::hub
