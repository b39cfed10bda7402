// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The verdicts of `tensorhubctl doctor`, also for machines that are not at hand.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <vector>

#include "common/limits.h"
#include "tests/unit/tools/files.h"
#include "tests/unit/worker_agent/cuda/fake_driver.h"
#include "tools/ctl/doctor/gpu_check.h"
#include "tools/ctl/doctor/idle_memory.h"
#include "tools/ctl/doctor/idle_read.h"
#include "tools/ctl/doctor/machine.h"
#include "tools/ctl/doctor/network_check.h"
#include "tools/ctl/doctor/ucx_check.h"

namespace tensorhub::ctl {
namespace {

using testing::HasSubstr;

constexpr uint64_t kMiB = uint64_t{1} << 20;

MachineFacts PlainMachine() {
  MachineFacts machine;
  machine.dev_shm = true;
  machine.dev_shm_bytes = machine.dev_shm_free = 4096 * kMiB;
  return machine;
}

agent::UcxFacts Ucx(unsigned minor,
                    const std::string& transports = "posix/memory, rc_verbs/mlx5_0:1") {
  agent::UcxFacts ucx;
  ucx.number = {1, minor};
  ucx.version = "1." + std::to_string(minor) + ".0";
  ucx.library = "libucp.so";
  ucx.transports = transports;
  ucx.address_bytes = 300;
  return ucx;
}

// Whatever needs doing is said.
void ExpectVerdict(const Finding& finding, Verdict verdict, const std::string& remedy) {
  EXPECT_EQ(finding.verdict, verdict) << finding.detail;
  EXPECT_THAT(finding.remedy, HasSubstr(remedy));
  EXPECT_EQ(finding.remedy.empty(), remedy.empty()) << finding.remedy;
  EXPECT_NE(finding.detail, "");
}

agent::Network NetworkOf(const std::string& device, const std::string& address) {
  return {device, address, 24};
}

TEST(DoctorTest, NetworksThatLeadNowhereAreNamed) {
  agent::Network bridge = NetworkOf("docker0", {static_cast<char>(0xac), 17, 0, 1});
  bridge.isolated = true;
  const agent::Network lan = NetworkOf("eth0", {10, 0, 0, 1});
  const Finding both = JudgeNetworks({bridge, lan}, "");
  EXPECT_EQ(both.verdict, Verdict::kOk);
  EXPECT_EQ(both.detail,
            "eth0 10.0.0.1/24; not used: docker0 172.17.0.1/24 (a bridge that leads nowhere)");
  const Finding alone = JudgeNetworks({bridge}, "");
  EXPECT_EQ(alone.verdict, Verdict::kWarning);
  EXPECT_THAT(alone.detail, HasSubstr("nothing leads to another host"));
  EXPECT_EQ(JudgeNetworks({}, "").verdict, Verdict::kWarning);
  const Finding wrong = JudgeNetworks({lan}, "eth7");
  EXPECT_EQ(wrong.verdict, Verdict::kFailed);
  EXPECT_THAT(wrong.detail, HasSubstr("there are: eth0 10.0.0.1/24"));
}

TEST(DoctorTest, SharedMemory) {
  MachineFacts machine = PlainMachine();
  ExpectVerdict(JudgeSharedMemory(machine), Verdict::kOk, "");
  machine.dev_shm_free = 64 * kMiB;
  ExpectVerdict(JudgeSharedMemory(machine), Verdict::kWarning, "--shm-size");
  machine.dev_shm_free = 8 * kMiB;
  ExpectVerdict(JudgeSharedMemory(machine), Verdict::kFailed, "--shm-size");
  ExpectVerdict(JudgeSharedMemory({}), Verdict::kFailed, "tmpfs");
}

TEST(DoctorTest, LockedMemoryMattersToRdma) {
  MachineFacts machine = PlainMachine();
  machine.lockable_bytes = 8 * kMiB;
  ExpectVerdict(JudgeLockedMemory(machine), Verdict::kOk, "");
  machine.rdma_devices = true;
  ExpectVerdict(JudgeLockedMemory(machine), Verdict::kFailed, "ulimit -l unlimited");
  machine.lockable_bytes.reset();
  ExpectVerdict(JudgeLockedMemory(machine), Verdict::kOk, "");
}

TEST(DoctorTest, UcxIsNewEnoughForWhatIsHere) {
  MachineFacts machine = PlainMachine();
  ExpectVerdict(JudgeUcx(Ucx(13), machine), Verdict::kOk, "");
  machine.rdma_devices = true;
  ExpectVerdict(JudgeUcx(Ucx(18), machine), Verdict::kWarning, "1.19");
  ExpectVerdict(JudgeUcx(Ucx(19), machine), Verdict::kOk, "");
  agent::UcxFacts chosen = Ucx(19);
  chosen.why = "it came with this wheel";
  EXPECT_THAT(JudgeUcx(chosen, machine).detail,
              testing::HasSubstr("(libucp.so; it came with this wheel)"));
  machine.nvidia_devices = true;
  ExpectVerdict(JudgeUcx(Ucx(18), machine), Verdict::kFailed, "1.19");
  ExpectVerdict(JudgeUcx(Ucx(20), machine), Verdict::kOk, "");
  ExpectVerdict(JudgeUcx(absl::NotFoundError("nothing"), machine), Verdict::kFailed, "UCX_");
}

// TCP between hosts is not UCX's.
TEST(DoctorTest, UcxUsesTheCardsThatThereAre) {
  MachineFacts machine = PlainMachine();
  ExpectVerdict(JudgeUcx(Ucx(20, "posix/memory, self/memory"), machine), Verdict::kOk, "");
  machine.rdma_devices = true;
  ExpectVerdict(JudgeUcx(Ucx(20, "posix/memory, tcp/eth0"), machine), Verdict::kWarning, "UCX_TLS");
  ExpectVerdict(JudgeUcx(Ucx(20, "rc_mlx5/mlx5_0:1"), machine), Verdict::kOk, "");
}

TEST(DoctorTest, TransportsByName) {
  const agent::UcxFacts ucx = Ucx(19, "cuda_ipc/cuda, rc_mlx5/mlx5_0:1, tcp/eth0");
  EXPECT_TRUE(ucx.Has("cuda_ipc"));
  EXPECT_TRUE(ucx.Has("cuda"));
  EXPECT_TRUE(ucx.Has("rc"));
  EXPECT_TRUE(ucx.Has("tcp"));
  EXPECT_FALSE(ucx.Has("t"));
  EXPECT_FALSE(ucx.Has("posix"));
}

TEST(DoctorTest, UcxAddressFits) {
  agent::UcxFacts ucx = Ucx(13);
  ExpectVerdict(JudgeUcxAddress(ucx), Verdict::kOk, "");
  ucx.address_bytes = kEndpointBytesMax + 1;
  ExpectVerdict(JudgeUcxAddress(ucx), Verdict::kFailed, "UCX_NET_DEVICES");
  ExpectVerdict(JudgeUcxAddress(absl::NotFoundError("nothing")), Verdict::kSkipped, "");
}

TEST(DoctorTest, ReadsFromASleepingProcess) {
  const Finding good = JudgeHostRead(IdleRead{"posix/memory", 16 * kMiB, 0.01});
  ExpectVerdict(good, Verdict::kOk, "");
  EXPECT_THAT(good.detail, HasSubstr("posix/memory"));
  ExpectVerdict(JudgeHostRead(absl::DeadlineExceededError("it waits")), Verdict::kFailed,
                "UCX_TLS");
}

TEST(DoctorTest, ReadsAGpuOfASleepingProcess) {
  const Finding good = JudgeDeviceRead(IdleRead{"cuda_ipc/cuda", 16 * kMiB, 0.001});
  ExpectVerdict(good, Verdict::kOk, "");
  EXPECT_THAT(good.detail, HasSubstr("cuda_ipc/cuda"));
  ExpectVerdict(JudgeDeviceRead(absl::DeadlineExceededError("it waits")), Verdict::kFailed,
                "cuda_ipc");
}

class GpuTest : public testing::Test {
 protected:
  GpuTest() { machine_.nvidia_devices = true; }
  GpuFacts Look(agent::testing::FakeDriver& driver) { return LookAtGpus(&driver); }
  Finding JudgeUcxHere(const agent::UcxFacts& ucx) {
    agent::testing::FakeDriver driver;
    return JudgeUcxForGpus(ucx, Look(driver), machine_);
  }
  agent::UcxFacts UcxWithCuda(unsigned minor, const std::string& transports = "cuda_ipc/cuda") {
    agent::UcxFacts ucx = Ucx(minor, transports);
    ucx.cuda = true;
    return ucx;
  }
  MachineFacts machine_ = PlainMachine();
};

TEST_F(GpuTest, DriverAndDevices) {
  agent::testing::FakeDriver driver({.devices = 2});
  const GpuFacts gpus = Look(driver);
  ExpectVerdict(JudgeDriver(gpus, machine_), Verdict::kOk, "");
  EXPECT_EQ(JudgeDriver(gpus, machine_).detail, "CUDA 13.0, 2 devices");
  const std::vector<Finding> devices = JudgeDevices(gpus, machine_);
  ASSERT_EQ(devices.size(), 2u);
  EXPECT_EQ(devices[1].check, "gpu 1");
  EXPECT_THAT(devices[1].detail, HasSubstr("Fake H200"));
  EXPECT_EQ(devices[1].verdict, Verdict::kOk);
}

TEST_F(GpuTest, ADriverThatIsMissedOrTooOld) {
  const GpuFacts none = LookAtGpus(absl::UnavailableError("NVIDIA's driver is not there"));
  const GpuFacts old = LookAtGpus(absl::FailedPreconditionError("the driver offers CUDA 11.8"));
  if (agent::BuiltWithCuda()) {
    ExpectVerdict(JudgeDriver(none, machine_), Verdict::kFailed, "525");
    ExpectVerdict(JudgeDriver(old, PlainMachine()), Verdict::kFailed, "525");
  } else {
    ExpectVerdict(JudgeDriver(none, machine_), Verdict::kFailed, "TENSORHUB_CUDA=ON");
  }
  ExpectVerdict(JudgeDriver(none, PlainMachine()), Verdict::kSkipped, "");
  EXPECT_TRUE(JudgeDevices(none, machine_).empty());
  ExpectVerdict(JudgeAllocator(none), Verdict::kSkipped, "");
  ExpectVerdict(JudgeUcxForGpus(Ucx(13), none, machine_), Verdict::kSkipped, "");
}

TEST_F(GpuTest, ANetworkCardsWritesMustBeSeen) {
  machine_.rdma_devices = true;
  agent::testing::FakeDriver blind({.flush_by_host = false});
  ExpectVerdict(JudgeDevices(Look(blind), machine_)[0], Verdict::kWarning, "UCX_TLS=cuda,sm,self");
  agent::testing::FakeDriver driver;
  ExpectVerdict(JudgeDevices(Look(driver), machine_)[0], Verdict::kWarning, "nvidia_peermem");
  machine_.peer_memory = true;
  ExpectVerdict(JudgeDevices(Look(driver), machine_)[0], Verdict::kOk, "");
}

TEST_F(GpuTest, AnAllocatorWhoseMemoryCannotBeShared) {
  agent::testing::FakeDriver driver;
  GpuFacts gpus = Look(driver);
  for (const char* setting : {"", "expandable_segments:False", "max_split_size_mb:64"}) {
    gpus.allocator = setting;
    ExpectVerdict(JudgeAllocator(gpus), Verdict::kOk, "");
  }
  for (const char* setting :
       {"expandable_segments:True", "max_split_size_mb:64,expandable_segments:True",
        "backend:cudaMallocAsync"}) {
    gpus.allocator = setting;
    ExpectVerdict(JudgeAllocator(gpus), Verdict::kWarning, "expandable_segments:False");
  }
}

TEST_F(GpuTest, UcxReadsDeviceMemory) {
  ExpectVerdict(JudgeUcxHere(Ucx(19)), Verdict::kFailed, "get_ucx.sh");
  ExpectVerdict(JudgeUcxHere(UcxWithCuda(18)), Verdict::kFailed, "get_ucx.sh");
  ExpectVerdict(JudgeUcxHere(UcxWithCuda(19, "cuda_copy/cuda")), Verdict::kFailed, "UCX_TLS");
  ExpectVerdict(JudgeUcxHere(UcxWithCuda(19)), Verdict::kOk, "");
  machine_.rdma_devices = true;
  ExpectVerdict(JudgeUcxHere(UcxWithCuda(19)), Verdict::kWarning, "verbs");
  ExpectVerdict(JudgeUcxHere(UcxWithCuda(19, "cuda_ipc/cuda, rc_mlx5/mlx5_0:1")), Verdict::kOk, "");
}

TEST(IdleMemoryTest, HoldsWhatIsWritten) {
  agent::testing::FakeDriver driver;
  const std::vector<unsigned char> bytes = {1, 2, 3, 4, 5};
  {
    std::unique_ptr<IdleMemory> memories[] = {HostMemoryForRead(5),
                                              DeviceMemoryForRead(&driver, 0, 5).value()};
    for (const auto& memory : memories) {
      ASSERT_EQ(memory->Write(bytes), absl::OkStatus());
      EXPECT_EQ(memory->Read().value(), bytes);
    }
    EXPECT_EQ(driver.Lookup(memories[1]->data()).value().kind, agent::CudaMemoryKind::kDevice);
  }
  EXPECT_EQ(driver.left_over(), 0u);
  EXPECT_EQ(driver.contexts_retained(), 0u);
}

class MachineTest : public testing::Test {
 protected:
  void Make(const std::string& path) { std::filesystem::create_directories(dir_ / path); }
  MachineFacts Look() const { return LookAtMachine(dir_.str()); }
  safetensors::TempDirectory dir_;
};

TEST_F(MachineTest, DevicesAreFoundWhereTheKernelShowsThem) {
  EXPECT_FALSE(Look().dev_shm);
  Make("dev/shm");
  Make("sys/class/infiniband");
  MachineFacts machine = Look();
  EXPECT_TRUE(machine.dev_shm);
  EXPECT_GT(machine.dev_shm_bytes, 0u);
  EXPECT_FALSE(machine.rdma_devices);
  EXPECT_FALSE(machine.nvidia_devices);
  EXPECT_FALSE(machine.peer_memory);
  Make("sys/class/infiniband/mlx5_0");
  Make("proc/driver/nvidia/gpus/0000:1b:00.0");
  Make("sys/module/nvidia_peermem");
  machine = Look();
  EXPECT_TRUE(machine.rdma_devices);
  EXPECT_TRUE(machine.nvidia_devices);
  EXPECT_TRUE(machine.peer_memory);
}

}  // namespace
}  // namespace tensorhub::ctl
