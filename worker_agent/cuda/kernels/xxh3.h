// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The arithmetic of XXH3-64 (default secret, seed 0) for threads of a kernel: the parts that the
// digest of long input is put together from, and the whole digest of short input. The algorithm is
// xxHash's (doc/xxhash_spec.md there); the host uses that library itself.

#ifndef TENSORHUB_WORKER_AGENT_CUDA_KERNELS_XXH3_H_
#define TENSORHUB_WORKER_AGENT_CUDA_KERNELS_XXH3_H_

#include "worker_agent/cuda/kernels/lane.h"
#include "worker_agent/cuda/kernels/pieces.h"

namespace tensorhub::agent::kernels {

inline constexpr uint64_t kPrime32A = 0x9E3779B1u;
inline constexpr uint64_t kPrime32B = 0x85EBCA77u;
inline constexpr uint64_t kPrime32C = 0xC2B2AE3Du;
inline constexpr uint64_t kPrime64A = 0x9E3779B185EBCA87u;
inline constexpr uint64_t kPrime64B = 0xC2B2AE3D27D4EB4Fu;
inline constexpr uint64_t kPrime64C = 0x165667B19E3779F9u;
inline constexpr uint64_t kPrime64D = 0x85EBCA77C2B2AE63u;
inline constexpr uint64_t kPrime64E = 0x27D4EB2F165667C5u;
inline constexpr uint64_t kPrimeMx1 = 0x165667919E3779F9u;
inline constexpr uint64_t kPrimeMx2 = 0x9FB21C651E98DF25u;

inline constexpr uint32_t kSecretBytes = 192;
inline constexpr uint32_t kStripeBytes = 64;
// Between two scrambles: as many stripes as the secret has places for.
inline constexpr uint32_t kBlockBytes = 1024;
// Input up to here goes another way.
inline constexpr uint64_t kShortMax = 240;

// 8 bytes of the secret, from any place in it. Slow: a thread keeps what it needs.
TENSORHUB_LANE uint64_t Secret64(uint32_t offset) {
  static constexpr uint64_t kSecret[kSecretBytes / 8] = {
      0xbe4ba423396cfeb8u, 0x1cad21f72c81017cu, 0xdb979083e96dd4deu, 0x1f67b3b7a4a44072u,
      0x78e5c0cc4ee679cbu, 0x2172ffcc7dd05a82u, 0x8e2443f7744608b8u, 0x4c263a81e69035e0u,
      0xcb00c391bb52283cu, 0xa32e531b8b65d088u, 0x4ef90da297486471u, 0xd8acdea946ef1938u,
      0x3f349ce33f76faa8u, 0x1d4f0bc7c7bbdcf9u, 0x3159b4cd4be0518au, 0x647378d9c97e9fc8u,
      0xc3ebd33483acc5eau, 0xeb6313faffa081c5u, 0x49daf0b751dd0d17u, 0x9e68d429265516d3u,
      0xfca1477d58be162bu, 0xce31d07ad1b8f88fu, 0x280416958f3acb45u, 0x7e404bbbcafbd7afu};
  const uint32_t word = offset / 8;
  const uint32_t bits = offset % 8 * 8;
  if (bits == 0) return kSecret[word];
  return (kSecret[word] >> bits) | (kSecret[word + 1] << (64 - bits));
}

// The high and the low half of a product of 128 bits, folded.
TENSORHUB_LANE uint64_t MultiplyFolded(uint64_t a, uint64_t b) {
#ifdef __CUDA_ARCH__
  return __umul64hi(a, b) ^ (a * b);
#else
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(a) * b;
  return static_cast<uint64_t>(product >> 64) ^ static_cast<uint64_t>(product);
#endif
}

TENSORHUB_LANE uint64_t Avalanche(uint64_t hash) {
  hash ^= hash >> 37;
  hash *= kPrimeMx1;
  return hash ^ (hash >> 32);
}

// What an accumulator starts with; there are eight.
TENSORHUB_LANE uint64_t FirstAccumulator(uint32_t word) {
  static constexpr uint64_t kFirst[8] = {kPrime32C, kPrime64A, kPrime64B, kPrime64C,
                                         kPrime64D, kPrime32B, kPrime64E, kPrime32A};
  return kFirst[word];
}

// What a word of a stripe adds to the accumulator of its place; itself it goes to the neighbour's.
TENSORHUB_LANE uint64_t Keyed(uint64_t word, uint64_t key) {
  const uint64_t keyed = word ^ key;
  return static_cast<uint64_t>(static_cast<uint32_t>(keyed)) * (keyed >> 32);
}

// Scrambles one accumulator, after each block. `key`: the secret's last eight words.
TENSORHUB_LANE uint64_t Scramble(uint64_t accumulator, uint64_t key) {
  return ((accumulator ^ (accumulator >> 47)) ^ key) * kPrime32A;
}
TENSORHUB_LANE uint64_t ScrambleKey(uint32_t word) {
  return Secret64(kSecretBytes - 64 + 8 * word);
}

// The digest of `bytes` bytes that the eight accumulators stand for.
TENSORHUB_LANE uint64_t Merge(const uint64_t* accumulators, uint64_t bytes) {
  uint64_t result = bytes * kPrime64A;
  for (uint32_t i = 0; i < 4; ++i) {
    result += MultiplyFolded(accumulators[2 * i] ^ Secret64(11 + 16 * i),
                             accumulators[2 * i + 1] ^ Secret64(19 + 16 * i));
  }
  return Avalanche(result);
}

// --- up to kShortMax bytes, by one thread -------------------------------------------------------

TENSORHUB_LANE uint64_t RotatedLeft(uint64_t value, uint32_t bits) {
  return (value << bits) | (value >> (64 - bits));
}

TENSORHUB_LANE uint64_t Swapped(uint64_t value) {
  uint64_t swapped = 0;
  for (uint32_t i = 0; i < 8; ++i) swapped |= ((value >> (8 * i)) & 0xff) << (56 - 8 * i);
  return swapped;
}

TENSORHUB_LANE uint64_t Avalanche64(uint64_t hash) {
  hash ^= hash >> 33;
  hash *= kPrime64B;
  hash ^= hash >> 29;
  hash *= kPrime64C;
  return hash ^ (hash >> 32);
}

TENSORHUB_LANE uint64_t Mixed16(const PieceView& in, uint64_t offset, uint32_t secret) {
  return MultiplyFolded(in.At64(offset) ^ Secret64(secret),
                        in.At64(offset + 8) ^ Secret64(secret + 8));
}

TENSORHUB_LANE uint64_t DigestUpTo16(const PieceView& in, uint64_t bytes) {
  if (bytes > 8) {
    const uint64_t low = in.At64(0) ^ Secret64(24) ^ Secret64(32);
    const uint64_t high = in.At64(bytes - 8) ^ Secret64(40) ^ Secret64(48);
    return Avalanche(bytes + Swapped(low) + high + MultiplyFolded(low, high));
  }
  if (bytes >= 4) {
    const uint64_t words = in.At32(bytes - 4) + (static_cast<uint64_t>(in.At32(0)) << 32);
    uint64_t hash = words ^ Secret64(8) ^ Secret64(16);
    hash ^= RotatedLeft(hash, 49) ^ RotatedLeft(hash, 24);
    hash *= kPrimeMx2;
    hash ^= (hash >> 35) + bytes;
    hash *= kPrimeMx2;
    return hash ^ (hash >> 28);
  }
  if (bytes == 0) return Avalanche64(Secret64(56) ^ Secret64(64));
  const uint64_t combined = (static_cast<uint64_t>(in.At8(0)) << 16) |
                            (static_cast<uint64_t>(in.At8(bytes >> 1)) << 24) | in.At8(bytes - 1) |
                            (bytes << 8);
  const uint64_t secret = Secret64(0);
  return Avalanche64(combined ^ (static_cast<uint32_t>(secret) ^ (secret >> 32)));
}

TENSORHUB_LANE uint64_t DigestUpTo128(const PieceView& in, uint64_t bytes) {
  uint64_t hash = bytes * kPrime64A;
  // From both ends to the middle.
  for (uint32_t i = 0; i < 4 && bytes > 32 * i; ++i) {
    hash += Mixed16(in, 16 * i, 32 * i) + Mixed16(in, bytes - 16 * (i + 1), 32 * i + 16);
  }
  return Avalanche(hash);
}

TENSORHUB_LANE uint64_t DigestUpTo240(const PieceView& in, uint64_t bytes) {
  uint64_t hash = bytes * kPrime64A;
  for (uint32_t i = 0; i < 8; ++i) hash += Mixed16(in, 16 * i, 16 * i);
  hash = Avalanche(hash);
  for (uint32_t i = 8; i < bytes / 16; ++i) hash += Mixed16(in, 16 * i, 16 * (i - 8) + 3);
  return Avalanche(hash + Mixed16(in, bytes - 16, 136 - 17));
}

TENSORHUB_LANE_CALL uint64_t ShortDigest(PieceView in, uint64_t bytes) {
  if (bytes <= 16) return DigestUpTo16(in, bytes);
  return bytes <= 128 ? DigestUpTo128(in, bytes) : DigestUpTo240(in, bytes);
}

}  // namespace tensorhub::agent::kernels

#endif  // TENSORHUB_WORKER_AGENT_CUDA_KERNELS_XXH3_H_
