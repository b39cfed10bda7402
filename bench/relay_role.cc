// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "bench/relay_role.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bench/bare_role.h"
#include "bench/tensors.h"

namespace tensorhub::bench {
namespace {

// What one call moves; as large as that static chains in MPI libraries use.
constexpr size_t kSegment = 128 << 10;
constexpr int kRelayStallMs = 60'000;

double Now() {
  const auto now = std::chrono::steady_clock::now();
  return std::chrono::duration<double>(now.time_since_epoch()).count();
}

absl::Status Problem(const std::string& what) {
  return absl::UnavailableError(absl::StrCat(what, ": ", std::strerror(errno)));
}

class Socket {
 public:
  explicit Socket(int fd = -1) : fd_(fd) {}
  ~Socket() {
    if (fd_ >= 0) close(fd_);
  }
  Socket(Socket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Socket& operator=(Socket&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  int fd() const { return fd_; }
  bool open() const { return fd_ >= 0; }
  void MakeQuick() const {
    const int on = 1;
    setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    fcntl(fd_, F_SETFL, fcntl(fd_, F_GETFL) | O_NONBLOCK);
  }

 private:
  int fd_;
};

absl::StatusOr<sockaddr_in> AddressOf(const std::string& host, int port) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  if (inet_pton(AF_INET, host.c_str(), &address.sin_addr) == 1) return address;
  return absl::InvalidArgumentError(absl::StrCat("no address: ", host));
}

struct Downstream {
  Socket socket;
  size_t sent = 0;
};

class Relay {
 public:
  Relay(std::unique_ptr<MemoryBlock> block, bool is_source)
      : block_(std::move(block)), is_source_(is_source) {}
  absl::StatusOr<int> Listen(const std::string& address);
  absl::StatusOr<std::string> Run(const std::string& line);

 private:
  absl::StatusOr<std::string> Move(const Fields& fields);
  absl::Status Connect(const std::string& upstream);
  absl::Status Accept(size_t count);
  absl::Status Take(Socket& upstream);
  absl::Status Give(Downstream& downstream);
  absl::Status MoveAll(bool whole);
  std::string Stat() const;
  // What may be given on.
  size_t Limit(bool whole) const { return whole && have_ < block_->bytes() ? 0 : have_; }

