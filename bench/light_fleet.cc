// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "bench/light_fleet.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bench/process_facts.h"
#include "bench/scenario.h"
#include "worker_agent/hub/channel.h"

namespace tensorhub::bench {
namespace {

constexpr uint32_t kWorkersMax = 10'000;
constexpr uint32_t kCallersMax = 256;
constexpr uint32_t kPerConnectionMax = 500;
// Memory of this process and the server together, per worker; an estimate.
constexpr uint64_t kBytesPerWorker = 256 << 10;
constexpr uint64_t kOtherFiles = 256;

}  // namespace

void LightFleet::AddFlags(cli::Command& command, const std::string& callers_help) {
  command.Flag("workers", &count_, "workers, each with a session");
  command.Flag(
      "per-connection", &per_connection_,
      "workers that share a connection; agents have one each, which costs the caller's side "
      "as much as the server's");
  command.Flag("callers", &callers_, callers_help);
  command.Flag("lease", &lease_, "the server's; workers beat five times in it");
}

absl::Status LightFleet::CheckFlags() {
  if (count_ < 1 || count_ > kWorkersMax) {
    return absl::InvalidArgumentError(absl::StrFormat("--workers: give 1 to %d", kWorkersMax));
  }
  // The server takes a thousand streams from one; each worker has its session, and calls.
  if (per_connection_ < 1 || per_connection_ > kPerConnectionMax) {
    return absl::InvalidArgumentError(
        absl::StrFormat("--per-connection: give 1 to %d", kPerConnectionMax));
  }
  if (callers_ < 1 || callers_ > kCallersMax) {
    return absl::InvalidArgumentError(absl::StrFormat("--callers: give 1 to %d", kCallersMax));
  }
  if (lease_ < std::chrono::seconds(1) || lease_ > std::chrono::hours(1)) {
    return absl::InvalidArgumentError("--lease: give a duration between 1s and 1h");
  }
  callers_ = std::min(callers_, count_);
  const uint64_t needed = count_ * kBytesPerWorker;
  if (needed > AvailableMemoryBytes()) {
    return absl::ResourceExhaustedError(absl::StrFormat(
        "%d MiB of memory are needed, %d MiB are available; give a smaller --workers", needed >> 20,
        AvailableMemoryBytes() >> 20));
  }
  return AllowOpenFiles(count_ + kOtherFiles);
}

absl::Status LightFleet::StartHub(const std::string& listen, std::vector<std::string> flags) {
  flags.insert(flags.end(), {"--lease", absl::StrCat(lease_.count(), "ms")});
  absl::StatusOr<std::unique_ptr<Hub>> hub =
      Hub::Start([](const Child::Options& process) { return process; }, listen, flags);
  if (!hub.ok()) return hub.status();
  hub_ = *std::move(hub);
  return absl::OkStatus();
}

void LightFleet::KillHub() {
  hub_->Kill();
  hub_.reset();
  publisher_->AwaitEnd();
  for (const auto& worker : workers_) worker->AwaitEnd();
}

void LightFleet::MakeWorkers() {
  const auto connect = [this] {
    return agent::MakeHubChannel(hub_->address(), agent::Connection::kOwn);
  };
  publisher_ = std::make_unique<LightWorker>(connect(), "trainer", 0);
  std::shared_ptr<grpc::Channel> channel;
  for (uint32_t i = 1; i <= count_; ++i) {
    if ((i - 1) % per_connection_ == 0) channel = connect();
    workers_.push_back(std::make_unique<LightWorker>(channel, absl::StrFormat("worker%05d", i), i));
  }
}

absl::Status LightFleet::Publish(const Layout& layout) {
  MakeWorkers();
  if (absl::Status status = publisher_->OpenSession(); !status.ok()) return status;
  std::vector<LightWorker*> all = {publisher_.get()};
  for (const auto& worker : workers_) all.push_back(worker.get());
  pulse_ = std::make_unique<Pulse>(std::move(all), publisher_->heartbeat());
  return publisher_->Publish(layout);
}

absl::StatusOr<LoadResult> LightFleet::EachOnce(const Turn& turn) const {
  return Drive(workers_, {.callers = callers_, .each_once = true}, turn);
}

absl::Status LightFleet::Join(const Layout& layout) const {
  ShowProgress("opening sessions");
  const Turn join = [&layout](LightWorker& worker, Echo&, const LightWorker::OnCall& on_call) {
    absl::Status status = worker.OpenSession();
    return status.ok() ? worker.Fetch(layout, on_call) : status;
  };
  return EachOnce(join).status();
}

void LightFleet::TakeDown() {
  ShowProgress("ending sessions");
  pulse_.reset();
  for (const auto& worker : workers_) worker->EndSession();
  workers_.clear();
  publisher_.reset();
  hub_.reset();
}

}  // namespace tensorhub::bench
