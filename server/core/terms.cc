// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// R2: the mark `latest` of a model. It rises with what becomes visible, and falls only where a new
// term begins: by a publication that supersedes what is newer, once it is whole, or by an operator.

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/core/content.h"
#include "server/core/state.h"

namespace tensorhub::hub {
namespace {

// In the place of a group, none of which has such a name.
constexpr char kOperator[] = "an operator";

// In the words of who is told so.
std::string WhoBegan(const Model& model) {
  const Term term = model.terms.now();
  const std::string& by = model.term_by;
  const char* by_whom = by.empty() ? "" : by == kOperator ? " by " : " by group ";
  return absl::StrCat("term ", term.number, " of the model was begun", by_whom, by,
                      ", which supersedes every version from ", term.since, " on");
}

std::string WhySuperseded(const Model& model, const Publication& publication) {
  return absl::StrCat("version ", publication.version,
                      ", which these buffers hold, is superseded: ", WhoBegan(model),
                      "; unpublish it, or fetch the latest");
}

absl::Status CheckFencing(const Model& model, const PublishOp& op) {
  if (!op.knows_term || *op.knows_term >= model.terms.now().number) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(WhoBegan(model), "; this publisher is of an earlier one: end it, or publish ",
                   "with supersede to go on from what it has"));
}

absl::Status CheckMark(const Model& model, const PublishOp& op) {
  if (!model.latest || op.version >= *model.latest) return absl::OkStatus();
  if (model.held.contains(op.version)) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("version ", op.version, " is below the latest, ", *model.latest,
                   ", and has no holder; publish with supersede to go back to it"));
}

}  // namespace

// What the publish joins; nothing: there is none yet. R4, R8: it may have been published already,
// and its owner has not heard so: others read it from these buffers, or it has made a version whole
// and begins no other term.
const Publication* Hub::State::Wanted(const Worker& worker, const PublishOp& op) const {
  if (worker.reference) return &PublicationOf(worker);
  if (const Publication* read = Content::ReadAs(*this, worker, op)) return read;
  const Publication* same = FindPublication(worker.id.key.model, op.version);
  const bool own =
      same != nullptr && same->visible && MadeItWhole(worker, op.generation, same->publishers);
  return own || !op.supersede ? same : FindCandidate(worker.id.key, op.version);
}

// Whether it may be published in the term that it would be.
absl::Status Hub::State::CheckTerm(const Worker& worker, const PublishOp& op,
                                   const Publication* publication) const {
  const Model& model = models_.at(worker.id.key.model);
  if (publication != nullptr && publication->superseded) {
    return absl::FailedPreconditionError(WhySuperseded(model, *publication));
  }
  if (worker.reference) {
    if (!op.supersede || IsCandidate(*publication) || IsLatest(*publication)) {
      return absl::OkStatus();
    }
    return absl::FailedPreconditionError(
        absl::StrCat("these buffers hold version ", op.version, " already, and it is not the ",
                     "latest; unpublish it and publish it with supersede, or make it the latest: ",
                     "tensorhubctl supersede ", worker.id.key.model, " ", op.version));
  }
  if (op.supersede) return absl::OkStatus();
  if (absl::Status status = CheckFencing(model, op); !status.ok()) return status;
  return CheckMark(model, op);
}

void Hub::State::MoveLatest(const Publication& publication) {
  Model& model = models_.at(publication.model);
  const VersionNumber version = publication.version;
  if (!model.latest || version > *model.latest) model.latest = version;
  model.visible[version] = publication.id;
  if (model.latest == version) {
    model.identity = publication.identity;
    model.publishers = publication.publishers;
  }
  changes_.models.insert(publication.model);
  newly_visible_.insert(publication.model);
  retention_.WantedChanged(publication.model);
}

