// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The digest of a chunk (chunk_digest.h: XXH3-64) by one block of threads.
//
// XXH3 goes through its input in blocks of 1024 bytes: what their words add to the eight
// accumulators is a sum, in any order, and then the accumulators are scrambled, which takes the
// blocks' order. So each warp sums a block of its own, 16 bytes a lane at a time, neighbours side
// by side; eight threads take the sums in order. A turn is one block for each warp. What the next
// turn needs is loaded before the sums of this one are handed over, and there are two places for
// sums, so that the warps sum the next blocks while the eight threads take these.
//
// With `kCopies` a chunk is copied on the way: what was loaded for the sums is stored as well, so
// that its bytes pass the memory once in and once out, as in any copy, and none is stored that was
// not hashed. (Chunks up to kShortMax are read once more for their copy.)
//
// Of each sixteen bytes a lane has the words 2q and 2q+1 of a stripe, q = lane % 4: its words go to
// the same two accumulators in all stripes, and its keys stay the same as well.

#ifndef TENSORHUB_WORKER_AGENT_CUDA_KERNELS_DIGEST_PROGRAM_H_
#define TENSORHUB_WORKER_AGENT_CUDA_KERNELS_DIGEST_PROGRAM_H_

#include "worker_agent/cuda/kernels/pieces.h"
#include "worker_agent/cuda/kernels/xxh3.h"

namespace tensorhub::agent::kernels {

// Sixteen warps keep enough loads under way for a processor's share of the memory's bandwidth, and
// the eight threads need about as long for sixteen sums as a load takes.
inline constexpr uint32_t kDigestThreads = 512;
inline constexpr uint32_t kDigestWarps = kDigestThreads / kWarpThreads;
inline constexpr uint32_t kAccumulators = 8;

struct Chunk {
  uint64_t bytes = 0;
  uint32_t first_piece = 0;
  uint32_t pieces = 0;
};

struct DigestShared {
  uint64_t sums[2][kDigestWarps][kAccumulators];
  uint64_t accumulators[kAccumulators];
};

// One thread of a warp that sums blocks.
template <bool kCopies>
class BlockSummer {
 public:
  BlockSummer() = default;

  TENSORHUB_LANE void Start(const Chunk& chunk, const Piece* pieces, uint32_t lane) {
    in_.Start(pieces + chunk.first_piece, chunk.pieces, chunk.bytes);
    bytes_ = static_cast<uint32_t>(chunk.bytes);
    last_ = (bytes_ - 1) / kBlockBytes;
    lane_ = lane;
    TENSORHUB_UNROLL
    for (uint32_t i = 0; i < 2; ++i) {
      const uint32_t secret = 8 * Stripe(i) + 16 * (lane % 4);
      keys_[2 * i] = Secret64(secret);
      keys_[2 * i + 1] = Secret64(secret + 8);
    }
  }

  // The loads for a block, if it is a whole one with another behind it.
  TENSORHUB_LANE void Prefetch(uint32_t block) {
    if (block >= last_) return;
    TENSORHUB_UNROLL
    for (uint32_t i = 0; i < 2; ++i) data_[i] = in_.At16(Offset(block, i));
  }

  // What this lane's part of the block that was prefetched adds to its two accumulators, and its
  // copy. The last block has as many whole stripes as fit before the last byte, and the last 64
  // bytes, which may overlap them. Nothing for blocks behind it.
  TENSORHUB_LANE void Sum(uint32_t block) {
    sums_[0] = sums_[1] = 0;
    if (block < last_) {
      TENSORHUB_UNROLL
      for (uint32_t i = 0; i < 2; ++i) {
        Add(data_[i], keys_[2 * i], keys_[2 * i + 1]);
        if constexpr (kCopies) in_.Copy16(Offset(block, i), data_[i]);
      }
    } else if (block == last_) {
      SumLast();
    }
  }

  // The two steps of putting a warp's sums together: first this lane gives one away and keeps the
  // other, and then there is one to be added up.
  TENSORHUB_LANE uint64_t given() const { return (lane_ & 4) != 0 ? sums_[0] : sums_[1]; }
  TENSORHUB_LANE uint64_t kept() const { return (lane_ & 4) != 0 ? sums_[1] : sums_[0]; }
  // The accumulator that `kept` is for.
  TENSORHUB_LANE uint32_t kept_word() const { return 2 * (lane_ % 4) + (lane_ & 4) / 4; }

