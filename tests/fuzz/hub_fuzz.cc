// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Messages of workers and orders of operators, as bytes, through their translation into the hub:
// hostile ones among plausible ones. The hub's invariants hold after each, a directive goes to a
// session that is open, a call is answered once, and in the end, when all workers are gone, every
// call has been.

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "common/check.h"
#include "protocol/codec/fields.h"
#include "server/core/hub.h"
#include "server/core/planning.h"
#include "server/rpc/translate.h"
#include "tests/fuzz/fuzz.h"

namespace tensorhub::fuzz {
namespace {

namespace pb = tensorhub::v1;

constexpr size_t kStepsMax = 200;
constexpr TimeMs kDay = 24 * 3600 * 1000;

hub::HubOptions Options() {
  hub::HubOptions options;
  options.limits.models = 2;
  options.limits.workers = 8;
  options.limits.dead_workers = 3;
  options.limits.past_versions = 4;
  options.limits.waits = 4;
  options.limits.layouts.count = 2;
  options.limits.attachments.count = 2;
  options.limits.excluded_sources = 2;
  options.limits.pins = 3;
  return options;
}

Layout ShardLayout(uint64_t bytes) {
  return Layout::Make({{.name = "w", .dtype = DType::kU8, .shape = {bytes}, .slice = {}}}).value();
}

class Play {
 public:
  explicit Play(std::string_view input)
      : in_(input), hub_(std::make_unique<hub::Hub>(Options(), now_)) {
    ids_ = {{}, {1, 1}, ShardLayout(9 * 4096 + 5).fingerprint(), FingerprintOf("note")};
    pb::PutLayoutRequest layout;
    layout.set_encoded(ShardLayout(9 * 4096 + 5).Encode());
    Ask<pb::PutLayoutResponse>(layout);
  }

  void Run() {
    for (size_t step = 0; step < kStepsMax && !in_.empty(); ++step) Step();
    End();
  }

 private:
  // --- one thing that happens ---

  void Step() {
    if (in_.Byte() == 255) return Restart();
    switch (in_.Below(18)) {
      case 0:
      case 1:
        return Open();
      case 2:
        return Close();
      case 3:
      case 4:
        return Say();
      case 5:
        return Documents();
      case 6:
        return Advance(in_.OneIn(8) ? 6000 : in_.Byte());
      case 7:
        return Wait();
      case 8:
        return CancelOne();
      case 9:
        return Ask<pb::LeaveResponse>(Operation<pb::LeaveRequest>());
      case 10:
        return Unpublish();
      case 11:
      case 12:
        return Publish();
      case 13:
        return Join();
      case 14:
        return Begin();
      case 15:
        return Order();
      default:
        return Finish();
    }
  }

  // --- fields ---

  void FillWorker(pb::WorkerId& worker) {
    const uint8_t byte = in_.Byte();
    worker.set_model(byte % 16 == 15 ? "n" : "m");
    worker.set_group(std::string(1, static_cast<char>('a' + byte / 16 % 3)));
    worker.set_rank(byte / 64 % 2);
    worker.set_incarnation(1 + (byte / 128 != 0 && in_.OneIn(4) ? 1 : 0));
  }
  std::string Id() {
    if (in_.OneIn(32)) return std::string(in_.Bytes(in_.Below(20)));
    return protocol::IdBytes(in_.OneIn(4) ? ids_[in_.Below(std::min<size_t>(ids_.size(), 256))]
                                          : ids_.back());
  }
  std::string LayoutId() { return in_.OneIn(16) ? Id() : protocol::IdBytes(ids_[2]); }
  uint64_t Version() { return in_.Below(6); }
  uint64_t Generation() { return in_.OneIn(16) ? in_.Number() : 1 + in_.Below(3); }
  uint64_t ChunkBytes() { return in_.OneIn(16) ? in_.Number() * 512 : 4096; }
  uint64_t Op() { return in_.OneIn(8) ? in_.Below(16) : ++op_; }
  uint32_t World() { return in_.OneIn(8) ? static_cast<uint32_t>(in_.Number()) : 2; }

