// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

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

void Print(const FetchNote& note) {
  std::cout << note.group << "/" << note.rank << " version " << note.version << ": "
            << ctl::HumanBytes(note.bytes) << " in " << ctl::HumanSeconds(note.seconds) << ", "
            << ctl::HumanRate(note.bytes, note.seconds) << ", " << note.way << ", from "
            << note.sources << ", digest " << (note.digest_ok ? "ok" : "WRONG") << std::endl;
}

// Waits for a version above `held`, then reads it: the waiting is not part of the time.
absl::StatusOr<FetchNote> FetchOne(tensorhub::Client& client, const Setting& setting,
                                   uint64_t held) {
  const auto seen = client.WaitForVersion(tensorhub::NewerThan(held), setting.timeout);
  if (!seen.ok()) return seen.status();
  const Clock::time_point begin = Clock::now();
  const tensorhub::FetchOptions options{.timeout = setting.timeout, .progress = {}};
  const auto result = client.Fetch(tensorhub::NewerThan(held), options);
  if (!result.ok()) return result.status();
  FetchNote note;
  note.version = result->version;
  note.bytes = result->bytes_read;
  note.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  note.way = result->way;
  note.sources = result->sources;
  return note;
}

absl::StatusOr<uint64_t> FetchAndCheck(tensorhub::Client& client, const Setting& setting,
                                       const Shard& shard, const std::string& group, uint32_t rank,
                                       uint64_t held) {
  const Notes notes(setting.directory);
  absl::StatusOr<FetchNote> note = FetchOne(client, setting, held);
  if (!note.ok()) return note.status();
  const auto expected = notes.ReadDigest(note->version, rank);
  if (!expected.ok()) return expected.status();
  note->group = group;
  note->rank = rank;
  note->digest_ok = shard.Digest() == *expected;
  Print(*note);
  if (absl::Status status = notes.WriteFetch(*note); !status.ok()) return status;
  if (note->digest_ok) return note->version;
  return absl::DataLossError(absl::StrCat("version ", note->version, " has the wrong digest"));
}

}  // namespace

absl::Status RunRollout(const Setting& setting, uint32_t number, uint32_t rank) {
  ctl::LeaveOnSignal leaving(kGrace);
  const std::string group = RolloutName(number);
  const auto checkpoint =
      safetensors::Checkpoint::Open({setting.checkpoint}, {.companions = false});
  if (!checkpoint.ok()) return checkpoint.status();
  Shard shard(*checkpoint, rank, setting.ranks);  // outlives the client
  const auto client = ConnectTo(setting, group, rank);
  if (!client.ok()) return client.status();
  const ctl::Watching watching(leaving, **client);
  if (absl::Status status = shard.Register(**client); !status.ok()) return status;
  for (uint64_t held = 0; held < setting.versions;) {
    const auto version = FetchAndCheck(**client, setting, shard, group, rank, held);
    if (!version.ok()) return version.status();
    held = *version;
  }
  return (*client)->Leave();
}

}  // namespace tensorhub::demo
