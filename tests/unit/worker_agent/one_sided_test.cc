// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// How a get of the core becomes gets of a transport: chunk by chunk where digests are wanted.

#include "worker_agent/transport/one_sided.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace tensorhub::agent {
namespace {

using ::testing::ElementsAre;

// Copies at once, and tells of it when it is progressed. The only region is the source's memory.
class CopyingTransport : public GetTransport {
 public:
  explicit CopyingTransport(Sink* sink) : sink_(sink) {}

  absl::StatusOr<SharedRegion> Allocate(size_t /*bytes*/) override {
    return absl::UnimplementedError("not here");
  }
  absl::StatusOr<SharedRegion> Register(void* base, size_t bytes) override {
    return SharedRegion{base, bytes, "", "a key"};
  }
  std::string Address() const override { return "an address"; }
  absl::StatusOr<PeerId> Connect(std::string_view /*address*/) override { return 1; }
  absl::StatusOr<RegionId> ImportRegion(PeerId /*peer*/, std::string_view /*key*/, uint64_t base,
                                        size_t /*bytes*/) override {
    bases_.push_back(reinterpret_cast<const std::byte*>(base));
    return bases_.size() - 1;
  }
  void Get(PeerId /*peer*/, RegionId region, uint64_t offset, void* to, size_t bytes,
           uint64_t token) override {
    std::copy_n(bases_[region] + offset, bytes, static_cast<std::byte*>(to));
    gets.push_back(bytes);
    done_.push_back(token);
  }
  // The digest of a chunk is how many there were before.
  std::optional<size_t> GetWithDigest(PeerId /*peer*/, std::span<const Part> parts, uint64_t token,
                                      std::optional<uint64_t>* digest) override {
    if (refuses.contains(asked_++)) return std::nullopt;
    uint64_t bytes = 0;
    for (const Part& part : parts) {
      std::copy_n(bases_[part.region] + part.offset, part.bytes, part.to);
      bytes += part.bytes;
    }
    chunks.push_back(bytes);
    digests_.emplace_back(digest, asked_ - 1);
    const bool joins = join && !done_.empty() && done_.back() == token;
    if (!joins) done_.push_back(token);
    return joins ? 0 : 1;
  }
  void Close(PeerId /*peer*/) override {}
  std::string Describe(PeerId /*peer*/) const override { return "copies"; }
  std::string Summary() const override { return "copies"; }
  bool Progress() override {
    for (const auto& [digest, value] : std::exchange(digests_, {})) *digest = value;
    const auto done = std::exchange(done_, {});
    for (const uint64_t token : done) sink_->OnGetDone(token, absl::OkStatus());
    return !done.empty();
  }
  int EventFd() const override { return -1; }
  bool Arm() override { return done_.empty(); }

  std::set<uint64_t> refuses;  // of the chunks, by their number
  bool join = false;           // those that follow each other end together
  std::vector<uint64_t> gets;  // bytes of each
  std::vector<uint64_t> chunks;

 private:
  Sink* const sink_;
  std::vector<const std::byte*> bases_;
  uint64_t asked_ = 0;
  std::vector<uint64_t> done_;
  std::vector<std::pair<std::optional<uint64_t>*, uint64_t>> digests_;
};

constexpr Incarnation kSource = 7;

// Two tensors, which lie apart from each other, elsewhere at each of the two sides.
class OneSidedTest : public ::testing::Test {
 protected:
  OneSidedTest() : reader_(nullptr, Record(), Record()) {
    for (size_t i = 0; i < theirs_.size(); ++i) theirs_[i] = std::byte(i * 31 % 251);
    const auto make = [this](GetTransport::Sink* sink) {
      auto made = std::make_unique<CopyingTransport>(sink);
      transport_ = made.get();
      return absl::StatusOr<std::unique_ptr<GetTransport>>(std::move(made));
    };
    const Memory::Piece mine{mine_.data(), mine_.size()};
    EXPECT_EQ(reader_.ShareWithin(make, {&mine, 1}, {.of_device = true}), absl::OkStatus());
    const SharedRegion theirs{theirs_.data(), theirs_.size(), "", "a key"};
    const auto description =
        DescribeSharedMemory(MemoryIn(theirs_, 3000), {theirs}, nullptr, "an address");
    EXPECT_TRUE(description.ok()) << description.status();
    reader_.Import(kSource, Encode(*description), memory_.total_bytes());
  }
  ~OneSidedTest() override { reader_.CloseAll(); }

