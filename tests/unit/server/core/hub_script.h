// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// A hub and the workers that talk to it, driven by lines of text: `publish trainer/0 v1 gen=5`
// becomes an event, what the hub wants done becomes text again. The workers are as simple as can
// be: they remember what they hold and what they read, and report it when a session opens; what
// they do next is for the script to say. What the hub warns of is a line that begins with `!`.
// CheckInvariants runs after every event.
//
// Commands (W is group/rank or model:group/rank; the model is `m` unless given):
//   open W [world=N] [at=LOCATION] [inc=N] [number=N] [spot] [resumed] [layout=L] [forget]
//          [endpoint=E]
//          [copies] [copy-of=GROUP]  it offers to make copies; it is one
//          [streams]  it may read from several sources at a time, and be one of them
//          [reshards] the same, also where they hold another sharding
//          [reads=W]: it says that it reads from that one
//          [holds=vN [as=PN] [gen=N] [part] [unseen]]: it says that it holds this, whatever is
//          true; `unseen`: it has not heard that it is visible
//          [told-as=W]: it was told of its group's epoch what that one was
//          [may-not-publish]: whose session it is may only read the model
//          [boxes]: it says what boxes of its shard give
//          [key]: it has told by what its readers are signed
//          [says-digest]: its assignments say whether it is held to its shard's digest
//          [says-no-calls]: it does not say which call it repeats, as older agents do
//   drop W           the session ends        silence W   and no heartbeat comes any more
//   kill W           both
//   stalls W MS      its heartbeats say from now on that it stands still; 0: no more
//   publish W vN [gen=N] [layout=L] [note=A] [chunk=N] [wait=MS] [supersede] [knows=N]
//          [content=C]: these bytes, `bytes` unless it says otherwise; [no-digests] [hash-later]
//   hashed W [content=C]  what it published has been hashed: by itself, unless `hash-later`
//          [box=C]: in its boxes of "n"; [boxes-later]
//   boxes W [box=C]  it says what the boxes give that it was asked for: by itself, unless
//                    `boxes-later`
//   unpublish W [gen=N] [drain=MS] [leaving] [force] [then-read]
//   retain N         pin NAME vN [ttl=MS]    unpin NAME    of the model `m` (R7)
//   supersede vN     of the model `m` (R2)
//   drain W [undo]   an operator takes it out of service, or back
//   join W latest|vN|newer=N [timeout=MS] [layout=L] [whole]
//   begin W [gen=N]  finish W [error=TEXT] [content=C]   leave W     retry W     cancel W
//   unheard W        the answer to its last call will not arrive
//   give-up W        it does not wait for its last join any more, and forgets what came of it
//   progress W N     release W N|all         fail-source W [damaged|silent|refused]
//   doubt-source W   answer W holds|gone [verified] [gen=N]
//   copy-failed W vN [error=TEXT]  it makes no copy of that
//   wait-version NAME MODEL newer=N|any [lag=N] [timeout=MS]
//   layout L [bytes=N | rows=A:B/N [norm]]   note A
//          rows: these of a tensor of N rows, of which each has a MiB; and a small one, "n", whole
//   plan [lost]      the planner answers the oldest question; its layouts are gone
//   flow MS W=IN[/OUT]...  time passes, and these readers get as many chunks per second as they can
//                    take and as their sources give, who share OUT among their readers; they
//                    release the sources that they were led away from
//   wait MS          time passes; whoever is not silent sends heartbeats
//   asleep MS        time passes, and the hub hears of nothing; it runs again at the end
//   adopt N          the workers of the Nth store
//   restart [clean|kept|another] [away=MS] [sources=N] [unguarded]  another hub in its place,
//   recovering unless `clean`; `another`: of the next store; `kept`:
//                    with the rows that the one before wanted kept, otherwise with nothing; by the
//                    wall clock it comes MS later; `sources`: it gives readers so many at a time
//   crash COMMAND    the hub ends when it has kept what the command changes and before it has told
//                    anybody; then `restart kept`
//   lose COMMAND     the same, but it ends before it has kept anything
//   watch            print the changes of the models from here on
//   show references|versions|identities|transfers|workers|models|fetches|durable|status

