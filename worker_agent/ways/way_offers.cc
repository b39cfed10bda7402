// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "worker_agent/ways/way_offers.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "absl/status/status.h"
#include "common/bytes.h"

namespace tensorhub::agent {
namespace {

constexpr uint64_t kFormat = 1;

void PutText(std::string_view text, ByteWriter& writer) {
  writer.PutVarint(text.size());
  writer.PutBytes(text);
}

std::string TakeText(ByteReader& reader) {
  return std::string(reader.TakeBytes(reader.TakeVarint()));
}

bool IsSound(const WayOffer& offer) {
  if (offer.transport.empty()) return false;
  if (offer.kind == WayOffer::Kind::kMemory) return true;
  const size_t bytes = offer.network.address.size();
  const bool known = offer.kind == WayOffer::Kind::kNetwork || offer.kind == WayOffer::Kind::kCards;
  return known && (bytes == 4 || bytes == 16) &&
         offer.network.prefix_bits <= static_cast<int>(8 * bytes);
}

bool HasAddress(const WayOffers& offers, const std::string& address) {
  return std::any_of(offers.ways.begin(), offers.ways.end(), [&](const WayOffer& way) {
    return way.kind == WayOffer::Kind::kNetwork && way.network.address == address;
  });
}

template <typename Test>
std::optional<size_t> Find(const WayOffers& offers, Test test) {
  for (size_t i = 0; i < offers.ways.size(); ++i) {
    if (test(offers.ways[i])) return i;
  }
  return std::nullopt;
}

// How well a way of ours leads there: lower is better.
struct Match {
  int rank = 0;
  size_t mine = 0;
};

constexpr int kSharedMemory = 0, kCards = 1, kSubnet = 2, kRoute = 3, kUnknown = 4;

}  // namespace

std::string Encode(const WayOffers& offers) {
  std::string bytes;
  ByteWriter writer(bytes);
  writer.PutVarint(kFormat);
  PutText(offers.boot, writer);
  PutText(offers.network_space, writer);
  writer.PutVarint(offers.ways.size());
  for (const WayOffer& offer : offers.ways) {
    writer.Put(static_cast<uint8_t>(offer.kind));
    PutText(offer.transport, writer);
    PutText(offer.network.device, writer);
    PutText(offer.network.address, writer);
    writer.Put(static_cast<uint8_t>(offer.network.prefix_bits));
    writer.Put(static_cast<uint8_t>(offer.network.loopback));
  }
  return bytes;
}

absl::StatusOr<WayOffers> DecodeWayOffers(std::string_view bytes) {
  ByteReader reader(bytes);
  WayOffers offers;
  const bool known = reader.TakeVarint() == kFormat;
  offers.boot = TakeText(reader);
  offers.network_space = TakeText(reader);
  const uint64_t count = reader.TakeCount(6);
  bool sound = known && count > 0 && count <= kWaysMax;
  for (uint64_t i = 0; sound && i < count; ++i) {
    WayOffer offer;
    offer.kind = static_cast<WayOffer::Kind>(reader.Take<uint8_t>());
    offer.transport = TakeText(reader);
    offer.network.device = TakeText(reader);
    offer.network.address = TakeText(reader);
    offer.network.prefix_bits = reader.Take<uint8_t>();
    const uint8_t loopback = reader.Take<uint8_t>();
    offer.network.loopback = loopback == 1;
    sound = reader.ok() && loopback <= 1 && IsSound(offer);
    offers.ways.push_back(std::move(offer));
  }
  if (!sound || !reader.ok() || reader.left() > 0) {
    return absl::InvalidArgumentError("the peer's address is malformed, or of a later version");
  }
  return offers;
}

std::vector<WayPair> OrderWays(
    const WayOffers& mine, const WayOffers& theirs,
    const std::function<std::optional<std::string>(std::string_view)>& source_towards) {
  const bool one_space = mine.boot == theirs.boot && mine.network_space == theirs.network_space;
  const auto network = [](const WayOffer& way) { return way.kind == WayOffer::Kind::kNetwork; };
  const auto match = [&](const WayOffer& way) -> std::optional<Match> {
    const auto alike = Find(mine, [&](const WayOffer& own) { return own.kind == way.kind; });
    if (way.kind == WayOffer::Kind::kMemory) {
      return one_space && alike ? std::optional(Match{kSharedMemory, *alike}) : std::nullopt;
    }
    const std::string& address = way.network.address;
    if (!one_space && (way.network.loopback || HasAddress(mine, address))) return std::nullopt;
    if (way.kind == WayOffer::Kind::kCards) {
      return alike ? std::optional(Match{kCards, *alike}) : std::nullopt;
    }
    const auto subnet = Find(
        mine, [&](const WayOffer& own) { return network(own) && IsWithin(own.network, address); });
    if (subnet) return Match{kSubnet, *subnet};
    if (const auto source = source_towards(address)) {
      const auto own =
          Find(mine, [&](const WayOffer& o) { return network(o) && o.network.address == *source; });
      if (own) return Match{kRoute, *own};
    }
    return alike ? std::optional(Match{kUnknown, *alike}) : std::nullopt;
  };
  std::vector<std::pair<int, WayPair>> ranked;
  for (size_t i = 0; i < theirs.ways.size(); ++i) {
    if (const auto found = match(theirs.ways[i])) ranked.push_back({found->rank, {found->mine, i}});
  }
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](const auto& one, const auto& other) { return one.first < other.first; });
  std::vector<WayPair> ordered;
  for (const auto& [rank, pair] : ranked) ordered.push_back(pair);
  return ordered;
}

}  // namespace tensorhub::agent
