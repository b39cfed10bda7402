// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// R2: the mark `latest` of a model. It rises with what becomes visible; it falls only by an
// explicit rewind, of a publisher that went back or of an operator, and not below what somebody
// holds.

#include <string>

#include "absl/strings/str_cat.h"
#include "server/core/state.h"

namespace tensorhub::hub {
namespace {

// Somebody who can unpublish it, if there is one.
const Worker* AnyHolder(const Publication& publication) {
  const Worker* copy = nullptr;
  for (const auto& [rank, shard] : publication.shards) {
    for (const auto& [id, holder] : shard.holders) {
      if (holder->copy_of.empty()) return holder;
      copy = holder;
    }
  }
  return copy;
}

// A copy for retention is nobody's to unpublish: it goes when nobody wants it kept.
std::string HowToGiveUp(const Worker* holder) {
  if (holder == nullptr) return "nobody; try again";
  return absl::StrCat(ToString(holder->id.key),
                      holder->copy_of.empty()
                          ? "; unpublish it there"
                          : absl::StrCat(" to keep it; give it up with `tensorhubctl retain ",
                                         holder->id.key.model, " 0`"));
}

absl::Status CheckRewind(const Model& model, Version version) {
  const auto newer = model.held.upper_bound(version);
  if (newer == model.held.end()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("cannot rewind to version ", version, " while version ", newer->first,
                   " is held by ", HowToGiveUp(AnyHolder(newer->second)),
                   ", or publish these weights under a number above ", model.held.rbegin()->first));
}

}  // namespace

absl::Status Hub::State::CheckMark(const Model& model, const PublishOp& op) const {
  if (!model.latest || op.version >= *model.latest) return absl::OkStatus();
  if (op.rewind) return CheckRewind(model, op.version);
  if (model.held.contains(op.version)) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("version ", op.version, " is below the latest, ", *model.latest,
                   ", and has no holder; publish with rewind to go back to it"));
}

// What was newer counts from here on as if it had not been: who waits for something newer than this
// version waits for the next one.
void Hub::State::MoveLatest(const Publication& publication, bool rewind) {
  Model& model = models_.at(publication.model);
  const Version version = publication.version;
  const bool lower = rewind && CheckRewind(model, version).ok();
  if (lower && model.latest > version) {
    Change(model, publication.model, ModelChange::Kind::kLatestRewound, version, /*group=*/"");
    Say(LogLine::Level::kInfo, absl::StrCat(publication.model, ": the latest version is ", version,
                                            " again, by a rewind; it was ", *model.latest));
  }
  if (lower) model.visible.erase(model.visible.upper_bound(version), model.visible.end());
  if (lower || !model.latest || version > *model.latest) model.latest = version;
  model.visible[version] = publication.id;
  if (model.latest == version) {
    model.identity = publication.identity;
    model.publishers = publication.publishers;
  }
  changed_models_.insert(publication.model);
  news_.insert(publication.model);
  RetentionChanged(publication.model);
}

void Hub::State::On(const RewindOp& op) { Answer(op.call, Rewind(op)); }

absl::Status Hub::State::Rewind(const RewindOp& op) {
  const auto model = models_.find(op.model);
  if (model == models_.end()) return UnknownModel(op.model);
  // R8: holders of newer ones may still report.
  if (recovering_) {
    return absl::UnavailableError("the server is recovering; rewind again in a few seconds");
  }
  const auto wanted = FindExact(op.model, model->second, op.version);
  if (!wanted.ok()) return wanted.status();
  if (absl::Status status = CheckRewind(model->second, op.version); !status.ok()) return status;
  MoveLatest(**wanted, /*rewind=*/true);
  return absl::OkStatus();
}

}  // namespace tensorhub::hub
