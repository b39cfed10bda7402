// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "server/http/pages.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/http/metrics_page.h"
#include "server/http/metrics_text.h"
#include "server/http/page.h"

namespace tensorhub::http {
namespace {

constexpr char kPaths[] = "/, /api/v1/status, /metrics, /livez and /readyz";

int CodeOf(const absl::Status& status) {
  if (absl::IsInvalidArgument(status)) return kBadRequest;
  return absl::IsNotFound(status) ? kNotFound : kUnavailable;
}

Reply HubIsSilent() { return Fault(kUnavailable, "the hub does not answer; ask again"); }

}  // namespace

Pages::Pages(FactsSource facts, Look look, bool stands_by)
    : facts_(facts), api_(std::move(facts), std::move(look)), stands_by_(stands_by) {}

absl::StatusOr<std::unique_ptr<Pages>> Pages::Start(const std::string& host, uint16_t port,
                                                    FactsSource facts, Look look) {
  return Start(
      host, port,
      std::unique_ptr<Pages>(new Pages(std::move(facts), std::move(look), /*stands_by=*/false)));
}

absl::StatusOr<std::unique_ptr<Pages>> Pages::StartForStandby(const std::string& host,
                                                              uint16_t port) {
  return Start(host, port,
               std::unique_ptr<Pages>(new Pages([] { return std::nullopt; },
                                                [](auto) { return false; }, /*stands_by=*/true)));
}

absl::StatusOr<std::unique_ptr<Pages>> Pages::Start(const std::string& host, uint16_t port,
                                                    std::unique_ptr<Pages> pages) {
  auto server = SmallServer::Start({.host = host, .port = port, .paths = kPaths}, pages->Routes());
  if (!server.ok()) {
    return absl::UnavailableError(absl::StrCat("--http: ", std::string(server.status().message())));
  }
  pages->server_ = *std::move(server);
  return pages;
}

// Also while it recovers: workers have to reach it to report.
Reply Pages::Alive() const {
  if (stands_by_) return {.body = "ok, standing by\n"};
  return facts_() ? Reply{.body = "ok\n"} : HubIsSilent();
}

std::vector<Route> Pages::Routes() const {
  const auto metrics = [this](const std::string&) {
    const std::optional<Facts> facts = facts_();
    return facts ? Reply{.type = kMetricsType, .body = MetricsText(*facts)} : HubIsSilent();
  };
  const auto alive = [this](const std::string&) { return Alive(); };
  const auto api = [this](const std::string& target) {
    const absl::StatusOr<Json> json = api_.Get(target);
    if (json.ok()) return Reply{.type = kJsonType, .body = ToText(*json)};
    return Fault(CodeOf(json.status()), std::string(json.status().message()));
  };
  const auto page = [page = MakePage()](const std::string&) {
    return Reply{.type = kPageType,
                 .body = page.html,
                 .headers = {{"Content-Security-Policy", page.policy}}};
  };
  return {{"/metrics", metrics},
          {"/livez", alive},
          {"/readyz", alive},
          {"/api/", api, true},
          {"/", page}};
}

}  // namespace tensorhub::http
