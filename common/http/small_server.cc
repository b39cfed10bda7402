// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "common/http/small_server.h"

#include <httplib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <nlohmann/json.hpp>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/http/connection.h"
#include "common/mutex.h"
#include "common/text.h"
#include "common/thread.h"

namespace tensorhub::http {
namespace {

constexpr std::chrono::milliseconds kLookEvery{1};

constexpr size_t kWaitingMax = 32;  // connections, for a thread

constexpr int kWrongMethod = 405;
constexpr int kTooSlow = 408;
constexpr int kTooLong = 431;

// The library's own choice lets two servers have one port.
void ShareNoPort(socket_t socket) {
  const int yes = 1;
  setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
}

void Give(const Reply& reply, httplib::Response& response) {
  response.status = reply.code;
  for (const auto& [name, value] : reply.headers) response.set_header(name, value);
  response.set_content(reply.body, reply.type);
}

// To a request that the library was not shown.
std::string BareAnswer(int code, const char* title, const std::string& what) {
  const std::string body = Fault(code, what).body;
  return absl::StrCat("HTTP/1.1 ", code, " ", title, "\r\nContent-Type: ", kJsonType,
                      "\r\nContent-Length: ", body.size(), "\r\nConnection: close\r\n\r\n", body);
}

// No copy, no other site's page around it or with it inside, and nothing taken for what it is not.
httplib::Headers Guards() {
  return {{"Cache-Control", "no-store"},
          {"X-Content-Type-Options", "nosniff"},
          {"Cross-Origin-Resource-Policy", "same-origin"},
          {"Referrer-Policy", "no-referrer"}};
}

// The library looks for ranges before anything else, by recursion over their text, and gives each
// one a copy of its own.
std::string WithoutRanges(const std::string& head) {
  std::string kept;
  for (size_t at = 0; at < head.size();) {
    const size_t end = std::min(head.find('\n', at), head.size() - 1) + 1;
    const absl::string_view line(head.data() + at, end - at);
    const bool ranges =
        absl::StartsWithIgnoreCase(line, "range") || absl::StartsWithIgnoreCase(line, "if-range");
    if (!ranges) kept.append(line.data(), line.size());
    at = end;
  }
  return kept;
}

// A pool that lets the thread which takes connections wait while too many wait already.
class BoundedPool final : public httplib::TaskQueue {
 public:
  explicit BoundedPool(size_t threads) : most_(threads + kWaitingMax), pool_(threads) {}

  // Newer versions of the library want to hear whether the job was taken.
  using Taken = decltype(std::declval<httplib::TaskQueue&>().enqueue({}));
  Taken enqueue(std::function<void()> job) override {
    Enter();
    return pool_.enqueue([this, job = std::move(job)] {
      job();
      Leave();
    });
  }
  void shutdown() override { pool_.shutdown(); }

 private:
  void Enter() ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(mutex_);
    while (there_ >= most_) left_.Wait(mutex_);
    ++there_;
  }
  void Leave() ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(mutex_);
    --there_;
    left_.NotifyAll();
  }

  const size_t most_;
  Mutex mutex_;
  CondVar left_;
  size_t there_ ABSL_GUARDED_BY(mutex_) = 0;
  httplib::ThreadPool pool_;  // first to go
};

httplib::Server::HandlerResponse OnlyReads(const httplib::Request& request,
                                           httplib::Response& response) {
  using Response = httplib::Server::HandlerResponse;
  if (request.method == "GET" || request.method == "HEAD") return Response::Unhandled;
  response.set_header("Allow", "GET, HEAD");
  Give(Fault(kWrongMethod, "nothing can be changed here; use GET, and tensorhubctl to change"),
       response);
  return Response::Handled;
}

// What no handler has taken, and what the library could not read.
void SayFault(const std::string& paths, const httplib::Request& request,
              httplib::Response& response) {
  if (!response.body.empty()) return;
  const std::string what =
      response.status == kNotFound
          ? absl::StrCat(Shown(request.path), ": no such path; there is ", paths)
          : "the request cannot be read; send one of HTTP/1.1";
  Give(Fault(response.status, what), response);
}

}  // namespace