// R2, its one place. What begins it is visible by now, or below `since`. The caller says what is
// the latest then.
void Hub::State::BeginTerm(const std::string& name, const Term& term, const std::string& by) {
  Model& model = models_.at(name);
  std::vector<Publication*> over;
  for (auto& [id, publication] : model.publications) {
    const bool outrun = IsCandidate(publication) && publication.term.number <= term.number;
    if (outrun) over.push_back(&publication);
  }
  model.terms.Begin(term);
  model.term_by = by;
  model.visible.erase(model.visible.lower_bound(term.since), model.visible.end());
  model.latest.reset();
  if (!model.visible.empty()) model.latest = model.visible.rbegin()->first;
  model.identity = {};
  model.publishers = {};
  changes_.models.insert(name);
  Say(LogLine::Level::kInfo, absl::StrCat(name, ": ", WhoBegan(model)));
  NotifyWatchers(model, name, ModelChange::Kind::kTermBegun, term.since, by == kOperator ? "" : by);
  for (const auto& [version, publication] : model.held) {
    if (model.terms.Supersede(publication->term.number, version)) over.push_back(publication);
  }
  for (Publication* publication : over) EndSuperseded(*publication);
  joiners_due_ = true;
  retention_.WantedChanged(name);
}

// The publication stands for its number from now on.
void Hub::State::BeginTermWith(Publication& publication, const std::string& by) {
  BeginTerm(publication.model, publication.term, by);
  models_.at(publication.model).held[publication.version] = &publication;
}

// Reads of it go on; what is not whole never will be.
void Hub::State::EndSuperseded(Publication& publication) {
  Model& model = models_.at(publication.model);
  const auto held = model.held.find(publication.version);
  if (held != model.held.end() && held->second == &publication) model.held.erase(held);
  publication.superseded = true;
  const absl::Status reason = absl::AbortedError(WhoBegan(model));
  std::vector<Worker*> holders;
  ForEachSharding(publication, [&](const Sharding& sharding) {
    for (const auto& [rank, shard] : sharding.shards) {
      for (const auto& [serial, holder] : shard.holders) holders.push_back(holder);
    }
  });
  const bool visible = publication.visible;
  for (Worker* holder : holders) {
    if (visible) {
      TellIfSuperseded(*holder);
    } else if (holder->reference->state == ReferenceState::kPublishing) {
      DropPublishing(*holder, reason);
    }
  }
}

void Hub::State::TellIfSuperseded(const Worker& worker) {
  if (!worker.reference) return;
  const Publication& publication = PublicationOf(worker);
  if (!publication.superseded) return;
  const std::string why = WhySuperseded(models_.at(publication.model), publication);
  Send(worker, Superseded{publication.id, absl::OutOfRangeError(why)});
}

// R8: at the end of a recovery. Before it, a term may be reported that is as late.
void Hub::State::SettleCandidates() {
  std::vector<std::pair<std::string, PublicationId>> candidates;
  for (const auto& [name, model] : models_) {
    for (const auto& [id, publication] : model.publications) {
      if (IsCandidate(publication)) candidates.emplace_back(name, id);
    }
  }
  for (const auto& [name, id] : candidates) {
    Publication* publication = FindPublication(name, id);
    if (publication == nullptr || !IsCandidate(*publication)) continue;
    CompleteIfWhole(*publication, AnyHolder(*publication)->id.key.group);
  }
}

void Hub::State::On(const SupersedeOp& op) { Answer(op.call, Supersede(op)); }

absl::Status Hub::State::Supersede(const SupersedeOp& op) {
  const Model* model = FindModel(op.model);
  if (model == nullptr) return UnknownModel(op.model);
  // R8: holders of it may still report.
  if (recovering_) {
    return absl::UnavailableError("the server is recovering; supersede again in a few seconds");
  }
  const auto wanted = choice_.Exact(op.model, op.version);
  if (!wanted.ok()) return wanted.status();
  if (model->latest == op.version) return absl::OkStatus();
  BeginTerm(op.model, {model->terms.now().number + 1, op.version + 1}, kOperator);
  MoveLatest(**wanted);
  return absl::OkStatus();
}

}  // namespace tensorhub::hub
