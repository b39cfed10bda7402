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
  kOpenSession = 1,    // the hub knows no such session: open one, then repeat the call
  kPutDocuments = 2,   // the hub knows no such layout or attachment: put them, then call anew
  kWaitItOut = 3,      // R8: an outage. Fetch again, and again, until it is over
  kAskLeader = 4,      // this server stands by: ask the one that leads (LeaderOf)
  kAwaitAdoption = 5,  // R8: another hub's server: open a session again, until an operator's word
  kCallAgain = 6,      // R9: a bound in time is met: repeat the call in a while
};

absl::Status WithRemedy(absl::Status status, Remedy remedy);
// kNone if none was said, or one that this build does not know.
Remedy RemedyOf(const absl::Status& status);
// R8: the failure of one that fell silent, and may come back; if it is one.
absl::Status AsOutage(absl::Status status, bool outage = true);
bool IsOutage(const absl::Status& status);
// kAskLeader, and whom to ask: HOST:PORT; empty: it is not known.
absl::Status WithLeader(absl::Status status, const std::string& address);
// R9: empty, if none was said, or what cannot be an address.
std::string LeaderOf(const absl::Status& status);
// The wire's form: the number, and what belongs to it. Empty for kNone.
std::string DetailsOf(const absl::Status& status);
absl::Status WithDetails(absl::Status status, std::string_view details);

}  // namespace tensorhub

#endif  // TENSORHUB_COMMON_REMEDY_H_
