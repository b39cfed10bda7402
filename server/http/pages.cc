// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "server/http/pages.h"

#include <httplib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/http/connection.h"
#include "server/http/metrics_text.h"

namespace tensorhub::http {
namespace {

// Each is held up for kHeadPatience by a client that says nothing.
constexpr size_t kThreads = 16;
constexpr std::chrono::milliseconds kLookEvery{1};
constexpr int kUnavailable = 503;
constexpr char kPlain[] = "text/plain; charset=utf-8";

// The library's own choice lets two servers have one port.
void ShareNoPort(socket_t socket) {
  const int yes = 1;
  setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
}

void Answer(httplib::Response& response, bool good, const char* text) {
  if (!good) response.status = kUnavailable;
  response.set_content(good ? "ok\n" : absl::StrCat(text, "\n"), kPlain);
}

}  // namespace

// R9: what comes over a connection is bounded before the library looks at it.
class Pages::Server final : public httplib::Server {
 public:
  Server() {
    set_socket_options(ShareNoPort);
    set_payload_max_length(0);
    new_task_queue = [] { return new httplib::ThreadPool(kThreads); };
  }

 private:
  bool process_and_close_socket(socket_t socket) override {
    if (std::optional<std::string> head = ReadHead(socket)) {
      Exchange exchange(*std::move(head));
      bool closed = false;
      process_request(exchange, /*close_connection=*/true, closed, nullptr);
      SendAll(socket, exchange.answer());
    }
    shutdown(socket, SHUT_RDWR);
    close(socket);
    return true;
  }
};

Pages::Pages(FactsSource facts) : facts_(std::move(facts)), server_(std::make_unique<Server>()) {}

absl::StatusOr<std::unique_ptr<Pages>> Pages::Start(const std::string& host, uint16_t port,
                                                    FactsSource facts) {
  std::unique_ptr<Pages> pages(new Pages(std::move(facts)));
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
    if (!facts) return Answer(response, false, "the hub does not answer");
    response.set_content(MetricsText(*facts), kMetricsType);
  });
  // Also while it recovers: workers have to reach it to report.
  const auto answers = [this](const httplib::Request&, httplib::Response& response) {
    Answer(response, facts_().has_value(), "the hub does not answer");
  };
  server_->Get("/livez", answers);
  server_->Get("/readyz", answers);
}

}  // namespace tensorhub::http
