// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "common/memory_left.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace tensorhub {
namespace {

class MemoryLeftTest : public ::testing::Test {
 protected:
  void Write(const std::string& path, const std::string& text) const {
    const std::filesystem::path whole = root_ + path;
    std::filesystem::create_directories(whole.parent_path());
    std::ofstream(whole) << text;
  }
  void WriteGroup(const std::string& group, const std::string& limit) const {
    Write("/sys/fs/cgroup" + group + "/memory.max", limit + "\n");
    Write("/sys/fs/cgroup" + group + "/memory.current", "5000\n");
    Write("/sys/fs/cgroup" + group + "/memory.stat",
          "anon 1\nfile 1900\ninactive_file 1500\nactive_file 400\nslab_reclaimable 100\n");
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  const std::string root_ = ::testing::TempDir() + "/memory_left";
};

TEST_F(MemoryLeftTest, IsTheHosts) {
  Write("/proc/meminfo", "MemTotal:       100 kB\nMemFree: 5 kB\nMemAvailable:     80 kB\n");
  EXPECT_EQ(MemoryLeft(root_), 80u * 1024);
}

TEST_F(MemoryLeftTest, IsTheContainersIfThatIsLess) {
  Write("/proc/meminfo", "MemAvailable: 80 kB\n");
  Write("/proc/self/cgroup", "0::/\n");
  WriteGroup("/", "10000");
  EXPECT_EQ(MemoryLeft(root_), 10000u - 5000 + 2000);
  WriteGroup("/", "1000000000");
  EXPECT_EQ(MemoryLeft(root_), 80u * 1024);
  WriteGroup("/", "max");
  EXPECT_EQ(MemoryLeft(root_), 80u * 1024);
  WriteGroup("/", "100");  // already beyond it
  EXPECT_EQ(MemoryLeft(root_), 0u);
}

TEST_F(MemoryLeftTest, IsThatOfAnyGroupAbove) {
  Write("/proc/meminfo", "MemAvailable: 80 kB\n");
  Write("/proc/self/cgroup", "1:name=systemd:/x\n0::/pods/one/me\n");
  WriteGroup("/pods/one/me", "max");
  WriteGroup("/pods/one", "20000");
  WriteGroup("/pods", "30000");
  EXPECT_EQ(MemoryLeft(root_), 17000u);
}

// Under the host's name for it, as without a namespace of control groups.
TEST_F(MemoryLeftTest, IsThatOfAVersionOneGroup) {
  Write("/proc/meminfo", "MemAvailable: 80 kB\n");
  Write("/proc/self/cgroup", "5:cpu,memory_x:/no\n4:memory:/docker/123\n0::/\n");
  const std::string mount = "/sys/fs/cgroup/memory";
  Write(mount + "/memory.limit_in_bytes", "9000\n");
  Write(mount + "/memory.usage_in_bytes", "5000\n");
  Write(mount + "/memory.stat", "cache 2000\ntotal_inactive_file 1500\ntotal_active_file 400\n");
  EXPECT_EQ(MemoryLeft(root_), 9000u - 5000 + 1900);
  Write(mount + "/docker/123/memory.limit_in_bytes", "9223372036854771712\n");
  Write(mount + "/docker/123/memory.usage_in_bytes", "5000\n");
  EXPECT_EQ(MemoryLeft(root_), 9000u - 5000 + 1900);
}

TEST_F(MemoryLeftTest, MayBeUnknown) {
  EXPECT_EQ(MemoryLeft(root_), std::nullopt);
  Write("/proc/meminfo", "MemAvailable: lots\n");
  EXPECT_EQ(MemoryLeft(root_), std::nullopt);
}

TEST(MemoryLeftHereTest, IsSomething) { EXPECT_GT(MemoryLeft().value_or(0), 1u << 20); }

}  // namespace
}  // namespace tensorhub
