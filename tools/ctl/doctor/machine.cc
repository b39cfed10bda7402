// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tools/ctl/doctor/machine.h"

#include <sys/resource.h>
#include <sys/statvfs.h>

#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "tools/ctl/units.h"

namespace tensorhub::ctl {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;
// Two for each worker and as much for each neighbour that sends to it; a container that nobody
// asked for more has 64 in all.
constexpr uint64_t kSharedMemoryMin = 16 * kMiB;
constexpr uint64_t kSharedMemoryUsual = 1024 * kMiB;
constexpr char kMoreSharedMemory[] =
    "make /dev/shm larger (mount -o remount,size=…; containers: --ipc=host or --shm-size, in "
    "Kubernetes an emptyDir with medium Memory)";

bool HasEntries(const std::filesystem::path& folder) {
  std::error_code error;
  const std::filesystem::directory_iterator entries(folder, error);
  return !error && entries != std::filesystem::directory_iterator();
}

bool Exists(const std::filesystem::path& path) {
  std::error_code error;
  return std::filesystem::exists(path, error);
}

}  // namespace

MachineFacts LookAtMachine(const std::string& root) {
  const std::filesystem::path top(root);
  MachineFacts facts;
  struct statvfs shm = {};
  if (statvfs((top / "dev/shm").c_str(), &shm) == 0) {
    facts.dev_shm = true;
    facts.dev_shm_bytes = static_cast<uint64_t>(shm.f_blocks) * shm.f_frsize;
    facts.dev_shm_free = static_cast<uint64_t>(shm.f_bavail) * shm.f_frsize;
  }
  rlimit limit = {};
  if (getrlimit(RLIMIT_MEMLOCK, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
    facts.lockable_bytes = limit.rlim_cur;
  }
  facts.rdma_devices = HasEntries(top / "sys/class/infiniband");
  facts.nvidia_devices = HasEntries(top / "proc/driver/nvidia/gpus") || Exists(top / "dev/nvidia0");
  facts.peer_memory =
      Exists(top / "sys/module/nvidia_peermem") || Exists(top / "sys/module/nv_peer_mem");
  return facts;
}

Finding JudgeSharedMemory(const MachineFacts& machine) {
  Finding finding{"shared memory", Verdict::kOk, ""};
  if (!machine.dev_shm) {
    finding.verdict = Verdict::kFailed;
    finding.detail = "there is no /dev/shm";
    finding.remedy = "mount a tmpfs at /dev/shm: workers on one host talk through it";
    return finding;
  }
  finding.detail = absl::StrCat(HumanBytes(machine.dev_shm_free), " of ",
                                HumanBytes(machine.dev_shm_bytes), " free in /dev/shm");
  if (machine.dev_shm_free < kSharedMemoryUsual) {
    const bool none = machine.dev_shm_free < kSharedMemoryMin;
    finding.verdict = none ? Verdict::kFailed : Verdict::kWarning;
    finding.remedy = kMoreSharedMemory;
  }
  return finding;
}

Finding JudgeLockedMemory(const MachineFacts& machine) {
  Finding finding{"locked memory", Verdict::kOk, "no limit"};
  if (!machine.lockable_bytes) return finding;
  finding.detail = absl::StrCat("at most ", HumanBytes(*machine.lockable_bytes));
  if (!machine.rdma_devices) {
    finding.detail += "; no RDMA device here needs more";
    return finding;
  }
  finding.verdict = Verdict::kFailed;
  finding.remedy =
      "RDMA locks all registered memory: ulimit -l unlimited (systemd: LimitMEMLOCK=infinity; "
      "containers: --ulimit memlock=-1)";
  return finding;
}

}  // namespace tensorhub::ctl
