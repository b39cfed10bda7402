// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "bench/join_cost.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "bench/clock.h"
#include "bench/figures.h"
#include "bench/tensors.h"
#include "tensorhub/ros.h"
#include "worker_agent/memory/chunk_digest.h"

namespace tensorhub::bench {
namespace {

constexpr size_t kTensors = 64;
constexpr uint64_t kPieceBytes = uint64_t{256} << 10;
constexpr std::chrono::seconds kJoinPatience{60};

struct Member {
  std::unique_ptr<MemoryBlock> block;  // outlives the client
  std::unique_ptr<tensorhub::Client> client;
};

absl::StatusOr<Member> Join(const std::string& server, const std::string& model,
                            const std::string& group, uint64_t bytes) {
  Member member;
  absl::StatusOr<std::unique_ptr<MemoryBlock>> block = MemoryBlock::Make(bytes);
  if (!block.ok()) return block.status();
  member.block = *std::move(block);
  tensorhub::ConnectOptions options;
  options.server = server;
  options.model = model;
  options.group = group;
  options.location = "bench/bench/bench/bench/0";
  absl::StatusOr<std::unique_ptr<tensorhub::Client>> client = tensorhub::Client::Connect(options);
  if (!client.ok()) return client.status();
  member.client = *std::move(client);
  const absl::Status status = member.client->Register(
      CutIntoTensors(member.block->data(), member.block->bytes(), kTensors));
  if (!status.ok()) return status;
  return member;
}

// Until then a joiner would wait for the first publisher's hashing as well.
absl::Status AwaitIdentity(tensorhub::Client& client) {
  const auto end = Clock::now() + kJoinPatience;
  while (Clock::now() < end) {
    const auto versions = client.List();
    if (!versions.ok()) return versions.status();
    if (!versions->empty() && versions->front().identity) return absl::OkStatus();
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return absl::DeadlineExceededError("the first publisher has not hashed what it published");
}

// Hashes on this thread, in pieces of a chunk's size.
double HashUs(const MemoryBlock& block) {
  const auto* data = static_cast<const char*>(static_cast<const void*>(block.data()));
  const auto start = Clock::now();
  uint64_t all = 0;
  for (uint64_t at = 0; at < block.bytes(); at += kPieceBytes) {
    const agent::DigestPiece piece{data + at, std::min(kPieceBytes, block.bytes() - at)};
    all ^= agent::ChunkDigest(&piece, 1);
  }
  const volatile uint64_t kept = all;
  static_cast<void>(kept);
  return MicrosecondsSince(start);
}

}  // namespace

absl::StatusOr<JoinCost> MeasureJoin(const std::string& server, const std::string& model,
                                     uint64_t bytes, int rounds) {
  const absl::StatusOr<Member> first = Join(server, model, "first", bytes);
  if (!first.ok()) return first.status();
  if (absl::Status status = first->client->Publish(1); !status.ok()) return status;
  const absl::StatusOr<Member> joiner = Join(server, model, "joiner", bytes);
  if (!joiner.ok()) return joiner.status();
  if (absl::Status status = AwaitIdentity(*joiner->client); !status.ok()) return status;
  std::vector<double> join_us;
  std::vector<double> hash_us;
  for (int round = 0; round < rounds; ++round) {
    hash_us.push_back(HashUs(*joiner->block));
    const auto start = Clock::now();
    absl::Status status = joiner->client->Publish(1);
    join_us.push_back(MicrosecondsSince(start));
    status.Update(joiner->client->Unpublish());
    if (!status.ok()) return status;
  }
  return JoinCost{Median(join_us), Median(hash_us)};
}

}  // namespace tensorhub::bench
