// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// R3, R7: an operator takes a worker out of service, before its host is. It does what an unpublish
// of a leaver does, without the end of it: its memory counts for nobody any more as what keeps a
// version, and somebody else is asked to keep what it alone does. As soon as another in service
// holds its shard whole, nobody is led to it, and its readers are led away. What nobody else has it
// goes on serving, so that no fetch fails for want of it.
//
// The order is for a process: it ends with it. It is in the worker's row, and outlives the hub
// (R8), also where the worker is away meanwhile, for as long as it is waited for.

#include "server/core/withdrawal.h"

#include "absl/strings/str_cat.h"
#include "server/core/state.h"

namespace tensorhub::hub {

void Hub::State::On(const DrainOp& op) {
  const Service service{*this};
  Worker* worker = FindWorker(op.worker);
  if (worker == nullptr || !worker->alive) {
    if (op.undo && absentees_.TakeOrderBack(op.worker)) {
      return Answer(op.call, absl::OkStatus(), DrainReply());
    }
    const std::string what = absl::StrCat(ToString(op.worker), ": no such worker is there");
    if (!recovering_) return Answer(op.call, absl::NotFoundError(what));
    return Answer(op.call, absl::UnavailableError(absl::StrCat(
                               what, ", and the server is recovering; try again in a moment")));
  }
  if (worker->withdrawn == op.undo) {
    Say(LogLine::Level::kInfo, absl::StrCat("an operator takes ", ToString(op.worker),
                                            op.undo ? " back into service" : " out of service"));
    service.Set(*worker, !op.undo);
  }
  ForEachOf(op.worker.model, [&](Worker& copy) {
    const bool goes_with = copy.alive && GoesWith(copy, *worker);
    if (goes_with && copy.withdrawn == op.undo) service.Set(copy, !op.undo);
  });
  Answer(op.call, absl::OkStatus(), service.Describe(*worker));
}

void Hub::State::Service::Set(Worker& worker, bool withdrawn) const {
  worker.withdrawn = withdrawn;
  state.absentees_.SetWithdrawn(worker.id, withdrawn);
  state.changes_.workers.insert(worker.id.key);
  Retention::ForgetSuccession(worker);
  if (worker.read) worker.read->apart = true;
  state.retention_.KeepersChanged();
  if (withdrawn) state.retention_.AskOthersThan(worker);
  if (!worker.reference) return;
  Shard& shard = *worker.reference->shard;
  // R3: what the others in service have changes for all that are not.
  for (Worker* other : shard.withdrawn) state.graph_.MarkIndexStale(*other);
  state.graph_.MarkIndexStale(worker);
  withdrawn ? void(shard.withdrawn.insert(&worker)) : void(shard.withdrawn.erase(&worker));
  if (withdrawn && HoldsWhole(worker)) state.retention_.Watch(worker);
  state.graph_.RetryRedirects(*worker.reference->sharding, worker.id.key.rank);
}

// R8: an earlier life of the hub was told.
void Hub::State::Service::Restore(Worker& worker) const {
  if (!worker.withdrawn && state.absentees_.IsWithdrawn(worker.id)) Set(worker, true);
}

void Hub::State::Service::FollowOwner(Worker& copy) const {
  if (copy.copy_of.empty() || copy.withdrawn) return;
  const Worker* owner = state.FindWorker({copy.id.key.model, copy.copy_of, copy.id.key.rank});
  if (owner != nullptr && owner->withdrawn && owner->alive) Set(copy, true);
}

DrainReply Hub::State::Service::Describe(const Worker& worker) const {
  DrainReply reply;
  if (!worker.reference) return reply;
  reply.readers = static_cast<uint32_t>(worker.reference->readers.size());
  reply.holds = worker.reference->version;
  if (!HoldsWhole(worker)) return reply;
  reply.alone = !StepsAside(worker);
  if (!worker.withdrawn || state.retention_.MayGo(worker)) return reply;
  reply.wanted = state.retention_.KeptBy(PublicationOf(worker));
  reply.copier = worker.succession.copier;
  reply.no_copy = worker.succession.no_copy;
  return reply;
}

}  // namespace tensorhub::hub