  template <typename Request>
  Request Operation() {
    Request request;
    FillWorker(*request.mutable_worker());
    request.set_op(Op());
    return request;
  }

  // --- sessions ---

  void FillHolding(pb::Holding& holding) {
    holding.set_publication(Id());
    holding.set_version(Version());
    holding.set_world_size(World());
    holding.set_chunk_bytes(ChunkBytes());
    holding.set_layout(LayoutId());
    holding.set_generation(Generation());
    holding.set_valid_chunks(static_cast<uint32_t>(in_.Number()));
    const uint8_t bits = in_.Byte();
    holding.set_complete(bits & 1);
    holding.set_published(bits & 2);
    holding.set_visible(bits & 4);
    FillEpoch(*holding.mutable_group_epoch());
    if (in_.OneIn(4)) return;
    holding.mutable_term()->set_number(in_.Below(4));
    holding.mutable_term()->set_since(Version());
  }

  void FillEpoch(pb::GroupEpoch& epoch) {
    const uint8_t bits = in_.Byte();
    epoch.set_hub_epoch(bits & 7);
    epoch.set_count(bits >> 3);
  }

  void FillOpenFetch(pb::OpenFetch& fetch) {
    fetch.set_transaction(Id());
    fetch.set_publication(Id());
    fetch.set_version(Version());
    fetch.set_finished(in_.OneIn(2));
    if (in_.OneIn(2)) {
      FillWorker(*fetch.mutable_source());
      fetch.set_source_generation(Generation());
      fetch.set_assignment(1 + in_.Below(3));
    }
  }

  void Open() {
    pb::OpenSession open;
    FillWorker(*open.mutable_worker());
    open.set_session_number(in_.OneIn(8) ? in_.Number() : ++session_number_);
    open.set_world_size(World());
    open.set_location(in_.Of({"us/dc1/r1/h1", "us/dc1/r1/h2", "us/dc2/r1/h1", "", "/x"}));
    open.set_endpoint("somewhere");
    open.set_resumed(in_.OneIn(3));
    open.set_spot(in_.OneIn(4));
    open.set_offers_copies(in_.OneIn(2));
    if (in_.OneIn(4)) open.set_copy_of(in_.Of({"a", "b"}));
    if (in_.OneIn(3)) FillHolding(*open.mutable_holding());
    if (in_.OneIn(2)) FillEpoch(*open.mutable_group_epoch());
    if (in_.OneIn(2)) FillEpoch(*open.mutable_joined_epoch());
    if (in_.OneIn(4)) FillOpenFetch(*open.mutable_open_fetch());
    if (in_.OneIn(8)) open.set_known_store_id(Id());
    if (in_.OneIn(2)) open.set_repeats(in_.Below(4));
    if (in_.OneIn(4)) open.set_read_key(std::string(in_.Bytes(in_.OneIn(4) ? in_.Below(40) : 32)));
    if (!Damage(open)) return;
    static_cast<void>(rpc::CheckIdentity(open, identity_));
    const hub::SessionId session = ++last_session_;
    const auto event = rpc::ToCore(open, session);
    if (!event.ok()) return CheckRefusal(event.status());
    sessions_.insert(session);
    Apply(*event);
  }

  void Close() {
    if (sessions_.empty()) return;
    const hub::SessionId session = Session();
    sessions_.erase(session);
    Apply(hub::SessionClosed{session});
  }

  hub::SessionId Session() {
    return *std::next(sessions_.begin(), static_cast<std::ptrdiff_t>(in_.Below(sessions_.size())));
  }

