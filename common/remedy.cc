// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "common/remedy.h"

#include <utility>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "common/ids.h"

namespace tensorhub {
namespace {

constexpr char kPayload[] = "type.googleapis.com/tensorhub.v1.Remedy";

std::string ToDetails(Remedy remedy) {
  return remedy == Remedy::kNone ? "" : absl::StrCat(static_cast<int>(remedy));
}

// Only kAskLeader has something behind its number.
Remedy RemedyFromDetails(std::string_view details) {
  for (const Remedy remedy : {Remedy::kOpenSession, Remedy::kPutDocuments, Remedy::kWaitItOut,
                              Remedy::kAwaitAdoption, Remedy::kCallAgain}) {
    if (details == ToDetails(remedy)) return remedy;
  }
  const bool leader = details.substr(0, details.find(' ')) == ToDetails(Remedy::kAskLeader);
  return leader ? Remedy::kAskLeader : Remedy::kNone;
}

}  // namespace

absl::Status WithRemedy(absl::Status status, Remedy remedy) {
  return WithDetails(std::move(status), ToDetails(remedy));
}

Remedy RemedyOf(const absl::Status& status) { return RemedyFromDetails(DetailsOf(status)); }

absl::Status AsOutage(absl::Status status, bool outage) {
  return WithRemedy(std::move(status), outage ? Remedy::kWaitItOut : Remedy::kNone);
}

bool IsOutage(const absl::Status& status) { return RemedyOf(status) == Remedy::kWaitItOut; }

absl::Status WithLeader(absl::Status status, const std::string& address) {
  const std::string remedy = ToDetails(Remedy::kAskLeader);
  return WithDetails(std::move(status),
                     address.empty() ? remedy : absl::StrCat(remedy, " ", address));
}

std::string LeaderOf(const absl::Status& status) {
  if (RemedyOf(status) != Remedy::kAskLeader) return "";
  const std::string details = DetailsOf(status);
  const size_t space = details.find(' ');
  if (space == std::string::npos) return "";
  std::string address = details.substr(space + 1);
  const size_t colon = address.rfind(':');
  const bool fits = colon != std::string::npos && colon > 0 && colon + 1 < address.size();
  return fits && !NameProblem(address) ? address : "";
}

std::string DetailsOf(const absl::Status& status) {
  const auto payload = status.GetPayload(kPayload);
  return payload ? std::string(*payload) : std::string();
}

absl::Status WithDetails(absl::Status status, std::string_view details) {
  if (RemedyFromDetails(details) != Remedy::kNone) {
    status.SetPayload(kPayload, absl::Cord(std::string(details)));
  }
  return status;
}

}  // namespace tensorhub
