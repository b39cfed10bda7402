// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "common/http/connection.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>

namespace tensorhub::http {
namespace {

using Clock = std::chrono::steady_clock;

constexpr char kEnd[] = "\r\n\r\n";

constexpr std::chrono::milliseconds kEndPatience{500};
constexpr size_t kEndBytesMax = 1 << 20;

// False: the time is up, or the connection is broken.
bool Await(socket_t socket, short what, Clock::time_point deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
  if (left.count() <= 0) return false;
  pollfd waited{socket, what, 0};
  return poll(&waited, 1, static_cast<int>(left.count())) > 0;
}

}  // namespace

Head ReadHead(socket_t socket) {
  const auto deadline = Clock::now() + kHeadPatience;
  std::string head;
  while (Await(socket, POLLIN, deadline)) {
    char bytes[4096];
    const ssize_t got = recv(socket, bytes, sizeof(bytes), MSG_DONTWAIT);
    if (got <= 0) return {};
    head.append(bytes, static_cast<size_t>(got));
    const size_t end = head.find(kEnd);
    if (end != std::string::npos) {
      return {Head::Outcome::kWhole, head.substr(0, end + sizeof(kEnd) - 1)};
    }
    if (head.size() >= kHeadBytesMax) return {Head::Outcome::kTooLong, {}};
  }
  return {head.empty() ? Head::Outcome::kSilent : Head::Outcome::kTooSlow, {}};
}

void SendAll(socket_t socket, const std::string& text) {
  const auto deadline = Clock::now() + kAnswerPatience;
  for (size_t at = 0; at < text.size() && Await(socket, POLLOUT, deadline);) {
    const ssize_t sent =
        send(socket, text.data() + at, text.size() - at, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent <= 0) return;
    at += static_cast<size_t>(sent);
  }
}

void EndGently(socket_t socket) {
  shutdown(socket, SHUT_WR);
  const auto deadline = Clock::now() + kEndPatience;
  char bytes[4096];
  for (size_t taken = 0; taken < kEndBytesMax && Await(socket, POLLIN, deadline);) {
    const ssize_t got = recv(socket, bytes, sizeof(bytes), MSG_DONTWAIT);
    if (got <= 0) return;
    taken += static_cast<size_t>(got);
  }
}

ssize_t Exchange::read(char* to, size_t size) {
  const size_t bytes = std::min(size, request_.size() - at_);
  std::memcpy(to, request_.data() + at_, bytes);
  at_ += bytes;
  return static_cast<ssize_t>(bytes);
}

ssize_t Exchange::write(const char* from, size_t size) {
  answer_.append(from, size);
  return static_cast<ssize_t>(size);
}

}  // namespace tensorhub::http
