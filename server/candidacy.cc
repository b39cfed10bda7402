// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "server/candidacy.h"

#include <spdlog/spdlog.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/thread.h"
#include "server/signals.h"
#include "server/store/etcd/etcd_election.h"

namespace tensorhub {
namespace {

// What a commit that is under way may take when the server is told to end.
constexpr std::chrono::seconds kHurry{5};

absl::Status CheckFiles(const tls::Files& files) {
  const absl::Status status = tls::Load(files, tls::Side::kClient, tls::SecondsNow()).status();
  if (status.ok()) return status;
  return absl::Status(status.code(),
                      absl::StrCat("--store-tls-*: ", std::string(status.message())));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Candidacy>> Candidacy::Start(const Flags& flags,
                                                            const ListenAddress& listen,
                                                            const rpc::Guard::Options& guard) {
  if (absl::Status status = CheckFiles(flags.store_tls); !status.ok()) return status;
  absl::StatusOr<std::unique_ptr<rpc::StandbyServer>> standby =
      rpc::StandbyServer::Start(listen, guard);
  if (!standby.ok()) return standby.status();
  std::unique_ptr<Candidacy> candidacy(new Candidacy(flags, *std::move(standby)));
  absl::StatusOr<std::thread> campaign =
      StartThread("the election", [self = candidacy.get()] { self->Run(); });
  if (!campaign.ok()) return campaign.status();
  candidacy->campaign_ = *std::move(campaign);
  return candidacy;
}

Candidacy::Candidacy(const Flags& flags, std::unique_ptr<rpc::StandbyServer> standby)
    : standby_(std::move(standby)),
      listen_(standby_->address()),
      address_(flags.advertise.empty() ? listen_.ToString() : flags.advertise),
      election_(std::make_unique<store::EtcdElection>(
          store::EtcdElection::Options{
              .place = *flags.etcd,
              .tls = flags.store_tls,
              .name = flags.hub_name,
              .address = address_,
              .version = TENSORHUB_VERSION,
              .lease = std::chrono::duration_cast<std::chrono::seconds>(flags.leader_lease)},
          store::Election::Listener{.on_leader = [this](const auto& leader) { NoteLeader(leader); },
                                    .on_doubt = [this](bool doubt) { NoteDoubt(doubt); },
                                    .on_lost = [](const absl::Status& why) { EndFor(why); }})),
      deathwatch_([this](const store::Leader& leader) { election_->Depose(leader); }) {}

Candidacy::~Candidacy() {
  {
    MutexLock lock(mutex_);
    ends_ = true;
    wake_.NotifyAll();
  }
  election_->Stop();
  if (campaign_.joinable()) campaign_.join();
  if (hurry_.joinable()) hurry_.join();
}

void Candidacy::Run() {
  absl::Status status = election_->Prepare();
  if (status.ok()) status = election_->Campaign();
  if (absl::IsCancelled(status)) return;
  if (!status.ok()) return EndFor(status);
  election_->Hold();
  deathwatch_.Watch(std::nullopt);
  TellElected();
}

void Candidacy::NoteLeader(const std::optional<store::Leader>& leader) {
  const store::Leader known = leader.value_or(store::Leader{});
  deathwatch_.Watch(leader);
  standby_->SetLeader(known.address, {known.store_id, known.epoch});
  if (leader) {
    spdlog::info("standing by: the server at {} leads (version {}, epoch {})", leader->address,
                 leader->version, leader->epoch);
  } else {
    spdlog::info("standing by: nobody leads");
  }
}

void Candidacy::NoteDoubt(bool doubt) {
  if (doubt) {
    spdlog::warn(
        "the lease of the lead could not be renewed in time: another server may lead by now; what "
        "needs nothing to be kept goes on");
  } else {
    spdlog::info("the lease of the lead is renewed");
  }
  MutexLock lock(mutex_);
  doubted_ = doubt;
  if (shown_ != nullptr) shown_->SetDoubted(doubt);
}

void Candidacy::Show(rpc::RpcServer* server) {
  MutexLock lock(mutex_);
  shown_ = server;
  if (shown_ != nullptr && doubted_) shown_->SetDoubted(true);
}

void Candidacy::Hurry() {
  absl::StatusOr<std::thread> hurry = StartThread("the end", [this] { StopLater(); });
  hurry.ok() ? void(hurry_ = *std::move(hurry)) : election_->Stop();
}

void Candidacy::StopLater() {
  const auto until = std::chrono::steady_clock::now() + kHurry;
  {
    MutexLock lock(mutex_);
    while (!ends_ && wake_.WaitUntil(mutex_, until)) continue;
    if (ends_) return;
  }
  election_->Stop();
}

}  // namespace tensorhub