#ifndef TENSORHUB_TESTS_UNIT_SERVER_CORE_HUB_SCRIPT_H_
#define TENSORHUB_TESTS_UNIT_SERVER_CORE_HUB_SCRIPT_H_

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "server/core/hub.h"

namespace tensorhub::hub {

// The words of one command: positional ones, key=value, and bare flags after them.
class Arguments {
 public:
  explicit Arguments(const std::string& line);
  const std::string& Command() const { return words_.at(0); }
  const std::string& Line() const { return line_; }
  const std::string& At(size_t index) const;  // 0: the command
  size_t size() const { return words_.size(); }
  bool Has(const std::string& flag) const;
  std::optional<std::string> Text(const std::string& key) const;
  uint64_t Number(const std::string& key, uint64_t otherwise) const;

 private:
  std::string line_;
  std::vector<std::string> words_;
};

class HubScript {
 public:
  explicit HubScript(const HubOptions& options = {});
  ~HubScript();

  // Carries out one command; what came of it, a line each.
  std::string Do(const std::string& command);
  // Carries out the lines that begin with "> "; the same text with what came of each below it.
  std::string Replay(const std::string& transcript);

  const Hub& hub() const { return *hub_; }
  TimeMs now() const { return now_; }
  // What a well-behaved worker would do now, if anything.
  std::optional<std::string> NextStep(const std::string& worker) const;

 private:
  struct Agent {
    SessionOpened hello;
    SessionId session = 0;  // 0: none
    bool silent = false;
    TimeMs stalled_ms = 0;
    Id128 knows_store;
    OpId op = 0;
    OpId unanswered = 0;  // the same, until it is
    CallId call = 0;
    std::optional<Event> last;
    std::string last_verb;
    std::string layout = "L";
    std::string content = "bytes";
    bool hashes = true;
    bool hashes_later = false;
    bool says_digest = false;
    std::string box;  // what it has in boxes that others have, too; empty: what they have
    bool boxes_later = false;
    HashBoxes asked;
    PublicationId compares;  // it has been told to
    std::optional<TermNumber> knows;
    std::string said_publish;  // the command
    Generation generation = 0;
    std::optional<Holding> holding;
    std::optional<OpenFetch> fetch;
    FetchDecision decision;
    uint64_t in = 0;  // chunks per second, of `flow`
    uint64_t out = 0;
    uint64_t excess = 0;  // thousandths of a chunk
    AssignmentNumber follows = 0;
  };
  struct Call {
    std::string name;  // of the agent, or of the wait
    std::string verb;
    bool agent = false;
  };
  using Handler = void (HubScript::*)(const Arguments&);
  static const std::map<std::string, Handler>& Handlers();

  void Open(const Arguments& words);
  void Drop(const Arguments& words);
  void Silence(const Arguments& words);
  void Stalls(const Arguments& words);
  void Kill(const Arguments& words);
  void Publish(const Arguments& words);
  void Unpublish(const Arguments& words);
  void Join(const Arguments& words);
  void Begin(const Arguments& words);
  void Finish(const Arguments& words);
  void Leave(const Arguments& words);
  void Retry(const Arguments& words);
  void Cancel(const Arguments& words);
  void Unheard(const Arguments& words);
  void GiveUp(const Arguments& words);
  void Report(const Arguments& words);
  void Release(const Arguments& words);
  void FailSource(const Arguments& words);
  void DoubtSource(const Arguments& words);
  void AnswerProbe(const Arguments& words);
  void WaitVersion(const Arguments& words);
  void PutLayout(const Arguments& words);
  void AnswerPlan(const Arguments& words);
  void PutNote(const Arguments& words);
  void Retain(const Arguments& words);
  void Pin(const Arguments& words);
  void Unpin(const Arguments& words);
  void Supersede(const Arguments& words);
  void Drain(const Arguments& words);
  void Adopt(const Arguments& words);
  void SayCopyFailed(const Arguments& words);
  void SayHashed(const Arguments& words);
  void SayBoxes(const Arguments& words);
  void Pass(const Arguments& words);
  void Flow(const Arguments& words);
  void FlowInto(const std::string& name, TimeMs ms);
  void Asleep(const Arguments& words);
  void Restart(const Arguments& words);
  void Crash(const Arguments& words);
  void Watch(const Arguments& words);
  void Show(const Arguments& words);
  void ShowDurable();
  void ShowFetch(const FetchView& view);

