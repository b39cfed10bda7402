// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Layouts and attachments: they travel once per fingerprint and stay while there is room. One that
// something rests on is never forgotten for another's sake.

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/limits.h"
#include "server/core/state.h"

namespace tensorhub::hub {
namespace {

uint64_t BytesOf(const Layout& layout) { return layout.Encode().size(); }
uint64_t BytesOf(const std::string& attachment) { return attachment.size(); }

bool HasRoom(size_t count, uint64_t bytes, uint64_t more, const DocumentLimits& limits) {
  return count < limits.count && bytes + more <= limits.bytes;
}

// Room for `more` bytes, at the expense of documents that nothing rests on; of none of them if that
// is not enough. Their owners hear Remedy::kPutDocuments when they publish.
template <typename Documents>
absl::Status MakeRoom(Documents& documents, uint64_t& bytes, uint64_t more,
                      const DocumentLimits& limits, const std::set<Fingerprint>& in_use,
                      const char* what) {
  size_t used = 0;
  uint64_t used_bytes = 0;
  for (const auto& [fingerprint, document] : documents) {
    if (!in_use.contains(fingerprint)) continue;
    ++used;
    used_bytes += BytesOf(*document);
  }
  if (!HasRoom(used, used_bytes, more, limits)) {
    return absl::ResourceExhaustedError(absl::StrCat("this server has no room for ", more,
                                                     " bytes of ", what, ": ", used_bytes,
                                                     " bytes in ", used, " of them are in use"));
  }
  for (auto it = documents.begin(); !HasRoom(documents.size(), bytes, more, limits);) {
    if (in_use.contains(it->first)) {
      ++it;
      continue;
    }
    bytes -= BytesOf(*it->second);
    it = documents.erase(it);
  }
  return absl::OkStatus();
}

}  // namespace

void Hub::State::On(const PutLayoutOp& op) {
  if (op.layout == nullptr || !op.layout->fingerprint()) {
    return Answer(op.call, absl::InvalidArgumentError("the layout is empty"));
  }
  const Fingerprint& fingerprint = op.layout->fingerprint();
  if (layouts_.contains(fingerprint)) return Answer(op.call, absl::OkStatus());
  const DocumentLimits& limits = options_.limits.layouts;
  const uint64_t bytes = BytesOf(*op.layout);
  if (!HasRoom(layouts_.size(), layout_bytes_, bytes, limits)) {
    absl::Status status =
        MakeRoom(layouts_, layout_bytes_, bytes, limits, FingerprintsInUse(), "layouts");
    if (!status.ok()) return Answer(op.call, std::move(status));
  }
  layouts_[fingerprint] = op.layout;
  layout_bytes_ += bytes;
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
  const DocumentLimits& limits = options_.limits.attachments;
  const uint64_t bytes = BytesOf(*op.bytes);
  if (!HasRoom(attachments_.size(), attachment_bytes_, bytes, limits)) {
    absl::Status status = MakeRoom(attachments_, attachment_bytes_, bytes, limits,
                                   FingerprintsInUse(), "attachments");
    if (!status.ok()) return Answer(op.call, std::move(status));
  }
  attachments_[op.fingerprint] = op.bytes;
  attachment_bytes_ += bytes;
  Answer(op.call, absl::OkStatus());
}

// Of held publications, of ranks that wait for their group to join, and of publishes that wait for
// the end of the recovery.
std::set<Fingerprint> Hub::State::FingerprintsInUse() const {
  std::set<Fingerprint> in_use;
  for (const auto& [name, model] : models_) {
    for (const auto& [id, publication] : model.publications) {
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
    for (auto& [id, publication] : model.publications) {
      const Chunking chunking{layout.total_bytes(), publication.chunk_bytes};
      for (auto& [rank, shard] : publication.shards) {
        if (shard.chunks || shard.layout != layout.fingerprint()) continue;
        // R9: the chunk size is a worker's word. One that does not fit stays unknown.
        if (!CheckChunking(chunking).ok()) continue;
        shard.bytes = chunking.total_bytes;
        shard.chunks = chunking.count();
        for (const auto& [serial, holder] : shard.holders) {
          uint32_t& valid = holder->reference->valid_chunks;
          valid = std::min(valid, *shard.chunks);
          Relist(*holder);
        }
      }
    }
  }
}

}  // namespace tensorhub::hub
