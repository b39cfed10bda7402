// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The kernels as the host starts them: tables, arguments, results, on a driver
// without a GPU that runs the kernels' programs on the CPU.

#include "worker_agent/cuda/kernels/device_kernels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <iterator>
#include <map>
#include <memory>

#include "tests/unit/worker_agent/cuda/fake_driver.h"
#include "tests/unit/worker_agent/cuda/kernels/scattered.h"
#include "worker_agent/cuda/kernels/host_team.h"

namespace tensorhub::agent::kernels {
namespace {

constexpr char kImage[] = "an image";

template <typename T>
T Value(void* argument) {
  T value;
  std::memcpy(&value, argument, sizeof(value));
  return value;
}

class KernelDriver : public agent::testing::FakeDriver {
 public:
  uint64_t launched_blocks = 0;

  absl::StatusOr<void*> AllocateDevice(uint64_t bytes) override {
    const absl::StatusOr<void*> memory = FakeDriver::AllocateDevice(bytes);
    if (memory.ok()) Remember(static_cast<std::byte*>(*memory));
    return memory;
  }
  std::byte* OnDevice(const std::string& bytes) {
    std::byte* const memory = Allocate(0, bytes.size() + kMarginBytes);
    std::memcpy(Shadow(memory), bytes.data(), bytes.size());
    Remember(memory);
    return memory;
  }

 private:
  void Remember(const std::byte* memory) {
    shadows_[reinterpret_cast<uint64_t>(memory)] = reinterpret_cast<uint64_t>(Shadow(memory));
  }

  absl::StatusOr<std::function<void()>> Kernel(const std::string& name, const CudaGrid& grid,
                                               std::span<void*> arguments) override {
    launched_blocks += grid.blocks_x;
    auto* const first = Value<std::byte*>(arguments[0]);
    auto* const second = Value<std::byte*>(arguments[1]);
    if (name == "tensorhub_digest") {
      EXPECT_EQ(grid.threads, kDigestThreads);
      auto* const digests = Value<std::byte*>(arguments[2]);
      return [=, this] { Digest(grid.blocks_x, first, second, digests); };
    }
    EXPECT_EQ(name, "tensorhub_move");
    EXPECT_EQ(grid.threads, kMoveThreads);
    const auto windows = Value<uint64_t>(arguments[2]);
    return [=, this] { Move(grid.blocks_x, first, second, windows); };
  }

  // Tables are on the device, and so is what they name. (Shadow is not for kernels: the driver runs
  // them with its lock held.)
  uint64_t Reachable(uint64_t address) const {
    const auto allocation = std::prev(shadows_.upper_bound(address));
    return allocation->second + (address - allocation->first);
  }
  template <typename T>
  std::vector<T> Table(const std::byte* on_device, size_t count) const {
    std::vector<T> table(count);
    const uint64_t from = Reachable(reinterpret_cast<uint64_t>(on_device));
    if (count > 0)
      std::memcpy(table.data(), reinterpret_cast<const void*>(from), count * sizeof(T));
    return table;
  }

  void Digest(uint32_t blocks, std::byte* chunks_at, std::byte* pieces_at, std::byte* digests_at) {
    const std::vector<Chunk> chunks = Table<Chunk>(chunks_at, blocks);
    size_t count = 0;
    for (const Chunk& chunk : chunks) count += chunk.pieces;
    std::vector<Piece> pieces = Table<Piece>(pieces_at, count);
    for (Piece& piece : pieces) piece.address = Reachable(piece.address);
    auto* const digests =
        reinterpret_cast<uint64_t*>(Reachable(reinterpret_cast<uint64_t>(digests_at)));
    HostTeam<kDigestThreads> team;
    const auto shared = std::make_unique<DigestShared>();
    for (uint32_t block = 0; block < blocks; ++block) {
      ChunkDigestProgram(team, chunks[block], pieces.data(), *shared, digests + block);
    }
  }
  void Move(uint32_t blocks, std::byte* moves_at, std::byte* hints_at, uint64_t windows) {
    const std::vector<uint32_t> hints = Table<uint32_t>(hints_at, blocks + 1);
    std::vector<kernels::Move> moves = Table<kernels::Move>(moves_at, hints.back() + 1);
    for (kernels::Move& move : moves) {
      move.from = Reachable(move.from);
      move.to = Reachable(move.to);
    }
    HostTeam<kMoveThreads> team;
    for (uint32_t block = 0; block < blocks; ++block) {
      MoveProgram(team, moves.data(), hints.data(), windows, block);
    }
  }