  Agent& AgentOf(const Arguments& words);
  Holding Claimed(const Agent& agent, const Arguments& words) const;
  // hub_script_content.cc
  ContentDigest DigestOf(const Agent& agent, const std::string& content) const;
  std::string ContentOf(const PublicationId& publication) const;
  void LearnContent(Agent& agent, const PublishOp& op, const PublishReply& reply);
  void FollowUp();
  Fingerprint LayoutOf(const std::string& name) const;
  std::string LayoutName(const Fingerprint& layout) const;
  uint32_t ChunksOf(const Agent& agent) const;
  Fingerprint NoteOf(const std::string& name) const;
  void PutDocuments();
  void Send(const Event& event);
  void Heartbeats();
  template <typename Op>
  void CallHub(Agent& agent, const std::string& verb, Op op);

  // hub_script_effects.cc
  void Print(const std::string& line);
  void Carry(const Effect& effect);
  void Carry(const Persist& rows) { Keep(rows, kept_); }
  void Carry(const Reply& reply);
  void Carry(const Directive& directive);
  void Carry(const CloseSession& close);
  void Carry(const ModelChange& change);
  void Carry(const PlanWanted& wanted);
  void Carry(const LogLine& line);  // warnings: what operators may have an alarm for
  void Learn(Agent& agent, const Reply& reply);
  static void LearnStream(OpenFetch& fetch, const Assign& assign);
  static void ForgetStream(Agent& agent, AssignmentNumber assignment);
  std::string Describe(Agent& agent, const Welcome& body);
  std::string Describe(Agent& agent, const GroupChanged& body);
  std::string Describe(Agent& agent, const Assign& body);
  std::string Shown(const Capability& capability, const WorkerIdentity& source, ReadRight right);
  std::string Describe(Agent& agent, const SourceSharding& body);
  std::string Describe(Agent& agent, const EndStream& body);
  std::string Describe(Agent& agent, const AbortRead& body);
  std::string Describe(Agent& agent, const Probe& body);
  std::string Describe(Agent& agent, const Dropped& body);
  std::string Describe(Agent& agent, const Visible& body);
  std::string Describe(Agent& agent, const HashBoxes& body);
  std::string Describe(Agent& agent, const Superseded& body);
  std::string Describe(Agent& agent, const MakeCopy& body);
  std::string Describe(Agent& agent, const ReleaseCopy& body);
  std::string Describe(const Reply& reply);
  static std::string Describe(const DrainReply& drain);
  std::string NameOf(const WorkerKey& key) const;
  std::string NameOf(const Id128& id, const char* prefix);

  HubOptions options_;
  // What becomes of effects: a hub that ends too early keeps its rows only, or not even those.
  enum class Fate { kCarriedOut, kKept, kLost };
  Fate fate_ = Fate::kCarriedOut;
  DurableState kept_;
  std::unique_ptr<Hub> hub_;
  TimeMs now_ = 0;
  TimeMs next_beat_ = 1000;
  CallId last_call_ = 0;
  SessionId last_session_ = 0;
  bool passing_ = false;
  bool watching_ = false;
  std::string out_;
  std::map<std::string, Agent> agents_;
  std::map<SessionId, std::string> sessions_;
  std::map<CallId, Call> calls_;
  std::map<std::string, std::shared_ptr<const Layout>> layouts_;
  std::map<std::string, std::shared_ptr<const std::string>> notes_;
  std::map<std::string, std::vector<Id128>> ids_;  // by prefix, in order of appearance
  std::map<PublicationId, std::string> contents_;  // by their first publishers
  std::vector<PlanWanted> plans_;                  // that are to be answered
  std::vector<std::string> follow_ups_;            // commands that agents give themselves
};

}  // namespace tensorhub::hub

#endif  // TENSORHUB_TESTS_UNIT_SERVER_CORE_HUB_SCRIPT_H_
