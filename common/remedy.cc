// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "common/remedy.h"

#include <utility>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"

namespace tensorhub {
namespace {

constexpr char kPayload[] = "type.googleapis.com/tensorhub.v1.Remedy";

}  // namespace

absl::Status WithRemedy(absl::Status status, Remedy remedy) {
  if (remedy != Remedy::kNone) status.SetPayload(kPayload, absl::Cord(ToDetails(remedy)));
  return status;
}

Remedy RemedyOf(const absl::Status& status) {
  const auto payload = status.GetPayload(kPayload);
  return payload ? RemedyFromDetails(std::string(*payload)) : Remedy::kNone;
}

absl::Status AsOutage(absl::Status status, bool outage) {
  return WithRemedy(std::move(status), outage ? Remedy::kWaitItOut : Remedy::kNone);
}

bool IsOutage(const absl::Status& status) { return RemedyOf(status) == Remedy::kWaitItOut; }

std::string ToDetails(Remedy remedy) {
  return remedy == Remedy::kNone ? "" : absl::StrCat(static_cast<int>(remedy));
}

Remedy RemedyFromDetails(std::string_view details) {
  for (const Remedy remedy : {Remedy::kOpenSession, Remedy::kPutDocuments, Remedy::kWaitItOut}) {
    if (details == ToDetails(remedy)) return remedy;
  }
  return Remedy::kNone;
}

}  // namespace tensorhub
