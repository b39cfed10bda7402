// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// netlab-link SOCKET NAME=DEVICE…: the links of one laboratory. tools/netlab starts it in the
// namespace where the wide-area links meet, and it goes with that. It makes the devices, says "up",
// and then takes orders (Relay::Order), one line to a connection.

#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "tools/netlab_link/relay.h"

namespace tensorhub::netlab {
namespace {

// While there is something to do, it is done in portions: a wire of 1 Gbit/s brings a frame each
// 12 us, and to wake up for each of them takes longer than the frame.
constexpr std::chrono::microseconds kPortion{500};
constexpr int kOrderBytesMax = 4096;

double Now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

int Listen(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) return -1;
  std::memcpy(address.sun_path, path.data(), path.size());
  unlink(path.c_str());
  const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  const auto* generic = reinterpret_cast<const sockaddr*>(&address);
  if (fd < 0 || bind(fd, generic, sizeof(address)) != 0 || listen(fd, 8) != 0) return -1;
  return fd;
}

// Orders are carried out one after the other, and nobody is waited for.
class Orders {
 public:
  explicit Orders(int listener) : listener_(listener) {}

  int fd() const { return client_ >= 0 ? client_ : listener_; }
  void Serve(Relay& relay) {
    if (client_ < 0) client_ = accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (client_ < 0) return;
    char line[kOrderBytesMax];
    const ssize_t size = recv(client_, line, sizeof(line), 0);
    if (size < 0 && errno == EAGAIN) return;
    if (size > 0) {
      const std::string answer = relay.Order(std::string(line, static_cast<size_t>(size)), Now());
      send(client_, answer.data(), answer.size(), MSG_NOSIGNAL);
    }
    close(std::exchange(client_, -1));
  }

 private:
  const int listener_;
  int client_ = -1;
};

// Until a frame comes or is due, or an order does.
void Wait(std::vector<pollfd>& wires, std::optional<double> next) {
  timespec left{};
  if (next.has_value()) {
    const double seconds = std::max(0.0, *next - Now());
    left.tv_sec = static_cast<time_t>(seconds);
    left.tv_nsec = static_cast<long>((seconds - static_cast<double>(left.tv_sec)) * 1e9);
  }
  ppoll(wires.data(), wires.size(), next.has_value() ? &left : nullptr, nullptr);
}

[[noreturn]] void Run(Relay& relay, std::vector<pollfd> wires, Orders orders) {
  wires.push_back({.fd = -1, .events = POLLIN, .revents = 0});
  while (true) {
    wires.back().fd = orders.fd();
    Wait(wires, relay.Next());
    do {
      orders.Serve(relay);
      std::this_thread::sleep_for(kPortion);
    } while (relay.Turn(Now()));
  }
}

int Fail(const std::string& text) {
  std::fprintf(stderr, "netlab-link: %s\n", text.c_str());
  return 1;
}

int Main(const std::vector<std::string>& words) {
  if (words.size() < 2) return Fail("give SOCKET NAME=DEVICE…; tools/netlab does");
  std::vector<Relay::Port> ports;
  std::vector<pollfd> wires;
  for (size_t index = 1; index < words.size(); ++index) {
    const size_t equals = std::min(words[index].find('='), words[index].size() - 1);
    absl::StatusOr<Tap> tap = Tap::Make(words[index].substr(equals + 1));
    if (!tap.ok()) return Fail(std::string(tap.status().message()));
    wires.push_back({.fd = tap->fd(), .events = POLLIN, .revents = 0});
    ports.push_back({words[index].substr(0, equals), *std::move(tap)});
  }
  const int listener = Listen(words[0]);
  if (listener < 0) return Fail(absl::StrCat(words[0], ": ", std::strerror(errno)));
  Relay relay(std::move(ports));
  std::puts("up");
  std::fflush(stdout);
  Run(relay, std::move(wires), Orders(listener));
}

}  // namespace
}  // namespace tensorhub::netlab

int main(int argc, char** argv) {
  signal(SIGPIPE, SIG_IGN);
  return tensorhub::netlab::Main({argv + 1, argv + argc});
}
