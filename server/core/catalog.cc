// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "server/core/catalog.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace tensorhub::hub {

Model* Catalog::FindModel(const std::string& name) {
  return const_cast<Model*>(std::as_const(*this).FindModel(name));
}

const Model* Catalog::FindModel(const std::string& name) const {
  const auto it = models_.find(name);
  return it == models_.end() ? nullptr : &it->second;
}

const Publication* Catalog::FindPublication(const std::string& model, VersionNumber version) const {
  const Model* row = FindModel(model);
  if (row == nullptr) return nullptr;
  const auto held = row->held.find(version);
  return held == row->held.end() ? nullptr : held->second;
}

Publication* Catalog::FindPublication(const std::string& model, const PublicationId& id) {
  return const_cast<Publication*>(std::as_const(*this).FindPublication(model, id));
}

const Publication* Catalog::FindPublication(const std::string& model,
                                            const PublicationId& id) const {
  const Model* row = FindModel(model);
  if (row == nullptr) return nullptr;
  const auto found = row->publications.find(id);
  return found == row->publications.end() ? nullptr : &found->second;
}

bool Catalog::IsCandidate(const Publication& publication) const {
  const Term now = models_.at(publication.model).terms.now();
  return !publication.visible && publication.term.number > now.number;
}

const Publication* Catalog::FindCandidate(const WorkerKey& key, VersionNumber version) const {
  for (const auto& [id, publication] : models_.at(key.model).publications) {
    const bool same = publication.version == version && IsCandidate(publication) &&
                      !IsAnothers(publication, key.group);
    if (same) return &publication;
  }
  return nullptr;
}

bool Catalog::IsLatest(const Publication& publication) const {
  const Model& model = models_.at(publication.model);
  return publication.visible && !publication.superseded && model.latest == publication.version;
}

absl::Status UnknownModel(const std::string& model) {
  return absl::NotFoundError(absl::StrCat("model \"", model, "\": nobody has joined it"));
}

std::string LatestOf(const Model* model) {
  if (model == nullptr || !model->latest) return "it has no version yet";
  const auto found = model->held.find(*model->latest);
  const bool held = found != model->held.end() && found->second->listed();
  return absl::StrCat("the latest is ", *model->latest,
                      held ? "" : ", which nobody holds any more");
}

std::string NotInTime(const std::string& name, const VersionSelector& selector,
                      const Model* model) {
  const bool any = selector.kind == VersionSelector::Kind::kAny;
  const std::string which = any ? "" : ToString(selector) + " ";
  return absl::StrCat("no version ", which, "of ", name, " in time; ", LatestOf(model));
}

}  // namespace tensorhub::hub
