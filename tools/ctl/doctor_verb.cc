// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// doctor: whether this machine and the server are fit for an agent, and what to do where not.

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/ids.h"
#include "common/tls/certificates.h"
#include "tools/ctl/admin_client.h"
#include "tools/ctl/doctor/gpu_check.h"
#include "tools/ctl/doctor/idle_read.h"
#include "tools/ctl/doctor/machine.h"
#include "tools/ctl/doctor/network_check.h"
#include "tools/ctl/doctor/ucx_check.h"
#include "tools/ctl/units.h"
#include "tools/ctl/verbs.h"
#include "worker_agent/ucx/ucx_log.h"

namespace tensorhub::ctl {
namespace {

// Long against the time that mapping it takes, short for any machine.
constexpr uint64_t kIdleReadBytes = uint64_t{16} << 20;

Finding JudgeServer(const absl::StatusOr<v1::GetStatusResponse>& status, const Globals& globals,
                    double seconds) {
  Finding finding{"server", Verdict::kOk, ""};
  if (!status.ok()) {
    finding.verdict = Verdict::kFailed;
    finding.detail = std::string(status.status().message());
    finding.remedy = absl::StartsWith(finding.detail, "no server answers")
                         ? "start tensorhub-server there, or name the one that runs with --server"
                         : "do what it says, with --tls-ca, --tls-cert, --tls-key or --token-file";
    return finding;
  }
  finding.detail = absl::StrCat(globals.server, " answers in ", HumanSeconds(seconds), ", version ",
                                status->server_version());
  if (status->server_version() != TENSORHUB_VERSION) {
    finding.verdict = Verdict::kWarning;
    absl::StrAppend(&finding.detail, ", this is " TENSORHUB_VERSION);
    finding.remedy = "use one version throughout";
  }
  return finding;
}

Finding JudgeStore(const absl::StatusOr<v1::GetStatusResponse>& status) {
  Finding finding{"store", Verdict::kSkipped, "no server to ask"};
  if (!status.ok()) return finding;
  const std::optional<Id128> id = FromBytes(status->store_id());
  if (!id || !*id) {
    finding.verdict = Verdict::kWarning;
    finding.detail = "the server keeps nothing: what was newest is forgotten when it ends";
    finding.remedy = "start the server with --data-dir";
    return finding;
  }
  finding.verdict = Verdict::kOk;
  finding.detail = absl::StrCat(ToHex(*id), ", epoch ", status->epoch(), ", in ",
                                status->data_dir(), status->recovering() ? "; recovering" : "");
  return finding;
}

// Several servers: whether the one that was asked leads, or knows who does.
Finding JudgeRole(const absl::StatusOr<v1::GetStatusResponse>& status) {
  Finding finding{"role", Verdict::kSkipped, "no server to ask"};
  if (!status.ok()) return finding;
  finding.verdict = Verdict::kOk;
  finding.detail = status->role().empty() ? "the only server" : status->role();
  if (status->doubted()) {
    finding.verdict = Verdict::kWarning;
    finding.detail += ", and could not renew its lease in time: nothing new is decided";
    finding.remedy = "see whether etcd answers, and has room";
  } else if (status->role() == "standby" && status->leader().empty()) {
    finding.verdict = Verdict::kWarning;
    finding.detail += ", and nobody is known to lead";
    finding.remedy = "look at the servers' logs: who has no etcd says so";
  } else if (status->role() == "standby") {
    absl::StrAppend(&finding.detail, "; the one at ", status->leader(), " leads");
  }
  return finding;
}

// The server's certificate, ahead of its end, and what it could not reload.
Finding JudgeSecurity(const absl::StatusOr<v1::GetStatusResponse>& status, int64_t now) {
  Finding finding{"security", Verdict::kSkipped, "no server to ask"};
  if (!status.ok()) return finding;
  finding.verdict = Verdict::kOk;
  finding.detail = status->security().empty() ? "plain" : status->security();
  if (status->certificate_ends() == 0) return finding;
  absl::StrAppend(&finding.detail, "; the certificate of ", status->certificate(), " ends at ",
                  tls::ShownTime(status->certificate_ends()));
  if (status->reloads_failed() > 0) {
    finding.verdict = Verdict::kWarning;
    absl::StrAppend(&finding.detail, "; ", status->reloads_failed(), " reloads failed");
    finding.remedy = "look at the server's log, mend the files, and send it SIGHUP";
  }
  constexpr int64_t kSoonSeconds = 7 * 24 * 3600;
  if (now + kSoonSeconds < status->certificate_ends()) return finding;
  finding.verdict = Verdict::kWarning;
  finding.remedy = "renew the server's certificate, unless something does so by itself";
  return finding;
}

void LookAtServer(const Globals& globals, std::vector<Finding>& findings) {
  AdminClient admin(globals.server, globals.connect_timeout);
  const auto start = std::chrono::steady_clock::now();
  const absl::StatusOr<v1::GetStatusResponse> status = admin.GetStatus();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  findings.push_back(JudgeServer(status, globals, took.count()));
  findings.push_back(JudgeSecurity(status, tls::SecondsNow()));
  findings.push_back(JudgeStore(status));
  findings.push_back(JudgeRole(status));
}

void ExamineGpus(const absl::StatusOr<agent::UcxFacts>& ucx, const MachineFacts& machine,
                 std::vector<Finding>& findings) {
  const absl::StatusOr<agent::CudaDriver*> driver = agent::OpenCudaDriver();
  const GpuFacts gpus = LookAtGpus(driver);
  findings.push_back(JudgeDriver(gpus, machine));
  for (Finding& finding : JudgeDevices(gpus, machine)) findings.push_back(std::move(finding));
  findings.push_back(JudgeAllocator(gpus));
  findings.push_back(JudgeUcxForGpus(ucx, gpus, machine));
  if (gpus.devices.empty()) return;
  findings.push_back(JudgeDeviceRead(ReadDeviceMemoryOfIdleProcess(*driver, 0, kIdleReadBytes)));
}

void LookAtHost(std::vector<Finding>& findings) {
  const MachineFacts machine = LookAtMachine();
  const absl::StatusOr<agent::UcxFacts> ucx = agent::LookAtUcx();
  findings.push_back(JudgeUcx(ucx, machine));
  findings.push_back(JudgeUcxAddress(ucx));
  const char* const choice = std::getenv("TENSORHUB_DATA_ADDRESS");
  findings.push_back(JudgeNetworks(agent::ListNetworks(), choice == nullptr ? "" : choice));
  findings.push_back(JudgeSharedMemory(machine));
  findings.push_back(JudgeLockedMemory(machine));
  findings.push_back(JudgeHostRead(ReadHostMemoryOfIdleProcess(kIdleReadBytes)));
  ExamineGpus(ucx, machine, findings);
}

Cell OptionalCell(const std::string& text) { return text.empty() ? NoCell() : TextCell(text); }

absl::Status Examine(const Globals& globals, bool offline) {
  agent::SilenceUcx();
  std::vector<Finding> findings;
  if (!offline) LookAtServer(globals, findings);
  LookAtHost(findings);
  Table table(
      "checks",
      {{"check", "CHECK"}, {"result", "RESULT"}, {"detail", "DETAIL"}, {"remedy", "REMEDY"}}, "");
  for (const Finding& finding : findings) {
    table.AddRow({TextCell(finding.check), TextCell(std::string(ToString(finding.verdict))),
                  TextCell(finding.detail), OptionalCell(finding.remedy)});
  }
  table.Print(globals.format(), std::cout);
  const auto failed = std::count_if(findings.begin(), findings.end(), [](const Finding& finding) {
    return finding.verdict == Verdict::kFailed;
  });
  if (failed == 0) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(failed, " of ", findings.size(), " checks failed; each says what to do"));
}

}  // namespace

void AddDoctorVerb(Verbs& verbs) {
  auto offline = std::make_shared<bool>(false);
  verbs
      .Add("doctor", "Looks for what is wrong with this machine, and with the way to the server.",
           [offline](const Globals& globals) { return Examine(globals, *offline); })
      .Flag("offline", offline.get(), "leaves the server out");
}

}  // namespace tensorhub::ctl
