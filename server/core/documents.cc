// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "server/core/documents.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/limits.h"

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

// At the expense of documents that nothing rests on, which CheckRoomFor found to be enough.
template <typename Documents, typename HasRoom, typename Drop>
void MakeRoom(const Documents& documents, const std::set<Fingerprint>& in_use,
              const HasRoom& has_room, const Drop& drop) {
  for (auto it = documents.begin(); !has_room();) {
    const auto document = it++;
    if (!in_use.contains(document->first)) drop(document->first);
  }
}

}  // namespace

absl::StatusOr<bool> Documents::PutLayout(const std::shared_ptr<const Layout>& layout,
                                          InUse in_use) {
  if (layout == nullptr || !layout->fingerprint()) {
    return absl::InvalidArgumentError("the layout is empty");
  }
  if (HasLayout(layout->fingerprint())) return false;
  const auto has_room = [&] {
    return IsWithin(layouts_.size() + 1, layout_bytes_ + BytesOfMore(*layout), layout_limits_);
  };
  if (!has_room()) {
    const std::set<Fingerprint> used = in_use();
    absl::Status status = CheckRoomFor(layouts_, *layout, layout_limits_, used, "layouts");
    if (!status.ok()) return status;
    MakeRoom(layouts_, used, has_room, [this](const Fingerprint& f) { DropLayout(f); });
  }
  KeepLayout(layout);
  return true;
}

// The ranks of a group mostly differ in their boxes only.
uint64_t Documents::BytesOfMore(const Layout& layout) const {
  const TensorTable& table = *layout.table();
  return layout.BytesKept() + (tables_.contains(table.fingerprint()) ? 0 : table.BytesKept());
}

void Documents::KeepLayout(const std::shared_ptr<const Layout>& layout) {
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

void Documents::DropLayout(const Fingerprint& fingerprint) {
  const auto dropped = layouts_.extract(fingerprint);
  const Layout& layout = *dropped.mapped();
  const auto table = tables_.find(layout.table()->fingerprint());
  if (--table->second.layouts == 0) tables_.erase(table);
  layout_bytes_ -= BytesOfMore(layout);
}

absl::Status Documents::PutAttachment(const Fingerprint& fingerprint,
                                      const std::shared_ptr<const std::string>& bytes,
                                      InUse in_use) {
  if (bytes == nullptr || !fingerprint) {
    return absl::InvalidArgumentError("the attachment has no fingerprint");
  }
  if (bytes->size() > kAttachmentBytesMax) {
    return absl::InvalidArgumentError(absl::StrCat(
        "an attachment of ", bytes->size(), " bytes; at most ", kAttachmentBytesMax, " are kept"));
  }
  if (HasAttachment(fingerprint)) return absl::OkStatus();
  const uint64_t more = BytesOf(*bytes);
  const auto has_room = [&] {
    return IsWithin(attachments_.size() + 1, attachment_bytes_ + more, attachment_limits_);
  };
  if (!has_room()) {
    const std::set<Fingerprint> used = in_use();
    absl::Status status =
        CheckRoomFor(attachments_, *bytes, attachment_limits_, used, "attachments");
    if (!status.ok()) return status;
    MakeRoom(attachments_, used, has_room, [this](const Fingerprint& dropped) {
      attachment_bytes_ -= BytesOf(*attachments_.extract(dropped).mapped());
    });
  }
  attachments_[fingerprint] = bytes;
  attachment_bytes_ += more;
  return absl::OkStatus();
}

std::shared_ptr<const Layout> Documents::FindLayout(const Fingerprint& fingerprint) const {
  const auto it = layouts_.find(fingerprint);
  return it == layouts_.end() ? nullptr : it->second;
}

std::shared_ptr<const std::string> Documents::FindAttachment(const Fingerprint& fingerprint) const {
  const auto it = attachments_.find(fingerprint);
  return it == attachments_.end() ? nullptr : it->second;
}

std::string Documents::Difference(const Fingerprint& layout, const Fingerprint& other) const {
  const auto theirs = layouts_.find(other);
  if (theirs == layouts_.end()) return "fingerprints differ";
  return DescribeDifference(*layouts_.at(layout), *theirs->second);
}

void Documents::CheckInvariants() const {
  TH_CHECK(IsWithin(layouts_.size(), layout_bytes_, layout_limits_));
  TH_CHECK(IsWithin(attachments_.size(), attachment_bytes_, attachment_limits_));
  uint64_t bytes = 0;
  std::map<Fingerprint, size_t> users;
  for (const auto& [fingerprint, layout] : layouts_) {
    bytes += layout->BytesKept();
    ++users[layout->table()->fingerprint()];
    TH_CHECK(tables_.at(layout->table()->fingerprint()).table == layout->table());
  }
  for (const auto& [fingerprint, shared] : tables_) {
    bytes += shared.table->BytesKept();
    TH_CHECK(shared.layouts == users[fingerprint]);
  }
  TH_CHECK(bytes == layout_bytes_);
}

}  // namespace tensorhub::hub
