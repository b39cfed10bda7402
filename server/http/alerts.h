// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Which alerts of deploy/prometheus/rules.yml would begin now, for people who have no Prometheus
// at hand. The rules are the ones that count: they also look at how long it has been so.

#ifndef TENSORHUB_SERVER_HTTP_ALERTS_H_
#define TENSORHUB_SERVER_HTTP_ALERTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "server/http/facts.h"

namespace tensorhub::http {

struct Alert {
  std::string name;      // the rule's
  std::string severity;  // likewise
  int for_s = 0;         // how long it has to be so before the rule fires
  std::string model;     // empty: it is not about one
  std::string summary;
  std::string remedy;
};

// At `now_s` of the wall clock, in seconds since 1970. Critical ones first.
std::vector<Alert> AlertsOf(const Facts& facts, int64_t now_s);

}  // namespace tensorhub::http

#endif  // TENSORHUB_SERVER_HTTP_ALERTS_H_
