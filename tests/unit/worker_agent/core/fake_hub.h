// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// A hub for the agent core's tests: as much of the real one as the agents can tell, and a script
// that may take any call away from it. Every worker is its own group.

#ifndef TENSORHUB_TESTS_UNIT_WORKER_AGENT_CORE_FAKE_HUB_H_
#define TENSORHUB_TESTS_UNIT_WORKER_AGENT_CORE_FAKE_HUB_H_

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "tests/unit/worker_agent/core/network.h"
#include "worker_agent/core/effects.h"
#include "worker_agent/core/events.h"

namespace tensorhub::agent::testing {

class FakeHub {
 public:
  FakeHub(Schedule& schedule, Machines& machines, uint64_t chunk_bytes)
      : schedule_(schedule), machines_(machines), chunk_bytes_(chunk_bytes) {}

  // True: the script has taken the call, and answers it or not.
  std::function<bool(size_t worker, const Call& call)> script;
  // Which source a reader gets if that one may serve it; otherwise any that may.
  std::function<std::optional<size_t>(size_t reader)> choose;
  Tier tier = Tier::kRemote;
  // As Assign tells it.
  TimeMs progress_ms = 100;
  ContentDigest digest_of_assigned;  // likewise
  bool signs = false;  // R9: assignments, by the sources' keys (WorldOptions::guarded)
  std::map<size_t, std::string> moved;  // to these endpoints
  bool visible_at_once = true;
  // Told by the first PutDocuments.
  bool know_documents = true;
  bool lose_answers = false;
  bool knows_then_read = true;  // false: as an older hub, which needs a BeginRead
  // Everything that was said and called, in the order in which the agents did.
  std::vector<std::pair<size_t, Call>> calls;
  std::vector<std::pair<size_t, decltype(SessionSend::message)>> said;

  // How many such messages.
  template <typename Message>
  size_t Said() const {
    return static_cast<size_t>(std::count_if(said.begin(), said.end(), [](const auto& entry) {
      return std::holds_alternative<Message>(entry.second);
    }));
  }

  void OnCall(size_t worker, const Call& call);
  void OnCancel(size_t worker, OpId op) { pending_.erase({worker, op}); }
  void OnDocuments(size_t /*worker*/) { ++documents_, know_documents = true; }
  void OnSaid(size_t worker, const SessionSend& effect);
  void OnSession(size_t worker, const StateReport& report);
  void OnDeath(size_t worker);

  // For scripts.
  void Reply(size_t worker, OpId op, const absl::Status& status,
             decltype(CallReply::payload) payload = {});
  // Directives of one worker arrive in order.
  void Direct(size_t worker, const Event& event);
  void Assign(size_t reader, size_t source);
  // By a plan of several, one stream each. What fails is not replaced; if all do, it is led anew.
  void AssignSeveral(size_t reader, const std::vector<size_t>& sources);
  void EndStream(size_t reader, size_t source);
  // Each of them brings its part. The plan is made when `plan_answers` says so.
  void AssignParts(size_t reader, const std::vector<size_t>& sources, ReadParts parts);
  // Another source for one of them.
  void AssignPart(size_t reader, uint32_t part, size_t source);
  void OnPlanWanted(size_t reader, const MakeReadPlan& wanted);
  absl::Status plan_answer;  // OK: the parts
  int plans_wanted = 0;
  void Abort(size_t reader, const absl::Status& reason);
  void AllowVisible(VersionNumber version);
  bool away() const { return away_; }
  void SetAway(bool away) { away_ = away; }
  int documents() const { return documents_; }
  std::optional<size_t> SourceOf(size_t reader) const;
  PublicationId PublicationOf(VersionNumber version) const { return {7, version + 1}; }
  size_t CountCalls(size_t worker, size_t request_index) const;

 private:
  struct Holding {
    VersionNumber version = 0;
    Generation generation = 0;
    bool complete = false;
    bool draining = false;
  };
  struct Read {
    TransactionId transaction;
    VersionNumber version = 0;
    bool begun = false;
    std::optional<size_t> source;
    AssignmentNumber assignment = 0;
    uint32_t plan = 0;
    std::map<AssignmentNumber, size_t> streams;  // of a plan of several: sources
    std::set<size_t> excluded;
    std::set<size_t> pardoned;
    bool outage = false;  // its last source failed it so
  };
  struct Unpublishing {
    OpId op = 0;
    std::optional<protocol::BeginRead> then_read;
    bool timed_out = false;
  };
  using OpKey = std::pair<size_t, OpId>;

  void On(size_t worker, OpId op, const protocol::Publish& call);
  void On(size_t worker, OpId op, const protocol::Unpublish& call);
  void On(size_t worker, OpId op, const protocol::JoinFetch& call);
  void On(size_t worker, OpId op, const protocol::BeginRead& call);
  void On(size_t worker, OpId op, const protocol::FinishRead& call);
  void On(size_t worker, OpId op, const protocol::Leave& call);
  bool DownstreamOf(size_t worker, size_t reader) const;
  bool MayServe(size_t source, size_t reader) const;
  bool Begin(size_t worker, const protocol::BeginRead& call);
  void AnswerUnpublish(size_t worker, OpId op, const std::optional<protocol::BeginRead>& then_read);
  void Place(size_t reader);
  bool MayHope(size_t reader) const;
  void Pardon(size_t source);
  void Redirect(size_t source);
  protocol::Assign AssignmentOf(size_t reader, size_t source);
  void Release(size_t reader, AssignmentNumber assignment);
  void OnFailed(size_t worker, const protocol::SourceFailed& failed);
  void CheckDrained(size_t source);
  void Forget(size_t worker);
  void PlaceWaiting();

  Schedule& schedule_;
  Machines& machines_;
  const uint64_t chunk_bytes_;
  bool away_ = false;
  int documents_ = 0;
  uint64_t next_id_ = 1;
  ReadParts parts_;
  std::map<OpKey, CallReply> answers_;
  std::set<OpKey> pending_;
  std::set<size_t> publishing_;  // whose last call was a publish
  std::map<size_t, Holding> holdings_;
  std::map<size_t, Read> reads_;
  std::map<size_t, Unpublishing> unpublishing_;
  std::map<TransactionId, VersionNumber> committed_;
  std::map<size_t, std::set<std::pair<size_t, AssignmentNumber>>> readers_;
  std::map<size_t, TimeUs> last_directive_;
};

}  // namespace tensorhub::agent::testing

#endif  // TENSORHUB_TESTS_UNIT_WORKER_AGENT_CORE_FAKE_HUB_H_
