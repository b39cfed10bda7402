// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// fetch: writes a version as files.
//
// The order matters: the directory is refused before anything is asked, the partial directory made
// (and the disk checked) before any byte is read, and renamed after all of them are durable.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <iostream>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/mutex.h"
#include "tensorhub/ros.h"
#include "tools/ctl/arguments.h"
#include "tools/ctl/fetch_plan.h"
#include "tools/ctl/group_fetch.h"
#include "tools/ctl/progress_bar.h"
#include "tools/ctl/shard_memory.h"
#include "tools/ctl/signals.h"
#include "tools/ctl/units.h"
#include "tools/ctl/verbs.h"
#include "tools/safetensors/directory_writer.h"

namespace tensorhub::ctl {
namespace {

using safetensors::DirectoryWriter;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kRecoveryInterval{100};

struct FetchArguments {
  ModelArgument model;
  VersionOrLatest version;
  std::string directory;
  LocationFlag location;
  std::optional<RanksFlag> ranks;
  std::chrono::milliseconds timeout = std::chrono::minutes(10);
};

// What a signal has to remove: set once the partial directory is there.
class Cleanup {
 public:
  void Guard(DirectoryWriter* writer) {
    MutexLock lock(mutex_);
    writer_ = writer;
  }
  [[noreturn]] void AbandonAndExit(int signal) {
    MutexLock lock(mutex_);
    if (writer_ != nullptr) writer_->Abandon();
    ExitNow(ExitCodeOf(signal));
  }

 private:
  Mutex mutex_;
  DirectoryWriter* writer_ ABSL_GUARDED_BY(mutex_) = nullptr;
};

// Guards the writer as long as it lives.
class Guarded {
 public:
  Guarded(Cleanup& cleanup, DirectoryWriter* writer) : cleanup_(cleanup) { cleanup_.Guard(writer); }
  ~Guarded() { cleanup_.Guard(nullptr); }
  Guarded(const Guarded&) = delete;
  Guarded& operator=(const Guarded&) = delete;

