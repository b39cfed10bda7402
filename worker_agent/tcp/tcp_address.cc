// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "worker_agent/tcp/tcp_address.h"

#include <arpa/inet.h>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/bytes.h"
#include "common/random.h"

namespace tensorhub::agent {
namespace {

constexpr uint8_t kFormat = 1;

}  // namespace

std::string NewIdentity() {
  const auto secret = RandomSecret();
  return std::string(reinterpret_cast<const char*>(secret.data()), kIdentityBytes);
}

std::string Encode(const TcpAddress& address) {
  std::string bytes;
  ByteWriter writer(bytes);
  writer.Put(kFormat);
  writer.PutBytes(address.identity);
  writer.Put(address.port);
  writer.PutBytes(address.host);
  return bytes;
}

absl::StatusOr<TcpAddress> DecodeTcpAddress(std::string_view bytes) {
  ByteReader reader(bytes);
  const auto format = reader.Take<uint8_t>();
  TcpAddress address;
  address.identity = reader.TakeBytes(kIdentityBytes);
  address.port = reader.Take<uint16_t>();
  address.host = reader.TakeBytes(reader.left());
  const bool whole = reader.ok() && format == kFormat && address.port != 0;
  if (whole && (address.host.size() == 4 || address.host.size() == 16)) return address;
  return absl::InvalidArgumentError("the peer's TCP address is malformed, or of a later version");
}

std::string TextOf(const TcpAddress& address) {
  const bool newer = address.host.size() == 16;
  char text[INET6_ADDRSTRLEN] = "?";
  inet_ntop(newer ? AF_INET6 : AF_INET, address.host.data(), text, sizeof(text));
  return absl::StrCat(newer ? "[" : "", text, newer ? "]:" : ":", address.port);
}

}  // namespace tensorhub::agent