  OneSided::OnEvent Record() {
    return [this](const Event& event) {
      if (const auto* got = std::get_if<GetDone>(&event)) done_ = *got;
      if (const auto* mapped = std::get_if<MemoryImported>(&event)) {
        EXPECT_EQ(mapped->status, absl::OkStatus());
      }
    };
  }
  static Memory MemoryIn(std::vector<std::byte>& block, size_t place_of_second) {
    const auto tensor = [&](const char* name, size_t place, size_t bytes) {
      TensorBuffer made{.name = name, .dtype = "U8", .shape = {bytes}, .slice = {}};
      made.data = block.data() + place;
      made.bytes = bytes;
      return made;
    };
    return Memory::Make({tensor("a", 0, 1100), tensor("b", place_of_second, 900)}).value();
  }
  std::vector<std::optional<uint64_t>> Get(ByteRange range, uint64_t digest_every) {
    done_.reset();
    const CopyRun run{range.begin, range.begin, range.bytes};
    reader_.Get({kSource, {run}, 5, digest_every}, memory_);
    EXPECT_FALSE(done_);
    reader_.Progress();
    EXPECT_TRUE(done_ && done_->token == 5 && done_->status.ok());
    return done_->digests;
  }
  // The range, and nothing beside it.
  void ExpectCame(uint64_t begin, uint64_t end) {
    for (uint64_t at = 0; at < 2000; ++at) {
      const std::byte there = theirs_[at < 1100 ? at : at - 1100 + 3000];
      const std::byte here = mine_[at < 1100 ? at : at - 1100 + 2000];
      ASSERT_EQ(here, at >= begin && at < end ? there : std::byte{0xee}) << at;
    }
  }

  std::vector<std::byte> theirs_ = std::vector<std::byte>(4000);
  std::vector<std::byte> mine_ = std::vector<std::byte>(4000, std::byte{0xee});
  const Memory memory_ = MemoryIn(mine_, 2000);
  CopyingTransport* transport_ = nullptr;
  std::optional<GetDone> done_;
  OneSided reader_;
};

TEST_F(OneSidedTest, WithoutDigestsThereIsAGetPerPiece) {
  EXPECT_THAT(Get({100, 1800}, 0), ElementsAre());
  EXPECT_THAT(transport_->gets, ElementsAre(1000, 800));
  ExpectCame(100, 1900);
}

// As between two layouts: what lies here is elsewhere there.
TEST_F(OneSidedTest, RunsLieElsewhereAtTheSource) {
  reader_.Get({kSource, {{1000, 200, 300}, {1500, 600, 1}, {0, 1050, 100}}, 5, 0}, memory_);
  reader_.Progress();
  ASSERT_TRUE(done_ && done_->status.ok());
  const auto theirs = [&](uint64_t at) { return theirs_[at < 1100 ? at : at - 1100 + 3000]; };
  const auto mine = [&](uint64_t at) { return mine_[at < 1100 ? at : at - 1100 + 2000]; };
  for (uint64_t at = 0; at < 2000; ++at) {
    std::byte wanted{0xee};
    if (at >= 200 && at < 500) wanted = theirs(at - 200 + 1000);
    if (at == 600) wanted = theirs(1500);
    if (at >= 1050 && at < 1150) wanted = theirs(at - 1050);
    ASSERT_EQ(mine(at), wanted) << at;
  }
}

// R9: where a run is the layouts say, and how large the memory is the source.
TEST_F(OneSidedTest, RunsBeyondEitherMemoryAreNotGot) {
  for (const CopyRun& run : {CopyRun{1900, 0, 101}, CopyRun{0, 1900, 101}, CopyRun{0, 0, 0},
                             CopyRun{~uint64_t{0}, 0, 2}, CopyRun{0, 0, ~uint64_t{0}}}) {
    done_.reset();
    reader_.Get({kSource, {{0, 0, 10}, run}, 5, 0}, memory_);
    ASSERT_TRUE(done_);
    EXPECT_EQ(done_->status.code(), absl::StatusCode::kUnavailable);
  }
  EXPECT_TRUE(transport_->gets.empty());
  ExpectCame(0, 0);
}

TEST_F(OneSidedTest, DigestsComeChunkByChunk) {
  EXPECT_THAT(Get({256, 2000 - 256}, 256), ElementsAre(0, 1, 2, 3, 4, 5, 6));
  EXPECT_THAT(transport_->chunks, ElementsAre(256, 256, 256, 256, 256, 256, 208));
  EXPECT_TRUE(transport_->gets.empty());
  ExpectCame(256, 2000);
}

// As few as without digests.
TEST_F(OneSidedTest, WhatATransportDoesNotHashIsGotInWholePieces) {
  for (uint64_t chunk = 0; chunk < 8; ++chunk) transport_->refuses.insert(chunk);
  EXPECT_EQ(Get({0, 2000}, 256), std::vector<std::optional<uint64_t>>(8));
  EXPECT_THAT(transport_->gets, ElementsAre(1100, 900));
  ExpectCame(0, 2000);
}

TEST_F(OneSidedTest, SomeAreHashedAndTheOthersGot) {
  transport_->refuses = {1, 2, 4};
  EXPECT_THAT(Get({0, 2000}, 256),
              ElementsAre(0, std::nullopt, std::nullopt, 3, std::nullopt, 5, 6, 7));
  // Chunk 4 has the end of the first tensor and the beginning of the second.
  EXPECT_THAT(transport_->gets, ElementsAre(512, 76, 180));
  ExpectCame(0, 2000);
}

TEST_F(OneSidedTest, ChunksMayEndTogether) {
  transport_->join = true;
  transport_->refuses = {3};
  EXPECT_THAT(Get({0, 2000}, 256), ElementsAre(0, 1, 2, std::nullopt, 4, 5, 6, 7));
  EXPECT_EQ(transport_->chunks.size(), 7u);
  ExpectCame(0, 2000);
}

}  // namespace
}  // namespace tensorhub::agent
