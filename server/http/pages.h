// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// What the server shows by HTTP: /metrics, /livez, /readyz, the API below /api/ (api.h) and the
// page at / (common/http/small_server.h).
//
// Thread contract: Start and the destructor on one thread. `facts` and `look` are called on threads
// of this class, and may take their time.

#ifndef TENSORHUB_SERVER_HTTP_PAGES_H_
#define TENSORHUB_SERVER_HTTP_PAGES_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/http/small_server.h"
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
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;

  uint16_t port() const { return server_->port(); }

 private:
  Pages(FactsSource facts, Look look, bool stands_by);
  static absl::StatusOr<std::unique_ptr<Pages>> Start(const std::string& host, uint16_t port,
                                                      std::unique_ptr<Pages> pages);
  std::vector<Route> Routes() const;
  Reply Alive() const;

  const FactsSource facts_;
  const Api api_;
  const bool stands_by_;
  std::unique_ptr<SmallServer> server_;
};

}  // namespace tensorhub::http

#endif  // TENSORHUB_SERVER_HTTP_PAGES_H_
