// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tests/unit/server/core/hub_script.h"

#include <algorithm>
#include <sstream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/check.h"
#include "common/chunking.h"
#include "common/remedy.h"
#include "server/core/planning.h"

namespace tensorhub::hub {
namespace {

constexpr uint64_t kChunkBytes = 4096;
constexpr uint64_t kLayoutBytes = 10 * kChunkBytes;

uint64_t ParseNumber(const std::string& text) { return std::stoull(text); }

// "trainer/0" or "model:trainer/0".
WorkerKey ParseWorker(const std::string& name) {
  const size_t colon = name.find(':');
  const size_t slash = name.rfind('/');
  TH_CHECK(slash != std::string::npos);
  WorkerKey key;
  key.model = colon == std::string::npos ? "m" : name.substr(0, colon);
  const size_t group = colon == std::string::npos ? 0 : colon + 1;
  key.group = name.substr(group, slash - group);
  key.rank = static_cast<Rank>(ParseNumber(name.substr(slash + 1)));
  return key;
}

VersionNumber ParseVersion(const std::string& word) {
  TH_CHECK(word.starts_with("v"));
  return ParseNumber(word.substr(1));
}

VersionSelector ParseSelector(const std::string& word) {
  if (word == "latest") return {};
  if (word == "any") return {VersionSelector::Kind::kAny, 0};
  if (word.starts_with("newer="))
    return {VersionSelector::Kind::kNewerThan, ParseNumber(word.substr(6))};
  return {VersionSelector::Kind::kExact, ParseVersion(word)};
}

std::shared_ptr<const Layout> MakeLayout(const std::string& name, uint64_t bytes) {
  auto layout = Layout::Make({TensorSpec{name, DType::kU8, {bytes}, {}}});
  TH_CHECK(layout.ok());
  return std::make_shared<const Layout>(*std::move(layout));
}

// "2:4/8": the rows of a tensor that has eight.
std::shared_ptr<const Layout> MakeRows(const std::string& rows, bool norm) {
  constexpr uint64_t kRowBytes = uint64_t{1} << 20;
  const std::vector<std::string> words = absl::StrSplit(rows, absl::ByAnyChar(":/"));
  TH_CHECK(words.size() == 3);
  const uint64_t begin = ParseNumber(words[0]);
  const uint64_t end = ParseNumber(words[1]);
  const SliceSpec slice{{ParseNumber(words[2]), kRowBytes}, {begin, 0}};
  std::vector<TensorSpec> tensors = {{"w", DType::kU8, {end - begin, kRowBytes}, slice}};
  if (norm) tensors.push_back({"n", DType::kU8, {8}, SliceSpec{{8}, {0}}});
  auto layout = Layout::Make(tensors);
  TH_CHECK(layout.ok());
  return std::make_shared<const Layout>(*std::move(layout));
}

}  // namespace

Arguments::Arguments(const std::string& line)
    : line_(line), words_(absl::StrSplit(line, ' ', absl::SkipEmpty())) {
  TH_CHECK(!words_.empty());
}

const std::string& Arguments::At(size_t index) const {
  TH_CHECK(index < words_.size());
  return words_[index];
}

bool Arguments::Has(const std::string& flag) const {
  return std::find(words_.begin() + 1, words_.end(), flag) != words_.end();
}

std::optional<std::string> Arguments::Text(const std::string& key) const {
  for (const std::string& word : words_) {
    if (word.starts_with(key + "=")) return word.substr(key.size() + 1);
  }
  return std::nullopt;
}

uint64_t Arguments::Number(const std::string& key, uint64_t otherwise) const {
  const auto text = Text(key);
  return text ? ParseNumber(*text) : otherwise;
}

HubScript::HubScript(const HubOptions& options)
    : options_(options), hub_(std::make_unique<Hub>(options, 0)) {
  layouts_["L"] = MakeLayout("L", kLayoutBytes);
  PutDocuments();
}

HubScript::~HubScript() = default;

const std::map<std::string, HubScript::Handler>& HubScript::Handlers() {
  static const std::map<std::string, Handler> handlers = {
      {"open", &HubScript::Open},
      {"drop", &HubScript::Drop},
      {"silence", &HubScript::Silence},
      {"kill", &HubScript::Kill},
      {"stalls", &HubScript::Stalls},
      {"publish", &HubScript::Publish},
      {"hashed", &HubScript::SayHashed},
      {"boxes", &HubScript::SayBoxes},
      {"unpublish", &HubScript::Unpublish},
      {"join", &HubScript::Join},
      {"begin", &HubScript::Begin},
      {"finish", &HubScript::Finish},
      {"leave", &HubScript::Leave},
      {"retry", &HubScript::Retry},
      {"cancel", &HubScript::Cancel},
      {"unheard", &HubScript::Unheard},
      {"give-up", &HubScript::GiveUp},
      {"progress", &HubScript::Report},
      {"release", &HubScript::Release},
      {"fail-source", &HubScript::FailSource},
      {"doubt-source", &HubScript::DoubtSource},
      {"answer", &HubScript::AnswerProbe},
      {"wait-version", &HubScript::WaitVersion},
      {"layout", &HubScript::PutLayout},
      {"plan", &HubScript::AnswerPlan},
      {"note", &HubScript::PutNote},
      {"retain", &HubScript::Retain},
      {"pin", &HubScript::Pin},
      {"unpin", &HubScript::Unpin},
      {"supersede", &HubScript::Supersede},
      {"drain", &HubScript::Drain},
      {"adopt", &HubScript::Adopt},
      {"copy-failed", &HubScript::SayCopyFailed},
      {"flow", &HubScript::Flow},
      {"wait", &HubScript::Pass},
      {"asleep", &HubScript::Asleep},
      {"restart", &HubScript::Restart},
      {"crash", &HubScript::Crash},
      {"lose", &HubScript::Crash},
      {"watch", &HubScript::Watch},
      {"show", &HubScript::Show},
  };
  return handlers;
}

std::string HubScript::Do(const std::string& command) {
  out_.clear();
  const Arguments words(command);
  const auto handler = Handlers().find(words.Command());
  TH_CHECK(handler != Handlers().end());
  (this->*handler->second)(words);
  FollowUp();
  return std::exchange(out_, {});
}

std::string HubScript::Replay(const std::string& transcript) {
  std::string text;
  std::istringstream lines(transcript);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("  ")) continue;  // what came of it when this was written
    absl::StrAppend(&text, line, "\n");
    if (line.starts_with("> ")) absl::StrAppend(&text, Do(line.substr(2)));
  }
  return text;
}

