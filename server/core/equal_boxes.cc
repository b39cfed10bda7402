// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// R1: one content of what several ranks of a group publish. Where they hold the same box of a
// tensor, a reader may get it from any of them; so the hub has them say what it gives, before the
// version becomes visible. Which boxes those are the planner says, once for a group's layouts.

#include <algorithm>
#include <functional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/limits.h"
#include "common/refusals.h"
#include "common/sharding.h"
#include "server/core/content.h"

namespace tensorhub::hub {
namespace {

bool SaysBoxes(const Worker& holder) {
  return holder.knows_boxes && (holder.reference->hashing || holder.reference->digest);
}

bool AreEqual(const std::vector<uint64_t>& digests) {
  return std::adjacent_find(digests.begin(), digests.end(), std::not_equal_to<>()) == digests.end();
}

// What of those boxes a rank holds.
std::vector<HashBoxes::Range> BoxesOf(const EqualBoxes& equal, const BoxComparison& asked,
                                      Rank rank, const Layout& layout) {
  std::vector<HashBoxes::Range> boxes;
  for (size_t box = asked.first; box < asked.end; ++box) {
    for (const EqualBoxes::Holder& holder : equal.of(box)) {
      if (holder.rank != rank) continue;
      const Layout::Entry entry = layout.entries()[holder.entry];
      boxes.push_back({entry.offset, entry.bytes});
    }
  }
  return boxes;
}

std::string ShownBox(const Layout::Entry& entry) {
  std::vector<Interval> box;
  for (size_t i = 0; i < entry.shape.size(); ++i) {
    box.push_back({entry.slice_offset[i], entry.slice_offset[i] + entry.shape[i]});
  }
  return ShowBox(box);
}

}  // namespace

// R1, its place within a publication.
bool Hub::State::Content::BoxesAgree(Publication& publication,
                                     const std::vector<Worker*>& ranks) const {
  if (std::count_if(ranks.begin(), ranks.end(), [](auto* each) { return SaysBoxes(*each); }) < 2) {
    return true;
  }
  BoxComparison& asked = publication.boxes;
  asked.begun = true;
  if (asked.awaited > 0) return false;
  const std::vector<Fingerprint> layouts = LayoutsOf(publication.published);
  if (!state.plans_.HaveLayouts(layouts)) return false;
  const KnownPlan& plan = state.plans_.Get(EqualBoxesIn(layouts), *state.out_);
  if (!plan.made) return false;
  const absl::Status differ = Compare(publication, plan.equal, ranks);
  if (!differ.ok()) {
    for (Worker* worker : ranks) state.DropPublishing(*worker, differ);
    return false;
  }
  asked.first = asked.end;
  AskForBoxes(publication, plan.equal, ranks);
  return asked.awaited == 0;
}

// The next ones; who makes no digests is not asked.
void Hub::State::Content::AskForBoxes(Publication& publication, const EqualBoxes& equal,
                                      const std::vector<Worker*>& ranks) const {
  BoxComparison& asked = publication.boxes;
  asked.said.assign(ranks.size(), {});
  for (; asked.awaited == 0 && asked.first < equal.size(); asked.first = asked.end) {
    asked.end = std::min(equal.size(), asked.first + kAskedBoxesMax);
    for (Rank rank = 0; rank < ranks.size(); ++rank) {
      if (!SaysBoxes(*ranks[rank])) continue;
      asked.said[rank].question = ++asked.questions;
      AskAgain(*ranks[rank]);
      asked.awaited += asked.said[rank].count > 0 ? 1 : 0;
    }
    if (asked.awaited > 0) return;
  }
}

void Hub::State::Content::AskAgain(Worker& worker) const {
  if (!worker.reference || PublicationOf(worker).visible) return;
  Publication& publication = PublicationOf(worker);
  const Rank rank = worker.id.key.rank;
  if (rank >= publication.boxes.said.size()) return;
  BoxComparison::Said& said = publication.boxes.said[rank];
  if (said.question == 0 || !said.digests.empty()) return;
  const PlanWanted wanted = EqualBoxesIn(LayoutsOf(publication.published));
  const KnownPlan& plan = state.plans_.Get(wanted, *state.out_);
  const auto layout = state.documents_.FindLayout(worker.reference->shard->layout);
  if (!plan.made || layout == nullptr) return;
  HashBoxes question{worker.reference->generation, said.question, {}};
  question.boxes = BoxesOf(plan.equal, publication.boxes, rank, *layout);
  said.count = question.boxes.size();
  if (said.count > 0) state.Send(worker, std::move(question));
}

// What was said of the boxes that were asked for last.
absl::Status Hub::State::Content::Compare(const Publication& publication, const EqualBoxes& equal,
                                          const std::vector<Worker*>& ranks) const {
  const BoxComparison& asked = publication.boxes;
  Refusals differ;
  std::vector<size_t> next(ranks.size());
  for (size_t box = asked.first; box < asked.end; ++box) {
    std::vector<Rank> holders;
    std::vector<uint64_t> digests;
    for (const EqualBoxes::Holder& holder : equal.of(box)) {
      const std::vector<uint64_t>& said = asked.said[holder.rank].digests;
      if (said.empty()) continue;
      holders.push_back(holder.rank);
      digests.push_back(said[next[holder.rank]++]);
    }
    if (AreEqual(digests)) continue;
    const EqualBoxes::Holder& first = equal.of(box).front();
    const Fingerprint& layout = ranks[first.rank]->reference->shard->layout;
    const Layout::Entry entry = state.documents_.FindLayout(layout)->entries()[first.entry];
    differ.Add(entry.name, absl::StrCat(ShownBox(entry), " differs between ranks ",
                                        absl::StrJoin(holders, ", ")));
  }
  return differ.ToStatus(
      absl::StatusCode::kFailedPrecondition,
      absl::StrCat("version ", publication.version, " is not published: ranks of ",
                   ranks.front()->id.key.group, " hold different bytes of the same piece"),
      "make the ranks' copies equal, or register what is each rank's own as a slice of its own");
}

void Hub::State::Content::RetryUnfinished() const {
  std::vector<std::pair<std::string, PublicationId>> unfinished;
  for (const auto& [name, model] : state.models_) {
    for (const auto& [id, publication] : model.publications) {
      const bool waits = publication.boxes.begun && publication.boxes.awaited == 0;
      if (waits && !publication.visible) unfinished.emplace_back(name, id);
    }
  }
  for (const auto& [name, id] : unfinished) {
    Publication* publication = state.FindPublication(name, id);
    const Worker* holder = publication == nullptr ? nullptr : AnyHolder(*publication);
    if (holder != nullptr) state.CompleteIfWhole(*publication, holder->id.key.group);
  }
}

void Hub::State::On(const BoxesHashed& event) {
  Worker* worker = FindSession(event.session);
  if (worker == nullptr || !worker->reference) return;
  Publication& publication = PublicationOf(*worker);
  const Rank rank = worker->id.key.rank;
  if (publication.visible || rank >= publication.boxes.said.size()) return;
  BoxComparison::Said& said = publication.boxes.said[rank];
  const bool asked = said.question == event.question && said.digests.empty() &&
                     worker->reference->generation == event.generation;
  if (!asked || event.digests.size() != said.count || said.count == 0) return;
  said.digests = event.digests;
  --publication.boxes.awaited;
  CompleteIfWhole(publication, worker->id.key.group);
}

}  // namespace tensorhub::hub
