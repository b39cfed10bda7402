// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Publishing: R1 (one content behind a number) and R2 (visible when whole; the mark: terms.cc).

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/remedy.h"
#include "server/core/content.h"
#include "server/core/state.h"

namespace tensorhub::hub {
namespace {

absl::Status CheckGeneration(const Worker& worker, Generation generation) {
  if (generation == 0 || generation > kGenerationMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("generation ", generation, " is not in 1..", kGenerationMax));
  }
  if (generation >= worker.generation) return absl::OkStatus();
  return absl::AbortedError(absl::StrCat("generation ", generation, " is below ", worker.generation,
                                         ", which was seen before"));
}

// What was visible was whole: this hub has started since, and nobody has reported that shard.
bool LacksShard(const Publication& publication, Rank rank) {
  const auto shard = publication.published.shards.find(rank);
  return publication.visible &&
         (shard == publication.published.shards.end() || shard->second.holders.empty());
}

bool IsWhole(const Reference& reference) {
  return reference.state == ReferenceState::kPublishing ||
         reference.state == ReferenceState::kComplete;
}

bool Holds(const Worker& worker, const PublishOp& op) {
  return worker.reference && worker.reference->version == op.version &&
         worker.reference->generation == op.generation && IsWhole(*worker.reference);
}

PublishersRow PublishersOf(const std::vector<Worker*>& group) {
  PublishersRow row{group.front()->id.key.group, {}};
  for (const Worker* worker : group) {
    row.ranks[worker->id.key.rank] = {worker->id.incarnation, worker->reference->generation};
  }
  return row;
}

bool HasPublished(const Worker& worker, const Publication& publication) {
  return worker.reference && worker.reference->publication == publication.id &&
         IsWhole(*worker.reference);
}

absl::Status CheckDocuments(const Documents& documents, const PublishOp& op) {
  if (!documents.HasLayout(op.layout)) {
    return absl::FailedPreconditionError(
        absl::StrCat("unknown layout ", ToHex(op.layout), "; put it, then publish again"));
  }
  if (op.attachment && !documents.HasAttachment(op.attachment)) {
    return absl::FailedPreconditionError(
        absl::StrCat("unknown attachment ", ToHex(op.attachment), "; put it, then publish again"));
  }
  return absl::OkStatus();
}

// R1: whoever joins a publication has its world size, and its shard's layout and attachment.
absl::Status CheckSameContent(const Documents& documents, const Publication& publication,
                              const Worker& worker, const PublishOp& op) {
  const std::string version = absl::StrCat("version ", op.version, " exists with ");
  if (publication.published.world_size == 0) {
    return absl::AlreadyExistsError(absl::StrCat(
        "version ", op.version, " exists, and its publishers' shards are lost, so that ",
        "nothing can be compared; publish these weights under another number"));
  }
  if (worker.world_size != publication.published.world_size) {
    return absl::AlreadyExistsError(absl::StrCat(
        version, "world size ", publication.published.world_size, ", not ", worker.world_size));
  }
  const auto it = publication.published.shards.find(worker.id.key.rank);
  if (it == publication.published.shards.end()) return absl::OkStatus();
  const Shard& shard = it->second;
  const std::string rank = absl::StrCat(" of rank ", worker.id.key.rank);
  if (shard.layout != op.layout) {
    return absl::AlreadyExistsError(absl::StrCat(version, "another layout", rank, ": ",
                                                 documents.Difference(op.layout, shard.layout)));
  }
  if (shard.attachment != op.attachment) {
    return absl::AlreadyExistsError(absl::StrCat(version, "another attachment", rank));
  }
  return absl::OkStatus();
}

PublishReply PublishReplyOf(const Publication& publication, const Worker& worker) {
  return {publication.id, publication.published.chunk_bytes, publication.visible,
          worker.reference->epoch, publication.term};
}

}  // namespace

void Hub::State::On(const PublishOp& op) {
  Worker* worker = Start(op, OpKind::kPublish);
  if (worker == nullptr) return;
  if (const absl::Status status = CheckDocuments(documents_, op); !status.ok()) {
    return calls_.ReplyRetryable(*worker, WithRemedy(status, Remedy::kPutDocuments));
  }
  // R6: of a fetch that was decided when it had given it up, it may never have heard.
  AbortUnfinished(*worker, absl::AbortedError("it has gone on to publish"));
  Publish(*worker, op);
}