void HubScript::Send(const Event& event) {
  Effects effects;
  hub_->Apply(event, now_, effects);
  hub_->CheckInvariants();
  for (const Effect& effect : effects) {
    const auto* rows = std::get_if<Persist>(&effect);
    TH_CHECK(rows == nullptr || (&effect == effects.data() && !rows->empty()));
    if (fate_ == Fate::kCarriedOut || (fate_ == Fate::kKept && rows != nullptr)) Carry(effect);
  }
}

template <typename Op>
void HubScript::CallHub(Agent& agent, const std::string& verb, Op op) {
  op.call = agent.call = ++last_call_;
  op.worker = agent.hello.worker;
  op.op = agent.unanswered = ++agent.op;
  agent.last = op;
  agent.last_verb = verb;
  calls_[op.call] = {NameOf(op.worker.key), verb, true};
  Send(op);
}

HubScript::Agent& HubScript::AgentOf(const Arguments& words) {
  const std::string name = NameOf(ParseWorker(words.At(1)));
  Agent& agent = agents_[name];
  if (agent.hello.worker.incarnation == 0) {
    agent.hello.worker = {ParseWorker(words.At(1)), 1};
    agent.hello.world_size = 1;
  }
  return agent;
}

Fingerprint HubScript::LayoutOf(const std::string& name) const {
  return layouts_.contains(name) ? layouts_.at(name)->fingerprint() : FingerprintOf(name);
}

std::string HubScript::LayoutName(const Fingerprint& fingerprint) const {
  for (const auto& [name, layout] : layouts_) {
    if (layout->fingerprint() == fingerprint) return name;
  }
  return "?";
}

