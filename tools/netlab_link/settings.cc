// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tools/netlab_link/settings.h"

#include <cmath>
#include <map>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace tensorhub::netlab {
namespace {

using Names = std::map<std::string, double Settings::*>;

const Names& AllNames() {
  static const Names names = {{"delay_s", &Settings::delay_s},
                              {"rate_bit", &Settings::rate_bit},
                              {"queue_s", &Settings::queue_s},
                              {"queue_bytes", &Settings::queue_bytes},
                              {"loss", &Settings::loss},
                              {"duplicate", &Settings::duplicate},
                              {"duplicate_delay_s", &Settings::duplicate_delay_s},
                              {"flow_rate_bit", &Settings::flow_rate_bit},
                              {"sick", &Settings::sick},
                              {"sick_after_s", &Settings::sick_after_s},
                              {"sick_loss", &Settings::sick_loss},
                              {"sick_rate_bit", &Settings::sick_rate_bit},
                              {"sick_busiest", &Settings::sick_busiest},
                              {"reset_after_s", &Settings::reset_after_s},
                              {"connections", &Settings::connections},
                              {"connection_rate", &Settings::connection_rate},
                              {"dead_after_s", &Settings::dead_after_s},
                              {"dead_for_s", &Settings::dead_for_s}};
  return names;
}

}  // namespace

absl::StatusOr<Settings> ParseSettings(const std::vector<std::string>& words) {
  Settings settings;
  for (const std::string& word : words) {
    const size_t equals = word.find('=');
    const auto found = AllNames().find(word.substr(0, equals));
    double value = 0;
    if (equals == std::string::npos || found == AllNames().end() ||
        !absl::SimpleAtod(word.substr(equals + 1), &value) || !std::isfinite(value) || value < 0) {
      return absl::InvalidArgumentError(absl::StrCat("\"", word, "\" is nothing that a link has"));
    }
    settings.*(found->second) = value;
  }
  return settings;
}

}  // namespace tensorhub::netlab
