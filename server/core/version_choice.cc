// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "server/core/version_choice.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/remedy.h"

namespace tensorhub::hub {

absl::StatusOr<const Publication*> VersionChoice::Wanted(const std::string& name,
                                                         const Group& group) const {
  const VersionSelector& selector = group.forming.begin()->second.selector;
  switch (selector.kind) {
    case VersionSelector::Kind::kLatest:
      return Latest(name);
    case VersionSelector::Kind::kExact:
      return Exact(name, selector.version);
    case VersionSelector::Kind::kNewerThan:
    case VersionSelector::Kind::kAny:
      break;
  }
  const Model& model = catalog_.models().at(name);
  // R2: whoever holds something superseded wants what superseded it, whatever its number.
  const auto over = [&](const auto& join) {
    const std::optional<TermNumber> held_in = join.second.held_in;
    return held_in && model.terms.Supersede(*held_in, selector.version);
  };
  if (std::any_of(group.forming.begin(), group.forming.end(), over)) return Latest(name);
  const bool any = selector.kind == VersionSelector::Kind::kAny;
  for (auto it = model.held.rbegin(); it != model.held.rend(); ++it) {
    if (!any && it->first <= selector.version) break;
    if (it->second->listed()) return it->second;
  }
  return absl::NotFoundError(NotInTime(name, selector, &model));
}

// R2: the mark says which version is latest, whether somebody holds it or not.
absl::StatusOr<const Publication*> VersionChoice::Latest(const std::string& name) const {
  const Model& model = catalog_.models().at(name);
  if (!model.latest) {
    return absl::NotFoundError(absl::StrCat("model ", name, " has no version yet; publish one, or ",
                                            "wait for it with a newer-than fetch"));
  }
  return Exact(name, *model.latest);
}

absl::StatusOr<const Publication*> VersionChoice::Exact(const std::string& name,
                                                        VersionNumber version) const {
  const Model& model = catalog_.models().at(name);
  const auto it = model.held.find(version);
  if (it != model.held.end() && it->second->listed()) return it->second;
  const std::string what = absl::StrCat("version ", version, " of ", name);
  if (!model.visible.contains(version)) {
    if (it != model.held.end()) {
      return absl::NotFoundError(
          absl::StrCat(what, " is not visible yet: not every rank has published it"));
    }
    const Term term = model.terms.now();
    const bool may_have = term.number > 0 && version >= term.since;
    const char* over = may_have ? ", or was superseded by the model's latest term" : "";
    return absl::NotFoundError(absl::StrCat(what, " does not exist", over, "; ", LatestOf(&model)));
  }
  return NoHolder(name, version, model.visible.at(version));
}

absl::Status VersionChoice::NoHolder(const std::string& name, VersionNumber version,
                                     const PublicationId& publication) const {
  const Model& model = catalog_.models().at(name);
  const std::string what =
      absl::StrCat("version ", version, " of ", name, " has no holder any more");
  if (const WorkerKey* away = absentees_.MayReturn(name, publication)) {
    return AsOutage(absl::NotFoundError(
        absl::StrCat(what, ": ", ToString(*away), " fell silent, and may come back with it")));
  }
  for (auto held = model.held.rbegin(); held != model.held.rend(); ++held) {
    if (!held->second->listed()) continue;
    return absl::NotFoundError(absl::StrCat(what, "; the newest held is ", held->first));
  }
  return absl::NotFoundError(absl::StrCat(what, ", and no other version is held; publish again"));
}

}  // namespace tensorhub::hub