uint32_t HubScript::ChunksOf(const Agent& agent) const {
  const Layout& layout = *layouts_.at(LayoutName(agent.holding->layout));
  return Chunking{layout.total_bytes(), agent.holding->chunk_bytes}.count();
}

Fingerprint HubScript::NoteOf(const std::string& name) const {
  return notes_.contains(name) ? FingerprintOf(*notes_.at(name)) : FingerprintOf(name);
}

void HubScript::PutDocuments() {
  for (const auto& [name, layout] : layouts_) Send(PutLayoutOp{++last_call_, layout});
  for (const auto& [name, note] : notes_) {
    Send(PutAttachmentOp{++last_call_, FingerprintOf(*note), note});
  }
}

// --- sessions -----------------------------------------------------------------------------------

// Refused: the worker is as it was.
void HubScript::Open(const Arguments& words) {
  Agent& agent = AgentOf(words);
  const Agent before = agent;
  const uint64_t incarnation = words.Number("inc", agent.hello.worker.incarnation);
  if (incarnation != agent.hello.worker.incarnation) {
    SessionOpened hello = agent.hello;
    hello.worker.incarnation = incarnation;
    hello.number = 0;
    hello.epoch = hello.joined_epoch = {};
    hello.abandoned_join_op = 0;
    agent = Agent{};
    agent.hello = std::move(hello);
  }
  SessionOpened& hello = agent.hello;
  hello.session = ++last_session_;
  hello.number = words.Number("number", hello.number + 1);
  hello.world_size = static_cast<uint32_t>(words.Number("world", hello.world_size));
  if (const auto at = words.Text("at")) hello.location = Location::Parse(*at).value();
  if (const auto layout = words.Text("layout")) agent.layout = *layout;
  if (const auto endpoint = words.Text("endpoint")) hello.endpoint = *endpoint;
  if (words.Has("spot")) hello.stable = false;
  if (words.Has("says-digest")) agent.says_digest = true;
  if (words.Has("copies")) hello.offers_copies = true;
  if (words.Has("streams") || words.Has("reshards")) hello.knows_streams = true;
  if (words.Has("reshards")) hello.knows_resharding = true;
  if (words.Has("boxes")) hello.knows_boxes = true;
  if (words.Has("key")) hello.read_key = CapabilityKey::Guessable(hello.worker.incarnation);
  if (words.Has("may-not-publish")) hello.may_publish = false;
  if (const auto group = words.Text("copy-of")) hello.copy_of = *group;
  if (words.Has("forget")) agent.holding.reset(), agent.fetch.reset();
  if (const auto source = words.Text("reads"); source && agent.fetch) {
    agent.fetch->source = agents_[*source].hello.worker;
    agent.fetch->source_generation = agents_[*source].generation;
    agent.fetch->assignment = words.Number("number", agent.fetch->assignment + 1);
  }
  hello.resumed = words.Has("resumed");
  hello.known_store = hello.resumed ? agent.knows_store : Id128{};
  if (const auto other = words.Text("told-as")) {
    hello.epoch = hello.joined_epoch = agents_[*other].hello.epoch;
  }
  hello.repeats = agent.unanswered;
  if (words.Has("says-no-calls")) hello.repeats.reset();
  hello.holding = words.Text("holds") ? Claimed(agent, words) : agent.holding;
  hello.open_fetch = agent.fetch;
  agent.session = hello.session;
  agent.silent = false;
  const SessionId session = agent.session;
  sessions_[session] = NameOf(hello.worker.key);
  Send(SessionOpened(hello));
  if (agent.session == session) return;
  agent = before;
  if (!sessions_.contains(agent.session)) agent.session = 0;
}

