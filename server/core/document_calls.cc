// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Layouts and attachments as they come (documents.h), what rests on them, and what is known once a
// layout is.

#include <algorithm>

#include "server/core/state.h"

namespace tensorhub::hub {
namespace {

// Layouts of held publications, of ranks that wait for their group to join, and of publishes that
// wait for the end of the recovery.
std::set<Fingerprint> FingerprintsInUse(const Catalog& catalog, const Groups& groups,
                                        const Roster& roster) {
  std::set<Fingerprint> in_use;
  for (const auto& [name, model] : catalog.models()) {
    for (const auto& [id, publication] : model.publications) {
      ForEachSharding(publication, [&](const Sharding& sharding) {
        for (const auto& [rank, shard] : sharding.shards) {
          in_use.insert(shard.layout);
          in_use.insert(shard.attachment);
        }
      });
    }
  }
  for (const auto& [key, group] : groups.groups()) {
    for (const auto& [rank, join] : group.forming) in_use.insert(join.layout);
  }
  for (const auto& [key, worker] : roster.workers()) {
    if (!worker.op.deferred) continue;
    in_use.insert(worker.op.deferred->layout);
    in_use.insert(worker.op.deferred->attachment);
  }
  return in_use;
}

// R9: the chunk size is a worker's word. One that does not fit stays unknown.
void LearnSizesOf(Sharding& sharding, const Layout& layout, ReadGraph& graph) {
  const Chunking chunking{layout.total_bytes(), sharding.chunk_bytes};
  for (auto& [rank, shard] : sharding.shards) {
    if (shard.chunks || shard.layout != layout.fingerprint()) continue;
    if (!CheckChunking(chunking).ok()) continue;
    shard.bytes = chunking.total_bytes;
    shard.chunks = chunking.count();
    for (const auto& [serial, holder] : shard.holders) {
      uint32_t& valid = holder->reference->valid_chunks;
      valid = std::min(valid, *shard.chunks);
      graph.MarkIndexStale(*holder);
    }
  }
}

}  // namespace

void Hub::State::On(const PutLayoutOp& op) {
  const absl::StatusOr<bool> is_new =
      documents_.PutLayout(op.layout, [this] { return FingerprintsInUse(*this, *this, *this); });
  if (is_new.ok() && *is_new) {
    LearnSizes(*op.layout);
    if (plans_.TakeLacked()) RetryPlans();
  }
  Answer(op.call, is_new.status());
}

void Hub::State::On(const PutAttachmentOp& op) {
  Answer(op.call, documents_.PutAttachment(op.fingerprint, op.bytes, [this] {
    return FingerprintsInUse(*this, *this, *this);
  }));
}

// Shards that were reported after a restart, before their layout was known again.
void Hub::State::LearnSizes(const Layout& layout) {
  for (auto& [name, model] : models_) {
    for (auto& [id, publication] : model.publications) {
      ForEachSharding(publication,
                      [&](Sharding& sharding) { LearnSizesOf(sharding, layout, graph_); });
    }
  }
}

}  // namespace tensorhub::hub
