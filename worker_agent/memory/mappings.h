// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Which addresses of this process are memory, as the kernel says (/proc/self/maps): to touch others
// ends the process without a word.
//
// Thread contract: const after Read.

#ifndef TENSORHUB_WORKER_AGENT_MEMORY_MAPPINGS_H_
#define TENSORHUB_WORKER_AGENT_MEMORY_MAPPINGS_H_

#include <cstdint>
#include <istream>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "worker_agent/memory/memory.h"

namespace tensorhub::agent {

class Mappings {
 public:
  enum class Access { kNone, kRead, kReadAndWrite };

  // As proc_pid_maps(5) has it; lines that are none are left out.
  static Mappings Read(std::istream& lines);
  // What may be done to all of these bytes.
  Access Of(const void* data, uint64_t bytes) const;

 private:
  struct Range {
    uintptr_t begin = 0;
    uintptr_t end = 0;
    Access access = Access::kNone;
  };
  std::vector<Range> ranges_;  // in order, without overlap
};

// INVALID_ARGUMENT names a tensor in host memory that is not all there to be read. Otherwise the
// name of the first one that cannot be written; empty: all can, or the kernel does not say.
absl::StatusOr<std::string> FirstReadOnly(std::span<const TensorBuffer> tensors);

}  // namespace tensorhub::agent

#endif  // TENSORHUB_WORKER_AGENT_MEMORY_MAPPINGS_H_
