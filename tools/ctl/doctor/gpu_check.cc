// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tools/ctl/doctor/gpu_check.h"

#include <cstdlib>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "tools/ctl/units.h"

namespace tensorhub::ctl {
namespace {

constexpr char kNoGpu[] = "there is no GPU for this process";
constexpr char kUcxWithCuda[] =
    "build with a UCX >= 1.19 that has CUDA in it (tools/gpu/get_ucx.sh fetches one; "
    "-Ducx_ROOT=…; docs/gpu.md)";
constexpr char kInstallDriver[] =
    "install NVIDIA's driver 525 or newer; containers: run them with the GPUs (--gpus all) and see "
    "CUDA_VISIBLE_DEVICES";
constexpr char kPlainAllocations[] =
    "set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:False,backend:native before the process "
    "starts, or registering warns and peers read through host memory";

std::string AllocatorSetting() {
  for (const char* name : {"PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF"}) {
    const char* const value = std::getenv(name);
    if (value != nullptr && value[0] != '\0') return value;
  }
  return "";
}

Finding Skipped(const char* check) { return {check, Verdict::kSkipped, kNoGpu}; }

}  // namespace

GpuFacts LookAtGpus(const absl::StatusOr<agent::CudaDriver*>& driver) {
  GpuFacts facts;
  facts.allocator = AllocatorSetting();
  facts.status = driver.status();
  if (!driver.ok()) return facts;
  facts.driver_version = (*driver)->Version();
  const absl::StatusOr<int> count = (*driver)->DeviceCount();
  facts.status = count.status();
  for (int ordinal = 0; ordinal < count.value_or(0); ++ordinal) {
    const absl::StatusOr<agent::CudaDevice> device = (*driver)->Device(ordinal);
    facts.status.Update(device.status());
    if (device.ok()) facts.devices.push_back(*device);
  }
  return facts;
}

Finding JudgeDriver(const GpuFacts& gpus, const MachineFacts& machine) {
  Finding finding{"gpu driver", Verdict::kOk, ""};
  if (gpus.status.ok()) {
    finding.detail =
        absl::StrFormat("CUDA %d.%d, %d devices", gpus.driver_version / 1000,
                        gpus.driver_version % 1000 / 10, static_cast<int>(gpus.devices.size()));
    return finding;
  }
  finding.detail = std::string(gpus.status.message());
  // A machine without GPUs lacks nothing.
  if (!machine.nvidia_devices && absl::IsUnavailable(gpus.status)) {
    finding.verdict = Verdict::kSkipped;
    return finding;
  }
  if (!machine.nvidia_devices && !agent::BuiltWithCuda()) {
    finding.verdict = Verdict::kSkipped;
    return finding;
  }
  finding.verdict = Verdict::kFailed;
  finding.remedy = agent::BuiltWithCuda()
                       ? kInstallDriver
                       : "build TensorHub where CUDA's toolkit is (-DTENSORHUB_CUDA=ON)";
  return finding;
}

std::vector<Finding> JudgeDevices(const GpuFacts& gpus, const MachineFacts& machine) {
  using Ordering = agent::CudaDevice::WritesOrdering;
  std::vector<Finding> findings;
  for (const agent::CudaDevice& device : gpus.devices) {
    Finding finding{absl::StrCat("gpu ", findings.size()), Verdict::kOk, ""};
    finding.detail =
        absl::StrFormat("%s, %s, at %s, compute %d.%d%s", device.name,
                        HumanBytes(device.memory_bytes), device.pci_bus_id, device.compute_major,
                        device.compute_minor, device.gpu_direct_rdma ? ", reachable by RDMA" : "");
    const bool flushed = device.writes_ordering == Ordering::kAllDevices || device.flush_by_host;
    if (machine.rdma_devices && device.gpu_direct_rdma && !flushed) {
      finding.verdict = Verdict::kWarning;
      finding.detail += "; a network card's writes into it can be neither ordered nor flushed";
      finding.remedy = "leave RDMA out there: UCX_TLS=cuda,sm,self";
    } else if (machine.rdma_devices && device.gpu_direct_rdma && !machine.peer_memory) {
      finding.verdict = Verdict::kWarning;
      finding.detail += "; the kernel has no nvidia_peermem, so only DMA-BUF can register it";
      finding.remedy = "modprobe nvidia_peermem, unless UCX and the kernel (>= 5.12) have DMA-BUF";
    }
    findings.push_back(std::move(finding));
  }
  return findings;
}

// What the process that registers tensors is given decides; this one's environment is often its.
Finding JudgeAllocator(const GpuFacts& gpus) {
  if (gpus.devices.empty()) return Skipped("gpu allocator");
  Finding finding{"gpu allocator", Verdict::kOk, ""};
  const std::string_view setting = gpus.allocator;
  for (const char* unshared : {"expandable_segments:True", "backend:cudaMallocAsync"}) {
    if (setting.find(unshared) == std::string_view::npos) continue;
    finding.verdict = Verdict::kWarning;
    finding.detail =
        absl::StrCat("PyTorch is told ", unshared, ": other processes cannot map such memory");
    finding.remedy = kPlainAllocations;
    return finding;
  }
  finding.detail = setting.empty()
                       ? "nothing asks PyTorch for memory that cannot be shared"
                       : absl::StrCat("PyTorch is told ", gpus.allocator, ", which can be shared");
  return finding;
}

Finding JudgeUcxForGpus(const absl::StatusOr<agent::UcxFacts>& ucx, const GpuFacts& gpus,
                        const MachineFacts& machine) {
  if (gpus.devices.empty() || !ucx.ok()) return Skipped("ucx, gpu");
  Finding finding{"ucx, gpu", Verdict::kOk, ""};
  std::vector<std::string> reading;
  for (const char* transport : {"cuda_ipc", "rc_mlx5", "rc_verbs", "dc_mlx5"}) {
    if (ucx->Has(transport)) reading.emplace_back(transport);
  }
  if (!ucx->cuda || !ucx->IsAtLeast(1, 19)) {
    finding.verdict = Verdict::kFailed;
    finding.detail = ucx->cuda ? absl::StrCat("UCX ", ucx->version, " is older than 1.19")
                               : absl::StrCat("UCX ", ucx->version, " does not see device memory");
    finding.remedy = kUcxWithCuda;
    return finding;
  }
  if (!ucx->Has("cuda_ipc")) {
    finding.verdict = Verdict::kFailed;
    finding.detail =
        "UCX sees device memory, but has no cuda_ipc, by which processes of a host read";
    finding.remedy = "unset UCX_TLS, or add cuda to it; see that UCX's modules are where it looks";
    return finding;
  }
  finding.detail =
      absl::StrCat("device memory is seen, and read by ", absl::StrJoin(reading, ", "));
  if (machine.rdma_devices && reading.size() == 1) {
    finding.verdict = Verdict::kWarning;
    finding.detail += "; there is RDMA here, which this UCX lacks";
    finding.remedy =
        "use a UCX with verbs (docs/gpu.md): reads between hosts go through host "
        "memory until then";
  }
  return finding;
}

}  // namespace tensorhub::ctl
