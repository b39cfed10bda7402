// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// What the kernel knows about this process and this machine.

#ifndef TENSORHUB_TOOLS_BENCH_PROCESS_FACTS_H_
#define TENSORHUB_TOOLS_BENCH_PROCESS_FACTS_H_

#include <cstdint>
#include <string>

namespace tensorhub::bench {

// Resident memory of this process, shared pages included.
uint64_t ResidentBytes();

// Bytes that this process' open TCP connections to HOST:PORT have sent so far, by the kernel's own
// count (TCP_INFO): everything above TCP, frames of HTTP/2 included. Found by the port alone.
uint64_t BytesSentTo(const std::string& server);

uint64_t AvailableMemoryBytes();

// Runnable processes over the last minute, per core.
double LoadPerCore();

// Of all cores together, in seconds since the machine started.
struct CpuTimes {
  double busy = 0;
  double total = 0;
};
CpuTimes MachineCpu();
// What part of the machine was busy in between, 0 to 1.
double BusyShare(const CpuTimes& before, const CpuTimes& after);

// "Xeon, 2 cores, Linux 6.1.0, UCX 1.13.1, 2026-11-21".
std::string MachineLine();

}  // namespace tensorhub::bench

#endif  // TENSORHUB_TOOLS_BENCH_PROCESS_FACTS_H_