  void Say() {
    if (sessions_.empty()) return;
    pb::WorkerMessage message;
    switch (in_.Below(7)) {
      case 0:
        message.mutable_heartbeat();
        break;
      case 1:
        message.mutable_progress()->set_publication(Id());
        message.mutable_progress()->set_generation(Generation());
        message.mutable_progress()->set_valid_chunks(static_cast<uint32_t>(in_.Number()));
        break;
      case 2:
        message.mutable_source_released()->set_transaction(Id());
        message.mutable_source_released()->set_assignment(in_.Below(5) - 1);
        break;
      case 3:
        message.mutable_source_failed()->set_transaction(Id());
        message.mutable_source_failed()->set_assignment(1 + in_.Below(4));
        message.mutable_source_failed()->set_code(14);
        break;
      case 4:
        message.mutable_source_silent()->set_transaction(Id());
        message.mutable_source_silent()->set_assignment(1 + in_.Below(4));
        break;
      case 5:
        message.mutable_copy_failed()->set_version(Version());
        message.mutable_copy_failed()->set_code(8);
        break;
      default:
        message.mutable_probe_answer()->set_generation(Generation());
        message.mutable_probe_answer()->set_holds(in_.OneIn(2));
    }
    if (!Damage(message)) return;
    const auto event = rpc::ToCore(message, Session());
    event.ok() ? Apply(*event) : CheckRefusal(event.status());
  }

  // --- calls ---

  void Publish() {
    auto request = Operation<pb::PublishRequest>();
    request.set_version(Version());
    request.set_layout(LayoutId());
    if (in_.OneIn(8)) request.set_attachment(Id());
    request.set_chunk_bytes(ChunkBytes());
    request.set_generation(Generation());
    request.set_wait_for_group(in_.OneIn(3));
    request.set_timeout_ms(in_.Byte() * uint64_t{16});
    request.set_supersede(in_.OneIn(8));
    if (in_.OneIn(2)) request.set_knows_term(in_.Below(4));
    Ask<pb::PublishResponse>(request);
  }

  void Unpublish() {
    auto request = Operation<pb::UnpublishRequest>();
    request.set_generation(Generation());
    request.set_drain_ms(in_.Byte() * uint64_t{16});
    request.set_leaving(in_.OneIn(4));
    request.set_force(in_.OneIn(4));
    if (in_.OneIn(2)) {
      request.mutable_then_read()->set_transaction(Id());
      request.mutable_then_read()->set_generation(Generation());
    }
    Ask<pb::UnpublishResponse>(request);
  }

  void Join() {
    auto request = Operation<pb::JoinFetchRequest>();
    pb::Selector& selector = *request.mutable_selector();
    switch (in_.Below(3)) {
      case 0:
        selector.set_latest(true);
        break;
      case 1:
        selector.set_exact(Version());
        break;
      default:
        selector.set_newer_than(Version());
        selector.set_any(in_.OneIn(4));
    }
    request.set_layout(LayoutId());
    request.set_timeout_ms(in_.Byte() * uint64_t{16});
    if (in_.OneIn(2)) request.set_held_in(in_.Below(4));
    Ask<pb::JoinFetchResponse>(request);
  }

  void Begin() {
    auto request = Operation<pb::BeginReadRequest>();
    request.set_transaction(Id());
    request.set_generation(Generation());
    Ask<pb::BeginReadResponse>(request);
  }

  void Finish() {
    auto request = Operation<pb::FinishReadRequest>();
    request.set_transaction(Id());
    request.set_code(in_.OneIn(4) ? 10 : 0);
    Ask<pb::FinishReadResponse>(request);
  }

  void Wait() {
    pb::WaitForVersionRequest request;
    request.set_model("m");
    request.set_any(in_.OneIn(4));
    request.set_newer_than(Version());
    request.set_max_lag(in_.Number());
    request.set_timeout_ms(in_.Byte());
    Ask<pb::WaitForVersionResponse>(request);
  }

