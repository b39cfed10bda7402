// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// What the kernel knows about this process and this machine.

#ifndef TENSORHUB_BENCH_PROCESS_FACTS_H_
#define TENSORHUB_BENCH_PROCESS_FACTS_H_

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "absl/status/status.h"

namespace tensorhub::bench {

// Resident memory, shared pages included: of this process, or of another one. 0 if it is gone.
uint64_t ResidentBytes();
uint64_t ResidentBytesOf(pid_t process);

// What another process used so far, of all its threads; in steps of the kernel's tick (10 ms). 0 if
// it is gone.
double CpuSecondsOf(pid_t process);

// Bytes that this process' open TCP connections to HOST:PORT have sent so far, by the kernel's own
// count (TCP_INFO): everything above TCP, frames of HTTP/2 included. Found by the port alone.
uint64_t BytesSentTo(const std::string& server);

uint64_t AvailableMemoryBytes();

// Lets this process and its later children have so many open files. RESOURCE_EXHAUSTED says what
// to raise.
absl::Status AllowOpenFiles(uint64_t count);

// Runnable processes over the last minute, per core.
double LoadPerCore();
// Above it, what is measured is the machine\'s other work.
constexpr double kBusyLoad = 0.5;

// Times of all cores together, in seconds since the machine started.
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

#endif  // TENSORHUB_BENCH_PROCESS_FACTS_H_
