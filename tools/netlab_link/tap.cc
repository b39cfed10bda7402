// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tools/netlab_link/tap.h"

#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"

namespace tensorhub::netlab {

absl::StatusOr<Tap> Tap::Make(const std::string& name) {
  if (name.size() >= IFNAMSIZ) {
    return absl::InvalidArgumentError(absl::StrCat(name, " is too long for a device's name"));
  }
  Tap tap(open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC));
  ifreq request{};
  request.ifr_flags = IFF_TAP | IFF_NO_PI | IFF_VNET_HDR;
  std::memcpy(request.ifr_name, name.data(), name.size());
  constexpr unsigned kOffloads = TUN_F_CSUM | TUN_F_TSO4 | TUN_F_TSO6 | TUN_F_TSO_ECN;
  if (tap.fd_ < 0 || ioctl(tap.fd_, TUNSETIFF, &request) != 0 ||
      ioctl(tap.fd_, TUNSETOFFLOAD, kOffloads) != 0) {
    return absl::UnavailableError(
        absl::StrCat("/dev/net/tun gives no device ", name, ": ", std::strerror(errno)));
  }
  return tap;
}

Tap::~Tap() {
  if (fd_ >= 0) close(fd_);
}

Tap::Tap(Tap&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

size_t Tap::Read(std::span<uint8_t> room) {
  const ssize_t got = read(fd_, room.data(), room.size());
  return got > 0 ? static_cast<size_t>(got) : 0;
}

void Tap::Write(std::span<const uint8_t> frame) {
  [[maybe_unused]] const ssize_t put = write(fd_, frame.data(), frame.size());
}

}  // namespace tensorhub::netlab