  const std::unique_ptr<MemoryBlock> block_;
  const bool is_source_;
  Socket listener_;
  Socket upstream_;
  std::vector<Downstream> downstreams_;
  size_t have_ = 0;
  double taken_at_ = 0;
};

absl::StatusOr<int> Relay::Listen(const std::string& address) {
  listener_ = Socket(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  absl::StatusOr<sockaddr_in> own = AddressOf(address, 0);
  if (!own.ok()) return own.status();
  socklen_t length = sizeof(*own);
  auto* generic = reinterpret_cast<sockaddr*>(&*own);
  if (bind(listener_.fd(), generic, length) != 0 || listen(listener_.fd(), 64) != 0 ||
      getsockname(listener_.fd(), generic, &length) != 0) {
    return Problem(absl::StrCat("cannot listen on ", address));
  }
  return ntohs(own->sin_port);
}

absl::Status Relay::Connect(const std::string& upstream) {
  const size_t colon = upstream.rfind(':');
  int port = 0;
  if (colon == std::string::npos || !absl::SimpleAtoi(upstream.substr(colon + 1), &port)) {
    return absl::InvalidArgumentError(absl::StrCat(upstream, " is not HOST:PORT"));
  }
  const absl::StatusOr<sockaddr_in> address = AddressOf(upstream.substr(0, colon), port);
  if (!address.ok()) return address.status();
  upstream_ = Socket(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (connect(upstream_.fd(), reinterpret_cast<const sockaddr*>(&*address), sizeof(*address)) !=
      0) {
    return Problem(absl::StrCat("no connection to ", upstream));
  }
  upstream_.MakeQuick();
  return absl::OkStatus();
}

absl::Status Relay::Accept(size_t count) {
  while (downstreams_.size() < count) {
    Socket socket(accept4(listener_.fd(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!socket.open()) return Problem("nobody connects");
    socket.MakeQuick();
    downstreams_.push_back({std::move(socket)});
  }
  return absl::OkStatus();
}

absl::Status Relay::Take(Socket& upstream) {
  const size_t room = std::min(kSegment, block_->bytes() - have_);
  const ssize_t count = recv(upstream.fd(), block_->data() + have_, room, 0);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return absl::OkStatus();
  if (count <= 0) return absl::UnavailableError("the node upstream ended");
  have_ += static_cast<size_t>(count);
  taken_at_ = Now();
  return absl::OkStatus();
}

absl::Status Relay::Give(Downstream& downstream) {
  const size_t count = std::min(kSegment, have_ - downstream.sent);
  const ssize_t sent =
      send(downstream.socket.fd(), block_->data() + downstream.sent, count, MSG_NOSIGNAL);
  if (sent < 0 && (errno == EAGAIN || errno == EINTR)) return absl::OkStatus();
  if (sent < 0) return Problem("the node downstream ended");
  downstream.sent += static_cast<size_t>(sent);
  return absl::OkStatus();
}

absl::Status Relay::MoveAll(bool whole) {
  while (true) {
    std::vector<pollfd> polled;
    std::vector<Downstream*> receivers;
    for (Downstream& downstream : downstreams_) {
      if (downstream.sent >= Limit(whole)) continue;
      polled.push_back({downstream.socket.fd(), POLLOUT, 0});
      receivers.push_back(&downstream);
    }
    if (have_ < block_->bytes()) polled.push_back({upstream_.fd(), POLLIN, 0});
    if (polled.empty()) return absl::OkStatus();
    const int ready = poll(polled.data(), polled.size(), kRelayStallMs);
    if (ready == 0) return absl::DeadlineExceededError("nothing moves");
    for (size_t i = 0; i < polled.size(); ++i) {
      if (polled[i].revents == 0) continue;
      absl::Status status = i < receivers.size() ? Give(*receivers[i]) : Take(upstream_);
      if (!status.ok()) return status;
    }
  }
}

absl::StatusOr<std::string> Relay::Move(const Fields& fields) {
  const absl::StatusOr<double> downstreams = fields.Number("downstreams");
  const absl::StatusOr<double> whole = fields.Number("whole");
  if (!downstreams.ok()) return downstreams.status();
  if (!whole.ok()) return whole.status();
  downstreams_.clear();
  upstream_ = Socket();
  have_ = is_source_ ? block_->bytes() : 0;
  absl::Status status;
  if (const auto upstream = fields.Text("upstream"); upstream.ok()) status = Connect(*upstream);
  if (status.ok()) status = Accept(static_cast<size_t>(*downstreams));
  const double start = Now();
  if (status.ok()) status = MoveAll(*whole != 0);
  if (!status.ok()) return status;
  return absl::StrFormat("start=%.6f end=%.6f", start, is_source_ ? Now() : taken_at_);
}

std::string Relay::Stat() const {
  timespec cpu = {};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
  return absl::StrCat("cpu=",
                      static_cast<double>(cpu.tv_sec) + static_cast<double>(cpu.tv_nsec) * 1e-9);
}

absl::StatusOr<std::string> Relay::Run(const std::string& line) {
  const std::string verb = line.substr(0, line.find(' '));
  if (verb == "digest") return absl::StrCat("digest=", DigestOf(block_->data(), block_->bytes()));
  if (verb == "stat") return Stat();
  if (verb == "scrub") {
    std::memset(block_->data(), 0x5a, block_->bytes());
    return "";
  }
  if (verb != "run") return absl::InvalidArgumentError(absl::StrCat("unknown command ", line));
  const absl::StatusOr<Fields> fields = Fields::Parse(line.substr(verb.size()));
  if (!fields.ok()) return fields.status();
  return Move(*fields);
}

absl::Status PlayRelay(const Fields& fields) {
  const absl::StatusOr<double> bytes = fields.Number("bytes");
  const absl::StatusOr<double> source = fields.Number("source");
  const absl::StatusOr<std::string> address = fields.Text("address");
  if (!bytes.ok()) return bytes.status();
  if (!source.ok()) return source.status();
  if (!address.ok()) return address.status();
  absl::StatusOr<std::unique_ptr<MemoryBlock>> block =
      MemoryBlock::Make(static_cast<size_t>(*bytes));
  if (!block.ok()) return block.status();
  if (*source != 0) Fill((*block)->data(), (*block)->bytes(), kBareSeed);
  Relay relay(*std::move(block), *source != 0);
  const absl::StatusOr<int> port = relay.Listen(*address);
  if (!port.ok()) return port.status();
  AnswerOk(absl::StrCat("port=", *port));
  AnswerCommands([&](const std::string& line) { return relay.Run(line); });
  return absl::OkStatus();
}

}  // namespace

int RunRelay(const Fields& args) { return EndRole(PlayRelay(args)); }

}  // namespace tensorhub::bench
