// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "server/observed.h"

#include <chrono>
#include <future>
#include <memory>
#include <utility>

#include "server/http/ask.h"

namespace tensorhub {
namespace {

// Prometheus gives a scrape ten seconds, a kubelet a probe one.
constexpr std::chrono::seconds kObservePatience{5};

}  // namespace

bool LookAndWait(rpc::RpcServer& server, std::function<void(const hub::Hub&, TimeMs)> reader) {
  const auto seen = std::make_shared<std::promise<void>>();
  std::future<void> heard = seen->get_future();
  const bool asked =
      server.Look([seen, reader = std::move(reader)](const hub::Hub& hub, TimeMs now) {
        reader(hub, now);
        seen->set_value();
      });
  if (!asked || heard.wait_for(kObservePatience) != std::future_status::ready) return false;
  try {
    heard.get();
  } catch (const std::future_error&) {
    return false;  // the server ends, and has dropped the question
  }
  return true;
}

std::optional<http::Facts> Observe(rpc::RpcServer& server) {
  const auto begun = std::chrono::steady_clock::now();
  auto facts_of_hub = http::Ask(
      [&server](auto reader) { return LookAndWait(server, std::move(reader)); }, http::FactsOf);
  if (!facts_of_hub) return std::nullopt;
  http::Facts facts;
  facts.hub = *std::move(facts_of_hub);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begun;
  facts.look_s = took.count();
  const rpc::RpcServer::About about = server.about();
  facts.uptime_s = std::chrono::duration<double>(about.uptime).count();
  facts.version = TENSORHUB_VERSION;
  facts.epoch = about.epoch;
  facts.leads = about.leads;
  facts.leads_at = about.leads_at;
  facts.refused = about.refused;
  facts.bounds_met = about.bounds_met;
  for (const auto& [call, of] : about.calls) {
    http::CallFacts& out = facts.calls[call];
    out.count = of.count;
    out.sum_s = of.sum_s;
    for (size_t i = 0; i < of.upto.size(); ++i) {
      out.upto.emplace_back(rpc::Latencies::kBounds[i], of.upto[i]);
    }
  }
  facts.security = about.security.security;
  facts.certificate_ends = about.security.certificate_ends;
  facts.reloads_failed = about.security.reloads_failed;
  return facts;
}

}  // namespace tensorhub
