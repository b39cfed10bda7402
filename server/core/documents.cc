// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Layouts and attachments: they travel once per fingerprint and stay while there is room. One that
// something rests on is never forgotten for another's sake.

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "server/core/state.h"

namespace tensorhub::hub {
namespace {

// Room for one more, at the expense of the first document that nothing rests on. Its owner hears
// FAILED_PRECONDITION when it publishes, puts it again and repeats.
template <typename Document>
absl::Status MakeRoom(std::map<Fingerprint, Document>& documents, size_t limit,
                      const std::set<Fingerprint>& in_use, const char* what) {
  if (documents.size() < limit) return absl::OkStatus();
  const auto unused = std::find_if(documents.begin(), documents.end(), [&](const auto& document) {
    return !in_use.contains(document.first);
  });
  if (unused == documents.end()) {
    return absl::ResourceExhaustedError(
        absl::StrCat("this server has its ", limit, " ", what, " already, all of them in use"));
  }
  documents.erase(unused);
  return absl::OkStatus();
}

}  // namespace

void Hub::State::On(const PutLayoutOp& op) {
  if (op.layout == nullptr || !op.layout->fingerprint()) {
    return Answer(op.call, absl::InvalidArgumentError("the layout is empty"));
  }
  const Fingerprint& fingerprint = op.layout->fingerprint();
  if (layouts_.contains(fingerprint)) return Answer(op.call, absl::OkStatus());
  if (layouts_.size() >= options_.limits.layouts) {
    absl::Status status =
        MakeRoom(layouts_, options_.limits.layouts, FingerprintsInUse(), "layouts");
    if (!status.ok()) return Answer(op.call, std::move(status));
  }
  layouts_[fingerprint] = op.layout;
  LearnSizes(*op.layout);
  Answer(op.call, absl::OkStatus());
}

void Hub::State::On(const PutAttachmentOp& op) {
  if (op.bytes == nullptr || !op.fingerprint) {
    return Answer(op.call, absl::InvalidArgumentError("the attachment has no fingerprint"));
  }
  if (op.bytes->size() > kAttachmentBytesMax) {
    return Answer(op.call, absl::InvalidArgumentError(
                               absl::StrCat("an attachment of ", op.bytes->size(),
                                            " bytes; at most ", kAttachmentBytesMax, " are kept")));
  }
  if (attachments_.contains(op.fingerprint)) return Answer(op.call, absl::OkStatus());
  if (attachments_.size() >= options_.limits.attachments) {
    absl::Status status =
        MakeRoom(attachments_, options_.limits.attachments, FingerprintsInUse(), "attachments");
    if (!status.ok()) return Answer(op.call, std::move(status));
  }
  attachments_[op.fingerprint] = op.bytes;
  Answer(op.call, absl::OkStatus());
}

// Of held publications, of ranks that wait for their group to join, and of publishes that wait for
// the end of the recovery.
std::set<Fingerprint> Hub::State::FingerprintsInUse() const {
  std::set<Fingerprint> in_use;
  for (const auto& [name, model] : models_) {
    for (const auto& [version, publication] : model.held) {
      for (const auto& [rank, shard] : publication.shards) {
        in_use.insert(shard.layout);
        in_use.insert(shard.attachment);
      }
    }
  }
  for (const auto& [key, group] : groups_) {
    for (const auto& [rank, join] : group.forming) in_use.insert(join.layout);
  }
  for (const auto& [key, worker] : workers_) {
    if (!worker.op.deferred) continue;
    in_use.insert(worker.op.deferred->layout);
    in_use.insert(worker.op.deferred->attachment);
  }
  return in_use;
}

// Shards that were reported after a restart, before their layout was known again.
void Hub::State::LearnSizes(const Layout& layout) {
  for (auto& [name, model] : models_) {
    for (auto& [version, publication] : model.held) {
      const Chunking chunking{layout.total_bytes(), publication.chunk_bytes};
      for (auto& [rank, shard] : publication.shards) {
        if (shard.chunks || shard.layout != layout.fingerprint()) continue;
        // R9: the chunk size is a worker's word. One that does not fit stays unknown.
        if (!CheckChunking(chunking).ok()) continue;
        shard.bytes = chunking.total_bytes;
        shard.chunks = chunking.count();
        for (const WorkerKey& key : shard.holders) {
          Worker& holder = workers_.at(key);
          uint32_t& valid = holder.reference->valid_chunks;
          valid = std::min(valid, *shard.chunks);
          Relist(holder);
        }
      }
    }
  }
}

}  // namespace tensorhub::hub
