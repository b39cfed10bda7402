// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// What a program shows of itself by HTTP: a few paths in plain HTTP, GET and HEAD only, for a
// network of the operator's own.
//
// R9: a request has a bound in bytes and in time, one is taken per connection, and a body is not
// read (connection.h). Those that wait for a thread have a bound as well, beyond which the kernel
// has them wait. Of a page there is all or nothing: ranges would be copies of it.
//
// Thread contract: Start and the destructor on one thread. Routes are called on threads of this
// class, several at a time, and may take their time.

#ifndef TENSORHUB_COMMON_HTTP_SMALL_SERVER_H_
#define TENSORHUB_COMMON_HTTP_SMALL_SERVER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

namespace tensorhub::http {

inline constexpr char kPlain[] = "text/plain; charset=utf-8";
inline constexpr char kJsonType[] = "application/json";

inline constexpr int kOk = 200;
inline constexpr int kBadRequest = 400;
inline constexpr int kNotFound = 404;
inline constexpr int kUnavailable = 503;

struct Reply {
  int code = kOk;
  std::string type = kPlain;
  std::string body = {};
  std::vector<std::pair<std::string, std::string>> headers = {};
};
// An error as JSON, in one line: {"status": CODE, "error": WHAT}.
Reply Fault(int code, const std::string& what);

struct Route {
  std::string path;
  // `target` is as the request has it: the path, and perhaps a query.
  std::function<Reply(const std::string& target)> reply;
  bool below = false;  // and all paths that begin with it
};

class SmallServer {
 public:
  struct Options {
    std::string host;
    uint16_t port = 0;  // 0: any free one
    // Each is held up by a client that says nothing, for kHeadPatience.
    size_t threads = 16;
    std::string paths;  // those there are, for who asks for another
  };
  // UNAVAILABLE if the address cannot be had.
  static absl::StatusOr<std::unique_ptr<SmallServer>> Start(const Options& options,
                                                            std::vector<Route> routes);
  ~SmallServer();
  SmallServer(const SmallServer&) = delete;
  SmallServer& operator=(const SmallServer&) = delete;

  uint16_t port() const { return port_; }

 private:
  class Server;
  SmallServer(const Options& options, std::vector<Route> routes);

  const std::vector<Route> routes_;
  std::unique_ptr<Server> server_;
  uint16_t port_ = 0;
  std::thread thread_;
};

}  // namespace tensorhub::http

#endif  // TENSORHUB_COMMON_HTTP_SMALL_SERVER_H_
