// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "worker_agent/seen/worker_page.h"

#include <charconv>
#include <chrono>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/http/metrics_page.h"
#include "common/text.h"
#include "worker_agent/runtime/thread.h"

namespace tensorhub::agent {
namespace {

// Prometheus gives a scrape ten seconds, a kubelet a probe one.
constexpr std::chrono::milliseconds kLookPatience{800};
// Threads look at workers, and no more than one scraper and one probe are expected.
constexpr size_t kThreads = 4;

struct Ports {
  std::string host;
  uint16_t first = 0;
  uint16_t last = 0;
};

absl::StatusOr<Ports> Parse(const std::string& text) {
  const size_t dash = text.rfind('-');
  const size_t colon = text.rfind(':');
  const bool range = dash != std::string::npos && colon != std::string::npos && dash > colon;
  const auto first = ListenAddress::Parse(range ? text.substr(0, dash) : text);
  if (!first.ok()) return first.status();
  Ports ports{first->host, first->port, first->port};
  if (!range) return ports;
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data() + dash + 1, end, ports.last);
  if (error == std::errc() && at == end && ports.first > 0 && ports.last >= ports.first) {
    return ports;
  }
  return absl::InvalidArgumentError(
      absl::StrCat(Shown(text),
                   " is no range of ports; write HOST:PORT-PORT, like "
                   "0.0.0.0:9101-9108"));
}

absl::StatusOr<std::unique_ptr<http::SmallServer>> Listen(const Ports& ports,
                                                          const std::vector<http::Route>& routes) {
  const WithoutSignals blocked;  // for the library's threads
  for (uint32_t port = ports.first;; ++port) {
    auto server = http::SmallServer::Start({.host = ports.host,
                                            .port = static_cast<uint16_t>(port),
                                            .threads = kThreads,
                                            .paths = "/metrics and /livez"},
                                           routes);
    if (server.ok() || port >= ports.last) return server;
  }
}

// What processes have for all their workers, by the address that was asked for. A page that nobody
// wants any more has its port until it is closed, whoever asks for that address meanwhile.
struct Pages {
  struct Place {
    std::weak_ptr<WorkerPage> page;
    bool taken = false;
  };
  Mutex mutex;
  CondVar closed;
  std::map<std::string, Place> there ABSL_GUARDED_BY(mutex);
};
Pages& ThePages() {
  static auto* const pages = new Pages;  // workers may end after main
  return *pages;
}

}  // namespace

absl::Status WorkerPage::CheckAddress(const std::string& address) {
  return Parse(address).status();
}

absl::StatusOr<std::shared_ptr<WorkerPage>> WorkerPage::At(const std::string& address) {
  const absl::StatusOr<Ports> ports = Parse(address);
  if (!ports.ok()) return ports.status();
  Pages& pages = ThePages();
  MutexLock lock(pages.mutex);
  Pages::Place& place = pages.there[address];
  for (; place.taken; pages.closed.Wait(pages.mutex)) {
    if (auto there = place.page.lock()) return there;
  }
  std::shared_ptr<WorkerPage> page(new WorkerPage(address));
  // The page's server ends before the page.
  const auto metrics = [self = page.get()](const std::string&) {
    return http::Reply{.type = http::kMetricsType, .body = WorkerMetrics(self->Look())};
  };
  const auto alive = [self = page.get()](const std::string&) { return self->Alive(); };
  auto server = Listen(*ports, {{"/metrics", metrics}, {"/livez", alive}});
  if (!server.ok()) return server.status();
  page->server_ = *std::move(server);
  page->address_ = {ports->host, page->server_->port()};
  place = {page, true};
  return page;
}

// The server may still answer somebody, which takes a moment.
WorkerPage::~WorkerPage() {
  if (server_ == nullptr) return;  // it never had a port
  server_.reset();
  Pages& pages = ThePages();
  MutexLock lock(pages.mutex);
  pages.there[asked_].taken = false;
  pages.closed.NotifyAll();
}

std::unique_ptr<WorkerPage::Place> WorkerPage::Show(const std::string& model, AskWorker ask) {
  MutexLock lock(mutex_);
  workers_.emplace(++numbers_, Worker{model, std::move(ask), {.connected = true}});
  return std::unique_ptr<Place>(new Place(shared_from_this(), numbers_));
}

void WorkerPage::Hide(uint64_t number) {
  MutexLock lock(mutex_);
  workers_.erase(number);
}

std::shared_ptr<SharedTally> WorkerPage::TallyOf(const std::string& model) {
  MutexLock lock(mutex_);
  std::shared_ptr<SharedTally>& tally = tallies_[model];
  if (tally == nullptr) tally = std::make_shared<SharedTally>();
  return tally;
}

// One that registers memory for its program answers when that is done, by the gigabyte. Until then
// it counts as it last did.
std::optional<WorkerNow> WorkerPage::Count(uint64_t number,
                                           const std::optional<WorkerNow>& answered) {
  MutexLock lock(mutex_);
  const auto found = workers_.find(number);
  if (found == workers_.end()) return answered;
  Worker& worker = found->second;
  if (answered) worker.last = *answered;
  return !answered && *worker.ask.at_owners_call ? worker.last : answered;
}

// All are asked before the first is waited for.
std::map<std::string, ModelWorkers> WorkerPage::Look() {
  struct Asked {
    uint64_t number;
    std::string model;
    std::shared_ptr<Answer<std::optional<WorkerNow>>> answer;
  };
  std::vector<Asked> asked;
  std::map<std::string, ModelWorkers> models;
  {
    MutexLock lock(mutex_);
    for (const auto& [number, worker] : workers_) {
      asked.push_back({number, worker.model, worker.ask.now()});
    }
    for (const auto& [model, tally] : tallies_) {
      if (models.size() < kModelsShown) models[model].tally = tally->Sum();
    }
  }
  const auto until = std::chrono::steady_clock::now() + kLookPatience;
  for (const Asked& each : asked) {
    const auto found = models.find(each.model);
    if (found == models.end()) continue;
    const std::optional<std::optional<WorkerNow>> now = each.answer->WaitUntil(until);
    const bool ended = now && !*now;
    if (!ended) found->second.ranks.push_back(Count(each.number, now.value_or(std::nullopt)));
  }
  return models;
}

http::Reply WorkerPage::Alive() {
  for (const auto& [name, model] : Look()) {
    for (const std::optional<WorkerNow>& rank : model.ranks) {
      if (rank) continue;
      return http::Fault(http::kUnavailable, absl::StrCat("the progress thread of a worker of ",
                                                          Shown(name), " does not answer"));
    }
  }
  return {.body = "ok\n"};
}

}  // namespace tensorhub::agent
