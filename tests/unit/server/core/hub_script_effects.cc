// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// What the hub wants done, as text, and what the workers of the script learn from it.

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/remedy.h"
#include "tests/unit/server/core/hub_script.h"

namespace tensorhub::hub {
namespace {

std::string Text(const absl::Status& status) {
  if (status.ok()) return "ok";
  return absl::StrCat(absl::StatusCodeToString(status.code()), ": ", std::string(status.message()),
                      IsOutage(status) ? " (outage)" : "");
}

std::string Text(ModelChange::Kind kind) {
  switch (kind) {
    case ModelChange::Kind::kVersionVisible:
      return "version visible";
    case ModelChange::Kind::kVersionGone:
      return "version gone";
    case ModelChange::Kind::kTermBegun:
      return "term begun";
    case ModelChange::Kind::kReplicaComplete:
      return "replica complete";
    case ModelChange::Kind::kReplicaGone:
      return "replica gone";
    case ModelChange::Kind::kWorkerJoined:
      return "worker joined";
    case ModelChange::Kind::kWorkerLeft:
      return "worker left";
  }
  return "?";
}

std::string Text(std::string_view text) { return std::string(text); }

// A call whose outcome the worker does not know yet: it will be told another time.
bool Undecided(const absl::Status& status) {
  return absl::IsCancelled(status) || absl::IsFailedPrecondition(status);
}

}  // namespace

void HubScript::Carry(const LogLine& line) {
  if (line.level == LogLine::Level::kWarning) Print("! " + line.text);
}

void HubScript::Carry(const PlanWanted& wanted) {
  plans_.push_back(wanted);
  const auto names = [this](const std::vector<Fingerprint>& layouts) {
    return absl::StrJoin(layouts, " ", [this](std::string* out, const Fingerprint& layout) {
      absl::StrAppend(out, LayoutName(layout));
    });
  };
  Print(absl::StrCat("plan wanted: ", names(wanted.from), " as ", names(wanted.to)));
}

void HubScript::Print(const std::string& line) {
  absl::StrAppend(&out_, "  ", passing_ ? absl::StrCat("@", now_, " ") : "", line, "\n");
}

std::string HubScript::NameOf(const WorkerKey& key) const {
  const std::string name = absl::StrCat(key.group, "/", key.rank);
  return key.model == "m" ? name : absl::StrCat(key.model, ":", name);
}

std::string HubScript::NameOf(const Id128& id, const char* prefix) {
  std::vector<Id128>& known = ids_[prefix];
  const auto it = std::find(known.begin(), known.end(), id);
  const auto index = it - known.begin();
  if (it == known.end()) known.push_back(id);
  return absl::StrCat(prefix, index + 1);
}

void HubScript::Carry(const Effect& effect) {
  std::visit([this](const auto& body) { Carry(body); }, effect);
}

// --- replies ------------------------------------------------------------------------------------

void HubScript::Carry(const Reply& reply) {
  const auto it = calls_.find(reply.call);
  if (it == calls_.end()) return;
  const Call call = it->second;
  calls_.erase(it);
  if (call.agent) Learn(agents_[call.name], reply);
  const auto* published = std::get_if<PublishReply>(&reply.payload);
  if (published != nullptr && published->compare && !agents_[call.name].hashes_later) return;
  // An agent would take an outcome that is not marked as one for "the hub was not reached".
  const bool lost = call.verb == "finish" && absl::IsUnavailable(reply.status) &&
                    !std::holds_alternative<FinishReadReply>(reply.payload);
  Print(absl::StrCat(call.name, " ", call.verb, ": ", Text(reply.status), Describe(reply),
                     lost ? " (not an outcome)" : ""));
}

std::string HubScript::Describe(const Reply& reply) {
  if (const auto* publish = std::get_if<PublishReply>(&reply.payload)) {
    if (publish->compare) {
      const std::string holder = NameOf(publish->with.holder.key);
      return absl::StrCat(" compare with ", NameOf(publish->publication, "P"),
                          publish->with.holder.incarnation == 0 ? "" : " of " + holder,
                          publish->with.capability ? ", allowed its digests" : "");
    }
    return absl::StrCat(" ", NameOf(publish->publication, "P"), publish->visible ? " visible" : "");
  }
  if (const auto* unpublish = std::get_if<UnpublishReply>(&reply.payload)) {
    return absl::StrCat(
        unpublish->drained ? " drained" : absl::StrCat(" readers_left=", unpublish->readers_left),
        unpublish->begun ? ", begun" : "");
  }
  if (const auto* decision = std::get_if<FetchDecision>(&reply.payload)) {
    return absl::StrCat(
        " ", NameOf(decision->transaction, "T"), " v", decision->version, " ",
        NameOf(decision->publication, "P"),
        decision->sharding
            ? absl::StrCat(" as ", NameOf(decision->sharding.id, "S"), " of ", decision->world_size,
                           decision->sharding.full ? "" : ", in part")
            : "",
        decision->attachment ? " with a note" : "", decision->already_held ? " already held" : "");
  }
  if (const auto* finish = std::get_if<FinishReadReply>(&reply.payload)) {
    return reply.status.ok() ? absl::StrCat(" v", finish->version) : "";
  }
  if (const auto* wait = std::get_if<WaitReply>(&reply.payload)) {
    return absl::StrCat(" v", wait->version);
  }
  const auto* drain = std::get_if<DrainReply>(&reply.payload);
  return drain == nullptr ? "" : Describe(*drain);
}

std::string HubScript::Describe(const DrainReply& drain) {
  if (!drain.holds) return " holds nothing";
  const std::string wanted = absl::StrJoin(drain.wanted, ", ");
  return absl::StrCat(" readers=", drain.readers, " v", *drain.holds, drain.alone ? " alone" : "",
                      wanted.empty() ? "" : absl::StrCat(", wanted (", wanted, ")"),
                      drain.copier.empty() ? "" : ", a copy by " + drain.copier,
                      drain.no_copy.empty() ? "" : ", no copy: " + drain.no_copy);
}

void HubScript::Learn(Agent& agent, const Reply& reply) {
  if (!agent.last || reply.call != agent.call) return;
  const bool outcome = std::holds_alternative<FinishReadReply>(reply.payload);
  if (outcome || !absl::IsUnavailable(reply.status)) agent.unanswered = 0;
  const auto* publish = std::get_if<PublishOp>(&*agent.last);
  const auto* published = std::get_if<PublishReply>(&reply.payload);
  if (publish != nullptr && published != nullptr) LearnContent(agent, *publish, *published);
  if (publish != nullptr && published != nullptr && !published->compare) {
    agent.holding = Holding{published->publication,
                            publish->version,
                            agent.hello.world_size,
                            published->chunk_bytes,
                            publish->layout,
                            publish->attachment,
                            publish->generation,
                            10,
                            true,
                            true,
                            published->visible,
                            /*medium=*/"",
                            published->epoch,
                            publish->digest,
                            publish->hashes && !publish->digest,
                            published->term};
    if (published->visible) agent.knows = published->term.number;
  }
  const auto* unpublished = std::get_if<UnpublishReply>(&reply.payload);
  if (unpublished != nullptr) agent.holding.reset();
  if (const auto* decision = std::get_if<FetchDecision>(&reply.payload)) {
    agent.decision = *decision;
    agent.fetch = OpenFetch{decision->transaction,
                            decision->publication,
                            decision->version,
                            decision->already_held,
                            std::nullopt,
                            0,
                            0};
    agent.fetch->sharding = decision->sharding;
  }
  const bool began = std::holds_alternative<BeginReadOp>(*agent.last) && reply.status.ok();
  const bool begun = unpublished != nullptr && unpublished->begun;
  if (begun) ++agent.generation;
  if (began || begun) {
    const FetchDecision& decision = agent.decision;
    agent.holding = Holding{decision.publication,
                            decision.version,
                            decision.world_size,
                            decision.chunk_bytes,
                            LayoutOf(agent.layout),
                            decision.attachment,
                            agent.generation,
                            0,
                            false,
                            false,
                            true};
    agent.holding->term = decision.term;
    agent.holding->sharding = decision.sharding;
  }
  if (std::holds_alternative<FinishReadOp>(*agent.last) && !Undecided(reply.status)) {
    agent.fetch.reset();
    if (agent.holding && reply.status.ok()) {
      agent.holding->complete = true;
      agent.holding->valid_chunks = agent.holding->sharding ? ChunksOf(agent) : 10;
    }
    if (agent.holding && !agent.holding->complete) agent.holding.reset();
  }
}

// --- directives ---------------------------------------------------------------------------------

void HubScript::Carry(const Directive& directive) {
  const auto it = sessions_.find(directive.session);
  if (it == sessions_.end()) return Print("a directive to no session");
  Agent& agent = agents_[it->second];
  const std::string text =
      std::visit([&](const auto& body) { return Describe(agent, body); }, directive.body);
  if (!text.empty()) Print(absl::StrCat(it->second, " <- ", text));
}

std::string HubScript::Describe(Agent& agent, const Welcome& body) {
  agent.hello.epoch = body.epoch;
  if (!agent.knows) agent.knows = body.term;
  if (body.adopts || agent.hello.joined_epoch == GroupEpoch{})
    agent.hello.joined_epoch = body.epoch;
  if (body.adopts && agent.holding) agent.holding->epoch = {};
  agent.knows_store = options_.store;
  return absl::StrCat(body.adopts ? "welcome: adopted" : "",
                      body.wants_documents ? "welcome: wants documents" : "");
}

std::string HubScript::Describe(Agent& agent, const GroupChanged& body) {
  agent.hello.epoch = body.epoch;
  return "group changed";
}

std::string HubScript::Describe(Agent& agent, const Assign& body) {
  if (agent.fetch && agent.fetch->transaction == body.transaction) {
    agent.fetch->source = body.source;
    agent.fetch->source_generation = body.generation;
    agent.fetch->assignment = body.assignment;
    LearnStream(*agent.fetch, body);
  }
  const bool often = body.progress_ms == 100;
  const bool alone = body.plan == 0 && !body.ranges;
  return absl::StrCat("read ", body.assignment, " from ", NameOf(body.source.key), " (",
                      Text(ToString(body.tier)), ")",
                      alone         ? ""
                      : body.ranges ? absl::StrCat(", stream ", body.part, " of plan ", body.plan)
                                    : absl::StrCat(", all of it, plan ", body.plan),
                      often ? "" : absl::StrCat(" reporting every ", body.progress_ms, " ms"),
                      !agent.says_digest ? ""
                      : body.digest      ? ", whose digests have to be the shard's"
                                         : ", by whatever digests it has",
                      Shown(body.capability, body.source,
                            {.reader = agent.hello.worker.incarnation,
                             .publication = body.publication,
                             .generation = body.generation,
                             .use = body.ranges ? ReadUse::kRanges : ReadUse::kChunks}));
}

// As the source judges it.
std::string HubScript::Shown(const Capability& capability, const WorkerIdentity& source,
                             ReadRight right) {
  if (!capability) return "";
  right.source = source.incarnation;
  const CapabilityKey& key = agents_[NameOf(source.key)].hello.read_key;
  return key && Allows(capability, key, right) ? ", allowed" : ", with what the source refuses";
}

// It turns to what it is told of at once, and to nothing of an earlier plan any more.
void HubScript::LearnStream(OpenFetch& fetch, const Assign& assign) {
  if (std::exchange(fetch.plan, assign.plan) != assign.plan) fetch.streams.clear();
  if (!assign.ranges) return;
  const auto at = std::find_if(fetch.streams.begin(), fetch.streams.end(),
                               [&](const OpenStream& each) { return each.part >= assign.part; });
  const OpenStream stream{assign.part, assign.source, assign.generation, assign.assignment};
  if (at != fetch.streams.end() && at->part == assign.part) {
    *at = stream;
  } else {
    fetch.streams.insert(at, stream);
  }
}

void HubScript::ForgetStream(Agent& agent, AssignmentNumber assignment) {
  if (!agent.fetch) return;
  std::erase_if(agent.fetch->streams,
                [&](const OpenStream& each) { return each.assignment == assignment; });
}

std::string HubScript::Describe(Agent&, const EndStream& body) {
  return absl::StrCat("end read ", body.assignment);
}

std::string HubScript::Describe(Agent&, const SourceSharding& body) {
  const auto name = [this](std::string* out, const SourceSharding::Part& part) {
    absl::StrAppend(out, part.rank, " (", LayoutName(part.layout), ")");
  };
  return absl::StrCat("plan ", body.plan, " brings parts of ",
                      absl::StrJoin(body.parts, ", ", name), " of ", body.world_size);
}

std::string HubScript::Describe(Agent&, const AbortRead& body) {
  return absl::StrCat("abort ", NameOf(body.transaction, "T"), ": ", Text(body.reason));
}

std::string HubScript::Describe(Agent&, const Probe& body) {
  return absl::StrCat("probe gen=", body.generation, body.verify ? " verify" : "");
}

std::string HubScript::Describe(Agent& agent, const Dropped& body) {
  if (agent.holding && agent.holding->generation == body.generation) agent.holding.reset();
  return absl::StrCat("dropped gen=", body.generation, ": ", Text(body.reason));
}

std::string HubScript::Describe(Agent& agent, const Visible& body) {
  if (agent.holding) agent.holding->visible = true;
  const Term term = agent.holding ? agent.holding->term.value_or(Term{}) : Term{};
  agent.knows = std::max(agent.knows.value_or(0), term.number);
  return absl::StrCat("visible ", NameOf(body.publication, "P"));
}

std::string HubScript::Describe(Agent&, const Superseded& body) {
  return absl::StrCat("superseded ", NameOf(body.publication, "P"));
}

void HubScript::Carry(const CloseSession& close) {
  const auto it = sessions_.find(close.session);
  if (it == sessions_.end()) return Print("the end of no session");
  Agent& agent = agents_[it->second];
  if (agent.session == close.session) agent.session = 0;
  Print(absl::StrCat(it->second, " <- closed: ", Text(close.status)));
  sessions_.erase(it);
}

void HubScript::Carry(const ModelChange& change) {
  if (!watching_) return;
  const std::string version = change.version == 0 ? "" : absl::StrCat(" v", change.version);
  Print(absl::StrCat(change.model, " #", change.revision, " ", Text(change.kind), version, " ",
                     change.group));
}

// --- tables -------------------------------------------------------------------------------------

void HubScript::Show(const Arguments& words) {
  const std::string& what = words.At(1);
  if (what == "references") {
    for (const ReferenceView& view : hub_->References("m", std::nullopt)) {
      Print(absl::StrCat(NameOf(view.worker.key), " v", view.version, " ",
                         Text(ToString(view.state)), " ", view.valid_chunks, "/", view.chunks,
                         " readers=", view.readers));
    }
  } else if (what == "versions") {
    for (const VersionView& view : hub_->Versions("m")) {
      Print(absl::StrCat("v", view.version, " ", NameOf(view.publication, "P"), " ",
                         Text(ToString(view.state)), " bytes=", view.bytes,
                         " complete=", view.complete_replicas, " filling=", view.filling_replicas,
                         view.term == 0 ? "" : absl::StrCat(" term=", view.term)));
    }
  } else if (what == "identities") {
    for (const VersionView& view : hub_->Versions("m")) {
      Print(absl::StrCat("v", view.version, " ", NameOf(view.publication, "P"), " ",
                         view.identity ? NameOf(view.identity, "I") : "not known"));
    }
  } else if (what == "transfers") {
    for (const TransferView& view : hub_->Transfers(now_)) {
      const bool assigned = view.source.incarnation != 0;
      Print(absl::StrCat(NameOf(view.reader.key), " v", view.version, " ", view.valid_chunks, "/",
                         view.chunks, " from ", assigned ? NameOf(view.source.key) : "nobody",
                         view.sources > 1 ? absl::StrCat(" and ", view.sources - 1, " more") : "",
                         view.way.empty() ? "" : absl::StrCat(", ", view.way)));
    }
  } else if (what == "workers") {
    for (const WorkerView& view : hub_->Workers(now_)) {
      Print(absl::StrCat(NameOf(view.worker.key), " inc=", view.worker.incarnation,
                         view.connected ? " connected" : " cut off", " lease=", view.lease_left_ms,
                         view.stalled_ms > 0 ? " stands still" : "",
                         view.withdrawn ? " withdrawn" : "",
                         view.holds ? absl::StrCat(" v", view.version) : ""));
    }
  } else if (what == "models") {
    for (const ModelView& view : hub_->Models()) {
      Print(absl::StrCat(
          view.model, " latest=", view.has_latest ? absl::StrCat(view.latest) : "none",
          " versions=", view.versions, " replicas=", view.replicas, " workers=", view.workers));
    }
  } else if (what == "fetches") {
    for (const FetchView& view : hub_->Fetches("m", std::nullopt, "")) ShowFetch(view);
  } else if (what == "durable") {
    ShowDurable();
  } else {
    const StatusView view = hub_->Status();
    Print(absl::StrCat("workers=", view.workers, " connected=", view.connected,
                       " references=", view.references, " transfers=", view.transfers,
                       " decisions=", view.decisions, view.recovering ? " recovering" : ""));
  }
}

void HubScript::ShowFetch(const FetchView& view) {
  const FetchRecord& record = view.record;
  std::string text =
      absl::StrCat(NameOf(view.reader), record.version ? absl::StrCat(" v", *record.version) : "",
                   " joined @", record.joined);
  const auto add = [&](const char* name, TimeMs at) {
    if (at != 0) absl::StrAppend(&text, ", ", name, " @", at);
  };
  add("decided", record.decided);
  add("began", record.began);
  add("fed", record.fed);
  add("finished", record.finished);
  add("ended", record.ended);
  if (record.ended != 0)
    absl::StrAppend(&text, ": ", record.outcome.ok() ? "ok" : record.outcome.ToString());
  Print(text);
  for (const SourceChoice& choice : record.choices) {
    Print(absl::StrCat("  @", choice.at, " at ", choice.valid_chunks, " from ",
                       NameOf(choice.source), ": ", choice.why,
                       choice.second ? absl::StrCat(", before ", NameOf(*choice.second)) : "",
                       choice.left.empty() ? "" : absl::StrCat("; the one before: ", choice.left)));
  }
  if (record.more > 0) Print(absl::StrCat("  and ", record.more, " more"));
}

void HubScript::ShowDurable() {
  for (const auto& [name, row] : kept_.models) {
    std::string terms;
    for (const Term& term : row.terms) {
      absl::StrAppend(&terms, " term ", term.number, " since v", term.since);
    }
    if (!terms.empty()) absl::StrAppend(&terms, " by ", row.term_by);
    Print(absl::StrCat(name, " latest=v", row.latest, " ", NameOf(row.publication, "P"), terms));
  }
  for (const auto& [name, row] : kept_.retention) {
    std::string text = name;
    if (row.keep_latest) absl::StrAppend(&text, " keep=", *row.keep_latest);
    for (const auto& [pin, kept] : row.pins) {
      absl::StrAppend(&text, " ", pin, "=v", kept.version);
      if (kept.until) absl::StrAppend(&text, "@", *kept.until);
    }
    Print(text);
  }
  for (const auto& [key, row] : kept_.groups) {
    std::string members;
    for (const auto& [rank, member] : row.members) {
      absl::StrAppend(&members, members.empty() ? "" : ",", rank, member.already_held ? "h" : "");
    }
    Print(absl::StrCat(key.group, " ", NameOf(row.transaction, "T"), " v", row.version, " ",
                       NameOf(row.publication, "P"), " ranks=", members, " of ", row.world_size,
                       " ", row.outcome ? Text(*row.outcome) : "open"));
  }
}

}  // namespace tensorhub::hub
