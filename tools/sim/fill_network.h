// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// A network through which buffers fill each other. A *fill* is one shard (or one stripe of it) at
// one worker; it reads from another fill over a path of links, which it shares with others max-min
// fairly. Its prefix is a piecewise linear function of time, so that the cost of a run is in the
// changes of rates and not in the chunks.
//
// A reader is never ahead of its source: prefix(reader, t) <= prefix(source, t - hop), where
// hop = latency + chunk / (the reader's share of its path). With that the k-th chunk commits
// exactly when a chunk-wise relay commits it: the source has it whole, tells, sends, the reader has
// it whole. Not modelled: how congestion control reaches the fair rates, and losses.
//
// Thread contract: none; one thread at a time. Time never goes back.

#ifndef TENSORHUB_TOOLS_SIM_FILL_NETWORK_H_
#define TENSORHUB_TOOLS_SIM_FILL_NETWORK_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "tools/sim/event_queue.h"
#include "tools/sim/fair_share.h"

namespace tensorhub::sim {

using LinkId = uint32_t;
using FillId = uint32_t;

struct Path {
  std::vector<LinkId> links;  // each once
  Nanos latency = 0;          // one way
  // Parts of the reader's rate that go over each link, of several sources; empty: all of it.
  std::vector<double> parts = {};
};

class FillNetwork {
 public:
  // `ahead_bytes`: a source confirms a chunk only behind so much of what follows it.
  explicit FillNetwork(double ahead_bytes = 0) : ahead_bytes_(ahead_bytes) {}

  LinkId AddLink(double bytes_per_second);
  // `whole`: it has all its bytes from the start.
  FillId AddFill(double bytes, double chunk_bytes, bool whole);

  // `reader` asks `source`, which takes a round trip, and reads until it is whole or detached. Of
  // several sources, which are whole and keep step, any.
  void Attach(FillId reader, FillId source, const Path& path, Nanos now);
  // Keeps the whole chunks; nothing happens if it is not attached.
  void Detach(FillId reader, Nanos now);
  bool IsAttached(FillId fill) const { return fills_[fill].attached; }
  std::vector<FillId> ReadersOf(FillId source) const { return fills_[source].readers; }

  double Prefix(FillId fill, Nanos now) const;
  uint32_t ValidChunks(FillId fill, Nanos now) const;
  bool IsWhole(FillId fill) const { return fills_[fill].whole; }

  std::optional<Nanos> NextTime();
  // Up to `now`; appends the fills that became whole, in order.
  void Advance(Nanos now, std::vector<FillId>& completed);

  double BytesThrough(LinkId link) const { return links_[link].bytes; }
  double CapacityOf(LinkId link) const { return links_[link].capacity; }
  double bytes_thrown_away() const { return bytes_thrown_away_; }
  uint64_t changes() const { return changes_; }  // of rates, for whoever tunes the simulator

 private:
  // From `at` on the prefix is `bytes` and rises by `rate` per second.
  struct Piece {
    Nanos at = 0;
    double bytes = 0;
    double rate = 0;
  };
  struct Use {
    FillId fill = 0;
    double part = 1;  // of its rate
  };
  struct Link {
    double capacity = 0;
    double bytes = 0;
    bool binding = false;  // in the last solution
    std::vector<Use> fills;
  };
  struct Fill {
    double bytes = 0;
    double chunk_bytes = 0;
    bool whole = false;
    bool attached = false;
    FillId source = 0;
    Path path;
    Nanos begins = 0;  // reading, after the round trip
    Nanos hop = 0;
    double cap = 0;
    std::vector<Piece> pieces;  // by time; the last one holds now
    std::vector<FillId> readers;
    Nanos wake_at = kNever;
    uint64_t mark = 0;  // of the settling that visited it last
  };
  // What a fill sees of its source: the delayed prefix now, its slope, and until when that holds.
  struct View {
    double bytes = 0;
    double rate = 0;
    Nanos until = kNever;
  };
  static constexpr Nanos kNever = INT64_MAX;

  static double At(const Piece& piece, Nanos time);
  double PrefixNow(const Fill& fill) const { return At(fill.pieces.back(), now_); }
  View ViewOfSource(const Fill& fill) const;
  double Share(const Fill& fill) const;
  void SetPiece(FillId id, double bytes, double rate);
  void Wake(FillId id, Nanos at);
  void Touch(FillId id);
  void TouchLinks(const Fill& fill);
  void Settle();
  void Evaluate(FillId id);
  bool MayBind(const Link& link);
  void CollectComponent();
  void SolveComponent();
  void Schedule(FillId id);
  void Complete(FillId id);
  void LeaveLinks(FillId id);

  double ahead_bytes_;
  Nanos now_ = 0;
  std::vector<Link> links_;
  std::vector<Fill> fills_;
  EventQueue<FillId> wakes_;
  std::vector<FillId> touched_;
  std::vector<FillId> component_;
  std::vector<LinkId> component_links_;
  std::vector<uint32_t> link_index_;  // by link: place in component_links_
  std::vector<uint64_t> link_marks_;  // by link
  std::vector<FillId> completed_;
  uint64_t settling_ = 0;
  uint64_t changes_ = 0;
  double bytes_thrown_away_ = 0;
};

}  // namespace tensorhub::sim

#endif  // TENSORHUB_TOOLS_SIM_FILL_NETWORK_H_
