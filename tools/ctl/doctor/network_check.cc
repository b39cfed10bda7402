// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tools/ctl/doctor/network_check.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace tensorhub::ctl {
namespace {

std::string Named(const agent::Network& network) {
  return absl::StrCat(network.device, " ", agent::AddressText(network.address), "/",
                      network.prefix_bits);
}

std::string WhyNot(const agent::Network& network) {
  if (network.loopback) return " (loopback)";
  return network.isolated ? " (a bridge that leads nowhere)" : "";
}

}  // namespace

Finding JudgeNetworks(const std::vector<agent::Network>& all, const std::string& choice) {
  Finding finding{"networks", Verdict::kOk, ""};
  const auto chosen = agent::ChooseNetworks(all, choice);
  if (!chosen.ok()) {
    finding.verdict = Verdict::kFailed;
    finding.detail =
        absl::StrCat("TENSORHUB_DATA_ADDRESS: ", std::string(chosen.status().message()));
    finding.remedy = "name a device, address or subnet that there is, or unset it";
    return finding;
  }
  std::string left_out;
  for (const agent::Network& network : *chosen) {
    absl::StrAppend(&finding.detail, finding.detail.empty() ? "" : ", ", Named(network));
  }
  for (const agent::Network& network : all) {
    const bool used = std::any_of(chosen->begin(), chosen->end(), [&](const auto& other) {
      return other.device == network.device;
    });
    if (used) continue;
    absl::StrAppend(&left_out, left_out.empty() ? "" : ", ", Named(network), WhyNot(network));
  }
  if (!left_out.empty()) absl::StrAppend(&finding.detail, "; not used: ", left_out);
  const bool leads = std::any_of(chosen->begin(), chosen->end(), [](const agent::Network& network) {
    return !network.loopback && !network.isolated;
  });
  if (leads) return finding;
  finding.verdict = Verdict::kWarning;
  finding.detail = absl::StrCat(finding.detail.empty() ? "none" : finding.detail,
                                "; nothing leads to another host");
  finding.remedy = "bring a network up, or name one with TENSORHUB_DATA_ADDRESS";
  return finding;
}

}  // namespace tensorhub::ctl
