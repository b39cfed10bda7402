// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// What the server shows by HTTP: /metrics, /livez, /readyz, the API below /api/ (api.h) and the
// page at /. Plain HTTP, GET and HEAD only, for a network of the operator's own.
//
// R9: a request has a bound in bytes and in time, one is taken per connection, and a body is not
// read (connection.h).
//
// Thread contract: Start and the destructor on one thread. `facts` and `look` are called on threads
// of this class, and may take their time.

#ifndef TENSORHUB_SERVER_HTTP_PAGES_H_
#define TENSORHUB_SERVER_HTTP_PAGES_H_

#include <memory>
#include <string>
#include <thread>

#include "absl/status/statusor.h"
#include "server/http/api.h"

namespace tensorhub::http {

class Pages {
 public:
  // UNAVAILABLE if the address cannot be had. Port 0: any free one.
  static absl::StatusOr<std::unique_ptr<Pages>> Start(const std::string& host, uint16_t port,
                                                      FactsSource facts, Look look);
  // Of a server that stands by: it is alive and ready, and has nothing to show.
  static absl::StatusOr<std::unique_ptr<Pages>> StartForStandby(const std::string& host,
                                                                uint16_t port);
  ~Pages();
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;

  uint16_t port() const { return port_; }

 private:
  Pages(FactsSource facts, Look look, bool stands_by);
  static absl::StatusOr<std::unique_ptr<Pages>> Start(const std::string& host, uint16_t port,
                                                      std::unique_ptr<Pages> pages);
  void Offer();

  const FactsSource facts_;
  const Api api_;
  const bool stands_by_;
  class Server;
  std::unique_ptr<Server> server_;
  uint16_t port_ = 0;
  std::thread thread_;
};

}  // namespace tensorhub::http

#endif  // TENSORHUB_SERVER_HTTP_PAGES_H_