  void Order() {
    switch (in_.Below(4)) {
      case 0: {
        pb::RetainRequest request;
        request.set_model("m");
        request.set_keep_latest(static_cast<uint32_t>(in_.Number()));
        return Ask<pb::RetainResponse>(request);
      }
      case 1: {
        pb::PinRequest request;
        request.set_model("m");
        request.set_name(Pin());
        request.set_version(Version());
        request.set_ttl_ms(in_.Byte() * uint64_t{64});
        return Ask<pb::PinResponse>(request);
      }
      case 2: {
        pb::UnpinRequest request;
        request.set_model("m");
        request.set_name(Pin());
        return Ask<pb::UnpinResponse>(request);
      }
      default: {
        pb::SupersedeRequest request;
        request.set_model("m");
        request.set_version(Version());
        return Ask<pb::SupersedeResponse>(request);
      }
    }
  }
  std::string Pin() { return std::string(1, static_cast<char>('p' + in_.Below(4))); }

  void Documents() {
    if (in_.OneIn(2)) {
      pb::PutAttachmentRequest request;
      request.set_content(in_.OneIn(2) ? "note" : std::string(in_.Bytes(in_.Below(8))));
      return Ask<pb::PutAttachmentResponse>(request);
    }
    pb::PutLayoutRequest request;
    request.set_encoded(ShardLayout(in_.OneIn(2) ? 9 * 4096 + 5 : in_.Number() >> 8).Encode());
    Ask<pb::PutLayoutResponse>(request);
  }

  void CancelOne() {
    if (pending_.empty()) return;
    const hub::CallId call = pending_.begin()->first;
    pending_.erase(pending_.begin());
    cancelled_.insert(call);
    Apply(hub::CallCancelled{call});
  }

  // --- to the hub and back ---

  // A few of the message's bytes changed, now and then. False if nobody could parse that.
  template <typename Message>
  bool Damage(Message& message) {
    if (!in_.OneIn(16)) return true;
    std::string bytes = message.SerializeAsString();
    if (bytes.empty()) return true;
    const size_t at = in_.Below(std::min<size_t>(bytes.size(), 256));
    const std::string_view damage = in_.Bytes(1 + in_.Below(8));
    bytes.replace(at, std::min(damage.size(), bytes.size() - at), damage);
    return message.ParseFromString(bytes);
  }

  static void CheckRefusal(const absl::Status& status) {
    TH_CHECK(absl::IsInvalidArgument(status));
    TH_CHECK(std::string(status.message()).find(": ") != std::string::npos);  // names the field
  }

  template <typename Response, typename Request>
  void Ask(Request request) {
    if (!Damage(request)) return;
    const hub::CallId call = ++last_call_;
    const auto event = rpc::ToCore(request, call);
    if (!event.ok()) return CheckRefusal(event.status());
    pending_[call] = [](const hub::Reply& reply) {
      if (!rpc::IsAnswer(reply)) return;  // the call's own status says it all
      Response response;
      const absl::Status filled = rpc::FillResponse(reply, response);
      TH_CHECK(!absl::IsInternal(filled));
    };
    Apply(*event);
  }

  void Apply(const hub::Event& event) {
    hub::Effects effects;
    hub_->Apply(event, now_, effects);
    for (const hub::Effect& effect : effects) {
      std::visit([this](const auto& one) { this->Carry(one); }, effect);
    }
    hub_->CheckInvariants();
    for (const hub::PlanMade& made : std::exchange(plans_, {})) Apply(made);
  }

