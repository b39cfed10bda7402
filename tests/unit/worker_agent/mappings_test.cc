// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "worker_agent/memory/mappings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <sstream>

namespace tensorhub::agent {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using Access = Mappings::Access;

const void* At(uintptr_t address) { return reinterpret_cast<const void*>(address); }

TEST(MappingsTest, SaysWhatMayBeDoneToAllOfIt) {
  std::istringstream lines(
      "1000-3000 r--p 00000000 fe:00 1    /lib/x y.so\n"
      "3000-4000 rw-p 00000000 00:00 0 \n"
      "not a line\n"
      "5000-6000 ---p 00000000 00:00 0 \n"
      "6000-8000 rw-s 00000000 00:01 0    [heap]\n");
  const Mappings mappings = Mappings::Read(lines);
  EXPECT_EQ(mappings.Of(At(0x1000), 0x2000), Access::kRead);
  EXPECT_EQ(mappings.Of(At(0x3000), 0x1000), Access::kReadAndWrite);
  EXPECT_EQ(mappings.Of(At(0x2fff), 2), Access::kRead) << "over two, of which one is read-only";
  EXPECT_EQ(mappings.Of(At(0x3fff), 2), Access::kNone) << "into a gap";
  EXPECT_EQ(mappings.Of(At(0xfff), 2), Access::kNone);
  EXPECT_EQ(mappings.Of(At(0x5fff), 2), Access::kNone) << "begins where nothing may be done";
  EXPECT_EQ(mappings.Of(At(0x7fff), 1), Access::kReadAndWrite);
  EXPECT_EQ(mappings.Of(At(0x7fff), 2), Access::kNone);
  EXPECT_EQ(mappings.Of(At(UINTPTR_MAX), 2), Access::kNone) << "around the end of all addresses";
}

TEST(MappingsTest, ATensorOfNoMemoryIsNamed) {
  constexpr size_t kBytes = 4 << 20;
  void* const memory = mmap(nullptr, kBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  TensorBuffer tensor;
  tensor.name = "w";
  tensor.data = memory;
  tensor.bytes = kBytes;
  EXPECT_THAT(std::string(FirstReadOnly({&tensor, 1}).status().message()),
              AllOf(HasSubstr("tensor \"w\""), HasSubstr("4194304 bytes")));
  ASSERT_EQ(mprotect(memory, kBytes, PROT_READ), 0);
  EXPECT_EQ(FirstReadOnly({&tensor, 1}).value(), "w");
  ASSERT_EQ(mprotect(memory, kBytes, PROT_READ | PROT_WRITE), 0);
  EXPECT_EQ(FirstReadOnly({&tensor, 1}).value(), "");
  tensor.cuda = true;
  tensor.data = reinterpret_cast<void*>(4096);
  EXPECT_EQ(FirstReadOnly({&tensor, 1}).value(), "") << "a device's, which its driver knows";
  munmap(memory, kBytes);
}

}  // namespace
}  // namespace tensorhub::agent
