// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "common/http/metrics_page.h"

#include <prometheus/text_serializer.h>

#include <limits>

namespace tensorhub::http {

void MetricsPage::Begin(const char* name, const char* help, Type type) {
  families_.push_back({name, help, type, {}});
}

void MetricsPage::AddValue(double value, Labels labels) {
  prometheus::ClientMetric& metric = families_.back().metric.emplace_back();
  metric.label = std::move(labels);
  metric.gauge.value = metric.counter.value = value;
}

void MetricsPage::AddHistogram(uint64_t count, double sum,
                               const std::vector<std::pair<double, uint64_t>>& upto,
                               Labels labels) {
  prometheus::ClientMetric& metric = families_.back().metric.emplace_back();
  metric.label = std::move(labels);
  metric.histogram.sample_count = count;
  metric.histogram.sample_sum = sum;
  for (const auto& [bound, below] : upto) metric.histogram.bucket.push_back({below, bound});
  metric.histogram.bucket.push_back({count, std::numeric_limits<double>::infinity()});
}

void MetricsPage::Gauge(const char* name, const char* help, double value) {
  Begin(name, help, Type::Gauge);
  Add(value);
}

void MetricsPage::Counter(const char* name, const char* help, double value) {
  Begin(name, help, Type::Counter);
  Add(value);
}

std::string MetricsPage::Text() const { return prometheus::TextSerializer().Serialize(families_); }

}  // namespace tensorhub::http
