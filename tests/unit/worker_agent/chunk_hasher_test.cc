// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "worker_agent/memory/chunk_hasher.h"

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/random.h"
#include "worker_agent/memory/chunk_digest.h"
#include "worker_agent/memory/medium.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace tensorhub::agent {
namespace {

// Tensors of odd sizes, scattered over memory.
class ChunkHasherTest : public ::testing::Test {
 protected:
  ChunkHasherTest() {
    Random random(3);
    std::vector<TensorBuffer> tensors;
    for (int i = 0; i < 40; ++i) {
      std::string& bytes = parts_.emplace_back(1 + random.Below(30'000), '\0');
      for (char& byte : bytes) byte = static_cast<char>(random.Next());
      const std::string name = "t" + std::to_string(10 + i);
      tensors.push_back({name, "U8", {bytes.size()}, {}, bytes.data(), bytes.size(), false});
    }
    for (const std::string& part : parts_) content_ += part;
    memory_ = std::make_unique<Memory>(Memory::Make(tensors).value());
    chunking_ = {content_.size(), 16384};
  }
  uint64_t Expected(uint32_t chunk) const {
    return XXH3_64bits(content_.data() + chunking_.begin(chunk), chunking_.size(chunk));
  }
  HashChunks Job(uint64_t token, uint32_t first, uint32_t count, bool urgent = false) const {
    return {token, chunking_, first, count, urgent};
  }
  void Expect(const ChunksHashed& hashed, uint32_t first, uint32_t count) const {
    ASSERT_EQ(hashed.digests.size(), count);
    for (uint32_t i = 0; i < count; ++i) EXPECT_EQ(hashed.digests[i], Expected(first + i)) << i;
  }
  // What comes of a job that the caller does not do itself.
  static void HandOver(const HashChunks& job, const Memory& memory, ChunksHashed& came) {
    Mutex mutex;
    CondVar changed;
    std::vector<ChunksHashed> all;
    ChunkHasher hasher([&](std::vector<ChunksHashed> hashed) {
      MutexLock lock(mutex);
      all = std::move(hashed);
      changed.NotifyAll();
    });
    ASSERT_TRUE(hasher.Start().ok());
    EXPECT_FALSE(hasher.Hash(job, memory));
    MutexLock lock(mutex);
    while (all.empty()) changed.Wait(mutex);
    came = all[0];
  }

  std::deque<std::string> parts_;
  std::string content_;
  std::unique_ptr<Memory> memory_;
  Chunking chunking_;
};

TEST_F(ChunkHasherTest, HashesTheCanonicalBytesOfEachChunk) {
  Mutex mutex;
  CondVar changed;
  std::map<uint64_t, ChunksHashed> came;
  ChunkHasher hasher([&](const std::vector<ChunksHashed>& hashed) {
    MutexLock lock(mutex);
    for (const ChunksHashed& each : hashed) came[each.token] = each;
    changed.NotifyAll();
  });
  ASSERT_TRUE(hasher.Start().ok());
  const uint32_t count = chunking_.count();
  EXPECT_FALSE(hasher.Hash(Job(1, 0, count), *memory_)) << "is not urgent";
  EXPECT_FALSE(hasher.Hash(Job(2, count - 1, 1), *memory_));
  MutexLock lock(mutex);
  while (came.size() < 2) changed.Wait(mutex);
  Expect(came[1], 0, count);
  Expect(came[2], count - 1, 1);
}

TEST_F(ChunkHasherTest, HashesAtOnceWhatAReadWaitsFor) {
  int came = 0;
  ChunkHasher hasher([&](const std::vector<ChunksHashed>&) { ++came; });
  ASSERT_TRUE(hasher.Start().ok());
  for (uint32_t chunk = 0; chunk < chunking_.count(); ++chunk) {
    const auto hashed = hasher.Hash(Job(chunk, chunk, 1, true), *memory_);
    ASSERT_TRUE(hashed);
    EXPECT_EQ(hashed->token, chunk);
    Expect(*hashed, chunk, 1);
  }
  hasher.Stop();
  EXPECT_EQ(came, 0);
}

// R1: parts of the byte space, wherever chunks begin.
TEST_F(ChunkHasherTest, HashesRanges) {
  HashChunks job;
  job.token = 7;
  job.ranges = {{3, 5}, {content_.size() - 4, 4}};
  job.count = 2;
  ChunksHashed came;
  ASSERT_NO_FATAL_FAILURE(HandOver(job, *memory_, came));
  EXPECT_EQ(came.digests,
            (std::vector<uint64_t>{XXH3_64bits(content_.data() + 3, 5),
                                   XXH3_64bits(content_.data() + content_.size() - 4, 4)}));
}

// It would hold up the progress thread.
TEST_F(ChunkHasherTest, HandsOverALongChunk) {
  std::string bytes(3 << 20, 'x');
  const Memory memory =
      Memory::Make({{"t", "U8", {bytes.size()}, {}, bytes.data(), bytes.size(), false}}).value();
  const HashChunks job{1, {bytes.size(), 2 << 20}, 0, 1, /*urgent=*/true};
  ChunksHashed came;
  ASSERT_NO_FATAL_FAILURE(HandOver(job, memory, came));
  EXPECT_EQ(came.digests, std::vector<uint64_t>{XXH3_64bits(bytes.data(), 2 << 20)});
}

// The caller goes on copying.
TEST_F(ChunkHasherTest, HandsOverWhatIsHashedBesideACopy) {
  Mutex mutex;
  CondVar changed;
  std::map<uint64_t, ChunksHashed> came;
  ChunkHasher hasher([&](const std::vector<ChunksHashed>& hashed) {
    MutexLock lock(mutex);
    for (const ChunksHashed& each : hashed) came[each.token] = each;
    changed.NotifyAll();
  });
  ASSERT_TRUE(hasher.Start().ok());
  for (uint32_t chunk = 0; chunk < 8; ++chunk) {
    HashChunks job = Job(chunk, chunk, 1, /*urgent=*/true);
    job.beside = true;
    ASSERT_FALSE(hasher.Hash(job, *memory_));
    MutexLock lock(mutex);
    while (!came.contains(chunk)) changed.Wait(mutex);
    Expect(came[chunk], chunk, 1);
  }
}

// Host memory that is asked as a device is: how many chunks at a time is what counts.
class ManyAtOnce : public Medium {
 public:
  explicit ManyAtOnce(std::function<void(const HashChunks&)> on_asked)
      : on_asked_(std::move(on_asked)) {}
  std::string Describe() const override { return ""; }
  std::vector<Memory::Piece> Regions() const override { return {}; }
  absl::StatusOr<std::unique_ptr<Scope>> EnterThread() override { return nullptr; }
  absl::Status CopyIn(std::span<const Memory::Piece>, std::string_view) override { return {}; }
  absl::Status MakeVisible() override { return {}; }
  absl::Status Expose(std::span<const Memory::Piece>, uint64_t, std::vector<ConstPiece>&) override {
    return {};
  }
  void Conceal(uint64_t) override {}
  absl::StatusOr<std::vector<uint64_t>> Digests(const Memory& memory,
                                                const HashChunks& what) override {
    on_asked_(what);
    return HostMedium()->Digests(memory, what);
  }
  bool DigestsManyAtOnce() const override { return true; }
  absl::Status Await(const DeviceWork&, TimeMs) override { return {}; }
  absl::Status ShowTo(const DeviceWork&) override { return {}; }
  absl::Status CheckThere() override { return {}; }

 private:
  const std::function<void(const HashChunks&)> on_asked_;
};

// Those that came while it was busy, as far as they continue one another.
TEST_F(ChunkHasherTest, ADeviceIsAskedForManyChunksTogether) {
  Mutex mutex;
  CondVar changed;
  bool all_asked = false;
  std::vector<std::pair<uint32_t, uint32_t>> asked;
  std::map<uint64_t, ChunksHashed> came;
  memory_->UseMedium(std::make_shared<ManyAtOnce>([&](const HashChunks& what) {
    MutexLock lock(mutex);
    asked.emplace_back(what.first, what.count);
    changed.NotifyAll();
    while (!all_asked) changed.Wait(mutex);
  }));
  ChunkHasher hasher([&](const std::vector<ChunksHashed>& hashed) {
    MutexLock lock(mutex);
    for (const ChunksHashed& each : hashed) came[each.token] = each;
    changed.NotifyAll();
  });
  ASSERT_TRUE(hasher.Start().ok());
  const uint32_t count = chunking_.count();
  ASSERT_GE(count, 12u);
  EXPECT_FALSE(hasher.Hash(Job(0, 0, 1, true), *memory_)) << "is the device's to wait for";
  MutexLock lock(mutex);
  while (asked.empty()) changed.Wait(mutex);
  for (uint32_t chunk = 1; chunk < 6; ++chunk) hasher.Hash(Job(chunk, chunk, 1, true), *memory_);
  hasher.Hash(Job(6, 8, 3), *memory_);
  all_asked = true;
  changed.NotifyAll();
  while (came.size() < 7) changed.Wait(mutex);
  const std::vector<std::pair<uint32_t, uint32_t>> expected = {{0, 1}, {1, 5}, {8, 3}};
  EXPECT_EQ(asked, expected);
  for (uint32_t chunk = 0; chunk < 6; ++chunk) Expect(came[chunk], chunk, 1);
  Expect(came[6], 8, 3);
}

TEST_F(ChunkHasherTest, SaysNothingOnceStopped) {
  size_t came = 0;
  ChunkHasher hasher([&](const std::vector<ChunksHashed>& hashed) { came += hashed.size(); });
  ASSERT_TRUE(hasher.Start().ok());
  for (uint64_t token = 1; token < 100; ++token) {
    hasher.Hash(Job(token, 0, chunking_.count()), *memory_);
  }
  hasher.Stop();
  const size_t before = came;
  EXPECT_FALSE(hasher.Hash(Job(200, 0, 1), *memory_));
  hasher.Stop();
  EXPECT_EQ(came, before);
}

#ifdef __x86_64__
TEST_F(ChunkHasherTest, BothBuildsAgree) {
  if (!__builtin_cpu_supports("avx2")) GTEST_SKIP() << "this processor has no AVX2";
  for (const size_t cut : {size_t{0}, size_t{1}, size_t{777}, content_.size()}) {
    const DigestPiece pieces[] = {{content_.data(), cut},
                                  {content_.data() + cut, content_.size() - cut}};
    EXPECT_EQ(ChunkDigestAvx2(pieces, 2), ChunkDigestPortable(pieces, 2)) << cut;
    EXPECT_EQ(ChunkDigest(pieces, 2), XXH3_64bits(content_.data(), content_.size()));
  }
}
#endif

}  // namespace
}  // namespace tensorhub::agent
