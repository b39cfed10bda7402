// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// R2, R6: which publication is meant by a number, by `latest`, or by what a group waits for; or why
// none is. R8: where one that fell silent may come back with it, that is an outage.

#ifndef TENSORHUB_SERVER_CORE_VERSION_CHOICE_H_
#define TENSORHUB_SERVER_CORE_VERSION_CHOICE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/core/absentees.h"
#include "server/core/catalog.h"

namespace tensorhub::hub {

class VersionChoice {
 public:
  // Both live longer.
  VersionChoice(const Catalog& catalog, const Absentees& absentees)
      : catalog_(catalog), absentees_(absentees) {}

  // Requires of all of them: the model is there.
  // What the group wants. Requires: some rank of it has joined.
  absl::StatusOr<const Publication*> Wanted(const std::string& model, const Group& group) const;
  absl::StatusOr<const Publication*> Latest(const std::string& model) const;
  absl::StatusOr<const Publication*> Exact(const std::string& model, VersionNumber version) const;
  // The answer for a version that was visible, and that nobody holds whole.
  absl::Status NoHolder(const std::string& model, VersionNumber version,
                        const PublicationId& publication) const;

 private:
  const Catalog& catalog_;
  const Absentees& absentees_;
};

}  // namespace tensorhub::hub

#endif  // TENSORHUB_SERVER_CORE_VERSION_CHOICE_H_
