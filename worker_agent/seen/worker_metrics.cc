// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "worker_agent/seen/worker_metrics.h"

#include <algorithm>
#include <functional>
#include <optional>

#include "common/http/metrics_page.h"

namespace tensorhub::agent {
namespace {

using Models = std::map<std::string, ModelWorkers>;
using Page = http::MetricsPage;
using Series = std::function<void(const ModelWorkers&, Page::Labels)>;

// Labels of one series: the model's, and one or two more.
Page::Labels With(Page::Labels labels, const char* name, std::string_view value) {
  labels.push_back({name, std::string(value)});
  return labels;
}

void EachModel(const Models& models, const Series& add) {
  for (const auto& [name, model] : models) add(model, {{"model", name}});
}

void AddRanks(const Models& models, Page& page, const char* name, const char* help,
              const std::function<uint64_t(const std::optional<WorkerNow>&)>& of_rank) {
  page.Begin(name, help, Page::Type::Gauge);
  EachModel(models, [&](const ModelWorkers& model, const Page::Labels& labels) {
    uint64_t sum = 0;
    for (const std::optional<WorkerNow>& rank : model.ranks) sum += of_rank(rank);
    page.Add(sum, labels);
  });
}

void AddNow(const Models& models, Page& page) {
  using Rank = std::optional<WorkerNow>;
  AddRanks(models, page, "tensorhub_worker_ranks", "Ranks of the model in this process.",
           [](const Rank&) -> uint64_t { return 1; });
  AddRanks(models, page, "tensorhub_worker_ranks_stalled",
           "Those whose progress thread did not answer this scrape.",
           [](const Rank& rank) -> uint64_t { return rank ? 0 : 1; });
  AddRanks(models, page, "tensorhub_worker_ranks_connected", "Those in a session with the server.",
           [](const Rank& rank) -> uint64_t { return rank && rank->connected ? 1 : 0; });
  AddRanks(models, page, "tensorhub_worker_ranks_holding", "Those that hold a version whole.",
           [](const Rank& rank) -> uint64_t { return rank && rank->held ? 1 : 0; });
  AddRanks(models, page, "tensorhub_worker_sources", "Sources that they read from.",
           [](const Rank& rank) -> uint64_t { return rank ? rank->sources : 0; });
  AddRanks(models, page, "tensorhub_worker_readers", "Reads of others that are open here.",
           [](const Rank& rank) -> uint64_t { return rank ? rank->readers : 0; });
  page.Begin("tensorhub_worker_held_version", "The oldest of the versions that they hold.",
             Page::Type::Gauge);
  EachModel(models, [&](const ModelWorkers& model, const Page::Labels& labels) {
    std::optional<VersionNumber> oldest;
    for (const Rank& rank : model.ranks) {
      if (rank && rank->held) oldest = std::min(oldest.value_or(*rank->held), *rank->held);
    }
    if (oldest) page.Add(uint64_t{*oldest}, labels);
  });
}

void AddFetches(const Models& models, Page& page) {
  page.Begin("tensorhub_worker_fetches_total", "Fetches that ended, by how.", Page::Type::Counter);
  EachModel(models, [&](const ModelWorkers& model, const Page::Labels& labels) {
    page.Add(model.tally.succeeded, With(labels, "outcome", "ok"));
    page.Add(model.tally.failed, With(labels, "outcome", "failed"));
  });
  page.Begin("tensorhub_worker_fetch_phase_seconds_total", "Time of fetches, by phase.",
             Page::Type::Counter);
  EachModel(models, [&](const ModelWorkers& model, const Page::Labels& labels) {
    for (size_t i = 0; i < kFetchPhases.size(); ++i) {
      page.Add(static_cast<double>(model.tally.phase_us[i]) / 1e6,
               With(labels, "phase", kFetchPhases[i]));
    }
  });
  page.Begin("tensorhub_worker_other_sources_total",
             "Sources that a read turned to after its first.", Page::Type::Counter);
  EachModel(models, [&](const ModelWorkers& model, const Page::Labels& labels) {
    page.Add(model.tally.other_sources, labels);
  });
  page.Begin("tensorhub_worker_failed_sources_total", "Sources that failed a read.",
             Page::Type::Counter);
  EachModel(models, [&](const ModelWorkers& model, const Page::Labels& labels) {
    page.Add(model.tally.failed_sources, labels);
  });
}

void AddBytes(const Models& models, Page& page) {
  page.Begin("tensorhub_worker_read_bytes_total", "Bytes that came, by their source's tier.",
             Page::Type::Counter);
  EachModel(models, [&](const ModelWorkers& model, const Page::Labels& labels) {
    for (const auto& [key, bytes] : model.tally.read) {
      page.Add(bytes, With(With(labels, "tier", ToString(key.first)), "way", key.second));
    }
  });
  page.Begin("tensorhub_worker_served_bytes_total", "Bytes that were sent to readers.",
             Page::Type::Counter);
  EachModel(models, [&](const ModelWorkers& model, const Page::Labels& labels) {
    for (const auto& [way, bytes] : model.tally.served) page.Add(bytes, With(labels, "way", way));
  });
  page.Begin("tensorhub_worker_reads_ended_total",
             "Reads of others that were refused or ended here, by code.", Page::Type::Counter);
  EachModel(models, [&](const ModelWorkers& model, const Page::Labels& labels) {
    for (const auto& [code, count] : model.tally.ended) page.Add(count, With(labels, "code", code));
  });
}

}  // namespace

std::string WorkerMetrics(const Models& models) {
  Page page;
  page.Begin("tensorhub_worker_build_info", "The version of this library.", Page::Type::Gauge);
  page.Add(1.0, {{"version", TENSORHUB_VERSION}});
  AddNow(models, page);
  AddFetches(models, page);
  AddBytes(models, page);
  return page.Text();
}

}  // namespace tensorhub::agent
