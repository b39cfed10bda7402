// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Metrics as Prometheus reads them, text format 0.0.4. docs/metrics.md has a row for each.

#ifndef TENSORHUB_COMMON_HTTP_METRICS_PAGE_H_
#define TENSORHUB_COMMON_HTTP_METRICS_PAGE_H_

#include <prometheus/metric_family.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace tensorhub::http {

inline constexpr char kMetricsType[] = "text/plain; version=0.0.4; charset=utf-8";

class MetricsPage {
 public:
  using Type = prometheus::MetricType;
  using Labels = std::vector<prometheus::ClientMetric::Label>;

  void Begin(const char* name, const char* help, Type type);
  // To the family that was begun last.
  template <typename Number>
  void Add(Number value, Labels labels = {}) {
    AddValue(static_cast<double>(value), std::move(labels));
  }
  // `upto`: by bounds, each with those below; without the one of all.
  void AddHistogram(uint64_t count, double sum,
                    const std::vector<std::pair<double, uint64_t>>& upto, Labels labels);
  void Gauge(const char* name, const char* help, double value);
  void Counter(const char* name, const char* help, double value);

  std::string Text() const;

 private:
  void AddValue(double value, Labels labels);

  std::vector<prometheus::MetricFamily> families_;
};

}  // namespace tensorhub::http

#endif  // TENSORHUB_COMMON_HTTP_METRICS_PAGE_H_
