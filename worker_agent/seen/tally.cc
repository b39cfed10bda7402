// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "worker_agent/seen/tally.h"

namespace tensorhub::agent {

void Tally::Add(const Tally& other) {
  for (const auto& [key, bytes] : other.read) read[key] += bytes;
  for (const auto& [way, bytes] : other.served) served[way] += bytes;
  for (size_t i = 0; i < phase_us.size(); ++i) phase_us[i] += other.phase_us[i];
  succeeded += other.succeeded;
  failed += other.failed;
  other_sources += other.other_sources;
  failed_sources += other.failed_sources;
  for (const auto& [code, count] : other.ended) ended[code] += count;
}

}  // namespace tensorhub::agent
