// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "worker_agent/ucx/ucx_settings.h"

#include <gtest/gtest.h>
#include <locale.h>
#include <ucs/debug/log_def.h>
#include <unistd.h>

#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <utility>

#include "worker_agent/ucx/ucx_device.h"
#include "worker_agent/ucx/ucx_log.h"
#include "worker_agent/ucx/ucx_worker.h"

namespace tensorhub::agent {
namespace {

// What fits a segment of the one transport, as UCX says.
size_t SegmentOf(const char* transport) {
  UcxWorker::Options options;
  options.features = UCP_FEATURE_AM;
  options.transports = transport;
  const auto worker = UcxWorker::Create(options).value();
  ucp_worker_attr_t attributes = {};
  attributes.field_mask = UCP_WORKER_ATTR_FIELD_MAX_AM_HEADER;
  EXPECT_EQ(ucp_worker_query(worker->worker(), &attributes), UCS_OK);
  return attributes.max_am_header;
}

TEST(UcxSettings, OthersSettingsDoNotCountAndStay) {
  setenv("UCX_TCP_TX_SEG_SIZE", "512", 1);
  setenv("UCX_TCP_RX_SEG_SIZE", "8k", 1);
  setenv("UCX_POSIX_SEG_SIZE", "512", 1);
  EXPECT_GT(SegmentOf("tcp"), kMaxPayloadBytes);
  EXPECT_GT(SegmentOf("posix"), kSharedMemoryPayloadBytes);
  EXPECT_STREQ(std::getenv("UCX_TCP_TX_SEG_SIZE"), "512");
  for (const char* name : {"UCX_TCP_TX_SEG_SIZE", "UCX_TCP_RX_SEG_SIZE", "UCX_POSIX_SEG_SIZE"}) {
    unsetenv(name);
  }
  EXPECT_GT(SegmentOf("tcp"), kMaxPayloadBytes);
  EXPECT_EQ(std::getenv("UCX_TCP_TX_SEG_SIZE"), nullptr);
}

TEST(UcxSettings, TheUserWinsUnderOurName) {
  setenv("TENSORHUB_UCX_TCP_TX_SEG_SIZE", "16k", 1);
  EXPECT_LE(SegmentOf("tcp"), 16384u);
  EXPECT_STREQ(UsersUcxSetting("TCP_TX_SEG_SIZE"), "16k");
  unsetenv("TENSORHUB_UCX_TCP_TX_SEG_SIZE");
  EXPECT_GT(SegmentOf("tcp"), kMaxPayloadBytes);
}

TEST(UcxSettings, TheUserWinsUnderOurNameInMemoryToo) {
  setenv("TENSORHUB_UCX_POSIX_SEG_SIZE", "16k", 1);
  EXPECT_LE(SegmentOf("posix"), 16384u);
  EXPECT_LE(SegmentOf("posix,sysv"), 16384u);
  unsetenv("TENSORHUB_UCX_POSIX_SEG_SIZE");
}

TEST(UcxSettings, AValueThatUcxDoesNotTakeIsRefused) {
  setenv("TENSORHUB_UCX_TCP_RX_SEG_SIZE", "much", 1);
  UcxWorker::Options options;
  options.features = UCP_FEATURE_AM;
  options.transports = "tcp";
  const absl::Status status = UcxWorker::Create(options).status();
  unsetenv("TENSORHUB_UCX_TCP_RX_SEG_SIZE");
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_NE(status.message().find("RX_SEG_SIZE: 'much'"), std::string::npos) << status;
}

// Made here, since a machine has few. A program that calls setlocale, as Python does, gives it to
// UCX, whose default "diag" is no "DIAG" in Turkish.
TEST(UcxSettings, AreReadInTheCLocale) {
  if (access("/usr/share/i18n/locales/tr_TR", R_OK) != 0) {
    GTEST_SKIP() << "there is no source of a Turkish locale: apt-get install locales";
  }
  const std::string folder = testing::TempDir() + "/locales-" + std::to_string(getpid());
  std::filesystem::create_directories(folder);
  const std::string make = "localedef -i tr_TR -f UTF-8 " + folder + "/tr_TR.UTF-8 2>/dev/null";
  ASSERT_EQ(std::system(make.c_str()), 0);
  setenv("LOCPATH", folder.c_str(), 1);
  ASSERT_NE(setlocale(LC_ALL, "tr_TR.UTF-8"), nullptr);
  EXPECT_NE(toupper('i'), 'I')
      << "this is not Turkish";  // sanitizers have a strcasecmp of their own
  EXPECT_GT(SegmentOf("tcp"), kMaxPayloadBytes);
  EXPECT_NE(toupper('i'), 'I') << "the program has its locale again";
  setlocale(LC_ALL, "C");
  unsetenv("LOCPATH");
  std::filesystem::remove_all(folder);
}

TEST(UcxSettings, AKeyIsTakenByOneOfItsNames) {
  const std::string both = " TCP_PUT_ENABLE=n,PUT_ENABLE=n,MM_SEG_SIZE=1";
  EXPECT_EQ(CheckTransportSettings(" TCP_PUT_ENABLE=n,MM_SEG_SIZE=1", "tcp/lo, posix/memory"),
            absl::OkStatus());
  EXPECT_EQ(CheckTransportSettings(both, "posix/memory"), absl::OkStatus()) << "no tcp there";
  EXPECT_EQ(CheckTransportSettings(both, "tcp/lo").code(), absl::StatusCode::kFailedPrecondition);
}

TEST(UcxSettings, NobodyHearsOfTheNameThatUcxDoesNotKnow) {
  PrepareProcessForUcx();
  ::testing::internal::CaptureStderr();
  SegmentOf("posix,sysv");
  SegmentOf("^self,sm");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

// Where programs have their results there is nothing of UCX's.
TEST(UcxSettings, TheLogGoesToStandardError) {
  PrepareProcessForUcx();
  if (std::getenv("UCX_LOG_FILE") != nullptr) GTEST_SKIP() << "UCX_LOG_FILE names another place";
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  ucs_error("a test of %s", "the log");
  EXPECT_EQ(::testing::internal::GetCapturedStdout(), "");
  EXPECT_EQ(::testing::internal::GetCapturedStderr().substr(0, 31),
            "UCX error: a test of the log (u");
}

// The FIFO of shared memory keeps lengths in 16 bits: more would be cut off silently.
TEST(UcxSettings, SharedMemorySegmentsFitTheirLengthField) {
  for (const UcxSetting& setting : TransportSettings()) {
    const std::string name = setting.name;
    if (name == "POSIX_SEG_SIZE" || name == "SYSV_SEG_SIZE") {
      EXPECT_LT(std::stoul(setting.value), 65536u) << name;
    }
  }
}

TEST(UcxSettings, EverySettingHasAReason) {
  for (const auto settings :
       {TransportSettings(), MessageSettings(), GetSettings(), DeviceSettings()}) {
    for (const UcxSetting& setting : settings) EXPECT_STRNE(setting.reason, "") << setting.name;
  }
}

TEST(UcxSettings, ThisUcxKnowsTheKeys) {
  ucp_config_t* config = nullptr;
  ASSERT_EQ(ucp_config_read(nullptr, nullptr, &config), UCS_OK);
  EXPECT_EQ(ApplySettings(config, MessageSettings()), absl::OkStatus());
  EXPECT_EQ(ApplySettings(config, GetSettings()), absl::OkStatus());
  const UcxSetting bad[] = {{"MAX_EAGER_RAILS", "many", "a test"}};
  EXPECT_EQ(ApplySettings(config, bad).code(), absl::StatusCode::kFailedPrecondition);
  setenv("UCX_MAX_EAGER_RAILS", "2", 1);  // for others
  EXPECT_EQ(ApplySettings(config, bad).code(), absl::StatusCode::kFailedPrecondition);
  unsetenv("UCX_MAX_EAGER_RAILS");
  setenv("TENSORHUB_UCX_MAX_EAGER_RAILS", "2", 1);  // the user speaks: ours is not even tried
  EXPECT_EQ(ApplySettings(config, bad), absl::OkStatus());
  ucp_config_release(config);
}

TEST(UcxSettings, GetsStayOnSharedMemory) {
  EXPECT_EQ(OneSidedTransports(nullptr), "posix,sysv,self");
  EXPECT_EQ(OneSidedTransports("all"), "posix,sysv,self");
  EXPECT_EQ(OneSidedTransports("tcp,sysv"), "sysv,self");
  EXPECT_EQ(OneSidedTransports("tcp"), "self");
}

TEST(UcxSettings, MessagesOnOneHostAreMemory) {
  EXPECT_EQ(MemoryTransports(nullptr), "posix,sysv");
  EXPECT_EQ(MemoryTransports(""), "posix,sysv");
  EXPECT_EQ(MemoryTransports("all"), "posix,sysv");
  EXPECT_EQ(MemoryTransports("tcp,shm"), "posix,sysv");
  EXPECT_EQ(MemoryTransports("tcp,sysv"), "sysv");
  EXPECT_EQ(MemoryTransports("tcp"), "");
  EXPECT_EQ(MemoryTransports("^posix"), "sysv");
  EXPECT_EQ(MemoryTransports("^sm"), "");
}

TEST(UcxSettings, CardsNeverBringUcxsTcp) {
  EXPECT_EQ(CardTransports(nullptr), "^self,sm,tcp");
  EXPECT_EQ(CardTransports(""), "^self,sm,tcp");
  EXPECT_EQ(CardTransports("all"), "^self,sm,tcp");
  EXPECT_EQ(CardTransports("^dc"), "^dc,self,sm,tcp");
  EXPECT_EQ(CardTransports("self,posix,tcp,rc"), "rc");
  EXPECT_EQ(CardTransports("tcp"), "");
}

// What is tried may fail, and whoever tries says why.
TEST(UcxSettings, ComplaintsAreKept) {
  PrepareProcessForUcx();
  ::testing::internal::CaptureStderr();
  {
    const KeptComplaints complaints;
    EXPECT_EQ(complaints.Explain("no way"), "no way");
    ucs_error("no %s", "room");
    ucs_error("and more");
    EXPECT_EQ(complaints.Explain("no way"), "no way (no room)");
  }
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

TEST(UcxSettings, GetsOfDevicesNeedTheVersionThatAllowsThem) {
  for (const auto& [major, minor] : {std::pair(1u, 13u), std::pair(1u, 18u), std::pair(0u, 99u)}) {
    EXPECT_EQ(CheckDeviceSupport(major, minor).code(), absl::StatusCode::kFailedPrecondition);
  }
  EXPECT_EQ(CheckDeviceSupport(1, 19), absl::OkStatus());
  EXPECT_EQ(CheckDeviceSupport(2, 0), absl::OkStatus());
}

TEST(UcxSettings, LanesThatReadADevice) {
  EXPECT_TRUE(ReachesDevices("posix/memory, cuda_ipc/cuda"));
  EXPECT_TRUE(ReachesDevices("rc_mlx5/mlx5_0:1"));
  EXPECT_FALSE(ReachesDevices("posix/memory, cuda_copy/cuda, tcp/eth0"));
  EXPECT_FALSE(ReachesDevices("unknown"));
  EXPECT_FALSE(ReachesDevices(""));
}

TEST(UcxSettings, TheUsersTransportsForDevicesAreTaken) {
  EXPECT_EQ(DeviceTransports("rc,cuda_copy"), "rc,cuda_copy");
  EXPECT_EQ(DeviceTransports(nullptr).substr(0, 5), "cuda,");
  EXPECT_EQ(DeviceTransports(""), DeviceTransports(nullptr));
}

}  // namespace
}  // namespace tensorhub::agent
