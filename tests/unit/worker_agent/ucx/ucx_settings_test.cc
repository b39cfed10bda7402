// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "worker_agent/ucx/ucx_settings.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace tensorhub::agent {
namespace {

TEST(UcxSettings, TheEnvironmentWins) {
  setenv("UCX_POSIX_FIFO_SIZE", "64", 1);
  unsetenv("UCX_TCP_TX_SEG_SIZE");
  PrepareProcessForUcx();
  EXPECT_STREQ(std::getenv("UCX_POSIX_FIFO_SIZE"), "64");
  EXPECT_STREQ(std::getenv("UCX_TCP_TX_SEG_SIZE"), "263168");
}

TEST(UcxSettings, EverySettingHasAReason) {
  for (const auto settings : {ProcessSettings(), MessageSettings(), GetSettings()}) {
    for (const UcxSetting& setting : settings) EXPECT_STRNE(setting.reason, "") << setting.name;
  }
}

TEST(UcxSettings, ThisUcxKnowsTheKeys) {
  ucp_config_t* config = nullptr;
  ASSERT_EQ(ucp_config_read(nullptr, nullptr, &config), UCS_OK);
  EXPECT_EQ(ApplySettings(config, MessageSettings()), absl::OkStatus());
  EXPECT_EQ(ApplySettings(config, GetSettings()), absl::OkStatus());
  const UcxSetting unknown[] = {{"NO_SUCH_KEY", "1", "a test"}};
  EXPECT_EQ(ApplySettings(config, unknown).code(), absl::StatusCode::kFailedPrecondition);
  setenv("UCX_NO_SUCH_KEY", "2", 1);  // the environment speaks: ours is not even tried
  EXPECT_EQ(ApplySettings(config, unknown), absl::OkStatus());
  ucp_config_release(config);
}

TEST(UcxSettings, GetsStayOnSharedMemory) {
  EXPECT_EQ(OneSidedTransports(nullptr), "posix,sysv,self");
  EXPECT_EQ(OneSidedTransports("all"), "posix,sysv,self");
  EXPECT_EQ(OneSidedTransports("tcp,sysv"), "sysv,self");
  EXPECT_EQ(OneSidedTransports("tcp"), "self");
}

}  // namespace
}  // namespace tensorhub::agent
