// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "server/store/etcd/etcd_election.h"

#include <spdlog/spdlog.h>
#include <time.h>

#include <optional>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/random.h"
#include "common/text.h"
#include "common/thread.h"
#include "server/store/etcd/kept.pb.h"

namespace tensorhub::store {
namespace {

using Millis = std::chrono::milliseconds;

constexpr char kIdFormat[] = "tensorhub ";
// So often a standby looks itself, whatever the watch says.
constexpr Millis kLookEvery{1000};
// What one member has to renew a lease.
constexpr Millis kRenewPatience{300};
constexpr int kRenewalsPerLease = 6;

// It goes on while the machine sleeps, as the lease does.
Millis BootTime() {
  timespec now = {};
  clock_gettime(CLOCK_BOOTTIME, &now);
  return std::chrono::duration_cast<Millis>(std::chrono::seconds(now.tv_sec) +
                                            std::chrono::nanoseconds(now.tv_nsec));
}

const etcd::KeyValue* OnlyPair(const etcd::TxnResponse& look, int index) {
  if (index >= look.responses_size()) return nullptr;
  const etcd::RangeResponse& range = look.responses(index).response_range();
  return range.kvs_size() == 1 ? &range.kvs(0) : nullptr;
}

// None: no server wrote it.
std::optional<int> SchemaOf(const etcd::KeyValue* pair) {
  int number = 0;
  const bool known = pair != nullptr && absl::SimpleAtoi(pair->value(), &number) && number > 0;
  return known ? std::optional(number) : std::nullopt;
}

absl::Status NotOurs(const EtcdPlace& place, const std::string& why) {
  return absl::FailedPreconditionError(
      absl::StrCat("--store ", place.ToString(), ": ", why, "; name another prefix"));
}

}  // namespace

EtcdElection::EtcdElection(Options options, Listener listener)
    : options_(std::move(options)),
      listener_(std::move(listener)),
      keys_(options_.place.prefix),
      client_(
          {.endpoints = options_.place.endpoints, .tls = options_.tls, .patience = kRenewPatience}),
      for_store_({.endpoints = options_.place.endpoints, .tls = options_.tls}) {}

EtcdElection::~EtcdElection() {
  Stop();
  if (thread_.joinable()) thread_.join();
}

void EtcdElection::Stop() {
  client_.Stop();
  for_store_.Stop();
}

// --- the place -------------------------------------------------------------------------------

absl::StatusOr<etcd::TxnResponse> EtcdElection::Patiently(const etcd::TxnRequest& request) {
  absl::StatusOr<etcd::TxnResponse> response;
  const absl::Status status = client_.Repeat(options_.place.ToString(), [&] {
    response = client_.Txn(request);
    return response.status();
  });
  if (!status.ok()) return status;
  return response;
}

// A prefix inside another hub's would mix the rows of both.
absl::Status EtcdElection::CheckAround() {
  const std::string& prefix = options_.place.prefix;
  for (size_t slash = prefix.find('/'); slash != std::string::npos;
       slash = prefix.find('/', slash + 1)) {
    const std::string around = prefix.substr(0, slash);
    etcd::TxnRequest request;
    *request.add_success() = ReadOp(EtcdKeys(around).Id());
    const absl::StatusOr<etcd::TxnResponse> look = Patiently(request);
    if (!look.ok()) return look.status();
    if (OnlyPair(*look, 0) != nullptr) {
      return NotOurs(options_.place,
                     absl::StrCat("it lies inside the prefix of another hub, ", Shown(around)));
    }
  }
  return absl::OkStatus();
}

absl::Status EtcdElection::CheckPlace(const etcd::TxnResponse& look) {
  const etcd::KeyValue* id = OnlyPair(look, 0);
  const etcd::KeyValue* schema = OnlyPair(look, 1);
  const std::string text = id == nullptr ? "" : id->value();
  const std::optional<Id128> store =
      text.starts_with(kIdFormat) ? ParseHex(text.substr(sizeof(kIdFormat) - 1)) : std::nullopt;
  const std::optional<int> number = SchemaOf(schema);
  if (!store || !*store || !number) {
    return NotOurs(options_.place, absl::StrCat("what is there is no hub's (", Shown(keys_.Id()),
                                                " is ", Shown(text), ")"));
  }
  store_id_ = *store;
  return CheckSchema(*number);
}

// What a newer server keeps, this one would not read, or would drop.
absl::Status EtcdElection::CheckSchema(int schema) const {
  if (schema <= kEtcdSchema) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("--store ", options_.place.ToString(), ": it has schema ", schema,
                   ", this tensorhub-server knows ", kEtcdSchema,
                   ": start the newer version that wrote it, or name another prefix"));
}

// Several servers may do so at the same time: one of them does.
absl::Status EtcdElection::MakePlace() {
  const Id128 id = Random(RandomSeed()).NextId();
  etcd::TxnRequest request;
  *request.add_compare() = MadeAt(keys_.Id(), 0);
  *request.add_success() = PutOp(keys_.Id(), absl::StrCat(kIdFormat, ToHex(id)));
  *request.add_success() = PutOp(keys_.Schema(), absl::StrCat(kEtcdSchema));
  *request.add_success() = PutOp(keys_.Epoch(), "0");
  if (!options_.name.empty()) *request.add_success() = PutOp(keys_.Name(), options_.name);
  return Patiently(request).status();
}

