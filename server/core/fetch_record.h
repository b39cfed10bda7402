// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// What is remembered of a worker's last fetch, so that people can be told where its time went and
// why it read from whom (`tensorhubctl explain`). Nothing is decided by it.

#ifndef TENSORHUB_SERVER_CORE_FETCH_RECORD_H_
#define TENSORHUB_SERVER_CORE_FETCH_RECORD_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "common/ids.h"
#include "common/location.h"
#include "common/time.h"

namespace tensorhub::hub {

// A source that a reader was given.
struct SourceChoice {
  TimeMs at = 0;              // by the hub's clock
  uint32_t part = 0;          // the stream that it feeds
  uint32_t valid_chunks = 0;  // that the reader had then
  WorkerKey source;
  Tier tier = Tier::kRemote;
  std::string why;                  // what decided
  std::optional<WorkerKey> second;  // who would have been next; none: nobody, or it is not known
  std::string left;                 // what was with the source before; empty: there was none
};

// Times are by the hub's clock; 0: that has not come yet.
struct FetchRecord {
  std::optional<VersionNumber> version;  // none: not decided
  bool already_held = false;             // nothing was to be read
  TimeMs joined = 0;
  TimeMs decided = 0;   // all ranks had joined, and the version was there
  TimeMs began = 0;     // its buffers were free
  TimeMs fed = 0;       // it had its first source
  TimeMs finished = 0;  // it had everything
  TimeMs ended = 0;     // so had its group, or the fetch failed
  absl::Status outcome;
  std::vector<SourceChoice> choices;  // the first kChoicesMax
  uint32_t more = 0;                  // choices after those

  static constexpr size_t kChoicesMax = 16;

  // The first word counts.
  void End(TimeMs at, const absl::Status& status) {
    if (ended != 0) return;
    ended = at;
    outcome = status;
  }
};

}  // namespace tensorhub::hub

#endif  // TENSORHUB_SERVER_CORE_FETCH_RECORD_H_
