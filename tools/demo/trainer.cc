// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include <unistd.h>

#include <array>
#include <chrono>
#include <iostream>

#include "absl/strings/str_cat.h"
#include "tools/ctl/leave_on_signal.h"
#include "tools/ctl/units.h"
#include "tools/demo/notes.h"
#include "tools/demo/roles.h"
#include "tools/demo/shard.h"

namespace tensorhub::demo {
namespace {

using Clock = std::chrono::steady_clock;

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

absl::Status PublishOne(tensorhub::Client& client, Shard& shard, const Notes& notes, uint32_t rank,
                        uint64_t version) {
  const Clock::time_point begin = Clock::now();
  if (absl::Status status = client.Unpublish(); !status.ok()) return status;
  const double unpublished = SecondsSince(begin);
  if (version > 1) shard.Train(version);
  absl::Status status = notes.WriteDigest(version, rank, shard.Digest());
  if (!status.ok()) return status;
  const Clock::time_point trained = Clock::now();
  if (status = client.Publish(version); !status.ok()) return status;
  std::cout << "trainer/" << rank << " published version " << version << " in "
            << ctl::HumanSeconds(SecondsSince(trained)) << " (unpublish took "
            << ctl::HumanSeconds(unpublished) << ")" << std::endl;
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<tensorhub::Client>> ConnectTo(const Setting& setting,
                                                             const std::string& group,
                                                             uint32_t rank) {
  std::array<char, 65> host{};
  ::gethostname(host.data(), host.size() - 1);
  return tensorhub::Client::Connect({.server = setting.server,
                                     .model = setting.model,
                                     .group = group,
                                     .rank = rank,
                                     .world_size = setting.ranks,
                                     .location = absl::StrCat("demo/local/rack/", host.data()),
                                     .spot = false,
                                     .connect_timeout = std::chrono::seconds(10),
                                     .attachment = {}});
}

absl::Status RunTrainer(const Setting& setting, uint32_t rank) {
  ctl::LeaveOnSignal leaving(kGrace);
  const auto checkpoint =
      safetensors::Checkpoint::Open({setting.checkpoint}, {.companions = false});
  if (!checkpoint.ok()) return checkpoint.status();
  Shard shard(*checkpoint, rank, setting.ranks);  // outlives the client
  const auto client = ConnectTo(setting, "trainer", rank);
  if (!client.ok()) return client.status();
  const ctl::Watching watching(leaving, **client);
  if (absl::Status status = shard.Register(**client); !status.ok()) return status;
  if (absl::Status status = shard.Load(); !status.ok()) return status;
  const Notes notes(setting.directory);
  for (uint64_t version = 1; version <= setting.versions; ++version) {
    absl::Status status = PublishOne(**client, shard, notes, rank, version);
    if (!status.ok()) return status;
    status = notes.WaitForFetches(version, setting.rollouts, setting.ranks, setting.timeout);
    if (!status.ok()) return status;
  }
  return (*client)->Leave();
}

}  // namespace tensorhub::demo
