// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The metrics as Prometheus reads them, text format 0.0.4. docs/metrics.md has a row for each.

#ifndef TENSORHUB_SERVER_HTTP_METRICS_TEXT_H_
#define TENSORHUB_SERVER_HTTP_METRICS_TEXT_H_

#include <string>

#include "server/http/facts.h"

namespace tensorhub::http {

std::string MetricsText(const Facts& facts);

}  // namespace tensorhub::http

#endif  // TENSORHUB_SERVER_HTTP_METRICS_TEXT_H_
