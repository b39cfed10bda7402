// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "server/http/pages.h"

#include <httplib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/text.h"
#include "server/http/connection.h"
#include "server/http/metrics_text.h"
#include "server/http/page.h"

namespace tensorhub::http {
namespace {

// Each is held up for kHeadPatience by a client that says nothing. So many at most look at the hub
// at a time.
constexpr size_t kThreads = 16;
constexpr std::chrono::milliseconds kLookEvery{1};
constexpr char kPlain[] = "text/plain; charset=utf-8";
constexpr char kJson[] = "application/json";

constexpr int kBadRequest = 400;
constexpr int kNotFound = 404;
constexpr int kWrongMethod = 405;
constexpr int kTooSlow = 408;
constexpr int kTooLong = 431;
constexpr int kUnavailable = 503;

// The library's own choice lets two servers have one port.
void ShareNoPort(socket_t socket) {
  const int yes = 1;
  setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
}

std::string FaultText(int code, const std::string& what) {
  return ToText(Json{{"status", code}, {"error", what}});
}

void Refuse(httplib::Response& response, int code, const std::string& what) {
  response.status = code;
  response.set_content(FaultText(code, what), kJson);
}

// To a request that the library was not shown.
std::string BareAnswer(int code, const char* title, const std::string& what) {
  const std::string body = FaultText(code, what);
  return absl::StrCat("HTTP/1.1 ", code, " ", title, "\r\nContent-Type: ", kJson,
                      "\r\nContent-Length: ", body.size(), "\r\nConnection: close\r\n\r\n", body);
}

int CodeOf(const absl::Status& status) {
  if (absl::IsInvalidArgument(status)) return kBadRequest;
  return absl::IsNotFound(status) ? kNotFound : kUnavailable;
}

// No copy, no other site's page around it or with it inside, and nothing taken for what it is not.
httplib::Headers Guards() {
  return {{"Cache-Control", "no-store"},
          {"X-Content-Type-Options", "nosniff"},
          {"Cross-Origin-Resource-Policy", "same-origin"},
          {"Referrer-Policy", "no-referrer"}};
}

httplib::Server::HandlerResponse OnlyReads(const httplib::Request& request,
                                           httplib::Response& response) {
  using Response = httplib::Server::HandlerResponse;
  if (request.method == "GET" || request.method == "HEAD") return Response::Unhandled;
  response.set_header("Allow", "GET, HEAD");
  Refuse(response, kWrongMethod,
         "nothing can be changed here; use GET, and tensorhubctl to change");
  return Response::Handled;
}

// What no handler has taken, and what the library could not read.
void SayFault(const httplib::Request& request, httplib::Response& response) {
  if (!response.body.empty()) return;
  if (response.status == kNotFound) {
    return Refuse(response, kNotFound,
                  absl::StrCat(Shown(request.path),
                               ": no such path; there is /, /api/v1/status, /metrics, /livez and "
                               "/readyz"));
  }
  Refuse(response, response.status, "the request cannot be read; send one of HTTP/1.1");
}

}  // namespace

// R9: what comes over a connection is bounded before the library looks at it.
class Pages::Server final : public httplib::Server {
 public:
  Server() {
    set_socket_options(ShareNoPort);
    set_payload_max_length(0);
    set_default_headers(Guards());
    set_pre_routing_handler(OnlyReads);
    set_error_handler(SayFault);
    new_task_queue = [] { return new httplib::ThreadPool(kThreads); };
  }

 private:
  bool process_and_close_socket(socket_t socket) override {
    const std::string answer = AnswerTo(ReadHead(socket));
    SendAll(socket, answer);
    if (!answer.empty() && !absl::StartsWith(answer, "HTTP/1.1 2")) EndGently(socket);
    shutdown(socket, SHUT_RDWR);
    close(socket);
    return true;
  }

  std::string AnswerTo(Head head) {
    switch (head.outcome) {
      case Head::Outcome::kSilent:
        return "";
      case Head::Outcome::kTooSlow:
        return BareAnswer(kTooSlow, "Request Timeout",
                          "the request did not come whole within two seconds; send it at once");
      case Head::Outcome::kTooLong:
        return BareAnswer(kTooLong, "Request Header Fields Too Large",
                          "the headers are longer than 16 KiB; send fewer");
      case Head::Outcome::kWhole:
        break;
    }
    Exchange exchange(std::move(head.text));
    bool closed = false;
    process_request(exchange, /*close_connection=*/true, closed, nullptr);
    return exchange.answer();
  }
};

Pages::Pages(FactsSource facts, Look look, bool stands_by)
    : facts_(facts),
      api_(std::move(facts), std::move(look)),
      stands_by_(stands_by),
      server_(std::make_unique<Server>()) {}

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
  pages->Offer();
  const int bound = port == 0 ? pages->server_->bind_to_any_port(host.c_str())
                              : (pages->server_->bind_to_port(host.c_str(), port) ? port : -1);
  if (bound <= 0) {
    return absl::UnavailableError(absl::StrCat("--http: cannot listen on ", host, ":", port,
                                               ": choose another address or port"));
  }
  pages->port_ = static_cast<uint16_t>(bound);
  pages->thread_ = std::thread([server = pages->server_.get()] { server->listen_after_bind(); });
  // The library ends only what runs.
  while (!pages->server_->is_running()) std::this_thread::sleep_for(kLookEvery);
  return pages;
}

Pages::~Pages() {
  server_->stop();
  if (thread_.joinable()) thread_.join();
}

void Pages::Offer() {
  server_->Get("/metrics", [this](const httplib::Request&, httplib::Response& response) {
    const std::optional<Facts> facts = facts_();
    if (!facts) return Refuse(response, kUnavailable, "the hub does not answer; ask again");
    response.set_content(MetricsText(*facts), kMetricsType);
  });
  // Also while it recovers: workers have to reach it to report.
  const auto answers = [this](const httplib::Request&, httplib::Response& response) {
    if (stands_by_) return response.set_content("ok, standing by\n", kPlain);
    if (!facts_()) return Refuse(response, kUnavailable, "the hub does not answer; ask again");
    response.set_content("ok\n", kPlain);
  };
  server_->Get("/livez", answers);
  server_->Get("/readyz", answers);
  server_->Get("/api/.*", [this](const httplib::Request& request, httplib::Response& response) {
    const absl::StatusOr<Json> json = api_.Get(request.target);
    if (json.ok()) return response.set_content(ToText(*json), kJson);
    Refuse(response, CodeOf(json.status()), std::string(json.status().message()));
  });
  server_->Get("/", [page = MakePage()](const httplib::Request&, httplib::Response& response) {
    response.set_header("Content-Security-Policy", page.policy);
    response.set_content(page.html, kPageType);
  });
}

}  // namespace tensorhub::http
