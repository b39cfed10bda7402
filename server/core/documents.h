// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Layouts and attachments: they travel once per fingerprint and stay while there is room. One that
// something rests on is never forgotten for another's sake; what rests on them is for the caller to
// say, and is asked only where there is no room.
//
// Invariant: both kinds are within their limits, in number and in bytes. A table of tensors that
// several layouts share is kept, and counted, once.

#ifndef TENSORHUB_SERVER_CORE_DOCUMENTS_H_
#define TENSORHUB_SERVER_CORE_DOCUMENTS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/ids.h"
#include "common/layout.h"
#include "common/tensor_table.h"

namespace tensorhub::hub {

struct DocumentLimits {
  size_t count = 0;
  uint64_t bytes = 0;  // in memory; what layouts have in common counts once
};

class Documents {
 public:
  // The fingerprints that something rests on.
  using InUse = absl::FunctionRef<std::set<Fingerprint>()>;

  Documents(const DocumentLimits& layouts, const DocumentLimits& attachments)
      : layout_limits_(layouts), attachment_limits_(attachments) {}

  // True: it was not there. RESOURCE_EXHAUSTED: what is in use leaves no room for it. Owners of
  // those that made room hear Remedy::kPutDocuments when they publish.
  absl::StatusOr<bool> PutLayout(const std::shared_ptr<const Layout>& layout, InUse in_use);
  absl::Status PutAttachment(const Fingerprint& fingerprint,
                             const std::shared_ptr<const std::string>& bytes, InUse in_use);

  bool HasLayout(const Fingerprint& fingerprint) const { return layouts_.contains(fingerprint); }
  bool HasAttachment(const Fingerprint& fingerprint) const {
    return attachments_.contains(fingerprint);
  }
  // Null: it is not here (any more).
  std::shared_ptr<const Layout> FindLayout(const Fingerprint& fingerprint) const;
  std::shared_ptr<const std::string> FindAttachment(const Fingerprint& fingerprint) const;
  // Why a layout is not the one that is here; without that one, that it is not.
  std::string Difference(const Fingerprint& layout, const Fingerprint& other) const;

  void CheckInvariants() const;

 private:
  // What layouts have in common, kept once.
  struct SharedTable {
    std::shared_ptr<const TensorTable> table;
    size_t layouts = 0;  // that have it
  };

  uint64_t BytesOfMore(const Layout& layout) const;
  void KeepLayout(const std::shared_ptr<const Layout>& layout);
  void DropLayout(const Fingerprint& fingerprint);

  const DocumentLimits layout_limits_;
  const DocumentLimits attachment_limits_;
  std::map<Fingerprint, std::shared_ptr<const Layout>> layouts_;
  std::map<Fingerprint, SharedTable> tables_;  // of layouts_
  std::map<Fingerprint, std::shared_ptr<const std::string>> attachments_;
  uint64_t layout_bytes_ = 0;
  uint64_t attachment_bytes_ = 0;
};

}  // namespace tensorhub::hub

#endif  // TENSORHUB_SERVER_CORE_DOCUMENTS_H_
