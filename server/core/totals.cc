// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "server/core/totals.h"

#include <algorithm>

#include "server/core/tables.h"

namespace tensorhub::hub {

// A phase that was skipped has taken no time.
void Totals::End(FetchRecord& record, TimeMs now, const absl::Status& status) {
  if (record.joined == 0 || record.ended != 0) return;
  record.End(now, status);
  ++(status.ok() ? succeeded : failed);
  const bool held = record.already_held;
  const std::array<TimeMs, kFetchPhases.size()> begins = {
      record.joined, held ? 0 : record.decided, held ? 0 : record.began, held ? 0 : record.fed,
      held ? record.decided : record.finished};
  TimeMs end = now;
  for (size_t i = begins.size(); i-- > 0;) {
    if (begins[i] == 0) continue;
    phase_ms[i] += std::max<TimeMs>(end - begins[i], 0);
    end = begins[i];
  }
}

// The first of several sources stands for all.
void Totals::CountRead(const Worker& reader, uint32_t before) {
  const Reference& reference = *reader.reference;
  if (!Reads(reader) || reference.valid_chunks <= before) return;
  const uint64_t chunk_bytes = reference.sharding->chunk_bytes;
  const uint64_t all = reference.shard->bytes;
  const auto upto = [&](uint32_t chunks) {
    return all == 0 ? chunks * chunk_bytes : std::min(chunks * chunk_bytes, all);
  };
  const Assignment* feed = FirstFeed(*reader.read);
  if (feed == nullptr) return;
  const BytesKey key{feed->tier, feed->way};
  const bool room = bytes.contains(key) || bytes.size() < kWaysMax;
  bytes[room ? key : BytesKey{key.tier, "other"}] += upto(reference.valid_chunks) - upto(before);
}

}  // namespace tensorhub::hub
