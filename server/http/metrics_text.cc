// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "server/http/metrics_text.h"

#include <utility>

#include "common/http/metrics_page.h"

namespace tensorhub::http {
namespace {

using Page = MetricsPage;
using MetricType = MetricsPage::Type;

double Number(uint64_t value) { return static_cast<double>(value); }

void AddCalls(const std::map<std::string, CallFacts>& calls, Page& page) {
  page.Begin("tensorhub_call_seconds", "How long calls took, with what they wait for.",
             MetricType::Histogram);
  for (const auto& [call, facts] : calls) {
    page.AddHistogram(facts.count, facts.sum_s, facts.upto, {{"call", call}});
  }
}

void AddServer(const Facts& facts, Page& page) {
  page.Begin("tensorhub_build_info", "The version of this server.", MetricType::Gauge);
  page.Add(1, {{"version", facts.version}});
  page.Gauge("tensorhub_uptime_seconds", "Since this server's start.", facts.uptime_s);
  page.Gauge("tensorhub_epoch", "Rises with each start of the server.", Number(facts.epoch));
  page.Gauge("tensorhub_leads", "1 while this server leads; 0: another one may.",
             facts.leads ? 1 : 0);
  page.Gauge("tensorhub_answer_seconds", "How long the hub took to answer this scrape.",
             facts.look_s);
  page.Gauge("tensorhub_recovering", "1 while workers have yet to report after a restart.",
             facts.hub.status.recovering ? 1 : 0);
  AddCalls(facts.calls, page);
  page.Begin("tensorhub_refused_total", "Calls and sessions that ended with an error, by its code.",
             MetricType::Counter);
  for (const auto& [code, count] : facts.refused) page.Add(Number(count), {{"code", code}});
  page.Begin("tensorhub_bounds_met_total", "Refusals for what one caller took, by the bound.",
             MetricType::Counter);
  for (const auto& [bound, count] : facts.bounds_met) page.Add(count, {{"bound", bound}});
  page.Counter("tensorhub_reloads_failed_total",
               "Sets of certificates or rights that were bad, and not put in force.",
               Number(facts.reloads_failed));
  if (facts.certificate_ends == 0) return;
  page.Gauge("tensorhub_certificate_expiry_timestamp_seconds",
             "When the server's certificate ends, in seconds since 1970.",
             static_cast<double>(facts.certificate_ends));
}

void AddTotals(const hub::Totals& totals, Page& page) {
  page.Begin("tensorhub_fetches_total", "Fetches of a rank that ended, by how.",
             MetricType::Counter);
  page.Add(Number(totals.succeeded), {{"outcome", "ok"}});
  page.Add(Number(totals.failed), {{"outcome", "failed"}});
  page.Begin("tensorhub_fetch_phase_seconds_total", "Time that those took, by phase.",
             MetricType::Counter);
  for (size_t i = 0; i < hub::kFetchPhases.size(); ++i) {
    page.Add(static_cast<double>(totals.phase_ms[i]) / 1000,
             {{"phase", std::string(hub::kFetchPhases[i])}});
  }
  page.Begin("tensorhub_read_bytes_total", "Bytes that readers got, by their source's tier.",
             MetricType::Counter);
  for (const auto& [key, bytes] : totals.bytes) {
    page.Add(Number(bytes), {{"tier", std::string(ToString(key.tier))},
                             {"way", key.way.empty() ? "not said" : key.way}});
  }
}

void AddHub(const HubFacts& facts, Page& page) {
  const hub::StatusView& status = facts.status;
  page.Gauge("tensorhub_models", "Models that are known.", status.models);
  page.Gauge("tensorhub_models_left_out", "Models beyond those that have series of their own.",
             ModelsLeftOut(facts));
  page.Gauge("tensorhub_workers", "Workers within their leases.", status.workers);
  page.Gauge("tensorhub_sessions", "Workers that are connected.", status.connected);
  page.Gauge("tensorhub_workers_stalled", "Workers whose progress thread stands still.",
             facts.fleet.stalled);
  page.Gauge("tensorhub_references", "Workers that hold a version, whole or in part.",
             status.references);
  page.Counter("tensorhub_source_decisions_total", "Sources that readers were given.",
               Number(status.decisions));
  AddTotals(facts.fleet.totals, page);
  page.Gauge("tensorhub_workers_out_of_service", "Workers that an operator drains, or has.",
             facts.fleet.withdrawn);
  page.Begin("tensorhub_transfers", "Reads that run, by the tier of their source.",
             MetricType::Gauge);
  for (const auto& [tier, count] : TransfersByTier(facts)) page.Add(count, {{"tier", tier}});
  page.Gauge("tensorhub_oldest_transfer_seconds", "How long the oldest of them has been running.",
             OldestTransferSeconds(facts));
}

template <typename Value>
void AddOfModels(const HubFacts& facts, const char* name, const char* help, Value value,
                 Page& page) {
  page.Begin(name, help, MetricType::Gauge);
  for (const hub::ModelView& model : facts.models) {
    page.Add(Number(value(model)), {{"model", model.model}});
  }
}

void AddModels(const HubFacts& facts, Page& page) {
  const auto add = [&](const char* name, const char* help, auto value) {
    AddOfModels(facts, name, help, value, page);
  };
  add("tensorhub_model_latest_version", "The newest version that became visible; 0: none.",
      [](const hub::ModelView& model) { return model.latest; });
  add("tensorhub_model_latest_held", "1 if that version can be fetched.",
      [](const hub::ModelView& model) { return uint64_t{model.latest_held}; });
  add("tensorhub_model_versions", "Versions that can be fetched.",
      [](const hub::ModelView& model) { return uint64_t{model.versions}; });
  add("tensorhub_model_replicas", "Groups that hold a version whole, of all versions.",
      [](const hub::ModelView& model) { return uint64_t{model.replicas}; });
  add("tensorhub_model_workers", "Workers within their leases.",
      [](const hub::ModelView& model) { return uint64_t{model.workers}; });
  add("tensorhub_model_workers_behind", "Workers that hold an older version than the latest.",
      [](const hub::ModelView& model) { return uint64_t{model.behind}; });
  add("tensorhub_model_lag_versions", "By how many numbers the farthest of them is behind.",
      [](const hub::ModelView& model) { return model.lag_max; });
}

}  // namespace

std::string MetricsText(const Facts& facts) {
  Page page;
  AddServer(facts, page);
  AddHub(facts.hub, page);
  AddModels(facts.hub, page);
  return page.Text();
}

}  // namespace tensorhub::http
