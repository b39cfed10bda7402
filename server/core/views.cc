// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Snapshots of the tables for people and tests. Everything is counted anew: nobody asks often.

#include "server/core/views.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "server/core/looks.h"
#include "server/core/state.h"

namespace tensorhub::hub {
namespace {

uint32_t CompleteReplicas(const Publication& publication) {
  uint32_t count = 0;
  ForEachSharding(publication, [&](const Sharding& sharding) {
    for (const auto& [group, ranks] : sharding.complete_ranks) {
      if (ranks == sharding.world_size) ++count;
    }
  });
  return count;
}

VersionState StateOf(const Publication& publication) {
  if (!publication.visible) return VersionState::kPublishing;
  if (publication.superseded) return VersionState::kSuperseded;
  return publication.listed() ? VersionState::kVisible : VersionState::kLost;
}

// As it was published, if that is known still.
const Sharding& CutOf(const Publication& publication) {
  const Sharding& published = publication.published;
  const bool lacking = published.shards.size() < published.world_size && publication.visible;
  return published.world_size == 0 || lacking ? publication.origin() : published;
}

VersionView ViewOfVersion(const Publication& publication) {
  const Sharding& cut = CutOf(publication);
  VersionView view;
  view.version = publication.version;
  view.publication = publication.id;
  view.term = publication.term.number;
  view.state = StateOf(publication);
  view.identity = publication.identity;
  view.world_size = cut.world_size;
  view.chunk_bytes = cut.chunk_bytes;
  view.complete_replicas = CompleteReplicas(publication);
  view.layouts.resize(cut.world_size);
  view.attachments.resize(cut.world_size);
  for (const auto& [rank, shard] : cut.shards) {
    view.bytes += shard.bytes;
    view.layouts[rank] = shard.layout;
    view.attachments[rank] = shard.attachment;
  }
  return view;
}

bool Running(const Worker& worker) { return worker.read && worker.read->running; }

// After a term has begun, a number above the latest is an older content.
void CountWorker(const Worker& worker, ModelView& view) {
  if (!worker.alive) return;
  ++view.workers;
  if (!worker.reference || !view.has_latest) return;
  const VersionNumber held = worker.reference->version;
  if (held >= view.latest) return;
  ++view.behind;
  view.lag_max = std::max(view.lag_max, view.latest - held);
}

}  // namespace

std::string_view ToString(VersionState state) {
  switch (state) {
    case VersionState::kPublishing:
      return "publishing";
    case VersionState::kVisible:
      return "visible";
    case VersionState::kLost:
      return "lost";
    case VersionState::kSuperseded:
      return "superseded";
  }
  return "?";
}

std::string_view ToString(ReferenceState state) {
  switch (state) {
    case ReferenceState::kPublishing:
      return "publishing";
    case ReferenceState::kFilling:
      return "filling";
    case ReferenceState::kComplete:
      return "complete";
    case ReferenceState::kDraining:
      return "draining";
  }
  return "?";
}

ModelView Hub::State::Looks::ViewOf(const std::string& name, const Model& model) const {
  ModelView view;
  view.model = name;
  view.has_latest = model.latest.has_value();
  view.latest = model.latest.value_or(0);
  view.keep_latest = state.retention_.KeepLatest(model);
  view.term = model.terms.now().number;
  for (const auto& [version, publication] : model.held) {
    if (publication->listed()) ++view.versions;
    if (version == model.latest) view.latest_held = publication->listed();
    view.replicas += CompleteReplicas(*publication);
  }
  for (auto it = state.workers_.lower_bound({name, "", 0});
       it != state.workers_.end() && it->first.model == name; ++it) {
    CountWorker(it->second, view);
  }
  return view;
}

std::vector<ModelView> Hub::State::Looks::Models(const std::string& after, size_t limit) const {
  std::vector<ModelView> views;
  auto it = after.empty() ? state.models_.begin() : state.models_.upper_bound(after);
  for (; it != state.models_.end() && views.size() < limit; ++it) {
    views.push_back(ViewOf(it->first, it->second));
  }
  return views;
}

// Versions that are held, and those that were visible once and are held by nobody any more; by
// number and term.
std::vector<VersionView> Hub::State::Looks::Versions(const std::string& name) const {
  const auto found = state.models_.find(name);
  if (found == state.models_.end()) return {};
  const Model& model = found->second;
  std::map<std::tuple<VersionNumber, TermNumber, PublicationId>, VersionView> views;
  for (const auto& [version, publication] : model.visible) {
    if (model.publications.contains(publication)) continue;
    VersionView& view = views[{version, kTermMax + 1, publication}];  // of no superseded one
    view.version = version;
    view.publication = publication;
    view.state = VersionState::kLost;
    if (version == model.latest) view.identity = model.identity;
  }
  for (const auto& [id, publication] : model.publications) {
    VersionView& view = views[{publication.version, publication.term.number, id}];
    view = ViewOfVersion(publication);
    view.kept_by = state.retention_.KeptBy(publication);
    std::set<std::string> filling;
    ForEachSharding(publication, [&](const Sharding& sharding) {
      for (const auto& [rank, shard] : sharding.shards) {
        for (const auto& [serial, holder] : shard.holders) {
          const bool fills = holder->reference->state == ReferenceState::kFilling;
          if (fills) filling.insert(holder->id.key.group);
        }
      }
    });
    view.filling_replicas = static_cast<uint32_t>(filling.size());
  }
  std::vector<VersionView> rows;
  rows.reserve(views.size());
  for (auto& [key, view] : views) rows.push_back(std::move(view));
  return rows;
}

ReferenceView Hub::State::Looks::ViewOfReference(const Worker& worker) {
  const Reference& reference = *worker.reference;
  ReferenceView view;
  view.model = worker.id.key.model;
  view.group = worker.id.key.group;
  view.version = reference.version;
  view.publication = reference.publication;
  view.worker = worker.id;
  view.location = worker.location.ToString();
  view.medium = worker.medium;
  view.sharding = reference.sharding->ref();
  view.generation = reference.generation;
  view.state = reference.state;
  view.valid_chunks = reference.valid_chunks;
  view.chunks = reference.shard->chunks.value_or(0);
  view.readers = static_cast<uint32_t>(reference.readers.size());
  return view;
}

// References by group and rank.
std::vector<ReferenceView> Hub::State::Looks::References(
    const std::string& model, std::optional<VersionNumber> version) const {
  std::vector<ReferenceView> views;
  for (auto it = state.workers_.lower_bound({model, "", 0});
       it != state.workers_.end() && it->first.model == model; ++it) {
    const Worker& worker = it->second;
    if (!worker.reference || (version && worker.reference->version != *version)) continue;
    views.push_back(ViewOfReference(worker));
  }
  return views;
}

WorkerView Hub::State::Looks::ViewOf(const Worker& worker, TimeMs now) {
  WorkerView view;
  view.worker = worker.id;
  view.world_size = worker.world_size;
  view.location = worker.location.ToString();
  view.connected = worker.session != 0;
  view.stable = worker.stable;
  view.lease_left_ms = std::max<TimeMs>(0, worker.lease_end - now);
  view.stalled_ms = worker.stalled_ms;
  view.withdrawn = worker.withdrawn;
  view.holds = worker.reference.has_value();
  if (!view.holds) return view;
  view.version = worker.reference->version;
  view.state = worker.reference->state;
  view.readers = static_cast<uint32_t>(worker.reference->readers.size());
  view.valid_chunks = worker.reference->valid_chunks;
  view.chunks = worker.reference->shard->chunks.value_or(0);
  return view;
}

// Workers within their leases.
std::vector<WorkerView> Hub::State::Looks::Workers(TimeMs now) const {
  std::vector<WorkerView> views;
  for (const auto& [key, worker] : state.workers_) {
    if (worker.alive) views.push_back(ViewOf(worker, now));
  }
  return views;
}

std::vector<TransferView> Hub::State::Looks::Transfers(TimeMs now) const {
  std::vector<TransferView> views;
  for (const auto& [key, worker] : state.workers_) {
    if (!Running(worker)) continue;
    const Read& read = *worker.read;
    TransferView view;
    view.reader = worker.id;
    view.version = read.version;
    view.running_ms = std::max<TimeMs>(0, now - read.began);
    for (const Stream& stream : read.streams) {
      if (stream.current == 0 || view.sources++ > 0) continue;
      const Assignment& assignment = read.assignments.at(stream.current);
      view.source = assignment.source->id;
      view.tier = assignment.tier;
      view.way = assignment.way;
    }
    const bool listed = worker.reference && worker.reference->publication == read.publication;
    if (listed) {
      view.valid_chunks = worker.reference->valid_chunks;
      view.chunk_bytes = worker.reference->sharding->chunk_bytes;
      view.chunks = worker.reference->shard->chunks.value_or(0);
      view.sharding = worker.reference->sharding->ref();
    }
    views.push_back(std::move(view));
  }
  return views;
}

StatusView Hub::State::Looks::Status() const {
  StatusView view;
  view.models = static_cast<uint32_t>(state.models_.size());
  view.workers = static_cast<uint32_t>(state.alive_);
  view.connected = static_cast<uint32_t>(state.sessions_.size());
  for (const auto& [key, worker] : state.workers_) {
    if (worker.reference) ++view.references;
    if (Running(worker)) ++view.transfers;
  }
  view.recovering = state.recovering_;
  view.decisions = state.graph_.decisions();
  return view;
}

uint64_t Hub::State::Looks::Revision(const std::string& model) const {
  const auto it = state.models_.find(model);
  return it == state.models_.end() ? 0 : it->second.revision;
}

}  // namespace tensorhub::hub
