// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// What a worker read and served, as events of the trace event format: a track for its fetches with
// their phases, tracks for what it read from each source, and tracks for what it served. A read has
// one id at both ends, so that an arrow leads from the source's track to the reader's, once the
// files of both are read together.
//
// Thread contract: one thread at a time.

#ifndef TENSORHUB_WORKER_AGENT_SEEN_TRACE_LINES_H_
#define TENSORHUB_WORKER_AGENT_SEEN_TRACE_LINES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "common/ids.h"
#include "worker_agent/seen/reading_watch.h"
#include "worker_agent/seen/serving_watch.h"

namespace tensorhub::agent {

class TraceLines {
 public:
  explicit TraceLines(WorkerIdentity self) : self_(std::move(self)) {}

  // `ahead_us`: by how much the time of day, since 1970, is ahead of the records' clock.
  void Add(const FetchRecord& fetch, int64_t ahead_us);
  void Add(const ServeRecord& serve, int64_t ahead_us);
  // Since the last call; a line for each event, and a comma behind it.
  std::string Take();

 private:
  // Slices of one track lie within each other or beside each other: those that overlap have one
  // each.
  struct Tracks {
    const char* name;
    int first;
    std::vector<int64_t> busy_until_us = {};
  };

  int TrackFor(Tracks& tracks, int64_t begin_us, int64_t end_us);
  void Name(const char* what, int track, const std::string& name);
  struct Slice;
  void AddSlice(const Slice& slice);
  void AddEnd(const char* phase, int track, int64_t at_us, const std::string& read);
  void AddLine(const std::string& line);

  const WorkerIdentity self_;
  bool named_ = false;
  Tracks reads_{"reads", 2};
  Tracks serves_{"serves", 10'002};
  std::string lines_;
};

}  // namespace tensorhub::agent

#endif  // TENSORHUB_WORKER_AGENT_SEEN_TRACE_LINES_H_
