// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// A model cut by rows among the ranks of a group, as FSDP does it: even pieces of each tensor along
// its first dimension, the last ones shorter or not there. One rank has whole tensors. Pure.

#ifndef TENSORHUB_TOOLS_CTL_ROWS_H_
#define TENSORHUB_TOOLS_CTL_ROWS_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "common/layout.h"
#include "tools/safetensors/attachment.h"

namespace tensorhub::ctl {

// The whole tensors of which a group's ranks hold slices, by name. FAILED_PRECONDITION: one of
// several ranks does not say of a tensor which slice it has, or two say another shape or dtype.
absl::StatusOr<std::vector<TensorSpec>> WholeTensors(const std::vector<Layout>& ranks);

// What rank `rank` of `ranks` holds of them. Scalars, and tensors without an element, are whole at
// each rank.
std::vector<TensorSpec> RowsOf(const std::vector<TensorSpec>& whole, uint32_t rank, uint32_t ranks);

// Each rank's file (safetensors::FromLayout); the first one has `extras` as well, but for the index
// of files that are not these.
absl::StatusOr<std::vector<safetensors::Attachment>> FilesOfRows(
    const std::vector<TensorSpec>& whole, const std::vector<safetensors::ExtraFile>& extras,
    uint32_t ranks);

}  // namespace tensorhub::ctl

#endif  // TENSORHUB_TOOLS_CTL_ROWS_H_