// Without `as`: a publication that nobody knows.
Holding HubScript::Claimed(const Agent& agent, const Arguments& words) const {
  Holding holding;
  holding.version = ParseVersion(words.Text("holds").value());
  holding.publication = Id128{1, holding.version};
  if (const auto name = words.Text("as")) {
    const auto ids = ids_.find("P");
    const uint64_t number = ParseNumber(name->substr(1));
    if (ids != ids_.end() && number - 1 < ids->second.size()) {
      holding.publication = ids->second[number - 1];
    }
  }
  holding.world_size = agent.hello.world_size;
  holding.chunk_bytes = kChunkBytes;
  holding.layout = LayoutOf(agent.layout);
  holding.generation = words.Number("gen", agent.generation);
  holding.complete = !words.Has("part");
  holding.valid_chunks = holding.complete ? 10 : 5;
  holding.published = holding.complete;
  holding.visible = holding.complete && !words.Has("unseen");
  holding.epoch = agent.hello.epoch;
  if (!words.Has("says-no-term")) {
    holding.term = {words.Number("term", 0), words.Number("since", 0)};
  }
  const std::string content = words.Text("content").value_or(ContentOf(holding.publication));
  if (holding.complete && !content.empty()) holding.digest = DigestOf(agent, content);
  return holding;
}

void HubScript::Drop(const Arguments& words) {
  Agent& agent = AgentOf(words);
  sessions_.erase(agent.session);
  Send(SessionClosed{std::exchange(agent.session, 0)});
}

void HubScript::Silence(const Arguments& words) { AgentOf(words).silent = true; }

void HubScript::Stalls(const Arguments& words) {
  AgentOf(words).stalled_ms = static_cast<TimeMs>(ParseNumber(words.At(2)));
}

void HubScript::Kill(const Arguments& words) {
  Silence(words);
  Drop(words);
}

void HubScript::Heartbeats() {
  for (auto& [name, agent] : agents_) {
    if (agent.session != 0 && !agent.silent) Send(Heartbeat{{0, agent.stalled_ms}, agent.session});
  }
}

// --- operations ---------------------------------------------------------------------------------

