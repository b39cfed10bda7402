// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// drain: takes workers out of service, and waits until nobody reads from them and what they alone
// have to keep is kept by others. The order is repeated with every look, so that a server that
// starts anew meanwhile hears it, too.

#include <algorithm>
#include <chrono>
#include <iostream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tools/ctl/admin_client.h"
#include "tools/ctl/arguments.h"
#include "tools/ctl/signals.h"
#include "tools/ctl/table.h"
#include "tools/ctl/verbs.h"

namespace tensorhub::ctl {
namespace {

using nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

struct DrainArguments {
  std::string worker;
  bool undo = false;
  bool force = false;
  std::chrono::milliseconds every{1000};
  std::chrono::milliseconds timeout{0};
};

// One worker that is drained.
struct Drained {
  v1::DrainRequest request;
  std::string name;
  v1::DrainResponse now;
  bool ended = false;  // its process is gone
};

std::string GroupName(const v1::WorkerInfo& worker) {
  return absl::StrCat(worker.model(), "/", worker.group());
}

// MODEL/GROUP/RANK is one worker, MODEL/GROUP all of the group.
absl::StatusOr<std::vector<Drained>> FindWorkers(AdminClient& admin, const std::string& text,
                                                 bool undo) {
  const auto workers = admin.ListWorkers();
  if (!workers.ok()) return workers.status();
  std::vector<Drained> found;
  for (const v1::WorkerInfo& worker : workers->workers()) {
    Drained drained;
    drained.name = absl::StrCat(GroupName(worker), "/", worker.rank());
    if (text != drained.name && text != GroupName(worker)) continue;
    drained.request.set_model(worker.model());
    drained.request.set_group(worker.group());
    drained.request.set_rank(worker.rank());
    drained.request.set_undo(undo);
    found.push_back(std::move(drained));
  }
  if (!found.empty()) return found;
  return absl::NotFoundError(absl::StrCat("worker \"", text,
                                          "\": no such worker is there; tensorhubctl workers lists "
                                          "them: give MODEL/GROUP/RANK, or MODEL/GROUP"));
}

absl::Status OrderAll(AdminClient& admin, std::vector<Drained>& workers) {
  for (Drained& worker : workers) {
    if (worker.ended) continue;
    auto response = admin.Drain(worker.request);
    worker.ended = absl::IsNotFound(response.status());
    if (worker.ended) {
      worker.now.Clear();
      continue;
    }
    if (!response.ok()) return response.status();
    worker.now = *std::move(response);
  }
  return absl::OkStatus();
}

bool IsOut(const Drained& worker, bool force) {
  return worker.now.readers() == 0 && (force || worker.now.wanted().empty());
}

bool AreOut(const std::vector<Drained>& workers, bool force) {
  return std::all_of(workers.begin(), workers.end(),
                     [&](const Drained& worker) { return IsOut(worker, force); });
}

// What it waits for, and what an operator may do.
std::string KeeperText(const v1::DrainResponse& now) {
  const std::string what =
      absl::StrCat("version ", now.version(), ", which is wanted (",
                   absl::StrJoin(now.wanted(), ", "), "), is kept by nobody else that stays: ");
  if (!now.copier().empty()) return absl::StrCat(what, now.copier(), " makes a copy");
  return absl::StrCat(what,
                      now.no_copy().empty() ? "" : "no copy is made (" + now.no_copy() + "); ",
                      "start tensorhub-agent on a stable host, unpin it, or give --force");
}

std::string StateText(const Drained& worker, bool force) {
  const v1::DrainResponse& now = worker.now;
  if (worker.ended) return absl::StrCat(worker.name, ": has ended");
  if (!IsOut(worker, force)) {
    std::vector<std::string> parts;
    if (now.readers() > 0) {
      parts.push_back(absl::StrCat(now.readers(), now.readers() == 1 ? " reader" : " readers"));
    }
    if (!now.wanted().empty()) parts.push_back(KeeperText(now));
    return absl::StrCat(worker.name, ": ", absl::StrJoin(parts, "; "));
  }
  const bool last = now.has_version() && now.alone();
  return absl::StrCat(worker.name, ": nobody reads from it",
                      last ? absl::StrCat("; nobody else in service has version ", now.version(),
                                          " whole, which ends with it")
                           : "");
}

ordered_json ObjectOf(const Drained& worker, bool force) {
  const v1::DrainResponse& now = worker.now;
  return {{"model", worker.request.model()},
          {"group", worker.request.group()},
          {"rank", worker.request.rank()},
          {"ended", worker.ended},
          {"out", IsOut(worker, force)},
          {"readers", now.readers()},
          {"version", now.has_version() ? ordered_json(now.version()) : ordered_json(nullptr)},
          {"alone", now.alone()},
          {"wanted", std::vector<std::string>(now.wanted().begin(), now.wanted().end())},
          {"copier", now.copier()},
          {"no_copy", now.no_copy()}};
}

// A line for each worker whose state is another than at the last look.
class Teller {
 public:
  explicit Teller(bool force) : force_(force) {}
  void Tell(const std::vector<Drained>& workers) {
    said_.resize(workers.size());
    for (size_t i = 0; i < workers.size(); ++i) {
      const std::string text = StateText(workers[i], force_);
      if (std::exchange(said_[i], text) != text) std::cout << text << '\n';
    }
    std::cout.flush();
  }