void Hub::State::Publish(Worker& worker, const PublishOp& op) {
  if (absl::Status status = CheckGeneration(worker, op.generation); !status.ok()) {
    return calls_.Finish(worker, status);
  }
  DropOlderReferences(worker, op.generation);
  if (worker.reference && !Holds(worker, op)) {
    return calls_.Finish(worker, absl::FailedPreconditionError(absl::StrCat(
                                     "these buffers hold version ", worker.reference->version,
                                     "; unpublish version ", worker.reference->version, " first")));
  }
  const Publication* wanted = Wanted(worker, op);
  // R8: its holders, or those of this shard of it, or of what is newer, may still report. R2: so
  // may another process of a rank of its group (SettleEpoch).
  const bool joins = !worker.reference && (wanted == nullptr || !wanted->visible ||
                                           LacksShard(*wanted, worker.id.key.rank));
  if (recovering_ && joins) {
    worker.op.deferred = op;
    worker.op.epoch = EpochOfPublish(worker.id.key);
    return;
  }
  wanted = TakeUp(worker, op, wanted);
  absl::Status status = CheckTerm(worker, op, wanted);
  if (!status.ok()) return calls_.Finish(worker, status);
  Publication* publication =
      wanted == nullptr ? &Create(op, worker) : FindPublication(worker.id.key.model, wanted->id);
  status = CheckSameContent(documents_, *publication, worker, op);
  if (status.ok()) {
    const uint64_t bytes = documents_.FindLayout(op.layout)->total_bytes();
    status = CheckChunking({bytes, publication->published.chunk_bytes});
  }
  Joining joining = Joining::kMayHold;
  if (status.ok() && !worker.reference) {
    const absl::StatusOr<Joining> compared = CompareContent(*publication, worker, op);
    status = compared.status();
    if (compared.ok()) joining = *compared;
  }
  if (!status.ok()) {
    ForgetIfUnheld(*publication);
    return calls_.Finish(worker, status);
  }
  if (joining == Joining::kWaits) return AwaitContent(worker, op);
  if (joining == Joining::kCompares) {
    return calls_.Finish(worker, absl::OkStatus(),
                         PublishReply{.publication = publication->id,
                                      .chunk_bytes = publication->published.chunk_bytes,
                                      .compare = true,
                                      .with = Content::HolderToAsk(*this, *publication, worker)});
  }
  if (!worker.reference) Hold(worker, *publication, op);
  worker.medium = op.medium;
  CompleteIfWhole(*publication, worker.id.key.group);
  if (IsPending(worker, OpKind::kPublish)) AnswerPublish(worker, op);
}

void Hub::State::Hold(Worker& worker, Publication& publication, const PublishOp& op) {
  Sharding& sharding = publication.published;
  Shard& shard = EnsureShard(sharding, worker.id.key.rank, op.layout, op.attachment);
  AddReference(worker, publication, sharding, op.generation, ReferenceState::kPublishing,
               *shard.chunks);
  Reference& reference = *worker.reference;
  reference.epoch = EpochOfPublish(worker.id.key);
  const bool compared = op.digest && op.compared == publication.id;
  if (compared) reference.digest = op.digest;
  reference.hashing = !compared && op.hashes;
  publication.boxes.Restart();
  SettleDigest(publication, shard);
}

// What waits is asked for again, with the time that is left of it.
PublishOp Hub::State::TakeDeferred(Worker& worker) {
  PublishOp op = *std::exchange(worker.op.deferred, std::nullopt);
  if (worker.op.deadline != 0) op.timeout_ms = std::max<TimeMs>(worker.op.deadline - now_, 0);
  calls_.ClearDeadline(worker);
  return op;
}

Publication& Hub::State::Create(const PublishOp& op, const Worker& worker) {
  Model& model = models_.at(worker.id.key.model);
  const PublicationId id = random_.NextId();
  Publication& publication = model.publications[id];
  publication.id = id;
  publication.model = worker.id.key.model;
  publication.version = op.version;
  publication.published.world_size = worker.world_size;
  publication.published.chunk_bytes = op.chunk_bytes;
  const Term now = model.terms.now();
  publication.term = op.supersede ? Term{now.number + 1, op.version} : now;
  if (!op.supersede) model.held[op.version] = &publication;
  return publication;
}

