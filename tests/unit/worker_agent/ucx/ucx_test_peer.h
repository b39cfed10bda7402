// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// What the transports' tests share: sinks that record, loops with a deadline, and a second process.
// That process is this test program itself, started anew with an argument (UCX does not survive a
// fork), and says its addresses over a pipe.

#ifndef TENSORHUB_TESTS_UNIT_WORKER_AGENT_UCX_UCX_TEST_PEER_H_
#define TENSORHUB_TESTS_UNIT_WORKER_AGENT_UCX_UCX_TEST_PEER_H_

#include <poll.h>
#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "worker_agent/core/transport.h"
#include "worker_agent/ucx/ucx_messages.h"

namespace tensorhub::agent {

inline constexpr std::chrono::seconds kTestDeadline{20};

// By UCX_TLS, as a worker takes it (host_ways.h): "tcp" is TensorHub's own, over the loopback, all
// else shared memory of UCX's.
std::unique_ptr<MessageTransport> MakeMessages(MessageTransport::Sink* sink);

struct RecordingMessages : MessageTransport::Sink {
  void OnMessage(std::string_view header, std::string_view payload) override {
    messages.emplace_back(header, payload);
  }
  void OnSent(uint64_t token, const absl::Status& status) override {
    ++sent_calls[token];
    sent[token] = status;
  }
  void OnPeerFailed(PeerId peer, const absl::Status& status) override {
    failed.emplace_back(peer, status);
  }
  void OnDeaf(std::string_view why) override {
    ++deaf;
    why_deaf = why;
  }
  std::vector<std::pair<std::string, std::string>> messages;
  std::map<uint64_t, absl::Status> sent;
  std::map<uint64_t, int> sent_calls;
  std::vector<std::pair<PeerId, absl::Status>> failed;
  int deaf = 0;
  std::string why_deaf;
};

struct RecordingGets : GetTransport::Sink {
  void OnGetDone(uint64_t token, const absl::Status& status) override { done[token] = status; }
  void OnGetPeerFailed(PeerId peer, const absl::Status& status) override {
    failed.emplace_back(peer, status);
  }
  std::map<uint64_t, absl::Status> done;
  std::vector<std::pair<PeerId, absl::Status>> failed;
};

// Runs every transport until `condition`; false if the deadline came first.
template <typename Condition, typename... Transports>
bool ProgressUntil(Condition condition, Transports&... transports) {
  const auto deadline = std::chrono::steady_clock::now() + kTestDeadline;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    (transports.Progress(), ...);
  }
  return true;
}

// The same with one transport, sleeping on its event fd when idle.
template <typename Condition, typename Transport>
bool SleepUntil(Condition condition, Transport& transport) {
  const auto deadline = std::chrono::steady_clock::now() + kTestDeadline;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    if (transport.Progress() || !transport.Arm()) continue;
    pollfd fd = {transport.EventFd(), POLLIN, 0};
    poll(&fd, 1, 100);  // UCX's keepalive needs a Progress call now and then
  }
  return true;
}

// `bytes` of a pattern that differs at every position and for every seed.
std::string Pattern(size_t bytes, unsigned seed);

// A second process. Killed, if it still runs, by the destructor.
class TestPeer {
 public:
  // `role`: see RunPeerRole. `transports`: its UCX_TLS, empty for none.
  TestPeer(const std::string& role, const std::string& transports);
  ~TestPeer();
  TestPeer(const TestPeer&) = delete;
  TestPeer& operator=(const TestPeer&) = delete;

  // The next thing it said; empty if it ended.
  std::string Read();
  void Signal(int number);
  // SIGKILL, and reaped: to UCX's shared memory a zombie is still alive.
  void Kill();

 private:
  pid_t pid_ = -1;
  int to_ = -1;    // its standard input: closing it ends it
  int from_ = -1;  // what it says
};

// If the arguments ask for a role, plays it and returns true. "echo": says its message address,
// connects to the address that the first message carries, then returns every message, but for one
// with the header kDie: in the middle of that one's copy it is killed. "region": says its get
// address, key, base and size of a patterned region, and never progresses.
bool RunPeerRole(int argc, char** argv);

inline constexpr std::string_view kDie = "die";
inline constexpr size_t kRegionBytes = size_t{3} << 20;
inline constexpr unsigned kRegionSeed = 7;

}  // namespace tensorhub::agent

#endif  // TENSORHUB_TESTS_UNIT_WORKER_AGENT_UCX_UCX_TEST_PEER_H_
