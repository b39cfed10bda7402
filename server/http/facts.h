// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// What the metrics say of a server at one moment: plain data.

#ifndef TENSORHUB_SERVER_HTTP_FACTS_H_
#define TENSORHUB_SERVER_HTTP_FACTS_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "server/core/hub.h"

namespace tensorhub::http {

// Of the hub, by its own thread.
struct HubFacts {
  hub::StatusView status;
  hub::FleetView fleet;
  std::vector<hub::ModelView> models;  // by name, at most kModelsShown
};
// With more a scrape would be mostly names: 10,000 models are 60,000 series.
inline constexpr size_t kModelsShown = 200;

HubFacts FactsOf(const hub::Hub& hub, TimeMs now);
uint32_t ModelsLeftOut(const HubFacts& facts);
// By the tier of their source; "none": without one.
std::map<std::string, uint32_t> TransfersByTier(const HubFacts& facts);
double OldestTransferSeconds(const HubFacts& facts);

// How long calls of one name took.
struct CallFacts {
  uint64_t count = 0;
  double sum_s = 0;
  std::vector<std::pair<double, uint64_t>> upto;  // by bounds in seconds; each with those below
};

// Of all of the server.
struct Facts {
  HubFacts hub;
  double look_s = 0;  // from the question to the hub's thread until its answer
  double uptime_s = 0;
  std::string version;
  uint64_t epoch = 0;
  bool leads = true;                           // false: another server may lead by now
  std::string leads_at;                        // where agents reach it; empty: the only server
  std::map<std::string, uint64_t> refused;     // by code
  std::map<std::string, uint64_t> bounds_met;  // of callers, by the flag
  std::map<std::string, CallFacts> calls;      // by name
  std::string security;          // who is let in by gRPC, and how; empty: whoever comes
  int64_t certificate_ends = 0;  // seconds since 1970; 0: there is none
  uint64_t reloads_failed = 0;
};

}  // namespace tensorhub::http

#endif  // TENSORHUB_SERVER_HTTP_FACTS_H_
