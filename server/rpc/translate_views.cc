// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "server/rpc/translate_views.h"

#include <string>

#include "protocol/codec/fields.h"

namespace tensorhub::rpc {
namespace {

const char* KindText(hub::ModelChange::Kind kind) {
  switch (kind) {
    case hub::ModelChange::Kind::kVersionVisible:
      return "version-visible";
    case hub::ModelChange::Kind::kVersionGone:
      return "version-gone";
    case hub::ModelChange::Kind::kTermBegun:
      return "term-begun";
    case hub::ModelChange::Kind::kReplicaComplete:
      return "replica-complete";
    case hub::ModelChange::Kind::kReplicaGone:
      return "replica-gone";
    case hub::ModelChange::Kind::kWorkerJoined:
      return "worker-joined";
    case hub::ModelChange::Kind::kWorkerLeft:
      return "worker-left";
  }
  return "";
}

void Fill(const hub::SourceChoice& choice, TimeMs joined, v1::SourceChoiceInfo& out) {
  out.set_after_ms(choice.at - joined);
  out.set_part(choice.part);
  out.set_valid_chunks(choice.valid_chunks);
  out.set_group(choice.source.group);
  out.set_rank(choice.source.rank);
  out.set_tier(std::string(ToString(choice.tier)));
  out.set_why(choice.why);
  if (choice.second) {
    out.set_second_group(choice.second->group);
    out.set_second_rank(choice.second->rank);
  }
  out.set_left(choice.left);
}

template <typename Info>
void FillSharding(const ShardingRef& sharding, Info& out) {
  if (!sharding) return;
  out.set_sharding(protocol::IdBytes(sharding.id));
  out.set_full(sharding.full);
}

}  // namespace

void Fill(const hub::StatusView& view, v1::GetStatusResponse& out) {
  out.set_recovering(view.recovering);
  out.set_models(view.models);
  out.set_workers(view.workers);
  out.set_connected(view.connected);
  out.set_references(view.references);
  out.set_transfers(view.transfers);
  out.set_decisions(view.decisions);
}

void Fill(const hub::ModelView& view, v1::ModelInfo& out) {
  out.set_model(view.model);
  out.set_has_latest(view.has_latest);
  out.set_latest(view.latest);
  out.set_versions(view.versions);
  out.set_replicas(view.replicas);
  out.set_workers(view.workers);
  out.set_keep_latest(view.keep_latest);
  out.set_term(view.term);
}

void Fill(const hub::VersionView& view, v1::VersionInfo& out) {
  out.set_version(view.version);
  out.set_publication(protocol::IdBytes(view.publication));
  out.set_identity(protocol::IdBytes(view.identity));
  out.set_state(std::string(ToString(view.state)));
  out.set_term(view.term);
  out.set_world_size(view.world_size);
  out.set_bytes(view.bytes);
  out.set_chunk_bytes(view.chunk_bytes);
  out.set_complete_replicas(view.complete_replicas);
  out.set_filling_replicas(view.filling_replicas);
  for (const std::string& why : view.kept_by) out.add_kept_by(why);
  for (const Fingerprint& layout : view.layouts) out.add_layouts(protocol::IdBytes(layout));
  for (const Fingerprint& attachment : view.attachments)
    out.add_attachments(protocol::IdBytes(attachment));
}

void Fill(const hub::ReferenceView& view, v1::ReferenceInfo& out) {
  out.set_model(view.model);
  out.set_group(view.group);
  out.set_rank(view.worker.key.rank);
  out.set_incarnation(view.worker.incarnation);
  out.set_version(view.version);
  out.set_publication(protocol::IdBytes(view.publication));
  out.set_location(view.location);
  out.set_medium(view.medium);
  out.set_generation(view.generation);
  out.set_state(std::string(ToString(view.state)));
  out.set_valid_chunks(view.valid_chunks);
  out.set_chunks(view.chunks);
  out.set_readers(view.readers);
  FillSharding(view.sharding, out);
}

void Fill(const hub::WorkerView& view, v1::WorkerInfo& out) {
  out.set_model(view.worker.key.model);
  out.set_group(view.worker.key.group);
  out.set_rank(view.worker.key.rank);
  out.set_incarnation(view.worker.incarnation);
  out.set_world_size(view.world_size);
  out.set_location(view.location);
  out.set_connected(view.connected);
  out.set_spot(!view.stable);
  out.set_lease_left_ms(view.lease_left_ms);
  out.set_stalled_ms(view.stalled_ms);
  out.set_withdrawn(view.withdrawn);
  out.set_readers(view.readers);
  if (view.holds) out.set_version(view.version);
}

void Fill(const hub::TransferView& view, v1::TransferInfo& out) {
  out.set_model(view.reader.key.model);
  out.set_reader_group(view.reader.key.group);
  out.set_reader_rank(view.reader.key.rank);
  if (view.source.incarnation != 0) {
    out.set_source_group(view.source.key.group);
    out.set_source_rank(view.source.key.rank);
  }
  out.set_sources(view.sources);
  out.set_version(view.version);
  out.set_valid_chunks(view.valid_chunks);
  out.set_chunks(view.chunks);
  out.set_chunk_bytes(view.chunk_bytes);
  out.set_tier(std::string(ToString(view.tier)));
  out.set_running_ms(view.running_ms);
  out.set_way(view.way);
  FillSharding(view.sharding, out);
}

// A phase ends where the next one begins, or where the fetch ended, or has got to now.
void Fill(const hub::FetchView& view, TimeMs now, v1::FetchInfo& out) {
  const hub::FetchRecord& record = view.record;
  const TimeMs end = record.ended != 0 ? record.ended : now;
  const auto until = [end](TimeMs next) { return next != 0 ? next : end; };
  out.set_group(view.reader.group);
  out.set_rank(view.reader.rank);
  if (record.version) out.set_version(*record.version);
  out.set_ended(record.ended != 0);
  out.set_code(static_cast<uint32_t>(record.outcome.code()));
  out.set_error(std::string(record.outcome.message()));
  out.set_already_held(record.already_held);
  out.set_age_ms(now - record.joined);
  out.set_join_ms(until(record.decided) - record.joined);
  const bool reads = record.decided != 0 && !record.already_held;
  if (reads) out.set_drain_ms(until(record.began) - record.decided);
  if (record.began != 0) out.set_assign_ms(until(record.fed) - record.began);
  if (record.fed != 0) out.set_read_ms(until(record.finished) - record.fed);
  if (record.finished != 0) out.set_commit_ms(until(record.ended) - record.finished);
  for (const hub::SourceChoice& choice : record.choices) {
    Fill(choice, record.joined, *out.add_choices());
  }
  out.set_more_choices(record.more);
}

void Fill(const hub::ModelChange& change, v1::Change& out) {
  out.set_kind(KindText(change.kind));
  out.set_version(change.version);
  out.set_group(change.group);
}

}  // namespace tensorhub::rpc
