// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "bench/shard_group.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "bench/process_facts.h"

namespace tensorhub::bench {
namespace {

constexpr std::chrono::seconds kGroupTimeout{600};
constexpr char kOneHost[] = "bench/bench/bench/bench/0";

}  // namespace

absl::StatusOr<std::unique_ptr<ShardGroup>> ShardGroup::Start(const Options& options) {
  std::unique_ptr<ShardGroup> group(new ShardGroup(options));
  for (size_t rank = 0; rank < options.ranks; ++rank) {
    if (absl::Status status = group->StartRank(rank); !status.ok()) return status;
  }
  for (const auto& rank : group->ranks_) {
    const absl::StatusOr<Fields> ready = rank->Answer();
    if (!ready.ok()) return ready.status();
    const absl::StatusOr<double> bytes = ready->Number("bytes");
    if (!bytes.ok()) return bytes.status();
    group->bytes_ += *bytes;
  }
  return group;
}

absl::Status ShardGroup::StartRank(size_t rank) {
  const std::string location = options_.locations.empty() ? kOneHost : options_.locations[rank];
  const Child::Options process = {
      .name = absl::StrCat(options_.name, "/", rank),
      .binary = OwnBinary(),
      .args = {"@shard",
               absl::StrCat("server=", options_.server, " model=", options_.model,
                            " group=", options_.name, " rank=", rank, " world=", options_.ranks,
                            " location=", location, " cut=", ToString(options_.cut),
                            " shape=", options_.shape, " layers=", options_.layers,
                            " allocate=", options_.allocate ? 1 : 0)},
      .env = options_.environment};
  absl::StatusOr<std::unique_ptr<Child>> child =
      Child::Start(options_.place ? options_.place(rank, process) : process);
  if (!child.ok()) return child.status();
  ranks_.push_back(*std::move(child));
  return absl::OkStatus();
}

absl::Status ShardGroup::Send(const std::string& line) {
  for (const auto& rank : ranks_) {
    if (absl::Status status = rank->Send(line); !status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status ShardGroup::Await() {
  absl::Status first;
  for (const auto& rank : ranks_) first.Update(rank->Answer(kGroupTimeout).status());
  return first;
}

absl::Status ShardGroup::AskAll(const std::string& line) {
  if (absl::Status status = Send(line); !status.ok()) return status;
  return Await();
}

absl::Status ShardGroup::Publish(uint64_t version) {
  return AskAll(absl::StrCat("publish version=", version));
}

absl::Status ShardGroup::Unpublish() { return AskAll("unpublish"); }

absl::Status ShardGroup::Scrub() {
  absl::Status status = Unpublish();
  return status.ok() ? AskAll("scrub") : status;
}

absl::Status ShardGroup::BeginFetch(uint64_t version) {
  return Send(absl::StrCat("fetch version=", version));
}

absl::StatusOr<ShardGroup::Fetched> ShardGroup::EndFetch() {
  Fetched fetched;
  for (const auto& rank : ranks_) {
    const absl::StatusOr<Fields> answer = rank->Answer(kGroupTimeout);
    if (!answer.ok()) return answer.status();
    const absl::StatusOr<double> end = answer->Number("end");
    const absl::StatusOr<double> read = answer->Number("read");
    const absl::StatusOr<std::string> way = answer->Text("way");
    const absl::StatusOr<std::string> sources = answer->Text("sources");
    for (const absl::Status& status :
         {end.status(), read.status(), way.status(), sources.status()}) {
      if (!status.ok()) return status;
    }
    fetched.ends.push_back(*end);
    fetched.bytes_read += *read;
    if (!fetched.way.empty()) continue;
    fetched.way = *way;
    const auto commas = std::count(sources->begin(), sources->end(), ',');
    fetched.sources = static_cast<size_t>(commas) + 1;
  }
  return fetched;
}

absl::Status ShardGroup::Verify(uint64_t version) {
  return AskAll(absl::StrCat("verify version=", version));
}

absl::Status ShardGroup::Settle() const {
  constexpr std::chrono::milliseconds kLook(50);
  double before = -1;
  for (int look = 0; look < 1000; ++look) {
    double cpu = 0;
    for (const auto& rank : ranks_) cpu += CpuSecondsOf(rank->pid());
    if (cpu == before) return absl::OkStatus();
    before = cpu;
    std::this_thread::sleep_for(kLook);
  }
  return absl::DeadlineExceededError(absl::StrCat(options_.name, " never rests"));
}

}  // namespace tensorhub::bench
