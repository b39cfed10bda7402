// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tests/sim/contents.h"

#include "absl/strings/str_cat.h"

namespace tensorhub::fault {

std::optional<std::string> Contents::Bind(const PublicationId& id, const Publication& publication) {
  const auto [found, created] = publications_.try_emplace(id, publication);
  if (created) return std::nullopt;
  const Publication& known = found->second;
  if (known.number != publication.number) {
    return absl::StrCat("publication ", ToHex(id), " is version ", known.number.second, " and ",
                        publication.number.second);
  }
  if (known.content == publication.content) return std::nullopt;
  return absl::StrCat("publication ", ToHex(id), " of version ", known.number.second, " of ",
                      known.number.first, " has two contents");
}

}  // namespace tensorhub::fault