Reply Fault(int code, const std::string& what) {
  using Json = nlohmann::ordered_json;
  const Json json = {{"status", code}, {"error", what}};
  return {code, kJsonType, json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n"};
}

// R9: what comes over a connection is bounded before the library looks at it.
class SmallServer::Server final : public httplib::Server {
 public:
  explicit Server(const SmallServer::Options& options) {
    set_socket_options(ShareNoPort);
    set_payload_max_length(0);
    set_default_headers(Guards());
    set_error_handler(
        [paths = options.paths](const httplib::Request& request, httplib::Response& response) {
          SayFault(paths, request, response);
        });
    new_task_queue = [threads = options.threads] { return new BoundedPool(threads); };
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

  std::string AnswerTo(const Head& head) {
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
    Exchange exchange(WithoutRanges(head.text));
    bool closed = false;
    Process(&Server::process_request, exchange, closed);
    return exchange.answer();
  }

 private:
  // The library's versions differ in what they are told of the two ends, which nobody here asks
  // for.
  using Setup = const std::function<void(httplib::Request&)>&;
  using Of011 = bool (httplib::Server::*)(httplib::Stream&, bool, bool&, Setup);
  using Of018 = bool (httplib::Server::*)(httplib::Stream&, const std::string&, int,
                                          const std::string&, int, bool, bool&, Setup);
  void Process(Of011 process, Exchange& exchange, bool& closed) {
    (this->*process)(exchange, /*close_connection=*/true, closed, nullptr);
  }
  void Process(Of018 process, Exchange& exchange, bool& closed) {
    (this->*process)(exchange, "", 0, "", 0, /*close_connection=*/true, closed, nullptr);
  }
};

SmallServer::SmallServer(const Options& options, std::vector<Route> routes)
    : routes_(std::move(routes)), server_(std::make_unique<Server>(options)) {
  // Instead of the library's own routes, which are regular expressions: they recurse, too.
  server_->set_pre_routing_handler(
      [this](const httplib::Request& request, httplib::Response& response) {
        const auto answered = OnlyReads(request, response);
        if (answered == httplib::Server::HandlerResponse::Handled) return answered;
        const auto route = std::find_if(routes_.begin(), routes_.end(), [&](const Route& each) {
          return each.below ? absl::StartsWith(request.path, each.path) : request.path == each.path;
        });
        if (route == routes_.end()) return answered;
        Give(route->reply(request.target), response);
        return httplib::Server::HandlerResponse::Handled;
      });
}

absl::StatusOr<std::unique_ptr<SmallServer>> SmallServer::Start(const Options& options,
                                                                std::vector<Route> routes) {
  const std::string& host = options.host;
  const uint16_t port = options.port;
  // The library has the whole process ignore the signal; nothing here raises it.
  struct sigaction before = {};
  sigaction(SIGPIPE, nullptr, &before);
  std::unique_ptr<SmallServer> server(new SmallServer(options, std::move(routes)));
  sigaction(SIGPIPE, &before, nullptr);
  httplib::Server& http = *server->server_;
  const int bound = port == 0 ? http.bind_to_any_port(host.c_str())
                              : (http.bind_to_port(host.c_str(), port) ? port : -1);
  if (bound <= 0) {
    return absl::UnavailableError(
        absl::StrCat("cannot listen on ", host, ":", port, ": choose another address or port"));
  }
  server->port_ = static_cast<uint16_t>(bound);
  absl::StatusOr<std::thread> thread =
      StartThread("the page", [&http] { http.listen_after_bind(); });
  if (!thread.ok()) return thread.status();
  server->thread_ = *std::move(thread);
  // The library ends only what runs.
  while (!http.is_running()) std::this_thread::sleep_for(kLookEvery);
  return server;
}

SmallServer::~SmallServer() {
  server_->stop();
  if (thread_.joinable()) thread_.join();
}

}  // namespace tensorhub::http
