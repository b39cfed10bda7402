// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// R1: one content behind a number. Who publishes a number that exists is a joiner: it holds once
// its shard's digest was found equal to the publication's, and until then it is not listed. The
// digest of a shard is what its first publisher says; where that one has gone before it said it,
// what a whole holder says.

#include "server/core/content.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/core/read_rights.h"
#include "server/core/state.h"

namespace tensorhub::hub {
namespace {

constexpr char kWhatToDo[] = "publish these weights under another number";

// The digest is known once it has published, or read to the end.
bool WillSay(const Worker& holder) {
  return holder.reference->hashing || holder.reference->state == ReferenceState::kFilling;
}

bool AnyWillSay(const Publication& publication) {
  for (const auto& [rank, shard] : publication.published.shards) {
    if (shard.digest) continue;
    for (const auto& [serial, holder] : shard.holders) {
      if (WillSay(*holder)) return true;
    }
  }
  return false;
}

std::vector<ContentDigest> DigestsOf(const Publication& publication) {
  std::vector<ContentDigest> digests(publication.published.world_size);
  for (const auto& [rank, shard] : publication.published.shards) digests[rank] = shard.digest;
  return digests;
}

bool AllKnown(const std::vector<ContentDigest>& digests) {
  return std::all_of(digests.begin(), digests.end(),
                     [](const ContentDigest& digest) { return static_cast<bool>(digest); });
}

// Nothing: it is not known. A shard that was lost is known by what all of them give.
std::optional<bool> Agrees(const Publication& publication, Rank rank, const ContentDigest& digest) {
  std::vector<ContentDigest> digests = DigestsOf(publication);
  if (digests[rank]) return digests[rank] == digest;
  digests[rank] = digest;
  if (!publication.identity || !AllKnown(digests)) return std::nullopt;
  return IdentityOfContent(digests) == publication.identity;
}

absl::Status Differs(const PublishOp& op, Rank rank) {
  return absl::AlreadyExistsError(absl::StrCat(
      "version ", op.version, " exists with other bytes: shard ", rank, " differs; ", kWhatToDo));
}

absl::Status CannotCompare(const PublishOp& op, Rank rank, std::string_view why) {
  return absl::AlreadyExistsError(absl::StrCat("version ", op.version, " exists, and shard ", rank,
                                               " cannot be compared with it: ", std::string(why),
                                               "; ", kWhatToDo));
}

}  // namespace

// R1, its one place.
absl::StatusOr<Hub::State::Joining> Hub::State::CompareContent(const Publication& publication,
                                                               const Worker& worker,
                                                               const PublishOp& op) const {
  const Rank rank = worker.id.key.rank;
  const auto shard = publication.published.shards.find(rank);
  // R2: one group's until it is whole; then there is something to compare with.
  if (!publication.visible) {
    return IsAnothers(publication, worker.id.key.group) ? Joining::kWaits : Joining::kMayHold;
  }
  if (MadeItWhole(worker, op.generation, publication.publishers)) return Joining::kMayHold;
  if (Content::ReadAs(*this, worker, op) == &publication) return Joining::kMayHold;
  if (!op.hashes && !op.digest) {
    return CannotCompare(op, rank, "digests are off at this publisher, or it is an older one");
  }
  const bool answers = op.digest && op.compared == publication.id;
  if (answers) {
    const std::optional<bool> agrees = Agrees(publication, rank, op.digest);
    if (agrees) return *agrees ? absl::StatusOr<Joining>(Joining::kMayHold) : Differs(op, rank);
  }
  const bool known = Agrees(publication, rank, ContentDigest{0, 1}).has_value();
  if (known || AnyWillSay(publication)) return answers ? Joining::kWaits : Joining::kCompares;
  const bool lost = shard == publication.published.shards.end() || shard->second.holders.empty();
  return CannotCompare(op, rank,
                       lost ? "it was lost, and nobody knows its bytes any more"
                            : "digests were off where it was published");
}

// R4, R8: a reader says that it reads that version from these very buffers: then that is what they
// hold, though their owner has not heard so from the hub that was before.
const Publication* Hub::State::Content::ReadAs(const State& state, const Worker& worker,
                                               const PublishOp& op) {
  const std::vector<AwaitedReader>* awaited = state.graph_.AwaitedReaders(worker.id);
  if (awaited == nullptr) return nullptr;
  for (const AwaitedReader& reader : *awaited) {
    if (reader.generation != op.generation) continue;
    const PublicationId& read = state.FindRow(reader.reader)->read->publication;
    const Publication* publication = state.FindPublication(worker.id.key.model, read);
    if (publication != nullptr && publication->version == op.version) return publication;
  }
  return nullptr;
}

// Any holder that has the whole list; the joiner asks it which chunk differs, if one does.
ComparedWith Hub::State::Content::HolderToAsk(const State& state, const Publication& publication,
                                              const Worker& joiner) {
  const auto shard = publication.published.shards.find(joiner.id.key.rank);
  if (shard == publication.published.shards.end()) return {};
  for (const auto& [serial, holder] : shard->second.holders) {
    const ReferenceState stands = holder->reference->state;
    const bool whole = stands == ReferenceState::kPublishing || stands == ReferenceState::kComplete;
    if (!whole) continue;
    const Generation generation = holder->reference->generation;
    return {holder->id, holder->endpoint, generation,
            SignRead(state.options_, *holder,
                     {.reader = joiner.id.incarnation,
                      .publication = publication.id,
                      .generation = generation,
                      .use = ReadUse::kDigests})};
  }
  return {};
}

// The publisher is still hashing what it will be held against; or some reader is about to know.
void Hub::State::AwaitContent(Worker& worker, const PublishOp& op) {
  worker.op.deferred = op;
  worker.op.epoch = EpochOfPublish(worker.id.key);
  calls_.SetDeadline(worker, op.timeout_ms);
  joiners_.insert(worker.serial);
}

// Something became known, or somebody has gone: those that wait are looked at again.
void Hub::State::SettleJoiners() {
  joiners_due_ = false;
  if (recovering_) return;
  for (const Serial serial : std::exchange(joiners_, {})) {
    Worker* worker = FindRow(serial);
    const bool waits =
        worker != nullptr && IsPending(*worker, OpKind::kPublish) && worker->op.deferred;
    if (!waits) continue;
    Publish(*worker, TakeDeferred(*worker));
  }
}

void Hub::State::On(const ContentHashed& event) {
  Worker* worker = FindSession(event.session);
  if (worker == nullptr || !worker->reference) return;
  const Reference& reference = *worker->reference;
  const bool same =
      reference.publication == event.publication && reference.generation == event.generation;
  if (same && reference.hashing) LearnDigest(*worker, event.digest);
}

// From a publisher that was to say it. R9: it counts more than what readers have said meanwhile;
// what is known is not changed by another's word.
void Hub::State::LearnDigest(Worker& holder, const ContentDigest& digest) {
  Shard& shard = *holder.reference->shard;
  holder.reference->digest = digest;
  holder.reference->hashing = false;
  if (!shard.digest) shard.digest = digest;
  joiners_due_ = true;
  SettleDigest(PublicationOf(holder), shard);
  std::vector<Worker*> contradict;
  for (const auto& [serial, other] : shard.holders) {
    const ContentDigest& said = other->reference->digest;
    if (said && said != shard.digest) contradict.push_back(other);
  }
  for (Worker* other : contradict) {
    if (other->reference) DropOther(*other);
  }
}

// R1: it does not hold that version.
void Hub::State::DropOther(Worker& holder) {
  const Generation generation = holder.reference->generation;
  const absl::Status reason = absl::AlreadyExistsError(
      absl::StrCat("version ", holder.reference->version, " exists with other bytes"));
  Say(LogLine::Level::kWarning,
      absl::StrCat(ToString(holder.id.key), ": ", std::string(reason.message()),
                   " than it says; it is not listed any more"));
  Send(holder, Dropped{generation, reason});
  DropReferencesUpTo(holder, generation);
}

// R8: the word that its session lost, in its report.
void Hub::State::HearDigest(Worker& worker, const Holding& holding) {
  if (!worker.reference || !worker.reference->hashing) return;
  if (worker.reference->generation != holding.generation) return;
  if (holding.digest) return LearnDigest(worker, holding.digest);
  worker.reference->hashing = holding.hashing;
  joiners_due_ = true;
  SettleDigest(PublicationOf(worker), *worker.reference->shard);
}

// While its publisher has yet to say it, a reader's word does not count.
void Hub::State::SettleDigest(Publication& publication, Shard& shard) {
  if (!shard.digest) {
    const Reference* said = nullptr;
    for (const auto& [serial, holder] : shard.holders) {
      if (holder->reference->hashing) return;
      if (said == nullptr && holder->reference->digest) said = &*holder->reference;
    }
    if (said == nullptr) return;
    shard.digest = said->digest;
  }
  SettleIdentity(publication);
}

void Hub::State::SettleIdentity(Publication& publication) {
  if (publication.identity) return;
  const std::vector<ContentDigest> digests = DigestsOf(publication);
  if (digests.empty() || !AllKnown(digests)) return;
  publication.identity = IdentityOfContent(digests);
  Model& model = models_.at(publication.model);
  if (!IsLatest(publication)) return;
  model.identity = publication.identity;
  changes_.models.insert(publication.model);
}

}  // namespace tensorhub::hub
