// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "common/memory_left.h"

#include <algorithm>
#include <array>
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

// Where a version of control groups has what.
struct GroupFiles {
  std::string prefix;  // of its line in /proc/self/cgroup, after the number
  std::string mount;
  std::string limit;
  std::string used;
  std::array<const char*, 3> goes;
};

const GroupFiles& VersionOne() {
  static const auto& files =
      *new GroupFiles{":memory:",
                      "/sys/fs/cgroup/memory",
                      "/memory.limit_in_bytes",
                      "/memory.usage_in_bytes",
                      {"total_inactive_file", "total_active_file", "total_slab_reclaimable"}};
  return files;
}

const GroupFiles& VersionTwo() {
  static const auto& files = *new GroupFiles{"::",
                                             "/sys/fs/cgroup",
                                             "/memory.max",
                                             "/memory.current",
                                             {"inactive_file", "active_file", "slab_reclaimable"}};
  return files;
}

// Files that were read count as used, and what the kernel keeps of folders, but go when memory is
// wanted.
std::optional<uint64_t> LeftInGroup(const GroupFiles& files, const std::string& folder) {
  const std::optional<uint64_t> limit = NumberIn(folder + files.limit);
  const std::optional<uint64_t> used = NumberIn(folder + files.used);
  if (!limit || !used) return std::nullopt;
  uint64_t goes = 0;
  for (const char* key : files.goes) goes += NumberAfter(folder + "/memory.stat", key).value_or(0);
  const uint64_t needed = *used - std::min(*used, goes);
  return *limit - std::min(*limit, needed);
}

// "0::/a/b", "4:memory:/a/b": where it is below the mount point, or "/" inside a container.
std::string GroupOf(const std::string& path, const std::string& prefix) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const size_t colon = line.find(':');
    if (colon == std::string::npos || line.compare(colon, prefix.size(), prefix) != 0) continue;
    return line.substr(colon + prefix.size());
  }
  return "/";
}

// Each group up to the mount point has a limit of its own. A container may be told its group's path
// as the host sees it, and see no more than the mount point.
std::optional<uint64_t> LeftInGroups(const GroupFiles& files, const std::string& root) {
  std::optional<uint64_t> left;
  for (std::string group = GroupOf(root + "/proc/self/cgroup", files.prefix);;) {
    const auto here = LeftInGroup(files, root + files.mount + group);
    if (here) left = std::min(left.value_or(*here), *here);
    const size_t parent = group.find_last_of('/');
    if (parent == std::string::npos || group == "/" || group.empty()) return left;
    group.erase(parent);
  }
}

}  // namespace

std::optional<uint64_t> MemoryLeft(const std::string& root) {
  std::optional<uint64_t> left;
  if (const auto kibibytes = NumberAfter(root + "/proc/meminfo", "MemAvailable:")) {
    left = *kibibytes * 1024;
  }
  for (const GroupFiles* files : {&VersionOne(), &VersionTwo()}) {
    const auto here = LeftInGroups(*files, root);
    if (here) left = std::min(left.value_or(*here), *here);
  }
  return left;
}

}  // namespace tensorhub
