// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "server/rpc/listen_address.h"

#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "absl/strings/str_cat.h"

namespace tensorhub::rpc {
namespace {

// 0, or the errno of what went wrong.
int TryOne(const addrinfo& address) {
  const int fd = socket(address.ai_family, address.ai_socktype | SOCK_CLOEXEC, 0);
  if (fd < 0) return errno;
  const int on = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));  // as gRPC does: TIME_WAIT is no bar
  int error = bind(fd, address.ai_addr, address.ai_addrlen) == 0 ? 0 : errno;
  // Two sockets may both be bound with SO_REUSEADDR; only one of them may listen.
  if (error == 0 && listen(fd, 1) != 0) error = errno;
  close(fd);
  return error;
}

absl::Status CannotListen(const ListenAddress& address, int error) {
  const char* remedy = error == EADDRINUSE ? "stop the server that has it, or choose another port"
                       : error == EACCES   ? "choose a port above 1023"
                                           : "choose an address of this machine";
  return absl::UnavailableError(absl::StrCat("--listen: cannot listen on ", address.ToString(),
                                             " (", std::strerror(error), "): ", remedy));
}

}  // namespace

absl::Status TryToListen(const ListenAddress& address) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const std::string port = std::to_string(address.port);
  const int failure = getaddrinfo(address.host.c_str(), port.c_str(), &hints, &found);
  if (failure != 0) {
    return absl::UnavailableError(absl::StrCat("--listen: cannot resolve \"", address.host, "\" (",
                                               gai_strerror(failure),
                                               "): give an address or a name that resolves"));
  }
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(found, &freeaddrinfo);
  int last_error = 0;
  bool any = false;
  for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
    const int error = TryOne(*one);
    if (error == EADDRINUSE) return CannotListen(address, error);
    if (error == 0) any = true;
    if (error != 0) last_error = error;
  }
  return any ? absl::OkStatus() : CannotListen(address, last_error);
}

}  // namespace tensorhub::rpc
