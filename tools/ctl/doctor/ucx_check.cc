// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tools/ctl/doctor/ucx_check.h"

#include "absl/strings/str_cat.h"
#include "common/limits.h"

namespace tensorhub::ctl {
namespace {

constexpr char kNewerUcx[] =
    "build with UCX >= 1.19 (-Ducx_ROOT=…; docs/gpu.md says where to get one)";
constexpr char kOtherTransports[] = "change or unset UCX_TLS";

}  // namespace

Finding JudgeUcx(const absl::StatusOr<agent::UcxFacts>& ucx, const MachineFacts& machine) {
  Finding finding{"ucx", Verdict::kOk, ""};
  if (!ucx.ok()) {
    finding.verdict = Verdict::kFailed;
    finding.detail = std::string(ucx.status().message());
    finding.remedy = "look at the UCX_… variables of the environment; unset those you do not need";
    return finding;
  }
  finding.detail = absl::StrCat(ucx->version, " (", ucx->library,
                                ucx->why.empty() ? "" : absl::StrCat("; ", ucx->why), ") over ",
                                ucx->transports);
  if (machine.nvidia_devices && !ucx->IsAtLeast(1, 19)) {
    finding.verdict = Verdict::kFailed;
    finding.detail += "; memory of GPUs needs 1.19";
    finding.remedy = kNewerUcx;
  } else if (machine.rdma_devices && !ucx->IsAtLeast(1, 19)) {
    finding.verdict = Verdict::kWarning;
    finding.detail += "; there is RDMA here, which it does not use for one-sided reads";
    finding.remedy = kNewerUcx;
  } else if (machine.rdma_devices && !ucx->Has("rc") && !ucx->Has("dc") && !ucx->Has("ud")) {
    finding.verdict = Verdict::kWarning;
    finding.detail += "; there is RDMA here, which none of these uses";
    finding.remedy = kOtherTransports;
  }
  return finding;
}

Finding JudgeUcxAddress(const absl::StatusOr<agent::UcxFacts>& ucx) {
  Finding finding{"ucx address", Verdict::kSkipped, "there is no UCX to ask"};
  if (!ucx.ok()) return finding;
  finding.detail = absl::StrCat(ucx->address_bytes, " of at most ", kEndpointBytesMax, " bytes");
  if (ucx->address_bytes <= kEndpointBytesMax) {
    finding.verdict = Verdict::kOk;
    return finding;
  }
  finding.verdict = Verdict::kFailed;
  finding.remedy = "let UCX use fewer devices: UCX_NET_DEVICES=… names those that it may";
  return finding;
}

}  // namespace tensorhub::ctl
