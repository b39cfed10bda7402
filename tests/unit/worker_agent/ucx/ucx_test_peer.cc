// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tests/unit/worker_agent/ucx/ucx_test_peer.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <memory>

#include "common/check.h"
#include "worker_agent/tcp/tcp_messages.h"
#include "worker_agent/ucx/ucx_gets.h"
#include "worker_agent/ucx/ucx_messages.h"
#include "worker_agent/ucx/ucx_settings.h"

namespace tensorhub::agent {
namespace {

void Say(int fd, std::string_view text) {
  const uint64_t bytes = text.size();
  TH_CHECK(write(fd, &bytes, sizeof(bytes)) == sizeof(bytes));
  TH_CHECK(write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size()));
}

bool InputEnded() {
  pollfd fd = {STDIN_FILENO, POLLIN, 0};
  return poll(&fd, 1, 0) > 0;
}

// Copying from memory that nobody may read ends this process, after the transport has taken a place
// for the bytes at the peer. A system call only refuses such memory.
void DieSending(MessageTransport* transport, PeerId peer) {
  signal(SIGSEGV, [](int) { kill(getpid(), SIGKILL); });
  void* forbidden = mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  TH_CHECK(forbidden != MAP_FAILED);
  const std::vector<ConstPiece> pieces(2 * kPiecesInPlace, ConstPiece{forbidden, 64});
  transport->Send(peer, "the last", pieces, 1);
}

struct Echo : MessageTransport::Sink {
  void OnMessage(std::string_view header, std::string_view payload) override {
    if (back == 0) {
      back = transport->Connect(payload).value();
      return;
    }
    if (header == kDie) {
      dies = true;
      return DieSending(transport, back);
    }
    kept.push_back(std::make_unique<std::string>(payload));
    const ConstPiece piece{kept.back()->data(), payload.size()};
    transport->Send(back, header, {&piece, 1}, kept.size());
  }
  void OnSent(uint64_t token, const absl::Status&) override { kept[token - 1].reset(); }
  void OnPeerFailed(PeerId peer, const absl::Status&) override { transport->Close(peer); }
  void OnDeaf(std::string_view /*why*/) override {}

  MessageTransport* transport = nullptr;
  PeerId back = 0;
  bool dies = false;
  std::vector<std::unique_ptr<std::string>> kept;
};

void PlayEcho(int out) {
  Echo echo;
  auto transport = MakeMessages(&echo);
  echo.transport = transport.get();
  Say(out, transport->Address());
  while (!InputEnded()) {
    transport->Progress();
    if (echo.dies) kill(getpid(), SIGKILL);
  }
}

void PlayRegion(int out) {
  RecordingGets sink;
  auto transport = UcxGets::Create(&sink).value();
  const SharedRegion region = transport->Allocate(kRegionBytes).value();
  const std::string pattern = Pattern(region.bytes, kRegionSeed);
  std::memcpy(region.base, pattern.data(), pattern.size());
  Say(out, transport->Address());
  Say(out, region.packed_key);
  Say(out, std::to_string(reinterpret_cast<uint64_t>(region.base)));
  char byte;
  TH_CHECK(read(STDIN_FILENO, &byte, 1) == 0);
}

}  // namespace

std::unique_ptr<MessageTransport> MakeMessages(MessageTransport::Sink* sink) {
  const std::string tls = std::getenv("UCX_TLS") == nullptr ? "" : std::getenv("UCX_TLS");
  if (tls != "tcp") return UcxMessages::Create(sink, {MemoryTransports(tls.c_str()), ""}).value();
  const std::string loopback("\x7f\0\0\x01", 4);
  return TcpMessages::Create(sink, {"lo", loopback, loopback, {}}).value();
}

std::string Pattern(size_t bytes, unsigned seed) {
  std::string text(bytes, '\0');
  uint64_t state = seed * 0x9e3779b97f4a7c15u + 1;
  for (char& c : text) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    c = static_cast<char>(state >> 56);
  }
  return text;
}

TestPeer::TestPeer(const std::string& role, const std::string& transports) {
  int in[2], out[2];
  TH_CHECK(pipe2(in, O_CLOEXEC) == 0 && pipe2(out, O_CLOEXEC) == 0);
  const std::string output = std::to_string(out[1]);
  pid_ = fork();
  if (pid_ == 0) {
    dup2(in[0], STDIN_FILENO);
    fcntl(out[1], F_SETFD, 0);
    if (!transports.empty()) setenv("UCX_TLS", transports.c_str(), 1);
    execl("/proc/self/exe", "peer", "--peer", role.c_str(), output.c_str(), nullptr);
    _exit(127);
  }
  close(in[0]);
  close(out[1]);
  to_ = in[1];
  from_ = out[0];
}

TestPeer::~TestPeer() {
  close(to_);
  close(from_);
  if (pid_ > 0) Kill();
}

void TestPeer::Kill() {
  TH_CHECK(kill(pid_, SIGKILL) == 0 && waitpid(pid_, nullptr, 0) == pid_);
  pid_ = -1;
}

std::string TestPeer::Read() {
  uint64_t bytes = 0;
  if (read(from_, &bytes, sizeof(bytes)) != sizeof(bytes)) return "";
  std::string text(bytes, '\0');
  size_t have = 0;
  while (have < bytes) {
    const ssize_t got = read(from_, text.data() + have, bytes - have);
    if (got <= 0) return "";
    have += static_cast<size_t>(got);
  }
  return text;
}

void TestPeer::Signal(int number) { TH_CHECK(kill(pid_, number) == 0); }

bool RunPeerRole(int argc, char** argv) {
  if (argc != 4 || std::string_view(argv[1]) != "--peer") return false;
  const int out = std::atoi(argv[3]);
  if (std::string_view(argv[2]) == "echo") PlayEcho(out);
  if (std::string_view(argv[2]) == "region") PlayRegion(out);
  return true;
}

}  // namespace tensorhub::agent
