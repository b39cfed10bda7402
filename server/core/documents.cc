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

uint64_t BytesOf(const std::string& attachment) { return attachment.size(); }

// What documents take together, a table of tensors that layouts share once.
class Tally {
 public:
  void Add(const Layout& layout) {
    ++count_;
    bytes_ += layout.BytesKept();
    const TensorTable& table = *layout.table();
    if (tables_.insert(table.fingerprint()).second) bytes_ += table.BytesKept();
  }
  void Add(const std::string& attachment) {
    ++count_;
    bytes_ += BytesOf(attachment);
  }
  size_t count() const { return count_; }
  uint64_t bytes() const { return bytes_; }

 private:
  size_t count_ = 0;
  uint64_t bytes_ = 0;
  std::set<Fingerprint> tables_;
};

bool IsWithin(size_t count, uint64_t bytes, const DocumentLimits& limits) {
  return count <= limits.count && bytes <= limits.bytes;
}

// Whether there can be room for one more beside those that something rests on.
template <typename Documents, typename Document>
absl::Status CheckRoomFor(const Documents& documents, const Document& more,
                          const DocumentLimits& limits, const std::set<Fingerprint>& in_use,
                          const char* what) {
  Tally used;
  for (const auto& [fingerprint, document] : documents) {
    if (in_use.contains(fingerprint)) used.Add(*document);
  }
  Tally all = used;
  all.Add(more);
  if (IsWithin(all.count(), all.bytes(), limits)) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat("this server has no room for ", all.bytes() - used.bytes(), " bytes of ", what,
                   ": ", used.bytes(), " bytes in ", used.count(), " of them are in use"));
}

// At the expense of documents that nothing rests on, which CheckRoomFor found to be enough. Their
// owners hear Remedy::kPutDocuments when they publish.
template <typename Documents, typename HasRoom, typename Drop>
void MakeRoom(const Documents& documents, const std::set<Fingerprint>& in_use,
              const HasRoom& has_room, const Drop& drop) {
  for (auto it = documents.begin(); !has_room();) {
    const auto document = it++;
    if (!in_use.contains(document->first)) drop(document->first);
  }
}

}  // namespace

void Hub::State::On(const PutLayoutOp& op) {
  if (op.layout == nullptr || !op.layout->fingerprint()) {
    return Answer(op.call, absl::InvalidArgumentError("the layout is empty"));
  }
  if (layouts_.contains(op.layout->fingerprint())) return Answer(op.call, absl::OkStatus());
  const DocumentLimits& limits = options_.limits.layouts;
  const auto has_room = [&] {
    return IsWithin(layouts_.size() + 1, layout_bytes_ + BytesOfMore(*op.layout), limits);
  };
  if (!has_room()) {
    const std::set<Fingerprint> in_use = FingerprintsInUse();
    absl::Status status = CheckRoomFor(layouts_, *op.layout, limits, in_use, "layouts");
    if (!status.ok()) return Answer(op.call, std::move(status));
    MakeRoom(layouts_, in_use, has_room, [this](const Fingerprint& f) { DropLayout(f); });
  }
  KeepLayout(op.layout);
  LearnSizes(*op.layout);
  if (plans_lack_layouts_) RetryPlans();
  Answer(op.call, absl::OkStatus());
}

// The ranks of a group mostly differ in their boxes only.
uint64_t Hub::State::BytesOfMore(const Layout& layout) const {
  const TensorTable& table = *layout.table();
  return layout.BytesKept() + (tables_.contains(table.fingerprint()) ? 0 : table.BytesKept());
}

void Hub::State::KeepLayout(const std::shared_ptr<const Layout>& layout) {
  layout_bytes_ += BytesOfMore(*layout);
  SharedTable& shared = tables_[layout->table()->fingerprint()];
  ++shared.layouts;
  if (shared.table == nullptr) {
    shared.table = layout->table();
    layouts_[layout->fingerprint()] = layout;
    return;
  }
  const auto kept = std::make_shared<Layout>(*layout);
  kept->ShareTable(shared.table);
  layouts_[layout->fingerprint()] = kept;
}

void Hub::State::DropLayout(const Fingerprint& fingerprint) {
  const auto dropped = layouts_.extract(fingerprint);
  const Layout& layout = *dropped.mapped();
  const auto table = tables_.find(layout.table()->fingerprint());
  if (--table->second.layouts == 0) tables_.erase(table);
  layout_bytes_ -= BytesOfMore(layout);
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
  const auto has_room = [&] {
    return IsWithin(attachments_.size() + 1, attachment_bytes_ + bytes, limits);
  };
  if (!has_room()) {
    const std::set<Fingerprint> in_use = FingerprintsInUse();
    absl::Status status = CheckRoomFor(attachments_, *op.bytes, limits, in_use, "attachments");
    if (!status.ok()) return Answer(op.call, std::move(status));
    MakeRoom(attachments_, in_use, has_room, [this](const Fingerprint& fingerprint) {
      attachment_bytes_ -= BytesOf(*attachments_.extract(fingerprint).mapped());
    });
  }
  attachments_[op.fingerprint] = op.bytes;
  attachment_bytes_ += bytes;
  Answer(op.call, absl::OkStatus());
}

// Layouts of held publications, of ranks that wait for their group to join, and of publishes that
// wait for the end of the recovery.
std::set<Fingerprint> Hub::State::FingerprintsInUse() const {
  std::set<Fingerprint> in_use;
  for (const auto& [name, model] : models_) {
    for (const auto& [id, publication] : model.publications) {
      ForEachSharding(publication, [&](const Sharding& sharding) {
        for (const auto& [rank, shard] : sharding.shards) {
          in_use.insert(shard.layout);
          in_use.insert(shard.attachment);
        }
      });
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

// R9: the chunk size is a worker's word. One that does not fit stays unknown.
void Hub::State::LearnSizes(Sharding& sharding, const Layout& layout) {
  const Chunking chunking{layout.total_bytes(), sharding.chunk_bytes};
  for (auto& [rank, shard] : sharding.shards) {
    if (shard.chunks || shard.layout != layout.fingerprint()) continue;
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

// Shards that were reported after a restart, before their layout was known again.
void Hub::State::LearnSizes(const Layout& layout) {
  for (auto& [name, model] : models_) {
    for (auto& [id, publication] : model.publications) {
      ForEachSharding(publication, [&](Sharding& sharding) { LearnSizes(sharding, layout); });
    }
  }
}

}  // namespace tensorhub::hub
