// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "common/cli/supervisor.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "absl/strings/numbers.h"

namespace tensorhub::cli {
namespace {

struct SocketAddress {
  sockaddr_un value = {};
  socklen_t bytes = 0;
};

// A path, or a name without a file, which is written with @ and begins with a zero byte.
std::optional<SocketAddress> NotifyAddress() {
  const char* text = std::getenv("NOTIFY_SOCKET");
  if (text == nullptr) return std::nullopt;
  const std::string_view name = text;
  SocketAddress address;
  if (name.size() < 2 || name.size() >= sizeof(address.value.sun_path)) return std::nullopt;
  if (name[0] != '/' && name[0] != '@') return std::nullopt;
  address.value.sun_family = AF_UNIX;
  std::memcpy(address.value.sun_path, name.data(), name.size());
  if (name[0] == '@') address.value.sun_path[0] = '\0';
  address.bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
  return address;
}

bool NumberFrom(const char* variable, uint64_t* value) {
  const char* text = std::getenv(variable);
  return text != nullptr && absl::SimpleAtoi(text, value);
}

}  // namespace

bool TellSupervisor(const std::string& lines) {
  const std::optional<SocketAddress> address = NotifyAddress();
  if (!address) return false;
  const int socket = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (socket < 0) return false;
  const ssize_t sent = sendto(socket, lines.data(), lines.size(), MSG_DONTWAIT | MSG_NOSIGNAL,
                              reinterpret_cast<const sockaddr*>(&address->value), address->bytes);
  close(socket);
  return sent == static_cast<ssize_t>(lines.size());
}

std::optional<std::chrono::microseconds> WatchdogPatience() {
  uint64_t microseconds = 0;
  uint64_t process = 0;
  if (!NumberFrom("WATCHDOG_USEC", &microseconds) || microseconds == 0) return std::nullopt;
  const bool others = NumberFrom("WATCHDOG_PID", &process) && process != uint64_t(getpid());
  if (others) return std::nullopt;
  return std::chrono::microseconds(microseconds);
}

}  // namespace tensorhub::cli
