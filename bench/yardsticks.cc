// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "bench/yardsticks.h"

#include <unistd.h>

#include <chrono>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "bench/figures.h"
#include "bench/tensors.h"
#include "tools/child/child.h"

namespace tensorhub::bench {
namespace {

constexpr int kMemcpyRounds = 5;
constexpr char kIperf[] = "/usr/bin/iperf3";

}  // namespace

absl::StatusOr<double> MemcpyGBps(uint64_t bytes) {
  const absl::StatusOr<std::unique_ptr<MemoryBlock>> from = MemoryBlock::Make(bytes);
  if (!from.ok()) return from.status();
  const absl::StatusOr<std::unique_ptr<MemoryBlock>> to = MemoryBlock::Make(bytes);
  if (!to.ok()) return to.status();
  std::vector<double> rates;
  for (int round = 0; round < kMemcpyRounds; ++round) {
    const auto start = std::chrono::steady_clock::now();
    std::memcpy((*to)->data(), (*from)->data(), bytes);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    rates.push_back(static_cast<double>(bytes) / 1e9 / seconds.count());
  }
  return Median(rates);
}

absl::StatusOr<double> IperfGBps() {
  if (access(kIperf, X_OK) != 0) return absl::NotFoundError("iperf3 is not installed");
  // A port of its own, so that two benches at once do not meet.
  const std::string port = absl::StrCat(20000 + getpid() % 10000);
  const absl::StatusOr<std::unique_ptr<Child>> server =
      Child::Start({.name = "iperf3",
                    .binary = kIperf,
                    .args = {"-s", "-1", "--forceflush", "-B", "127.0.0.1", "-p", port}});
  if (!server.ok()) return server.status();
  const absl::StatusOr<std::string> ready =
      (*server)->LineWith("listening", std::chrono::seconds(5));
  if (!ready.ok()) return ready.status();
  const absl::StatusOr<std::unique_ptr<Child>> client =
      Child::Start({.name = "iperf3",
                    .binary = kIperf,
                    .args = {"-c", "127.0.0.1", "-p", port, "-t", "2", "-l", "1M", "-J"}});
  if (!client.ok()) return client.status();
  const absl::StatusOr<std::string> text = (*client)->ReadToEnd(std::chrono::seconds(20));
  if (!text.ok()) return text.status();
  const auto result = nlohmann::json::parse(*text, nullptr, /*allow_exceptions=*/false);
  const nlohmann::json::json_pointer rate("/end/sum_received/bits_per_second");
  if (!result.is_object() || !result.contains(rate) || !result[rate].is_number()) {
    return absl::InternalError("iperf3 did not say how fast it was");
  }
  return result[rate].get<double>() / 8e9;
}

}  // namespace tensorhub::bench
