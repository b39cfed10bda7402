// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// `recovery`: thousands of workers hold a version; the server is killed and started again on its
// data; every worker opens its next session and reports. How long until the server knows all of
// their references again. A real agent comes back a random moment later, up to its back-off; these
// come as fast as they can, which is the harder case for the server.

#include <stdlib.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/grpc_status.h"
#include "common/layout.h"
#include "tensorhub/v1/admin.grpc.pb.h"
#include "tools/bench/load.h"
#include "tools/bench/pairs.h"
#include "tools/bench/process_facts.h"
#include "tools/bench/scenario.h"

namespace tensorhub::bench {
namespace {

constexpr uint32_t kWorkersMax = 10'000;
constexpr uint32_t kCallersMax = 256;
// Of this process and the server together, per worker; an estimate.
constexpr uint64_t kBytesPerWorker = 256 << 10;
constexpr uint64_t kOtherFiles = 256;
constexpr double kSecondsMax = 5;
constexpr std::chrono::seconds kPatience{20};

using Clock = std::chrono::steady_clock;

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

class RecoveryScenario : public Scenario {
 public:
  ~RecoveryScenario() override {
    std::error_code error;
    if (!data_.empty()) std::filesystem::remove_all(data_, error);
  }
  std::string name() const override { return "recovery"; }
  std::string summary() const override {
    return "How long a server that was killed needs to know its workers' references again.";
  }
  void AddFlags(cli::Command& command) override;
  absl::Status Run(Report& report) override;

 private:
  absl::Status CheckFlags();
  absl::Status MakeData();
  absl::Status StartHub(const std::string& listen);
  absl::Status BringUp();
  absl::Status Recover();
  absl::StatusOr<uint32_t> References() const;
  void FillReport(Report& report) const;

  uint32_t workers_count_ = 1000;
  uint32_t callers_ = 16;
  std::chrono::milliseconds lease_{5000};

  std::string data_;
  Layout layout_;
  std::unique_ptr<Hub> hub_;
  std::unique_ptr<LightWorker> publisher_;
  LightWorkers workers_;
  std::unique_ptr<Pulse> pulse_;  // ends before the workers do