void Hub::State::AnswerPublish(Worker& worker, const PublishOp& op) {
  const Publication& publication = PublicationOf(worker);
  const bool waits = op.wait_for_group || publication.boxes.begun;
  if (waits && !publication.visible) return calls_.SetDeadline(worker, op.timeout_ms);
  calls_.Finish(worker, absl::OkStatus(), PublishReplyOf(publication, worker));
}

void Hub::State::PublishDeadline(Worker& worker) {
  if (worker.op.deferred) {
    return calls_.Finish(worker,
                         absl::DeadlineExceededError(absl::StrCat(
                             "version ", worker.op.deferred->version, " exists, and its publishers",
                             " have not all published it in time, or not hashed it; nothing is",
                             " published here: publish again, or another number")));
  }
  const Publication& publication = PublicationOf(worker);
  const std::string& group = worker.id.key.group;
  const auto published = [&](Rank rank) {
    const Worker* other = FindWorker({publication.model, group, rank});
    return other != nullptr && HasPublished(*other, publication);
  };
  const std::string missing = RanksWithout(publication.published.world_size, published);
  if (missing.empty()) {
    return calls_.Finish(worker, absl::DeadlineExceededError(absl::StrCat(
                                     "version ", publication.version, " is recorded for every rank",
                                     " of ", group, ", but what several of them hold was not",
                                     " compared in time; publish again")));
  }
  calls_.Finish(worker,
                absl::DeadlineExceededError(absl::StrCat(
                    "version ", publication.version, " is recorded for this rank; not every ",
                    "rank of ", group, " published it in time; missing: ", missing)));
}

// R2: one group in one group epoch. An epoch's end takes the publishing references with it
// (RaiseEpoch), so those that are there belong together, once it is known who came back.
void Hub::State::CompleteIfWhole(Publication& publication, const std::string& group) {
  std::vector<Worker*> ranks;
  for (const auto& [rank, shard] : publication.published.shards) {
    Worker* worker = FindWorker({publication.model, group, rank});
    if (worker != nullptr && HasPublished(*worker, publication)) ranks.push_back(worker);
  }
  // R8: another term may be reported, that is as late.
  const bool candidate = IsCandidate(publication);
  const bool known = publication.visible || !recovering_ ||
                     (!candidate && AllWereTold({publication.model, group}));
  const bool whole = ranks.size() == publication.published.world_size && known;
  if (whole && !publication.visible && !Content{*this}.BoxesAgree(publication, ranks)) return;
  const bool first = whole && !std::exchange(publication.visible, true);
  if (first) publication.boxes = {};
  if (first) publication.publishers = PublishersOf(ranks);
  joiners_due_ |= first;
  if (first && candidate) BeginTermWith(publication, group);
  if (first) MoveLatest(publication);
  if (publication.visible) CompletePublished(publication, first);
}

// R2: what is visible has been whole. Whoever has published it counts, wherever the rest of its
// group is.
void Hub::State::CompletePublished(Publication& publication, bool news) {
  std::vector<Worker*> published;
  for (const auto& [rank, shard] : publication.published.shards) {
    for (const auto& [serial, holder] : shard.holders) {
      if (holder->reference->state == ReferenceState::kPublishing) published.push_back(holder);
    }
  }
  for (Worker* holder : published) {
    SetState(*holder, ReferenceState::kComplete);
    graph_.ReattachReaders(*holder);
  }
  if (news) BecomeVisible(publication);
  for (Worker* holder : published) {
    graph_.RetryRedirects(publication.published, holder->id.key.rank);
    graph_.DrawNearer(*holder);
  }
}

void Hub::State::BecomeVisible(Publication& publication) {
  for (const auto& [rank, shard] : publication.published.shards) {
    for (const auto& [serial, holder] : shard.holders) TellVisible(*holder, publication);
  }
}

void Hub::State::TellVisible(Worker& holder, const Publication& publication) {
  Send(holder, Visible{publication.id});
  // One that waits for the end of the recovery has more to do then.
  if (!IsPending(holder, OpKind::kPublish) || holder.op.deferred) return;
  calls_.Finish(holder, absl::OkStatus(), PublishReplyOf(publication, holder));
}

}  // namespace tensorhub::hub
