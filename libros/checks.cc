// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "libros/checks.h"

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/ids.h"
#include "common/limits.h"
#include "common/location.h"
#include "common/server_choice.h"
#include "common/text.h"
#include "worker_agent/seen/worker_page.h"

namespace tensorhub::libros {
namespace {

absl::Status CheckName(const std::string& field, const std::string& name) {
  const std::optional<std::string> problem = NameProblem(name);
  if (!problem) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(field, " ", Shown(name), ": ", *problem));
}

bool IsPrintable(const std::string& text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c <= '~'; });
}

absl::Status CheckServer(const std::string& servers) {
  const absl::Status status = CheckServers(servers);
  if (status.ok()) return status;
  return absl::InvalidArgumentError(absl::StrCat("server ", std::string(status.message())));
}

absl::Status CheckRank(const ConnectOptions& options) {
  if (options.world_size < 1 || options.world_size > kWorldSizeMax) {
    return absl::InvalidArgumentError(
        absl::StrFormat("world_size %d: must be 1 to %d", options.world_size, kWorldSizeMax));
  }
  if (options.rank < options.world_size) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrFormat("rank %d: must be below world_size (%d)", options.rank, options.world_size));
}

absl::Status CheckLocation(const std::string& name, const std::string& location) {
  if (!IsPrintable(location)) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, " ", Shown(location),
                     ": has a space or a byte that is not printable ASCII; write "
                     "region/datacenter/rack/host/device"));
  }
  const absl::Status status = Location::Parse(location).status();
  if (status.ok()) return status;
  return absl::InvalidArgumentError(
      absl::StrCat(name, " ", Shown(location), ": ", std::string(status.message())));
}

constexpr char kLocation[] = "TENSORHUB_LOCATION";

constexpr char kHttp[] = "TENSORHUB_WORKER_HTTP";

// 0 is meaningful here: readers without another source fail at once.
absl::Status CheckDrain(std::chrono::milliseconds drain) {
  if (drain.count() >= 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrFormat("drain_timeout %d ms: must not be negative", drain.count()));
}

// Empty if it is not set.
std::string FromEnvironment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// Digits in groups of so many. A later version may say more behind these.
bool IsTraceparent(const std::string& text) {
  constexpr char kPattern[] = "xx-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx-xxxxxxxxxxxxxxxx-xx";
  if (text.size() != sizeof(kPattern) - 1) return false;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool digit = (text[i] >= '0' && text[i] <= '9') || (text[i] >= 'a' && text[i] <= 'f');
    if (kPattern[i] == 'x' ? !digit : text[i] != '-') return false;
  }
  return true;
}

absl::Status CheckHttp(const ConnectOptions& options) {
  const std::string address = HttpOf(options);
  if (address.empty()) return absl::OkStatus();
  const absl::Status status = agent::WorkerPage::CheckAddress(address);
  if (status.ok()) return status;
  return absl::InvalidArgumentError(
      absl::StrCat(options.http.empty() ? kHttp : "http", ": ", std::string(status.message())));
}

}  // namespace

std::string LocationOf(const ConnectOptions& options) {
  return options.location.empty() ? FromEnvironment(kLocation) : options.location;
}

std::string DataAddressOf(const ConnectOptions& options) {
  return options.data_address.empty() ? FromEnvironment("TENSORHUB_DATA_ADDRESS")
                                      : options.data_address;
}

absl::StatusOr<Digests> DigestsOf(const ConnectOptions& options) {
  const std::string word = FromEnvironment("TENSORHUB_DIGESTS");
  if (!word.empty() && word != "auto" && word != "on" && word != "off") {
    return absl::InvalidArgumentError(
        absl::StrCat("TENSORHUB_DIGESTS=", Shown(word), ": write auto, on or off"));
  }
  if (options.digests != Digests::kAuto) return options.digests;
  if (word == "on") return Digests::kOn;
  return word == "off" ? Digests::kOff : Digests::kAuto;
}

tls::ClientSecurity SecurityOf(const ConnectOptions& options) {
  const tls::ClientSecurity given = {
      .tls = {.ca = options.tls_ca, .cert = options.tls_cert, .key = options.tls_key},
      .token_file = options.token_file};
  return given.OrEnvironment();
}

std::string HttpOf(const ConnectOptions& options) {
  return options.http.empty() ? FromEnvironment(kHttp) : options.http;
}

std::string TraceOf(const ConnectOptions& options) {
  return options.trace.empty() ? FromEnvironment("TENSORHUB_TRACE") : options.trace;
}

absl::StatusOr<bool> DeviceCopies() {
  const std::string word = FromEnvironment("TENSORHUB_DEVICE_READS");
  if (word.empty() || word == "copies") return true;
  if (word == "ucx") return false;
  return absl::InvalidArgumentError(
      absl::StrCat("TENSORHUB_DEVICE_READS=", Shown(word), ": write copies or ucx"));
}

absl::Status Check(const ConnectOptions& options) {
  absl::Status status = CheckServer(options.server);
  if (status.ok()) status = CheckName("model", options.model);
  if (status.ok()) status = CheckName("group", options.group);
  if (status.ok()) status = CheckRank(options);
  if (status.ok()) {
    status = CheckLocation(options.location.empty() ? kLocation : "location", LocationOf(options));
  }
  if (status.ok()) status = CheckTimeout("connect_timeout", options.connect_timeout);
  if (status.ok()) status = DigestsOf(options).status();
  if (status.ok()) status = DeviceCopies().status();
  if (status.ok()) status = CheckHttp(options);
  if (status.ok()) status = tls::Check(SecurityOf(options), options.server);
  if (status.ok() && options.attachment.size() > kAttachmentBytesMax) {
    status = absl::InvalidArgumentError(
        absl::StrFormat("attachment of %d bytes: at most %d (64 MiB) travel with a version",
                        options.attachment.size(), kAttachmentBytesMax));
  }
  return status;
}

absl::Status Check(const PublishOptions& options) {
  return CheckTimeout("timeout", options.timeout);
}

absl::Status Check(const UnpublishOptions& options) { return CheckDrain(options.drain_timeout); }

absl::Status Check(const LeaveOptions& options) { return CheckDrain(options.drain_timeout); }

absl::Status Check(const FetchOptions& options) {
  const absl::Status status = CheckTimeout("timeout", options.timeout);
  if (!status.ok() || options.traceparent.empty() || IsTraceparent(options.traceparent)) {
    return status;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("traceparent ", Shown(options.traceparent),
                   ": write it as Trace Context does, in small hexadecimal digits: "
                   "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"));
}

absl::Status CheckTimeout(const std::string& field, std::chrono::milliseconds value) {
  if (value.count() > 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrFormat("%s %d ms: must be positive", field, value.count()));
}

int64_t Milliseconds(std::chrono::milliseconds value) {
  constexpr int64_t kMonthMs = int64_t{30} * 24 * 3600 * 1000;
  return std::min<int64_t>(value.count(), kMonthMs);
}

}  // namespace tensorhub::libros