 private:
  Cleanup& cleanup_;
};

absl::Status WriteAll(DirectoryWriter& writer, const FetchPlan& plan, const GroupFetch& fetch) {
  ProgressBar bar(StderrOptions("writing", plan.data_bytes()), std::cerr, Clock::now());
  uint64_t done = 0;
  for (size_t rank = 0; rank < plan.ranks.size(); ++rank) {
    absl::Status status = writer.Write(plan.ranks[rank], fetch.memory(rank), [&](uint64_t bytes) {
      done += bytes;
      bar.Update(done, "", Clock::now());
    });
    if (!status.ok()) return status;
  }
  return writer.Commit();
}

struct Summary {
  double fetch_seconds = 0;
  double total_seconds = 0;
  std::string way;
  std::string sources;
};

std::string FileCount(const FetchPlan& plan) {
  const size_t count = plan.file_count();
  return absl::StrCat(count, count == 1 ? " file" : " files");
}

void Print(const Globals& globals, const FetchArguments& arguments, const FetchPlan& plan,
           const Summary& summary) {
  if (globals.format() == OutputFormat::kJson) {
    PrintJson({{"model", arguments.model.name},
               {"version", plan.version},
               {"directory", arguments.directory},
               {"ranks", plan.ranks.size()},
               {"files", plan.file_count()},
               {"bytes", plan.data_bytes()},
               {"fetch_seconds", summary.fetch_seconds},
               {"total_seconds", summary.total_seconds},
               {"way", summary.way},
               {"sources", summary.sources}},
              std::cout);
    return;
  }
  std::cout << "fetched " << arguments.model.name << " version " << plan.version << ": "
            << HumanBytes(plan.data_bytes()) << " in " << HumanSeconds(summary.fetch_seconds)
            << " (" << HumanRate(plan.data_bytes(), summary.fetch_seconds) << ", " << summary.way
            << ", from " << summary.sources << "), " << FileCount(plan) << " in "
            << arguments.directory << " after " << HumanSeconds(summary.total_seconds) << std::endl;
}

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Files in /dev/shm, say, take as much again as the tensors.
absl::Status CheckMemory(const FetchArguments& arguments, const FetchPlan& plan) {
  const bool twice = DirectoryWriter::IsInMemory(arguments.directory);
  const absl::Status status = CheckMemoryFor(plan.data_bytes() + (twice ? plan.disk_bytes() : 0));
  if (status.ok() || !twice) return status;
  return absl::Status(status.code(), absl::StrCat(std::string(status.message()), "; files in ",
                                                  arguments.directory, " are in memory as well"));
}

absl::Status FetchInto(const Globals& globals, const FetchArguments& arguments,
                       const FetchPlan& plan, Cleanup& cleanup, Clock::time_point start) {
  if (absl::Status status = CheckMemory(arguments, plan); !status.ok()) return status;
  auto writer = DirectoryWriter::Create(arguments.directory, plan.disk_bytes());
  if (!writer.ok()) return writer.status();
  const Guarded guarded(cleanup, writer->get());
  GroupFetch fetch({.server = globals.server,
                    .model = arguments.model.name,
                    .location = arguments.location.text,
                    .connect_timeout = globals.connect_timeout,
                    .give_up = start + arguments.timeout});
  if (absl::Status status = fetch.Prepare(plan); !status.ok()) return status;
  const Clock::time_point reading = Clock::now();
  if (absl::Status status = fetch.Read(plan); !status.ok()) return status;
  Summary summary{.fetch_seconds = SecondsSince(reading),
                  .total_seconds = 0,
                  .way = fetch.way(),
                  .sources = fetch.sources()};
  if (absl::Status status = WriteAll(**writer, plan, fetch); !status.ok()) return status;
  summary.total_seconds = SecondsSince(start);
  Print(globals, arguments, plan, summary);
  return absl::OkStatus();
}

// A server that has just started learns from its workers what they hold, for about one lease; till
// then absence proves nothing.
absl::StatusOr<FetchPlan> DescribeRecovered(AdminClient& admin, const FetchArguments& arguments,
                                            Clock::time_point give_up) {
  std::optional<uint32_t> rows;
  if (arguments.ranks) rows = arguments.ranks->count;
  for (;;) {
    const auto before = admin.GetStatus();
    if (!before.ok()) return before.status();
    auto plan = DescribeVersion(admin, arguments.model.name, arguments.version, rows);
    const bool may_appear =
        absl::IsNotFound(plan.status()) || absl::IsFailedPrecondition(plan.status());
    if (!may_appear || !before->recovering() || Clock::now() > give_up) return plan;
    std::this_thread::sleep_for(kRecoveryInterval);
  }
}

// A trainer moves on while the latest version is looked at; then there is a newer one.
constexpr int kLatestAttempts = 3;

absl::Status Fetch(const Globals& globals, const FetchArguments& arguments) {
  Cleanup cleanup;
  SignalThread signals([&](int signal) { cleanup.AbandonAndExit(signal); });
  const Clock::time_point start = Clock::now();
  if (absl::Status status = DirectoryWriter::CheckVacant(arguments.directory); !status.ok()) {
    return status;
  }
  AdminClient admin(globals.server, globals.connect_timeout);
  const Clock::time_point give_up = start + arguments.timeout;
  admin.GiveUpBy(AdminClient::Clock::now() + arguments.timeout);
  for (int attempt = 1;; ++attempt) {
    const auto plan = DescribeRecovered(admin, arguments, give_up);
    if (!plan.ok()) return plan.status();
    absl::Status status = FetchInto(globals, arguments, *plan, cleanup, start);
    const bool again = absl::IsNotFound(status) && !arguments.version.exact;
    if (!again || attempt == kLatestAttempts) return status;
  }
}

}  // namespace

void AddFetchVerb(Verbs& verbs) {
  auto arguments = std::make_shared<FetchArguments>();
  const auto run = [arguments](const Globals& globals) { return Fetch(globals, *arguments); };
  cli::Command& command = verbs.Add("fetch", "Writes a version of a model as files.", run);
  command.Argument("MODEL", &arguments->model, "the model");
  command.Argument("VERSION", &arguments->version, "the version's number, or latest");
  command.Argument("DIR", &arguments->directory, "the directory to make; missing or empty");
  command.Flag("location", &arguments->location, "where this host is");
  command.Flag("ranks", &arguments->ranks,
               "as so many ranks that share every tensor's rows; 1: whole tensors");
  command.Flag("timeout", &arguments->timeout, "how long it may take until all has been read");
  command.Example("tensorhubctl fetch qwen3-8b/actor latest ./qwen3-8b");
  command.Example("tensorhubctl fetch qwen3-8b/actor latest ./whole --ranks 1");
}

}  // namespace tensorhub::ctl