  std::map<uint64_t, uint64_t> shadows_;  // of allocations, where the CPU finds them
};

class DeviceKernelsTest : public ::testing::Test {
 protected:
  DeviceKernelsTest()
      : primary_(CudaPrimary::Retain(&driver_, 0).value()),
        module_(KernelModule::Load(primary_, kImage).value()) {}

  Random random_{21};
  KernelDriver driver_;
  CudaPrimary primary_;
  std::unique_ptr<KernelModule> module_;
};

TEST_F(DeviceKernelsTest, DigestsOfManyChunks) {
  const auto digester = DeviceDigester::Create(module_.get()).value();
  for (const size_t count : {1, 3, 40}) {
    DigestTables tables;
    std::vector<uint64_t> expected;
    for (size_t i = 0; i < count; ++i) {
      const std::string bytes = RandomBytes(random_, random_.Below(5000));
      const DigestPiece whole{bytes.data(), bytes.size()};
      expected.push_back(ChunkDigest(&whole, 1));
      const std::byte* const there = driver_.OnDevice(bytes);
      const size_t cut = random_.Below(bytes.size() + 1);
      const DigestPiece pieces[] = {{there, cut}, {there + cut, bytes.size() - cut}};
      tables.Add(pieces);
    }
    std::vector<uint64_t> digests;
    ASSERT_EQ(digester->Digest(tables, digests), absl::OkStatus());
    EXPECT_EQ(digests, expected);
  }
  EXPECT_EQ(driver_.launched_blocks, 44u);
  std::vector<uint64_t> none = {1};
  EXPECT_EQ(digester->Digest({}, none), absl::OkStatus());
  EXPECT_TRUE(none.empty());
}

TEST_F(DeviceKernelsTest, MovesInTheOrderOfItsStream) {
  auto mover = DeviceMover::Create(module_.get()).value();
  const CudaCurrent current(primary_);
  const CudaStream stream = driver_.CreateStream(false).value();
  std::byte* const to = driver_.OnDevice(std::string(100'000, '\0'));
  std::string expected;
  for (int round = 0; round < 3; ++round) {  // the table of one call is reused by the next
    std::vector<MovePiece> pieces;
    expected.clear();
    for (int i = 0; i < 200; ++i) {
      const std::string bytes = RandomBytes(random_, random_.Below(400));
      pieces.push_back({driver_.OnDevice(bytes), to + expected.size(), bytes.size()});
      expected += bytes;
    }
    ASSERT_EQ(mover->Start(pieces, stream), absl::OkStatus());
  }
  ASSERT_EQ(driver_.SynchronizeStream(stream), absl::OkStatus());
  EXPECT_EQ(std::memcmp(driver_.Shadow(to), expected.data(), expected.size()), 0);
  EXPECT_EQ(mover->Start({}, stream), absl::OkStatus());
  mover.reset();
  EXPECT_EQ(driver_.DestroyStream(stream), absl::OkStatus());
}

TEST_F(DeviceKernelsTest, AFailureIsToldAndNothingIsLeftBehind) {
  {
    const auto digester = DeviceDigester::Create(module_.get()).value();
    DigestTables tables;
    const std::string bytes(300, 'x');
    const DigestPiece piece{driver_.OnDevice(bytes), bytes.size()};
    tables.Add({&piece, 1});
    std::vector<uint64_t> digests;
    for (const std::string call : {"AllocateHost", "AllocateDevice", "CopyAsync", "Launch"}) {
      const auto fresh = DeviceDigester::Create(module_.get()).value();
      driver_.FailNext(call, absl::ResourceExhaustedError("a test"));
      EXPECT_EQ(fresh->Digest(tables, digests).code(), absl::StatusCode::kResourceExhausted)
          << call;
      EXPECT_EQ(fresh->Digest(tables, digests), absl::OkStatus()) << call;
    }
    driver_.FailNext("CreateStream", absl::ResourceExhaustedError("a test"));
    EXPECT_FALSE(DeviceDigester::Create(module_.get()).ok());
  }
  module_.reset();
  EXPECT_EQ(driver_.left_over(), 0u);
}

TEST_F(DeviceKernelsTest, SaysWhyThereAreNone) {
  const absl::Status none = KernelModule::Load(primary_, {}).status();
  EXPECT_EQ(none.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(none.ToString(), ::testing::HasSubstr("nvcc"));
  driver_.FailNext("LoadModule", absl::InvalidArgumentError("CUDA_ERROR_UNSUPPORTED_PTX_VERSION"));
  const absl::Status old = KernelModule::Load(primary_, kImage).status();
  EXPECT_EQ(old.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(old.ToString(), ::testing::AllOf(::testing::HasSubstr("UNSUPPORTED_PTX_VERSION"),
                                               ::testing::HasSubstr("driver must be as new")));
}

}  // namespace
}  // namespace tensorhub::agent::kernels