 private:
  TENSORHUB_LANE uint32_t Stripe(uint32_t load) const { return 8 * load + lane_ / 4; }
  TENSORHUB_LANE uint32_t Offset(uint32_t block, uint32_t load) const {
    return block * kBlockBytes + load * (kBlockBytes / 2) + lane_ * 16;
  }
  TENSORHUB_LANE void Add(const Bytes16& data, uint64_t low_key, uint64_t high_key) {
    sums_[0] += Keyed(data.low, low_key) + data.high;
    sums_[1] += Keyed(data.high, high_key) + data.low;
  }
  TENSORHUB_LANE void SumLast() {
    const uint32_t stripes = (bytes_ - 1 - last_ * kBlockBytes) / kStripeBytes;
    TENSORHUB_NO_UNROLL
    for (uint32_t i = 0; i < 3; ++i) {
      const bool end = i == 2;
      if (end ? lane_ >= 4 : Stripe(i) >= stripes) continue;
      const uint32_t offset = end ? bytes_ - kStripeBytes + 16 * lane_ : Offset(last_, i);
      const uint32_t secret =
          end ? kSecretBytes - kStripeBytes - 7 + 16 * lane_ : 8 * Stripe(i) + 16 * (lane_ % 4);
      const Bytes16 data = in_.At16(offset);
      Add(data, Secret64(secret), Secret64(secret + 8));
      if constexpr (!kCopies) continue;
      // The last 64 bytes begin within what the stripes have copied.
      const uint32_t from = end ? last_ * kBlockBytes + stripes * kStripeBytes : 0;
      if (offset + 16 > from) in_.Copy16(offset, data, from);
    }
  }

  PieceView in_;
  uint32_t bytes_ = 0;
  uint32_t last_ = 0;  // the last block
  uint32_t lane_ = 0;
  uint64_t keys_[4] = {};
  Bytes16 data_[2] = {};
  uint64_t sums_[2] = {};
};

// Takes a turn's sums, of the blocks from `first` on, into one accumulator.
TENSORHUB_LANE uint64_t TakeSums(uint64_t accumulator, const uint64_t (*sums)[kAccumulators],
                                 uint32_t word, uint32_t first, uint32_t last, uint64_t key) {
  for (uint32_t warp = 0; warp < kDigestWarps && first + warp <= last; ++warp) {
    accumulator += sums[warp][word];
    if (first + warp < last) accumulator = Scramble(accumulator, key);
  }
  return accumulator;
}

// For chunks of more than kShortMax bytes; a team of kDigestThreads.
template <bool kCopies, typename Team>
TENSORHUB_LANE void LongDigest(Team& team, const Chunk& chunk, const Piece* pieces,
                               DigestShared& shared, uint64_t* digest) {
  typename Team::template Each<BlockSummer<kCopies>> summers;
  typename Team::template Each<uint64_t> sums;
  typename Team::template Each<uint64_t> accumulators;
  typename Team::template Each<uint64_t> keys;
  const auto last = static_cast<uint32_t>((chunk.bytes - 1) / kBlockBytes);
  team.ForEach([&](uint32_t thread) {
    summers[thread].Start(chunk, pieces, thread % kWarpThreads);
    summers[thread].Prefetch(thread / kWarpThreads);
    if (thread >= kAccumulators) return;
    accumulators[thread] = FirstAccumulator(thread);
    keys[thread] = ScrambleKey(thread);
  });
  for (uint32_t first = 0; first <= last; first += kDigestWarps) {
    uint64_t(*const places)[kAccumulators] = shared.sums[first / kDigestWarps % 2];
    team.ForEach([&](uint32_t thread) {
      const uint32_t block = first + thread / kWarpThreads;
      summers[thread].Sum(block);
      summers[thread].Prefetch(block + kDigestWarps);
      sums[thread] = summers[thread].given();
    });
    team.ExchangeXor(sums, 4);
    team.ForEach([&](uint32_t thread) { sums[thread] += summers[thread].kept(); });
    for (uint32_t mask = 8; mask <= 16; mask *= 2) {
      typename Team::template Each<uint64_t> others = sums;
      team.ExchangeXor(others, mask);
      team.ForEach([&](uint32_t thread) { sums[thread] += others[thread]; });
    }
    team.ForEach([&](uint32_t thread) {
      if (thread % kWarpThreads >= kAccumulators) return;
      places[thread / kWarpThreads][summers[thread].kept_word()] = sums[thread];
    });
    team.Sync();
    team.ForEach([&](uint32_t thread) {
      if (thread >= kAccumulators) return;
      accumulators[thread] =
          TakeSums(accumulators[thread], places, thread, first, last, keys[thread]);
    });
  }
  team.ForEach([&](uint32_t thread) {
    if (thread < kAccumulators) shared.accumulators[thread] = accumulators[thread];
  });
  team.Sync();
  team.ForEach([&](uint32_t thread) {
    if (thread == 0) *digest = Merge(shared.accumulators, chunk.bytes);
  });
}

template <bool kCopies, typename Team>
TENSORHUB_LANE void ChunkDigestProgram(Team& team, const Chunk& chunk, const Piece* pieces,
                                       DigestShared& shared, uint64_t* digest) {
  if (chunk.bytes > kShortMax) return LongDigest<kCopies>(team, chunk, pieces, shared, digest);
  team.ForEach([&](uint32_t thread) {
    if (thread != 0) return;
    PieceView in;
    in.Start(pieces + chunk.first_piece, chunk.pieces, chunk.bytes);
    *digest = ShortDigest(in, chunk.bytes);
    for (uint32_t i = 0; kCopies && i < chunk.bytes; ++i) in.CopyByte(i);
  });
}

}  // namespace tensorhub::agent::kernels

#endif  // TENSORHUB_WORKER_AGENT_CUDA_KERNELS_DIGEST_PROGRAM_H_
