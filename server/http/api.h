// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The JSON API, /api/v1: what tensorhubctl lists, read-only, for pages and scripts. Each answer is
// bounded, and made of one look at the hub.
//
// Thread contract: any thread.

#ifndef TENSORHUB_SERVER_HTTP_API_H_
#define TENSORHUB_SERVER_HTTP_API_H_

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "server/http/ask.h"
#include "server/http/facts.h"
#include "server/http/json_views.h"

namespace tensorhub::http {

// Rows of one answer.
inline constexpr size_t kRowsUnlessSaid = 100;
inline constexpr size_t kRowsMax = 1000;

// None: the hub does not answer, and the server is neither ready nor alive.
using FactsSource = std::function<std::optional<Facts>()>;

class Api {
 public:
  Api(FactsSource facts, Look look) : facts_(std::move(facts)), look_(std::move(look)) {}

  // `target` is as the request has it: a path under /api/, and perhaps a query. NOT_FOUND,
  // INVALID_ARGUMENT, UNAVAILABLE: in one line with the remedy.
  absl::StatusOr<Json> Get(std::string_view target) const;

 private:
  absl::StatusOr<Json> Status(std::string_view query) const;
  absl::StatusOr<Json> Models(std::string_view query) const;
  absl::StatusOr<Json> Versions(std::string_view escaped_model, std::string_view query) const;
  absl::StatusOr<Json> Replication(std::string_view query) const;
  absl::StatusOr<Json> Workers(std::string_view query) const;

  const FactsSource facts_;
  const Look look_;
};

}  // namespace tensorhub::http

#endif  // TENSORHUB_SERVER_HTTP_API_H_
