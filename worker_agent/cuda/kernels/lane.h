// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// What the programs of the GPU are written on, so that the same source runs on a CPU as well: the
// compiler for the device makes it part of a kernel, the one for the host part of a test that goes
// through the threads of a block one by one.
//
// A program sees its block through a `Team`:
//   Team::Each<T>             a T for each thread (one in a register, or an array of all)
//   ForEach(f)                f(thread) for each; between two of these the threads of a warp are
//                             together
//   ExchangeXor(values, mask) each thread has afterwards what the lane `lane ^ mask` of its warp
//                             had
//   Sync()                    all threads of the block have come here, and see each other's writes
//                             to shared memory
// DeviceTeam is in kernels.cu, HostTeam in host_team.h.

#ifndef TENSORHUB_WORKER_AGENT_CUDA_KERNELS_LANE_H_
#define TENSORHUB_WORKER_AGENT_CUDA_KERNELS_LANE_H_

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __CUDACC__
#define TENSORHUB_LANE __device__ __forceinline__
// What is rare, and would take the registers of what is not.
#define TENSORHUB_LANE_CALL inline __device__ __noinline__
#define TENSORHUB_UNROLL _Pragma("unroll")
#define TENSORHUB_NO_UNROLL _Pragma("unroll 1")
#else
#define TENSORHUB_LANE inline
#define TENSORHUB_LANE_CALL inline
#define TENSORHUB_UNROLL
#define TENSORHUB_NO_UNROLL
#endif

namespace tensorhub::agent::kernels {

inline constexpr uint32_t kWarpThreads = 32;

// What one access of a thread moves at most. Memory of the device is little endian.
struct alignas(16) Bytes16 {
  uint64_t low = 0;
  uint64_t high = 0;
};

// `address` is a multiple of 16. (On the device in one access of global memory, which the compiler
// makes of none of the portable ways to say it.)
TENSORHUB_LANE Bytes16 LoadAligned16(uint64_t address) {
  Bytes16 value;
#ifdef __CUDA_ARCH__
  asm("ld.global.v2.u64 {%0, %1}, [%2];" : "=l"(value.low), "=l"(value.high) : "l"(address));
#else
  memcpy(&value, reinterpret_cast<const void*>(address), 16);
#endif
  return value;
}
TENSORHUB_LANE void StoreAligned16(uint64_t address, const Bytes16& value) {
#ifdef __CUDA_ARCH__
  asm volatile("st.global.v2.u64 [%0], {%1, %2};"
               :
               : "l"(address), "l"(value.low), "l"(value.high)
               : "memory");
#else
  memcpy(reinterpret_cast<void*>(address), &value, 16);
#endif
}

TENSORHUB_LANE uint64_t LoadByte(uint64_t address) {
  return *reinterpret_cast<const uint8_t*>(address);
}
TENSORHUB_LANE void StoreByte(uint64_t address, uint8_t value) {
  *reinterpret_cast<uint8_t*>(address) = value;
}

// The bytes from `bits` on of 128 and what follows them; `bits` is above 0 and below 64.
TENSORHUB_LANE Bytes16 Shifted(uint64_t first, uint64_t second, uint64_t third, uint32_t bits) {
  Bytes16 value;
  value.low = (first >> bits) | (second << (64 - bits));
  value.high = (second >> bits) | (third << (64 - bits));
  return value;
}

// From anywhere. Reads the two aligned sixteens that the bytes lie in, so up to 15 bytes before and
// behind; those are in the pages of the bytes themselves.
TENSORHUB_LANE Bytes16 Load16(uint64_t address) {
  const uint32_t off = static_cast<uint32_t>(address & 15);
  const Bytes16 first = LoadAligned16(address - off);
  if (off == 0) return first;
  const Bytes16 second = LoadAligned16(address - off + 16);
  if (off < 8) return Shifted(first.low, first.high, second.low, off * 8);
  if (off == 8) return Bytes16{first.high, second.low};
  return Shifted(first.high, second.low, second.high, off * 8 - 64);
}

// Index of the last of `count` ascending values (at least one, and the first is not above `at`)
// that is not above `at`. `value(i)` is the i-th.
template <typename Value>
TENSORHUB_LANE uint32_t LastNotAbove(uint32_t count, uint64_t at, Value value) {
  uint32_t low = 0;
  uint32_t high = count;
  while (high - low > 1) {
    const uint32_t middle = low + (high - low) / 2;
    if (value(middle) <= at) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return low;
}

}  // namespace tensorhub::agent::kernels

#endif  // TENSORHUB_WORKER_AGENT_CUDA_KERNELS_LANE_H_
