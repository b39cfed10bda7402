// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "common/refusals.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/text.h"

namespace tensorhub {

void Refusals::Add(std::string_view tensor, const std::string& why) {
  ++count_;
  if (named_.size() == kNamedMax) return;
  named_.push_back(absl::StrCat("tensor ", Shown(tensor), " ", why));
}

absl::Status Refusals::ToStatus(absl::StatusCode code, std::string_view head,
                                std::string_view remedy) const {
  if (empty()) return absl::OkStatus();
  const size_t unnamed = count_ - named_.size();
  const std::string more = unnamed > 0 ? absl::StrCat("; and ", unnamed, " more") : "";
  return {code, absl::StrCat(std::string(head), ": ", absl::StrJoin(named_, "; "), more, "; ",
                             std::string(remedy))};
}

}  // namespace tensorhub
