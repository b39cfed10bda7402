// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// What the bare transfers have in common.

#ifndef TENSORHUB_BENCH_BARE_ROLE_H_
#define TENSORHUB_BENCH_BARE_ROLE_H_

#include <ucp/api/ucp.h>

#include <chrono>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "bench/bare_settings.h"
#include "tools/child/child.h"
#include "worker_agent/ucx/ucx_worker.h"

namespace tensorhub::bench {

inline constexpr uint64_t kBareSeed = 11;

struct BareRole {
  BareSettings settings;
  bool is_source = false;
  // Parses "source=0|1 bytes=N frame=N window=N ahead=N".
  static absl::StatusOr<BareRole> Parse(const Fields& args);
};

// `address`: an envelope of a peer's worker. With peer error handling, as the agent does.
absl::StatusOr<ucp_ep_h> ConnectBare(const agent::UcxWorker& worker, agent::EnvelopeKind kind,
                                     const std::string& address);
// What is behind "COMMAND ".
absl::StatusOr<Fields> CommandFields(const std::string& line);
// The bytes behind "COMMAND key=HEX ...".
absl::StatusOr<std::string> AddressArgument(const std::string& line, const std::string& key);

// Force-closes, so that the worker can be destroyed.
void DisconnectBare(const agent::UcxWorker& worker, ucp_ep_h peer);

// Waits as the agent's progress loop does: spins while something moves, yields the core when
// nothing does, sleeps on the event fd after 300 us. A limit that only spun would starve on a busy
// machine, and be none.
class BareLoop {
 public:
  explicit BareLoop(const agent::UcxWorker& worker) : worker_(worker) {}
  void Turn();

 private:
  const agent::UcxWorker& worker_;
  std::chrono::steady_clock::time_point active_at_ = std::chrono::steady_clock::now();
};

// The answer to one of BarePair's commands, by the transfer's Connect (which takes the line),
// Serve, Read (its seconds) and Digest.
template <typename Bare>
absl::StatusOr<std::string> RunBareCommand(Bare& bare, const std::string& line) {
  if (line == "read") {
    const absl::StatusOr<double> seconds = bare.Read();
    if (!seconds.ok()) return seconds.status();
    return absl::StrCat("seconds=", *seconds);
  }
  if (line == "digest") return absl::StrCat("digest=", bare.Digest());
  absl::Status status = absl::InvalidArgumentError(absl::StrCat("unknown command ", line));
  if (line.starts_with("connect ")) status = bare.Connect(line);
  if (line == "serve") status = bare.Serve();
  if (!status.ok()) return status;
  return "";
}

// A role's exit code; an error is the answer to whatever was asked last.
int EndRole(const absl::Status& status);

}  // namespace tensorhub::bench

#endif  // TENSORHUB_BENCH_BARE_ROLE_H_
