// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// What a version consists of, asked from the hub before any byte is read: for each rank its layout
// and the files it becomes.

#ifndef TENSORHUB_TOOLS_CTL_FETCH_PLAN_H_
#define TENSORHUB_TOOLS_CTL_FETCH_PLAN_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/layout.h"
#include "tools/ctl/admin_client.h"
#include "tools/ctl/arguments.h"
#include "tools/safetensors/attachment.h"

namespace tensorhub::ctl {

struct FetchPlan {
  uint64_t version = 0;
  std::vector<safetensors::Attachment> ranks;  // file names distinct over all ranks

  uint64_t data_bytes() const;
  // Headers and extra files included: what the disk has to hold.
  uint64_t disk_bytes() const;
  size_t file_count() const;
};

// NOT_FOUND: there is no such model, or it has no version yet.
absl::StatusOr<uint64_t> NumberOf(AdminClient& admin, const std::string& model,
                                  const VersionOrLatest& wanted);

// A version that can be fetched, with a layout for each rank. NOT_FOUND: no such model or version,
// or nobody holds it. FAILED_PRECONDITION: it is still being published, or not all layouts are
// known.
absl::StatusOr<v1::VersionInfo> FindVersion(AdminClient& admin, const std::string& model,
                                            uint64_t version);

// DATA_LOSS: the hub's answer is another layout.
absl::StatusOr<Layout> FetchLayout(AdminClient& admin, const std::string& fingerprint);

// As FindVersion; INVALID_ARGUMENT: its attachment is damaged.
// `rows`: not as its ranks hold it, but cut by rows among so many (tools/ctl/rows.h).
absl::StatusOr<FetchPlan> DescribeVersion(AdminClient& admin, const std::string& model,
                                          const VersionOrLatest& wanted,
                                          std::optional<uint32_t> rows = std::nullopt);

}  // namespace tensorhub::ctl

#endif  // TENSORHUB_TOOLS_CTL_FETCH_PLAN_H_
