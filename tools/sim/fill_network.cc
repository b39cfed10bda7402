// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// When something changes at an instant, the fills that it may concern are settled together: those
// that changed, and all that share with them a link that limits somebody. A link that could carry
// what all its fills can use concerns nobody, which keeps the parts that are solved small: in a
// chain one fill at a time.

#include "tools/sim/fill_network.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "common/check.h"

namespace tensorhub::sim {
namespace {

// Times are whole nanoseconds: positions are off by what passes in one or two of them.
constexpr double kBytesTolerance = 1024;

Nanos After(double seconds) {
  if (!(seconds < 1e9)) return std::numeric_limits<Nanos>::max() / 4;
  return std::max<Nanos>(1, static_cast<Nanos>(std::ceil(seconds * 1e9)));
}

double PartOver(const Path& path, size_t link) { return path.parts.empty() ? 1 : path.parts[link]; }

}  // namespace

LinkId FillNetwork::AddLink(double bytes_per_second) {
  TH_CHECK(bytes_per_second > 0);
  Link link;
  link.capacity = bytes_per_second;
  links_.push_back(std::move(link));
  link_index_.push_back(0);
  link_marks_.push_back(0);
  return static_cast<LinkId>(links_.size() - 1);
}

FillId FillNetwork::AddFill(double bytes, double chunk_bytes, bool whole) {
  Fill fill;
  fill.bytes = bytes;
  fill.chunk_bytes = chunk_bytes;
  fill.whole = whole;
  fill.pieces.push_back({0, whole ? bytes : 0, 0});
  fills_.push_back(std::move(fill));
  return static_cast<FillId>(fills_.size() - 1);
}

double FillNetwork::At(const Piece& piece, Nanos time) {
  return piece.bytes + piece.rate * Seconds(time - piece.at);
}

double FillNetwork::Prefix(FillId fill, Nanos now) const {
  return std::min(fills_[fill].bytes, At(fills_[fill].pieces.back(), now));
}

uint32_t FillNetwork::ValidChunks(FillId id, Nanos now) const {
  const Fill& fill = fills_[id];
  const double chunks = fill.whole ? std::ceil(fill.bytes / fill.chunk_bytes)
                                   : std::floor(Prefix(id, now) / fill.chunk_bytes + 1e-6);
  return static_cast<uint32_t>(chunks);
}

void FillNetwork::Attach(FillId reader, FillId source, const Path& path, Nanos now) {
  TH_CHECK(reader != source && !fills_[reader].attached && !fills_[reader].whole);
  now_ = now;
  Fill& fill = fills_[reader];
  fill.attached = true;
  fill.source = source;
  fill.path = path;
  fill.begins = now + 2 * path.latency;
  fills_[source].readers.push_back(reader);
  for (size_t i = 0; i < path.links.size(); ++i) {
    links_[path.links[i]].fills.push_back({reader, PartOver(path, i)});
  }
  TouchLinks(fill);
}

void FillNetwork::Detach(FillId reader, Nanos now) {
  Fill& fill = fills_[reader];
  if (!fill.attached) return;
  now_ = now;
  const double before = PrefixNow(fill);
  const double kept = std::floor(before / fill.chunk_bytes + 1e-6) * fill.chunk_bytes;
  bytes_thrown_away_ += std::max(0.0, before - kept);
  SetPiece(reader, std::min(kept, fill.bytes), 0);
  LeaveLinks(reader);
}

void FillNetwork::LeaveLinks(FillId id) {
  Fill& fill = fills_[id];
  TouchLinks(fill);
  for (const LinkId link : fill.path.links) {
    auto& fills = links_[link].fills;
    fills.erase(
        std::find_if(fills.begin(), fills.end(), [id](const Use& use) { return use.fill == id; }));
  }
  auto& readers = fills_[fill.source].readers;
  readers.erase(std::find(readers.begin(), readers.end(), id));
  fill.attached = false;
  fill.wake_at = kNever;
  fill.cap = 0;
}

// All that share a link with it: their hops depend on how many they are.
void FillNetwork::TouchLinks(const Fill& fill) {
  for (const LinkId link : fill.path.links) {
    for (const Use& use : links_[link].fills) Touch(use.fill);
  }
}

void FillNetwork::Touch(FillId id) { Wake(id, now_); }

void FillNetwork::Wake(FillId id, Nanos at) {
  Fill& fill = fills_[id];
  if (at >= fill.wake_at) return;
  fill.wake_at = at;
  wakes_.Push(at, id);
}

std::optional<Nanos> FillNetwork::NextTime() {
  while (!wakes_.empty()) {
    const Nanos at = *wakes_.NextTime();
    if (fills_[wakes_.NextPayload()].wake_at == at) return at;
    wakes_.Pop();  // was moved
  }
  return std::nullopt;
}

void FillNetwork::Advance(Nanos now, std::vector<FillId>& completed) {
  completed_.clear();
  while (true) {
    const std::optional<Nanos> next = NextTime();
    if (!next || *next > now) break;
    now_ = std::max(now_, *next);
    touched_.clear();
    for (auto at = next; at && *at <= now_; at = NextTime()) {
      const FillId id = wakes_.Pop().second;
      fills_[id].wake_at = kNever;
      if (fills_[id].attached) touched_.push_back(id);
    }
    Settle();
  }
  now_ = std::max(now_, now);
  completed.insert(completed.end(), completed_.begin(), completed_.end());
}

void FillNetwork::Settle() {
  // Who is whole leaves its links to the others, which are settled again at this instant.
  for (const FillId id : touched_) {
    const Fill& fill = fills_[id];
    if (fill.attached && PrefixNow(fill) >= fill.bytes - kBytesTolerance / 2) Complete(id);
  }
  CollectComponent();
  SolveComponent();
  for (const FillId id : component_) Schedule(id);
}

void FillNetwork::Complete(FillId id) {
  Fill& fill = fills_[id];
  SetPiece(id, fill.bytes, 0);
  fill.whole = true;
  LeaveLinks(id);
  completed_.push_back(id);
}

double FillNetwork::Share(const Fill& fill) const {
  double share = std::numeric_limits<double>::max();
  for (const LinkId id : fill.path.links) {
    const Link& link = links_[id];
    double parts = 0;
    for (const Use& use : link.fills) parts += use.part;
    share = std::min(share, link.capacity / parts);
  }
  return share;
}

// In the reader's bytes: a source of parts has a shard of another size.
FillNetwork::View FillNetwork::ViewOfSource(const Fill& fill) const {
  const Fill& source = fills_[fill.source];
  const double scale = fill.bytes / source.bytes;
  const Nanos time = now_ - fill.hop;
  View view;
  for (auto piece = source.pieces.rbegin(); piece != source.pieces.rend(); ++piece) {
    if (piece->at <= time || piece + 1 == source.pieces.rend()) {
      view.bytes = scale * (piece->at <= time ? At(*piece, time) : piece->bytes);
      view.rate = piece->at <= time ? scale * piece->rate : 0;
      if (piece->at > time) view.until = piece->at + fill.hop;
      return view;
    }
    view.until = piece->at + fill.hop;
  }
  return view;
}

// What the fill can use now, were it alone on its path.
void FillNetwork::Evaluate(FillId id) {
  Fill& fill = fills_[id];
  fill.hop = std::max<Nanos>(
      1, fill.path.latency + After((fill.chunk_bytes + ahead_bytes_) / Share(fill)));
  fill.cap = 0;
  if (now_ < fill.begins) return;
  double limit = std::numeric_limits<double>::max();
  for (size_t i = 0; i < fill.path.links.size(); ++i) {
    limit = std::min(limit, links_[fill.path.links[i]].capacity / PartOver(fill.path, i));
  }
  const View view = ViewOfSource(fill);
  const double ahead = PrefixNow(fill) - view.bytes;
  if (ahead < -kBytesTolerance) {
    fill.cap = limit;
  } else if (ahead <= kBytesTolerance) {
    fill.cap = std::min(limit, view.rate);
  }
}

bool FillNetwork::MayBind(const Link& link) {
  if (link.binding) return true;
  double wanted = 0;
  for (const Use& use : link.fills) wanted += fills_[use.fill].cap * use.part;
  return wanted > link.capacity * (1 + kRateTolerance);
}

void FillNetwork::CollectComponent() {
  ++settling_;
  component_.clear();
  component_links_.clear();
  const auto add = [this](FillId id) {
    Fill& fill = fills_[id];
    if (!fill.attached || fill.mark == settling_) return;
    fill.mark = settling_;
    Evaluate(id);
    component_.push_back(id);
  };
  for (const FillId id : touched_) add(id);
  for (size_t next = 0; next < component_.size(); ++next) {
    for (const LinkId id : fills_[component_[next]].path.links) {
      if (link_marks_[id] == settling_ || !MayBind(links_[id])) continue;
      link_marks_[id] = settling_;
      link_index_[id] = static_cast<uint32_t>(component_links_.size());
      component_links_.push_back(id);
      for (const Use& other : links_[id].fills) add(other.fill);
    }
  }
}

void FillNetwork::SolveComponent() {
  FairShareProblem problem;
  problem.capacities.reserve(component_links_.size());
  for (const LinkId id : component_links_) problem.capacities.push_back(links_[id].capacity);
  problem.flows.resize(component_.size());
  for (size_t i = 0; i < component_.size(); ++i) {
    const Fill& fill = fills_[component_[i]];
    problem.flows[i].cap = fill.cap;
    for (size_t at = 0; at < fill.path.links.size(); ++at) {
      const LinkId link = fill.path.links[at];
      if (link_marks_[link] != settling_) continue;
      problem.flows[i].links.push_back(link_index_[link]);
      problem.flows[i].parts.push_back(PartOver(fill.path, at));
    }
  }
  const FairShareResult result = SolveFairShare(problem);
  for (size_t i = 0; i < component_links_.size(); ++i) {
    links_[component_links_[i]].binding = result.binding[i] != 0;
  }
  for (size_t i = 0; i < component_.size(); ++i) {
    const double old = fills_[component_[i]].pieces.back().rate;
    const double rate = result.rates[i];
    if (std::fabs(rate - old) <= kRateTolerance * std::max(rate, old)) continue;
    SetPiece(component_[i], PrefixNow(fills_[component_[i]]), rate);
  }
}

// The filler's readers will see it a hop later.
void FillNetwork::SetPiece(FillId id, double bytes, double rate) {
  Fill& fill = fills_[id];
  ++changes_;
  const Piece& last = fill.pieces.back();
  for (size_t i = 0; i < fill.path.links.size(); ++i) {
    links_[fill.path.links[i]].bytes += (At(last, now_) - last.bytes) * PartOver(fill.path, i);
  }
  if (last.at == now_) fill.pieces.pop_back();
  fill.pieces.push_back({now_, bytes, rate});
  for (const FillId reader : fill.readers) Wake(reader, now_ + fills_[reader].hop);
}

// When the rate that was just found will not be right any more.
void FillNetwork::Schedule(FillId id) {
  Fill& fill = fills_[id];
  if (now_ < fill.begins) return Wake(id, fill.begins);
  const View view = ViewOfSource(fill);
  const double prefix = PrefixNow(fill);
  const double rate = fill.pieces.back().rate;
  Nanos at = view.until;
  if (rate > 0) at = std::min(at, now_ + After((fill.bytes - prefix) / rate));
  const double ahead = prefix - view.bytes;
  const double closing = ahead > 0 ? view.rate - rate : rate - view.rate;
  if (std::fabs(ahead) > kBytesTolerance && closing > 0) {
    at = std::min(at, now_ + After(std::fabs(ahead) / closing));
  }
  if (at != kNever) Wake(id, std::max(at, now_ + 1));
}

}  // namespace tensorhub::sim