 private:
  const bool force_;
  std::vector<std::string> said_;
};

void PrintObject(const std::vector<Drained>& workers, bool force) {
  ordered_json list = ordered_json::array();
  for (const Drained& worker : workers) list.push_back(ObjectOf(worker, force));
  PrintJson({{"workers", std::move(list)}}, std::cout);
}

absl::Status TimeIsUp(const std::vector<Drained>& workers, const DrainArguments& arguments) {
  std::vector<std::string> left;
  for (const Drained& worker : workers) {
    if (!IsOut(worker, arguments.force)) left.push_back(StateText(worker, arguments.force));
  }
  return absl::DeadlineExceededError(absl::StrCat(
      "not out of service in ", arguments.timeout.count(),
      " ms, and still ordered to be (--undo takes that back): ", absl::StrJoin(left, ", ")));
}

absl::Status Drain(const Globals& globals, const DrainArguments& arguments) {
  const bool table = globals.format() == OutputFormat::kTable;
  const Clock::time_point begin = Clock::now();
  AdminClient admin(globals.server, globals.connect_timeout);
  auto workers = FindWorkers(admin, arguments.worker, arguments.undo);
  if (!workers.ok()) return workers.status();
  Teller teller(arguments.force);
  for (;;) {
    if (absl::Status status = OrderAll(admin, *workers); !status.ok()) return status;
    if (arguments.undo) break;
    if (table) teller.Tell(*workers);
    if (AreOut(*workers, arguments.force)) break;
    const auto waited = Clock::now() - begin;
    if (arguments.timeout.count() > 0 && waited >= arguments.timeout) {
      return TimeIsUp(*workers, arguments);
    }
    std::this_thread::sleep_for(arguments.every);
  }
  if (!table) PrintObject(*workers, arguments.force);
  return absl::OkStatus();
}

}  // namespace

void AddDrainVerb(Verbs& verbs) {
  auto arguments = std::make_shared<DrainArguments>();
  const auto run = [arguments](const Globals& globals) -> absl::Status {
    if (arguments->every < std::chrono::milliseconds(100)) {
      return absl::InvalidArgumentError("--every: give at least 100ms");
    }
    SignalThread signals([](int signal) { ExitNow(ExitCodeOf(signal)); });
    return Drain(globals, *arguments);
  };
  cli::Command& command = verbs.Add(
      "drain", "Takes workers out of service, and waits until nobody reads from them.", run);
  command.Argument("WORKER", &arguments->worker, "MODEL/GROUP/RANK, or MODEL/GROUP: all its ranks");
  command.Flag("undo", &arguments->undo, "takes them back into service, and ends at once");
  command.Flag("force", &arguments->force,
               "does not wait for others to keep what is wanted of them");
  command.Flag("every", &arguments->every, "time between two looks");
  command.Flag("timeout", &arguments->timeout, "fails after that long (0s: never)");
  command.Example("tensorhubctl drain actor/rollout-7 && systemctl stop rollout-7");
  command.Example("tensorhubctl drain actor/rollout-7/0 --undo");
}

}  // namespace tensorhub::ctl
