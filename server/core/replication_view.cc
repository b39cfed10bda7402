// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The upper part of the tree in which a version spreads.

#include <algorithm>
#include <unordered_map>
#include <utility>
#include <vector>

#include "server/core/fleet_views.h"
#include "server/core/looks.h"
#include "server/core/state.h"

namespace tensorhub::hub {
namespace {

constexpr size_t kNobody = ~size_t{0};

// The holders of one version, by their keys, and how they hang together. Numbers stand for them.
class Forest {
 public:
  explicit Forest(std::vector<const Worker*> members) : members_(std::move(members)) {
    std::unordered_map<const Worker*, size_t> number_of(members_.size());
    for (size_t i = 0; i < members_.size(); ++i) number_of[members_[i]] = i;
    source_.assign(members_.size(), kNobody);
    readers_.resize(members_.size());
    for (size_t i = 0; i < members_.size(); ++i) {
      const Worker& member = *members_[i];
      const Assignment* feed = Reads(member) ? FirstFeed(*member.read) : nullptr;
      const auto source = feed == nullptr ? number_of.end() : number_of.find(feed->source);
      if (source == number_of.end() || source->second == i) continue;
      source_[i] = source->second;
      readers_[source->second].push_back(i);
    }
  }

  bool IsRoot(size_t member) const { return source_[member] == kNobody; }
  bool IsIdle(size_t member) const {
    return IsRoot(member) && readers_[member].empty() && !Reads(*members_[member]);
  }

  // Level by level; idle holders come last, and are counted.
  std::vector<size_t> Order(size_t& idle) const {
    Taken taken{{}, std::vector<char>(members_.size())};
    for (size_t i = 0; i < members_.size(); ++i) {
      if (IsRoot(i) && !IsIdle(i)) taken.Take(i);
    }
    Descend(0, taken);
    // R5: there is no circle. Who looks is not to hang if there is one.
    for (size_t i = 0; i < members_.size(); ++i) {
      if (IsIdle(i)) continue;
      taken.Take(i);
      Descend(taken.order.size() - 1, taken);
    }
    const size_t moving = taken.order.size();
    for (size_t i = 0; i < members_.size(); ++i) taken.Take(i);
    idle = taken.order.size() - moving;
    return std::move(taken.order);
  }

  // For each: how many of those behind the first `listed` of `order` are below it.
  std::vector<uint32_t> LeftOut(const std::vector<size_t>& order, size_t listed) const {
    std::vector<uint32_t> below(members_.size());
    for (size_t at = order.size(); at-- > 0;) {
      const size_t source = source_[order[at]];
      if (source == kNobody) continue;
      below[source] += below[order[at]] + (at >= listed ? 1 : 0);
    }
    return below;
  }

 private:
  struct Taken {
    std::vector<size_t> order;
    std::vector<char> seen;
    void Take(size_t member) {
      if (!std::exchange(seen[member], 1)) order.push_back(member);
    }
  };

  void Descend(size_t from, Taken& taken) const {
    for (size_t at = from; at < taken.order.size(); ++at) {
      for (const size_t reader : readers_[taken.order[at]]) taken.Take(reader);
    }
  }

  std::vector<const Worker*> members_;
  std::vector<size_t> source_;
  std::vector<std::vector<size_t>> readers_;
};

std::vector<FeedView> FeedsOf(const Read& read) {
  std::vector<FeedView> feeds;
  for (const Stream& stream : read.streams) {
    if (stream.current == 0) continue;
    const Assignment& assignment = read.assignments.at(stream.current);
    feeds.push_back({assignment.source->id.key, assignment.tier, assignment.way});
  }
  return feeds;
}

}  // namespace

MemberView Hub::State::Looks::ViewOfMember(const Worker& worker, TimeMs now) {
  MemberView view;
  view.reference = ViewOfReference(worker);
  view.reads = Reads(worker);
  if (!view.reads) return view;
  view.running_ms = std::max<TimeMs>(0, now - worker.read->began);
  view.feeds = FeedsOf(*worker.read);
  return view;
}

ReplicationView Hub::State::Looks::Replication(const std::string& model, VersionNumber version,
                                               size_t limit, TimeMs now) const {
  std::vector<const Worker*> members;
  ReplicationView view;
  for (auto it = state.workers_.lower_bound({model, "", 0});
       it != state.workers_.end() && it->first.model == model; ++it) {
    const Worker& worker = it->second;
    if (!worker.reference || worker.reference->version != version) continue;
    members.push_back(&worker);
    if (worker.reference->state == ReferenceState::kComplete) ++view.complete;
  }
  view.members = static_cast<uint32_t>(members.size());
  const Forest forest(members);
  size_t idle = 0;
  const std::vector<size_t> order = forest.Order(idle);
  const size_t listed = std::min(limit, order.size());
  const std::vector<uint32_t> left_out = forest.LeftOut(order, listed);
  for (size_t at = 0; at < listed; ++at) {
    view.listed.push_back(ViewOfMember(*members[order[at]], now));
    view.listed.back().below_left_out = left_out[order[at]];
  }
  view.idle_left_out = static_cast<uint32_t>(std::min(idle, order.size() - listed));
  return view;
}

}  // namespace tensorhub::hub
