// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "server/observed.h"

#include <chrono>
#include <future>
#include <memory>
#include <utility>

namespace tensorhub {
namespace {

// Prometheus gives a scrape ten seconds, a kubelet a probe one.
constexpr std::chrono::seconds kObservePatience{5};

}  // namespace

// The answer may come when nobody waits for it any more.
std::optional<http::Facts> Observe(rpc::RpcServer& server) {
  const auto begun = std::chrono::steady_clock::now();
  const auto answer = std::make_shared<std::promise<http::HubFacts>>();
  std::future<http::HubFacts> heard = answer->get_future();
  const bool asked = server.Look(
      [answer](const hub::Hub& hub, TimeMs now) { answer->set_value(http::FactsOf(hub, now)); });
  if (!asked || heard.wait_for(kObservePatience) != std::future_status::ready) return std::nullopt;
  http::Facts facts;
  try {
    facts.hub = heard.get();
  } catch (const std::future_error&) {
    return std::nullopt;  // the server ends, and has dropped the question
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begun;
  facts.look_s = took.count();
  const rpc::RpcServer::About about = server.about();
  facts.uptime_s = std::chrono::duration<double>(about.uptime).count();
  facts.version = TENSORHUB_VERSION;
  facts.epoch = about.epoch;
  facts.refused = about.refused;
  facts.certificate_ends = about.security.certificate_ends;
  facts.reloads_failed = about.security.reloads_failed;
  return facts;
}

}  // namespace tensorhub