  void Carry(const hub::Reply& reply) {
    if (cancelled_.erase(reply.call) != 0) return;  // not wanted, but allowed
    const auto call = pending_.find(reply.call);
    TH_CHECK(call != pending_.end());
    call->second(reply);
    pending_.erase(call);
    if (const auto* decision = std::get_if<hub::FetchDecision>(&reply.payload)) {
      Know(decision->publication);
      Know(decision->transaction);
    }
    if (const auto* published = std::get_if<hub::PublishReply>(&reply.payload)) {
      Know(published->publication);
    }
  }
  void Carry(const hub::Directive& directive) {
    TH_CHECK(sessions_.contains(directive.session));
    TH_CHECK(rpc::ToProto(directive, identity_).ByteSizeLong() > 0);
  }
  void Carry(const hub::CloseSession& close) { TH_CHECK(sessions_.erase(close.session) == 1); }
  // R6: what is kept is what was said to be.
  void Carry(const hub::Persist& rows) {
    TH_CHECK(!rows.empty());
    hub::Keep(rows, durable_);
  }
  static void Carry(const hub::ModelChange& change) { TH_CHECK(!change.model.empty()); }
  static void Carry(const hub::LogLine& line) {
    TH_CHECK(line.text.find('\n') == std::string::npos);
  }

  void Carry(const hub::PlanWanted& wanted) {
    const auto layouts = [this](const std::vector<Fingerprint>& by_rank) {
      hub::LayoutsByRank found;
      for (const Fingerprint& layout : by_rank) found.push_back(hub_->FindLayout(layout));
      return found;
    };
    plans_.push_back(hub::MakePlan(wanted.plan, layouts(wanted.from), layouts(wanted.to)));
  }

  void Know(const Id128& id) {
    if (ids_.size() < 64) ids_.push_back(id);
  }

  // R8: what is kept is all that it knows; sessions and calls are gone with its process.
  void Restart() {
    hub::HubOptions options = Options();
    options.hub_epoch = ++life_;
    options.seed = life_;  // R1: no two make the same publication
    options.recovering = true;
    options.durable = durable_;
    hub_ = std::make_unique<hub::Hub>(options, now_);
    sessions_.clear();
    pending_.clear();
    cancelled_.clear();
    hub_->CheckInvariants();
  }

  void Advance(TimeMs by) {
    now_ += by;
    Apply(hub::Tick{});
  }

  void End() {
    while (!sessions_.empty()) {
      const hub::SessionId session = *sessions_.begin();
      sessions_.erase(session);
      Apply(hub::SessionClosed{session});
    }
    const TimeMs end = now_ + kDay;
    for (auto next = hub_->NextDeadline(); next && *next < end && !pending_.empty();
         next = hub_->NextDeadline()) {
      now_ = std::max(now_, *next);
      Apply(hub::Tick{});
    }
    TH_CHECK(pending_.empty() || hub_->NextDeadline() >= end);
    for (const hub::ModelView& model : hub_->Models()) {
      static_cast<void>(hub_->Versions(model.model));
      static_cast<void>(hub_->References(model.model, std::nullopt));
    }
    TH_CHECK(hub_->Models().size() <= Options().limits.models);
    TH_CHECK(hub_->Workers(now_).size() <= Options().limits.workers + 1);
  }

  Choices in_;
  TimeMs now_ = 1000;
  std::unique_ptr<hub::Hub> hub_;
  hub::DurableState durable_;
  uint64_t life_ = Options().hub_epoch;
  const ServerIdentity identity_{.store_id = {3, 3}, .epoch = 2};
  std::vector<Id128> ids_;            // that mean something
  std::vector<hub::PlanMade> plans_;  // by a planner that takes its time
  std::set<hub::SessionId> sessions_;
  hub::SessionId last_session_ = 0;
  hub::CallId last_call_ = 0;
  std::map<hub::CallId, std::function<void(const hub::Reply&)>> pending_;
  std::set<hub::CallId> cancelled_;
  uint64_t op_ = 20;
  uint64_t session_number_ = 20;
};

}  // namespace

std::vector<std::string> Seeds() { return RandomSeeds(24, 400); }

void Run(std::string_view input) {
  google::protobuf::SetLogHandler(nullptr);  // it prints what cannot be parsed
  Play(input).Run();
}

}  // namespace tensorhub::fuzz