// Two clusters that were given one prefix by mistake would stand by for each other. A hub that has
// no name yet gets the one that is asked for.
absl::Status EtcdElection::CheckName(const std::string& name) const {
  if (options_.name.empty() || name == options_.name) return absl::OkStatus();
  return NotOurs(options_.place, absl::StrCat("it is the prefix of the hub ", Shown(name),
                                              ", and --hub-name says ", Shown(options_.name)));
}

absl::Status EtcdElection::GiveName() {
  etcd::TxnRequest request;
  *request.add_compare() = MadeAt(keys_.Name(), 0);
  *request.add_success() = PutOp(keys_.Name(), options_.name);
  return Patiently(request).status();
}

absl::Status EtcdElection::LookAround() {
  etcd::TxnRequest request;
  *request.add_success() = ReadOp(keys_.Id());
  *request.add_success() = ReadOp(keys_.Schema());
  etcd::RangeRequest* any = request.add_success()->mutable_request_range();
  any->set_key(keys_.all());
  any->set_range_end(AfterAll(keys_.all()));
  any->set_limit(1);
  any->set_keys_only(true);
  *request.add_success() = ReadOp(keys_.Name());
  for (int tries = 0; tries < 3; ++tries) {
    const absl::StatusOr<etcd::TxnResponse> look = Patiently(request);
    if (!look.ok()) return look.status();
    if (OnlyPair(*look, 0) != nullptr) {
      const absl::Status status = CheckPlace(*look);
      if (!status.ok() || options_.name.empty()) return status;
      if (const etcd::KeyValue* name = OnlyPair(*look, 3)) return CheckName(name->value());
      if (absl::Status named = GiveName(); !named.ok()) return named;
      continue;
    }
    if (const etcd::KeyValue* other = OnlyPair(*look, 2)) {
      return NotOurs(options_.place,
                     absl::StrCat("what is there is no hub's (", Shown(other->key()), ")"));
    }
    if (absl::Status status = MakePlace(); !status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status EtcdElection::Prepare() {
  const absl::Status status = CheckAround();
  return status.ok() ? LookAround() : status;
}

// --- the election ----------------------------------------------------------------------------

absl::StatusOr<EtcdElection::Seen> EtcdElection::LookAtLeader() {
  etcd::TxnRequest request;
  *request.add_success() = ReadOp(keys_.Leader());
  *request.add_success() = ReadOp(keys_.Epoch());
  *request.add_success() = ReadOp(keys_.Schema());
  const absl::StatusOr<etcd::TxnResponse> look = client_.Txn(request);
  if (!look.ok()) return look.status();
  Seen seen;
  seen.revision = look->header().revision();
  const etcd::KeyValue* epoch = OnlyPair(*look, 1);
  if (epoch == nullptr || !absl::SimpleAtoi(epoch->value(), &seen.epoch)) {
    return DamagedKey(keys_.Epoch());
  }
  seen.epoch_changed_at = epoch->mod_revision();
  const etcd::KeyValue* schema = OnlyPair(*look, 2);
  const std::optional<int> number = SchemaOf(schema);
  if (!number) return DamagedKey(keys_.Schema());
  seen.schema = *number;
  seen.schema_changed_at = schema->mod_revision();
  if (const etcd::KeyValue* leader = OnlyPair(*look, 0)) {
    kept::Leader message;
    // R9: of what is not readable, nobody is told.
    if (!message.ParseFromString(leader->value())) message.Clear();
    seen.leader = Leader{message.address(), message.version(), store_id_, message.epoch(),
                         leader->create_revision()};
    seen.leader_lease = leader->lease();
  }
  return seen;
}

void EtcdElection::Tell(const std::optional<Leader>& leader) {
  if (told_any_ && told_ == leader) return;
  told_any_ = true;
  told_ = leader;
  if (listener_.on_leader) listener_.on_leader(leader);
}

// The form of the rows is raised with the lead: older servers that stand by see it, and end.
etcd::TxnRequest EtcdElection::Candidacy(const Seen& seen) const {
  kept::Leader self;
  self.set_address(options_.address);
  self.set_version(options_.version);
  self.set_epoch(seen.epoch + 1);
  etcd::TxnRequest request;
  *request.add_compare() = MadeAt(keys_.Leader(), 0);
  *request.add_compare() = ChangedAt(keys_.Epoch(), seen.epoch_changed_at);
  *request.add_success() = PutOp(keys_.Leader(), self.SerializeAsString());
  request.mutable_success(0)->mutable_request_put()->set_lease(lease_);
  *request.add_success() = PutOp(keys_.Epoch(), absl::StrCat(seen.epoch + 1));
  *request.add_compare() = ChangedAt(keys_.Schema(), seen.schema_changed_at);
  if (seen.schema < kEtcdSchema) {
    *request.add_success() = PutOp(keys_.Schema(), absl::StrCat(kEtcdSchema));
  }
  return request;
}

// True: this server leads, or it is not known: the next look finds the key with this lease.
absl::StatusOr<bool> EtcdElection::TryToLead(const Seen& seen) {
  etcd::LeaseGrantRequest wanted;
  wanted.set_ttl(options_.lease.count());
  renewed_at_ = BootTime();
  const absl::StatusOr<etcd::LeaseGrantResponse> lease = client_.Grant(wanted);
  if (!lease.ok()) return lease.status();
  lease_ = lease->id();
  lease_time_ = std::chrono::seconds(lease->ttl());
  const absl::StatusOr<etcd::TxnResponse> response = client_.Txn(Candidacy(seen));
  if (!response.ok()) return response.status();
  if (!response->succeeded()) client_.Revoke(std::exchange(lease_, 0)).IgnoreError();
  return response->succeeded();
}

// Whether this server leads.
absl::StatusOr<bool> EtcdElection::CampaignOnce() {
  const absl::StatusOr<Seen> seen = LookAtLeader();
  if (!seen.ok()) return seen.status();
  if (absl::Status status = CheckSchema(seen->schema); !status.ok()) return status;
  if (seen->leader && lease_ != 0 && seen->leader_lease == lease_) {
    Lead(*seen);
    return true;
  }
  Tell(seen->leader);
  if (!seen->leader) {
    const absl::StatusOr<bool> leads = TryToLead(*seen);
    return leads.ok() ? absl::StatusOr<bool>(false) : leads.status();  // the next look says it
  }
  const absl::StatusOr<bool> changed =
      client_.AwaitChange(keys_.Leader(), seen->revision + 1, kLookEvery);
  return changed.ok() ? absl::StatusOr<bool>(false) : changed.status();
}

void EtcdElection::Lead(const Seen& seen) {
  lead_ = EtcdLead{{store_id_, seen.epoch}, seen.epoch > 1, seen.leader->term};
  made_at_ = seen.leader->term;
}

// A lease that ended before it was used is had anew.
absl::Status EtcdElection::Campaign() {
  bool leads = false;
  while (!leads) {
    const absl::Status status = client_.Repeat("standing by", [&] {
      const absl::StatusOr<bool> once = CampaignOnce();
      leads = once.ok() && *once;
      return once.status();
    });
    if (!status.ok() && !absl::IsNotFound(status)) return status;
  }
  return absl::OkStatus();
}

void EtcdElection::Depose(const Leader& leader) {
  etcd::TxnRequest request;
  *request.add_compare() = MadeAt(keys_.Leader(), leader.term);
  *request.add_success() = DeleteOp(keys_.Leader());
  const absl::StatusOr<etcd::TxnResponse> response = client_.Txn(request);
  if (response.ok() && response->succeeded()) {
    spdlog::warn("the leader at {} (epoch {}) is dead: its lease is not waited for", leader.address,
                 leader.epoch);
  }
  client_.WakeWaiting();
}

// --- leading ---------------------------------------------------------------------------------

std::unique_ptr<Store> EtcdElection::OpenStore() {
  return std::make_unique<EtcdStore>(for_store_, keys_, *lead_);
}

void EtcdElection::Hold() {
  thread_ = StartThreadOrEnd("the lease", [this] { Run(); });
}

void EtcdElection::Run() {
  while (client_.Pause(lease_time_ / kRenewalsPerLease)) {
    const int64_t made_at = made_at_;
    if (made_at == 0) return;  // resigned
    if (Renew(BootTime())) continue;
    if (made_at_.exchange(0) == 0) return;
    return listener_.on_lost(
        absl::AbortedError("this server does not lead any more: its lease has ended, or another "
                           "server has taken over; "
                           "start it anew, and it stands by"));
  }
}

// False: the lease or the key is gone. The lease alone is not enough: who deposes a leader takes
// away its key.
bool EtcdElection::Renew(Millis now) {
  const absl::StatusOr<int64_t> left = client_.KeepAlive(lease_);
  if (left.ok() && *left <= 0) return false;
  if (absl::IsNotFound(left.status())) return false;
  const absl::StatusOr<Seen> seen = LookAtLeader();
  if (seen.ok() && (!seen->leader || seen->leader->term != made_at_)) return made_at_ == 0;
  if (left.ok()) renewed_at_ = now;
  NoteDoubt(BootTime() - renewed_at_ > lease_time_ - lease_time_ / kRenewalsPerLease);
  return true;
}

void EtcdElection::NoteDoubt(bool doubt) {
  if (std::exchange(doubted_, doubt) == doubt) return;
  if (listener_.on_doubt) listener_.on_doubt(doubt);
}

void EtcdElection::Resign() {
  const int64_t made_at = made_at_.exchange(0);
  if (made_at == 0) return;
  etcd::TxnRequest request;
  *request.add_compare() = MadeAt(keys_.Leader(), made_at);
  *request.add_success() = DeleteOp(keys_.Leader());
  const absl::Status status = client_.Txn(request).status();
  if (!status.ok()) {
    spdlog::warn("the lead could not be given back, the next server waits for its lease: {}",
                 std::string(status.message()));
  }
}

}  // namespace tensorhub::store
