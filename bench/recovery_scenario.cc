// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// `recovery`: thousands of workers hold a version; the server is killed and started again on its
// data; every worker opens its next session and reports. How long until the server knows all of
// their references again. A real agent comes back a random moment later, up to its back-off; these
// come as fast as they can, which is the harder case for the server. They know by then that it
// died: noticing that for thousands of connections is work of as many machines, here of the
// server's.

#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "bench/clock.h"
#include "bench/light_fleet.h"
#include "bench/process_facts.h"
#include "bench/scenario.h"
#include "bench/temp_folder.h"
#include "common/grpc_status.h"
#include "common/layout.h"
#include "tensorhub/v1/admin.grpc.pb.h"

namespace tensorhub::bench {
namespace {

constexpr double kSecondsMax = 5;
constexpr std::chrono::seconds kRecoveryPatience{20};

class RecoveryScenario : public Scenario {
 public:
  std::string name() const override { return "recovery"; }
  std::string summary() const override {
    return "How long a server that was killed needs to know its workers' references again.";
  }
  void AddFlags(cli::Command& command) override;
  absl::Status Run(Report& report) override;

 private:
  absl::Status StartHub(const std::string& listen);
  absl::Status BringUp();
  absl::Status Recover();
  absl::StatusOr<uint32_t> References() const;
  void FillReport(Report& report) const;

  TempFolder data_;  // outlives the server
  LightFleet fleet_{1000};
  Layout layout_;

  double start_seconds_ = 0;     // from the start of the process until it listens
  double recovery_seconds_ = 0;  // from then on
  double server_cpu_ = 0;
  uint32_t references_ = 0;
};

void RecoveryScenario::AddFlags(cli::Command& command) {
  fleet_.AddFlags(command, "workers that come back at once");
  command.Example("tensorhub-bench recovery");
  command.Example("tensorhub-bench recovery --workers 10000 --lease 30s --per-connection 100");
}

absl::Status RecoveryScenario::StartHub(const std::string& listen) {
  return fleet_.StartHub(listen, {"--data-dir", data_.path().string()});
}

absl::Status RecoveryScenario::BringUp() {
  absl::StatusOr<Layout> layout =
      Layout::Make({{.name = "w", .dtype = DType::kBF16, .shape = {1 << 30}, .slice = {}}});
  if (!layout.ok()) return layout.status();
  layout_ = *std::move(layout);
  absl::Status status = data_.Make();
  if (status.ok()) status = StartHub("127.0.0.1:0");
  if (status.ok()) status = fleet_.Publish(layout_);
  return status.ok() ? fleet_.Join(layout_) : status;
}

absl::Status RecoveryScenario::Recover() {
  ShowProgress("the server comes back");
  const std::string address = fleet_.hub().address();
  fleet_.KillHub();
  const Clock::time_point killed = Clock::now();
  if (absl::Status status = StartHub(address); !status.ok()) return status;
  start_seconds_ = SecondsSince(killed);
  const Clock::time_point listening = Clock::now();
  LightWorker& publisher = fleet_.publisher();
  absl::Status status = publisher.OpenNextSession();
  if (status.ok()) status = publisher.PutLayout(layout_);
  if (!status.ok()) return status;
  const Turn back = [](LightWorker& worker, Echo&, const LightWorker::OnCall&) {
    return worker.OpenNextSession();
  };
  status = fleet_.EachOnce(back).status();
  if (!status.ok()) return status;
  const absl::StatusOr<uint32_t> references = References();
  if (!references.ok()) return references.status();
  recovery_seconds_ = SecondsSince(listening);
  server_cpu_ = CpuSecondsOf(fleet_.hub().pid());
  references_ = *references;
  if (references_ == fleet_.count() + 1) return absl::OkStatus();
  return absl::DataLossError(
      absl::StrCat("the server knows ", references_, " references, not ", fleet_.count() + 1));
}

absl::StatusOr<uint32_t> RecoveryScenario::References() const {
  const auto admin = v1::Admin::NewStub(fleet_.publisher().channel());
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kRecoveryPatience);
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
  if (absl::Status status = fleet_.CheckFlags(); !status.ok()) return status;
  absl::Status status = BringUp();
  if (status.ok()) status = Recover();
  fleet_.TakeDown();
  if (status.ok()) FillReport(report);
  return status;
}

}  // namespace

std::unique_ptr<Scenario> MakeRecoveryScenario() { return std::make_unique<RecoveryScenario>(); }

}  // namespace tensorhub::bench
