// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "common/memory_left.h"

#include <algorithm>
#include <fstream>
#include <limits>

namespace tensorhub {
namespace {

// The number behind the word `key` in a file of lines "key number …".
std::optional<uint64_t> NumberAfter(const std::string& path, const std::string& key) {
  std::ifstream file(path);
  std::string word;
  uint64_t number = 0;
  while (file >> word) {
    if (word == key && file >> number) return number;
    file.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
  }
  return std::nullopt;
}

// Nothing for "max", and for a file that is not there.
std::optional<uint64_t> NumberIn(const std::string& path) {
  std::ifstream file(path);
  uint64_t number = 0;
  if (file >> number) return number;
  return std::nullopt;
}

// Files that were read count as used, and what the kernel keeps of folders, but go when memory is
// wanted.
std::optional<uint64_t> LeftInGroup(const std::string& folder) {
  const std::optional<uint64_t> limit = NumberIn(folder + "/memory.max");
  const std::optional<uint64_t> used = NumberIn(folder + "/memory.current");
  if (!limit || !used) return std::nullopt;
  uint64_t goes = 0;
  for (const char* key : {"inactive_file", "active_file", "slab_reclaimable"}) {
    goes += NumberAfter(folder + "/memory.stat", key).value_or(0);
  }
  const uint64_t needed = *used - std::min(*used, goes);
  return *limit - std::min(*limit, needed);
}

// "0::/a/b": where it is below the mount point, or "/" inside a container.
std::string GroupOf(const std::string& path) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("0::", 0) == 0) return line.substr(3);
  }
  return "/";
}

}  // namespace

std::optional<uint64_t> MemoryLeft(const std::string& root) {
  std::optional<uint64_t> left;
  if (const auto kibibytes = NumberAfter(root + "/proc/meminfo", "MemAvailable:")) {
    left = *kibibytes * 1024;
  }
  // Each group up to the mount point has a limit of its own.
  for (std::string group = GroupOf(root + "/proc/self/cgroup");;) {
    const auto here = LeftInGroup(root + "/sys/fs/cgroup" + group);
    if (here) left = std::min(left.value_or(*here), *here);
    const size_t parent = group.find_last_of('/');
    if (parent == std::string::npos || group == "/" || group.empty()) return left;
    group.erase(parent);
  }
}

}  // namespace tensorhub
