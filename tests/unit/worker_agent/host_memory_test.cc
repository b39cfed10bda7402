// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "worker_agent/memory/host_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <vector>

#include "common/memory_left.h"

namespace tensorhub::agent {
namespace {

using ::testing::HasSubstr;

// Otherwise the kernel would say yes, and end the process when the bytes come.
TEST(HostMemoryTest, MoreThanThereIsIsRefused) {
  const uint64_t left = MemoryLeft().value();
  const absl::Status refused = HostMemory::Make(2 * left).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(refused.message()), HasSubstr(std::to_string(2 * left)));
}

TEST(HostMemoryTest, PagesAreMadeOnDemand) {
  const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  HostMemory memory = HostMemory::Make(40 * (2 << 20) + 5).value();
  std::vector<unsigned char> there((memory.bytes() + page - 1) / page);
  const auto count = [&] {
    EXPECT_EQ(mincore(memory.data(), memory.bytes(), there.data()), 0);
    size_t pages = 0;
    for (const unsigned char one : there) pages += one & 1;
    return pages;
  };
  EXPECT_EQ(count(), 0u);
  memory.Populate();
  const size_t made = count();
  memory.data()[memory.bytes() - 1] = std::byte{1};
  if (made == 0) GTEST_SKIP() << "this kernel populates nothing";
  EXPECT_EQ(made, there.size());
}

TEST(HostMemoryTest, OfNoBytesIsStillSomewhere) {
  HostMemory memory = HostMemory::Make(0).value();
  EXPECT_NE(memory.data(), nullptr);
  memory.Populate();
}

}  // namespace
}  // namespace tensorhub::agent