  double start_seconds_ = 0;     // from the start of the process until it listens
  double recovery_seconds_ = 0;  // from then on
  double server_cpu_ = 0;
  uint32_t references_ = 0;
};

void RecoveryScenario::AddFlags(cli::Command& command) {
  command.Flag("workers", &workers_count_, "workers, each with a connection and a session");
  command.Flag("callers", &callers_, "workers that come back at once");
  command.Flag("lease", &lease_, "the server's; workers beat five times in it");
  command.Example("tensorhub-bench recovery");
  command.Example("tensorhub-bench recovery --workers 10000 --lease 30s");
}

absl::Status RecoveryScenario::CheckFlags() {
  if (workers_count_ < 1 || workers_count_ > kWorkersMax) {
    return absl::InvalidArgumentError(absl::StrFormat("--workers: give 1 to %d", kWorkersMax));
  }
  if (callers_ < 1 || callers_ > kCallersMax) {
    return absl::InvalidArgumentError(absl::StrFormat("--callers: give 1 to %d", kCallersMax));
  }
  if (lease_ < std::chrono::seconds(1) || lease_ > std::chrono::hours(1)) {
    return absl::InvalidArgumentError("--lease: give a duration between 1s and 1h");
  }
  callers_ = std::min(callers_, workers_count_);
  const uint64_t needed = workers_count_ * kBytesPerWorker;
  if (needed > AvailableMemoryBytes()) {
    return absl::ResourceExhaustedError(absl::StrFormat(
        "%d MiB of memory are needed, %d MiB are available; give a smaller --workers", needed >> 20,
        AvailableMemoryBytes() >> 20));
  }
  return AllowOpenFiles(workers_count_ + kOtherFiles);
}

absl::Status RecoveryScenario::MakeData() {
  std::string pattern =
      (std::filesystem::temp_directory_path() / "tensorhub-bench.XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) {
    return absl::ResourceExhaustedError(absl::StrCat("no temporary folder ", pattern));
  }
  data_ = pattern;
  absl::StatusOr<Layout> layout =
      Layout::Make({{.name = "w", .dtype = DType::kBF16, .shape = {1 << 30}, .slice = {}}});
  if (!layout.ok()) return layout.status();
  layout_ = *std::move(layout);
  return absl::OkStatus();
}

absl::Status RecoveryScenario::StartHub(const std::string& listen) {
  absl::StatusOr<std::unique_ptr<Hub>> hub =
      Hub::Start([](const Child::Options& process) { return process; }, listen,
                 {"--data-dir", data_, "--lease", absl::StrCat(lease_.count(), "ms")});
  if (!hub.ok()) return hub.status();
  hub_ = *std::move(hub);
  return absl::OkStatus();
}

absl::Status RecoveryScenario::BringUp() {
  publisher_ = std::make_unique<LightWorker>(hub_->address(), "trainer", 0);
  for (uint32_t i = 1; i <= workers_count_; ++i) {
    workers_.push_back(
        std::make_unique<LightWorker>(hub_->address(), absl::StrFormat("worker%05d", i), i));
  }
  if (absl::Status status = publisher_->OpenSession(); !status.ok()) return status;
  std::vector<LightWorker*> all = {publisher_.get()};
  for (const auto& worker : workers_) all.push_back(worker.get());
  pulse_ = std::make_unique<Pulse>(std::move(all), publisher_->heartbeat());
  if (absl::Status status = publisher_->Publish(layout_); !status.ok()) return status;
  ShowProgress("opening sessions");
  const Turn join = [this](LightWorker& worker, Echo&, const LightWorker::OnCall& on_call) {
    absl::Status status = worker.OpenSession();
    return status.ok() ? worker.Fetch(layout_, on_call) : status;
  };
  return Drive(workers_, {.callers = callers_, .each_once = true}, join).status();
}

absl::Status RecoveryScenario::Recover() {
  ShowProgress("the server comes back");
  const std::string address = hub_->address();
  hub_->Kill();
  hub_.reset();  // once it has ended, its data is free
  const Clock::time_point killed = Clock::now();
  if (absl::Status status = StartHub(address); !status.ok()) return status;
  start_seconds_ = SecondsSince(killed);
  const Clock::time_point listening = Clock::now();
  absl::Status status = publisher_->OpenNextSession();
  if (status.ok()) status = publisher_->PutLayout(layout_);
  if (!status.ok()) return status;
  const Turn back = [](LightWorker& worker, Echo&, const LightWorker::OnCall&) {
    return worker.OpenNextSession();
  };
  status = Drive(workers_, {.callers = callers_, .each_once = true}, back).status();
  if (!status.ok()) return status;
  const absl::StatusOr<uint32_t> references = References();
  if (!references.ok()) return references.status();
  recovery_seconds_ = SecondsSince(listening);
  server_cpu_ = CpuSecondsOf(hub_->pid());
  references_ = *references;
  if (references_ == workers_count_ + 1) return absl::OkStatus();
  return absl::DataLossError(
      absl::StrCat("the server knows ", references_, " references, not ", workers_count_ + 1));
}

absl::StatusOr<uint32_t> RecoveryScenario::References() const {
  const auto admin = v1::Admin::NewStub(publisher_->channel());
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kPatience);
  v1::GetStatusResponse response;
  const grpc::Status status = admin->GetStatus(&context, {}, &response);
  if (!status.ok()) return FromGrpc(status);
  return response.references();
}

void RecoveryScenario::FillReport(Report& report) const {
  report.figures.push_back(BoundFigure("recovery", recovery_seconds_, "s", kSecondsMax));
  report.beside.push_back({"references", static_cast<double>(references_), ""});
  report.beside.push_back({"start", start_seconds_, "s"});
  report.beside.push_back({"server.cpu", server_cpu_, "s"});
  report.notes.emplace_back("all workers and the server share this machine's cores");
}

absl::Status RecoveryScenario::Run(Report& report) {
  absl::Status status = CheckFlags();
  if (status.ok()) status = MakeData();
  if (status.ok()) status = StartHub("127.0.0.1:0");
  if (status.ok()) status = BringUp();
  if (status.ok()) status = Recover();
  ShowProgress("ending sessions");
  pulse_.reset();
  for (const auto& worker : workers_) worker->EndSession();
  workers_.clear();
  publisher_.reset();
  hub_.reset();
  if (status.ok()) FillReport(report);
  return status;
}

}  // namespace

std::unique_ptr<Scenario> MakeRecoveryScenario() { return std::make_unique<RecoveryScenario>(); }

}  // namespace tensorhub::bench
