// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "worker_agent/ways/data_address.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace tensorhub::agent {
namespace {

struct Part {
  std::string network;
  std::string ports;  // "7100-7199", "7100"; empty: any
};

// An IPv6 address has colons of its own: with ports it is in brackets.
std::optional<Part> Split(std::string_view text) {
  Part part;
  if (text.starts_with('[')) {
    const size_t end = text.find(']');
    if (end == text.npos) return std::nullopt;
    part.network = text.substr(1, end - 1);
    text.remove_prefix(end + 1);
    if (!text.empty() && !text.starts_with(':')) return std::nullopt;
    part.ports = text.substr(text.empty() ? 0 : 1);
    return part;
  }
  const bool ported = std::count(text.begin(), text.end(), ':') == 1;
  const size_t colon = ported ? text.find(':') : text.size();
  part.network = text.substr(0, colon);
  part.ports = text.substr(ported ? colon + 1 : colon);
  if (ported && part.ports.empty()) return std::nullopt;
  return part;
}

std::optional<PortRange> PortsFrom(const std::string& text) {
  if (text.empty()) return PortRange{};
  const size_t dash = text.find('-');
  uint32_t first = 0, last = 0;
  const bool numbers = absl::SimpleAtoi(text.substr(0, dash), &first) &&
                       absl::SimpleAtoi(text.substr(dash == text.npos ? 0 : dash + 1), &last);
  if (!numbers || first == 0 || first > last || last > UINT16_MAX) return std::nullopt;
  return PortRange{static_cast<uint16_t>(first), static_cast<uint16_t>(last)};
}

absl::StatusOr<std::vector<Offered>> ChoosePart(const std::vector<Network>& networks,
                                                std::string_view text) {
  const std::optional<Part> part = Split(text);
  const std::optional<PortRange> ports = part ? PortsFrom(part->ports) : std::nullopt;
  if (!ports) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", std::string(text),
                     "\" ends in no ports: NETWORK:PORT or NETWORK:FIRST-LAST within 1-65535 "
                     "(eth0:7100-7199, [fd00::1]:7100)"));
  }
  const absl::StatusOr<std::vector<Network>> chosen = ChooseNetworks(networks, part->network);
  std::vector<Offered> offered;
  const auto elsewhere = AddressFrom(part->network);
  if (absl::IsNotFound(chosen.status()) && elsewhere) {
    Network network{"nat", *elsewhere, static_cast<int>(8 * elsewhere->size())};
    offered.push_back({std::move(network), "", *ports});
    return offered;
  }
  if (!chosen.ok()) return chosen.status();
  for (const Network& network : *chosen) offered.push_back({network, network.address, *ports});
  return offered;
}

}  // namespace

absl::StatusOr<std::vector<Offered>> ChooseOffered(const std::vector<Network>& networks,
                                                   std::string_view text) {
  std::vector<Offered> offered;
  for (const std::string& part : std::vector<std::string>(absl::StrSplit(std::string(text), ','))) {
    absl::StatusOr<std::vector<Offered>> more = ChoosePart(networks, part);
    if (!more.ok()) return more.status();
    for (Offered& each : *more) {
      const auto same = [&](const Offered& other) { return other.network == each.network; };
      if (std::none_of(offered.begin(), offered.end(), same)) offered.push_back(std::move(each));
    }
  }
  return offered;
}

}  // namespace tensorhub::agent
