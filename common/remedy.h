// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// What a program should do about an error of the hub's. The message says the same to people, and
// may be reworded.

#ifndef TENSORHUB_COMMON_REMEDY_H_
#define TENSORHUB_COMMON_REMEDY_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace tensorhub {

// The numbers are those of tensorhub.v1.Remedy.
enum class Remedy {
  kNone = 0,
  kOpenSession = 1,   // the hub knows no such session: open one, then repeat the call
  kPutDocuments = 2,  // the hub knows no such layout or attachment: put them, then call anew
  kWaitItOut = 3,     // R8: an outage. Fetch again, and again, until it is over
};

absl::Status WithRemedy(absl::Status status, Remedy remedy);
// kNone if none was said, or one that this build does not know.
Remedy RemedyOf(const absl::Status& status);
// R8: the failure of one that fell silent, and may come back; if it is one.
absl::Status AsOutage(absl::Status status, bool outage = true);
bool IsOutage(const absl::Status& status);
// The wire's form; empty for kNone.
std::string ToDetails(Remedy remedy);
Remedy RemedyFromDetails(std::string_view details);

}  // namespace tensorhub

#endif  // TENSORHUB_COMMON_REMEDY_H_
