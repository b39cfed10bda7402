// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tools/ctl/group_fetch.h"

#include <algorithm>
#include <iostream>
#include <set>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/thread.h"
#include "tools/ctl/arguments.h"
#include "tools/ctl/progress_bar.h"

namespace tensorhub::ctl {
namespace {

constexpr std::chrono::milliseconds kLookInterval{20};

}  // namespace

GroupFetch::~GroupFetch() {
  std::vector<std::thread> leaving;
  for (const auto& rank : ranks_) {
    if (rank->client == nullptr || rank->result.ok()) continue;
    leaving.push_back(StartThreadOrEnd("leaving", [&rank] {
      rank->client->Leave({.drain_timeout = kLookInterval}).IgnoreError();
    }));
  }
  for (std::thread& thread : leaving) thread.join();
}

// A call wants some time.
std::chrono::milliseconds GroupFetch::TimeLeft() const {
  const auto left = options_.give_up - std::chrono::steady_clock::now();
  return std::max(std::chrono::duration_cast<std::chrono::milliseconds>(left),
                  std::chrono::milliseconds(1));
}

absl::Status GroupFetch::Prepare(const FetchPlan& plan) {
  if (absl::Status status = CheckMemoryFor(plan.data_bytes()); !status.ok()) return status;
  const std::string group = UniqueGroup("ctl-fetch");
  for (size_t rank = 0; rank < plan.ranks.size(); ++rank) {
    ranks_.push_back(std::make_unique<Rank>());
    if (absl::Status status = PrepareRank(plan, rank, group); !status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status GroupFetch::PrepareRank(const FetchPlan& plan, size_t index,
                                     const std::string& group) {
  Rank& rank = *ranks_[index];
  auto client =
      tensorhub::Client::Connect({.server = options_.server,
                                  .model = options_.model,
                                  .group = group,
                                  .rank = static_cast<uint32_t>(index),
                                  .world_size = static_cast<uint32_t>(plan.ranks.size()),
                                  .location = options_.location,
                                  .spot = true,  // gone as soon as the files are written
                                  .connect_timeout = std::min(options_.connect_timeout, TimeLeft()),
                                  .host_copy_bytes = 0,
                                  .attachment = {}});
  if (!client.ok()) return client.status();
  rank.client = std::move(*client);
  absl::StatusOr<ShardMemory> memory = AllocateShard(*rank.client, plan.ranks[index].data_bytes());
  if (!memory.ok()) return memory.status();
  rank.memory = *std::move(memory);
  absl::Status status = MakePages(rank.memory.get(), plan.ranks[index].data_bytes());
  if (!status.ok()) return status;
  return rank.client->Register(TensorsOf(plan.ranks[index], rank.memory.get()));
}

absl::Status GroupFetch::Read(const FetchPlan& plan) {
  std::atomic<size_t> running = ranks_.size();
  std::vector<std::thread> threads;
  for (auto& rank : ranks_) {
    threads.push_back(StartThreadOrEnd("a rank", [this, &rank, &running, &plan] {
      ReadRank(*rank, plan.version);
      --running;
    }));
  }
  ShowProgress(plan.data_bytes(), running);
  for (std::thread& thread : threads) thread.join();
  return FirstError();
}

void GroupFetch::ReadRank(Rank& rank, uint64_t version) {
  tensorhub::FetchOptions options{.timeout = TimeLeft(), .progress = {}};
  options.progress = [&rank](const tensorhub::FetchProgress& progress) {
    MutexLock lock(rank.mutex);
    rank.done = progress.bytes_done;
    rank.source = progress.source;
  };
  rank.result = rank.client->Fetch(tensorhub::Version(version), options);
}

void GroupFetch::ShowProgress(uint64_t total, std::atomic<size_t>& running) {
  ProgressBar bar(StderrOptions("fetching", total), std::cerr, ProgressBar::Clock::now());
  while (running > 0) {
    uint64_t done = 0;
    std::set<std::string> sources;
    for (auto& rank : ranks_) {
      MutexLock lock(rank->mutex);
      done += rank->done;
      if (!rank->source.empty()) sources.insert(rank->source);
    }
    const std::string note = sources.empty() ? "" : "from " + absl::StrJoin(sources, ", ");
    bar.Update(done, note, ProgressBar::Clock::now());
    std::this_thread::sleep_for(kLookInterval);
  }
}

absl::Status GroupFetch::FirstError() const {
  absl::Status first;
  for (const auto& rank : ranks_) {
    const absl::Status& status = rank->result.status();
    if (status.ok()) continue;
    if (!absl::IsAborted(status)) return status;
    first = status;
  }
  return first;
}

std::string GroupFetch::way() const {
  std::set<std::string> ways;
  for (const auto& rank : ranks_) ways.insert(rank->result->way);
  return absl::StrJoin(ways, ", ");
}

std::string GroupFetch::sources() const {
  std::set<std::string> sources;
  for (const auto& rank : ranks_) sources.insert(rank->result->sources);
  return absl::StrJoin(sources, ", ");
}

}  // namespace tensorhub::ctl
