// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// How much memory this process can still have. Asked for more, the kernel says yes, and kills the
// process once it is written.

#ifndef TENSORHUB_COMMON_MEMORY_LEFT_H_
#define TENSORHUB_COMMON_MEMORY_LEFT_H_

#include <cstdint>
#include <optional>
#include <string>

namespace tensorhub {

// Bytes: what the host has left, or the process's control group (a container's limit; version 1 or
// 2), whichever is less. Nothing where the system does not say. `root` stands before /proc and
// /sys, for tests.
std::optional<uint64_t> MemoryLeft(const std::string& root = "");

}  // namespace tensorhub

#endif  // TENSORHUB_COMMON_MEMORY_LEFT_H_