void HubScript::Publish(const Arguments& words) {
  Agent& agent = AgentOf(words);
  if (!agent.holding && !agent.compares) ++agent.generation;
  agent.said_publish = words.Line();
  PublishOp op;
  op.version = ParseVersion(words.At(2));
  op.generation = agent.generation = words.Number("gen", agent.generation);
  op.layout = LayoutOf(words.Text("layout").value_or(agent.layout));
  if (const auto note = words.Text("note")) op.attachment = NoteOf(*note);
  op.chunk_bytes = words.Number("chunk", kChunkBytes);
  op.wait_for_group = words.Text("wait").has_value();
  op.timeout_ms = static_cast<TimeMs>(words.Number("wait", 10'000));
  op.supersede = words.Has("supersede");
  if (!words.Has("says-no-term")) op.knows_term = words.Number("knows", agent.knows.value_or(0));
  agent.content = words.Text("content").value_or(words.Text("layout").value_or("bytes"));
  agent.hashes_later = words.Has("hash-later");
  agent.box = words.Text("box").value_or("");
  agent.boxes_later = words.Has("boxes-later");
  op.hashes = agent.hashes = !words.Has("no-digests");
  op.compared = std::exchange(agent.compares, {});
  if (op.compared) op.digest = DigestOf(agent, agent.content);
  CallHub(agent, "publish", op);
}

void HubScript::Unpublish(const Arguments& words) {
  Agent& agent = AgentOf(words);
  UnpublishOp op;
  op.generation = words.Number("gen", agent.generation);
  op.drain_ms = static_cast<TimeMs>(words.Number("drain", 1000));
  op.leaving = words.Has("leaving");
  op.force = words.Has("force");
  if (words.Has("then-read")) {
    op.then_read = ReadStart{agent.decision.transaction, op.generation + 1};
  }
  CallHub(agent, "unpublish", op);
}

void HubScript::Join(const Arguments& words) {
  Agent& agent = AgentOf(words);
  JoinFetchOp op;
  op.selector = ParseSelector(words.At(2));
  const auto& held = agent.holding;
  const bool newer = held && words.At(2) == absl::StrCat("newer=", held->version);
  if (newer) op.held_in = held->term.value_or(Term{}).number;
  if (words.Text("held")) op.held_in = words.Number("held", 0);
  op.layout = LayoutOf(words.Text("layout").value_or(agent.layout));
  op.timeout_ms = static_cast<TimeMs>(words.Number("timeout", 10'000));
  op.whole = words.Has("whole");
  CallHub(agent, "join", op);
}

void HubScript::Begin(const Arguments& words) {
  Agent& agent = AgentOf(words);
  BeginReadOp op;
  op.transaction = agent.decision.transaction;
  op.generation = agent.generation = words.Number("gen", agent.generation + 1);
  CallHub(agent, "begin", op);
}

void HubScript::Finish(const Arguments& words) {
  Agent& agent = AgentOf(words);
  FinishReadOp op;
  op.transaction = agent.decision.transaction;
  const auto error = words.Text("error");
  if (error) op.result = absl::DataLossError(*error);
  if (!error && agent.fetch) agent.fetch->finished = true;
  const std::string content = words.Text("content").value_or(ContentOf(agent.decision.publication));
  if (!error && !content.empty()) op.digest = DigestOf(agent, content);
  if (agent.holding) agent.holding->digest = op.digest;
  CallHub(agent, "finish", op);
}

void HubScript::Leave(const Arguments& words) { CallHub(AgentOf(words), "leave", LeaveOp{}); }

void HubScript::Retry(const Arguments& words) {
  Agent& agent = AgentOf(words);
  if (!agent.last) return;
  Event event = *agent.last;
  agent.call = ++last_call_;
  calls_[agent.call] = {NameOf(agent.hello.worker.key), agent.last_verb + " (retry)", true};
  std::visit(
      [&](auto& op) {
        if constexpr (requires { op.call; }) op.call = agent.call;
      },
      event);
  Send(event);
}

void HubScript::Cancel(const Arguments& words) {
  Agent& agent = AgentOf(words);
  calls_.erase(agent.call);
  agent.unanswered = 0;
  Send(CallCancelled{agent.call});
}

void HubScript::Unheard(const Arguments& words) { calls_.erase(AgentOf(words).call); }

void HubScript::GiveUp(const Arguments& words) {
  Agent& agent = AgentOf(words);
  agent.fetch.reset();
  agent.hello.abandoned_join_op = agent.op;
  agent.unanswered = 0;
  if (agent.session != 0) Send(Heartbeat{{agent.op}, agent.session});
}

// --- within a session ---------------------------------------------------------------------------

void HubScript::Report(const Arguments& words) {
  Agent& agent = AgentOf(words);
  const auto chunks = static_cast<uint32_t>(ParseNumber(words.At(2)));
  const PublicationId publication = agent.holding ? agent.holding->publication : PublicationId{};
  if (agent.holding) agent.holding->valid_chunks = chunks;
  Send(Progress{{publication, agent.generation, chunks, words.Text("way").value_or("")},
                agent.session});
}

void HubScript::Release(const Arguments& words) {
  Agent& agent = AgentOf(words);
  const bool all = words.At(2) == "all";
  const AssignmentNumber assignment = all ? kAllAssignments : ParseNumber(words.At(2));
  ForgetStream(agent, assignment);
  Send(SourceReleased{{agent.decision.transaction, assignment}, agent.session});
}

void HubScript::FailSource(const Arguments& words) {
  Agent& agent = AgentOf(words);
  const AssignmentNumber current = agent.fetch ? agent.fetch->assignment : 0;
  absl::Status reason = absl::UnavailableError("connection reset");
  if (words.Has("damaged")) reason = absl::DataLossError("chunk 4 differs");
  if (words.Has("silent")) reason = AsOutage(absl::UnavailableError("it has been silent"));
  if (words.Has("refused")) reason = absl::UnauthenticatedError("this reader shows nothing");
  const AssignmentNumber failed = words.Number("number", current);
  ForgetStream(agent, failed);
  Send(SourceFailed{{agent.decision.transaction, failed, std::move(reason)}, agent.session});
}

void HubScript::DoubtSource(const Arguments& words) {
  const Agent& agent = AgentOf(words);
  const AssignmentNumber current = agent.fetch ? agent.fetch->assignment : 0;
  Send(SourceSilent{{agent.decision.transaction, words.Number("number", current)}, agent.session});
}

void HubScript::AnswerProbe(const Arguments& words) {
  Agent& agent = AgentOf(words);
  const bool holds = words.At(2) == "holds";
  const Generation generation = words.Number("gen", agent.generation);
  if (!holds) agent.holding.reset();
  Send(ProbeAnswer{{generation, holds, words.Has("verified")}, agent.session});
}

// --- the rest -----------------------------------------------------------------------------------

void HubScript::WaitVersion(const Arguments& words) {
  WaitOp op;
  op.call = ++last_call_;
  op.model = words.At(2);
  op.newer_than = words.Number("newer", 0);
  if (words.Text("held")) op.held_in = words.Number("held", 0);
  op.any = words.Has("any");
  op.max_lag = words.Number("lag", 0);
  op.timeout_ms = static_cast<TimeMs>(words.Number("timeout", 10'000));
  calls_[op.call] = {words.At(1), "wait", false};
  Send(op);
}

void HubScript::PutLayout(const Arguments& words) {
  const std::optional<std::string> rows = words.Text("rows");
  layouts_[words.At(1)] = rows ? MakeRows(*rows, words.Has("norm"))
                               : MakeLayout(words.At(1), words.Number("bytes", kLayoutBytes));
  const CallId call = ++last_call_;
  calls_[call] = {words.At(1), "layout", false};
  Send(PutLayoutOp{call, layouts_[words.At(1)]});
}

void HubScript::Pass(const Arguments& words) {
  const TimeMs end = now_ + static_cast<TimeMs>(ParseNumber(words.At(1)));
  passing_ = true;
  while (now_ < end) {
    const TimeMs due = hub_->NextDeadline().value_or(end);
    now_ = std::max(now_, std::min({due, next_beat_, end}));
    if (now_ >= next_beat_) {
      next_beat_ += 1000;
      Heartbeats();
    }
    Send(Tick{});
    TH_CHECK(hub_->NextDeadline().value_or(end) > now_ || now_ == end);
  }
  passing_ = false;
}

void HubScript::Asleep(const Arguments& words) {
  now_ += static_cast<TimeMs>(ParseNumber(words.At(1)));
  next_beat_ = now_ + 1000;
  Send(Tick{});
}

void HubScript::Restart(const Arguments& words) {
  options_.guard_reads = !words.Has("unguarded");
  options_.sources_per_reader =
      static_cast<uint32_t>(words.Number("sources", options_.sources_per_reader));
  options_.long_chain = static_cast<uint32_t>(words.Number("chain", options_.long_chain));
  HubOptions options = options_;
  options.recovering = !words.Has("clean");
  options.wall_at_zero = options_.wall_at_zero += static_cast<TimeMs>(words.Number("away", 0));
  if (!words.Has("kept")) kept_ = {};
  if (words.Has("another")) ++options_.store.lo, options_.hub_epoch = 0;
  options.store = options_.store;
  options.durable = kept_;
  options.seed = ++options_.seed;
  options.hub_epoch = ++options_.hub_epoch;
  hub_ = std::make_unique<Hub>(options, now_);
  calls_.clear();
  sessions_.clear();
  for (auto& [name, agent] : agents_) agent.session = 0;
  if (!words.Has("bare")) PutDocuments();
}

void HubScript::Crash(const Arguments& words) {
  fate_ = words.Command() == "crash" ? Fate::kKept : Fate::kLost;
  std::string command = words.At(1);
  for (size_t i = 2; i < words.size(); ++i) absl::StrAppend(&command, " ", words.At(i));
  const Arguments inner(command);
  (this->*Handlers().at(inner.Command()))(inner);
  fate_ = Fate::kCarriedOut;
  Restart(Arguments("restart kept"));
}

void HubScript::Watch(const Arguments&) { watching_ = true; }

std::optional<std::string> HubScript::NextStep(const std::string& worker) const {
  const auto it = agents_.find(worker);
  if (it == agents_.end() || it->second.session == 0) return std::nullopt;
  const Agent& agent = it->second;
  if (!agent.decision.transaction || !agent.fetch) return std::nullopt;
  if (agent.last_verb == "finish") return std::nullopt;
  const bool reads = agent.holding && !agent.holding->complete;
  if (reads || agent.decision.already_held) return absl::StrCat("finish ", worker);
  return absl::StrCat(agent.holding ? "unpublish " : "begin ", worker);
}

}  // namespace tensorhub::hub
