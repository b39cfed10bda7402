// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// tensorhub-agent: keeps the newest version of models in this host's memory.

#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/cli/flags.h"
#include "common/cli/log_thread.h"
#include "common/cli/logging.h"
#include "common/cli/program.h"
#include "common/mutex.h"
#include "common/thread.h"
#include "tools/agent/subscription.h"
#include "tools/ctl/arguments.h"
#include "tools/ctl/security_flags.h"
#include "tools/ctl/signals.h"
#include "worker_agent/seen/worker_page.h"

namespace tensorhub::keeper {
namespace {

constexpr int kUsage = 2;

struct Flags {
  std::string server = "localhost:7070";
  std::vector<std::string> models;
  ctl::GroupFlag group;
  ctl::LocationFlag location;
  std::chrono::milliseconds connect_timeout{5000};
  tls::ClientSecurity security;
  std::string http;
  std::string trace;
};

void Declare(cli::CommandLine& line, Flags& flags) {
  line.Flag("server", &flags.server, "the hub; where it has several servers, all of them",
            {.placeholder = "HOST:PORT,..."});
  line.Flag("model", &flags.models, "a model to keep", {.placeholder = "MODEL"});
  line.Flag("group", &flags.group, "the group's name instead of one unique to this run");
  line.Flag("location", &flags.location, "where this host is");
  line.Flag("connect-timeout", &flags.connect_timeout,
            "how long an unreachable server is retried before that is logged");
  line.Flag("http", &flags.http,
            "show there metrics for Prometheus (/metrics), and answer probes (/livez), in plain "
            "HTTP and to whoever asks (default: do not)",
            {.placeholder = "HOST:PORT"});
  line.Flag("trace", &flags.trace,
            "write what is fetched and served into a file in this folder, for Perfetto and "
            "tensorhubctl trace --workers (default: do not)",
            {.placeholder = "DIR"});
  ctl::DeclareSecurity(line, flags.security);
  line.Example("tensorhub-agent --model qwen3-8b/actor --location us/dc1/r4/h7");
}

cli::ErrorText Check(const Flags& flags) {
  if (auto problem = ctl::ServerProblem(flags.server)) return problem;
  if (flags.connect_timeout.count() == 0) return "--connect-timeout: give at least 1ms";
  if (auto problem = ctl::SecurityProblem(flags.security, flags.server)) return problem;
  if (!flags.http.empty()) {
    const absl::Status http = agent::WorkerPage::CheckAddress(flags.http);
    if (!http.ok()) return absl::StrCat("--http: ", std::string(http.message()));
  }
  if (flags.models.empty()) return "--model is missing: which model is to be kept?";
  for (const std::string& model : flags.models) {
    ctl::ModelArgument checked;
    if (auto problem = ctl::ParseValue(model, &checked)) {
      return absl::StrCat("--model: \"", cli::OneLine(model), "\" ", *problem);
    }
    if (std::count(flags.models.begin(), flags.models.end(), model) > 1) {
      return absl::StrCat("--model: \"", cli::OneLine(model), "\" is named twice");
    }
  }
  return std::nullopt;
}

// Ends the subscriptions on a signal, and the process on a second one.
class Agent {
 public:
  explicit Agent(const Flags& flags) {
    const std::string group =
        flags.group.name.empty() ? ctl::UniqueGroup("agent") : flags.group.name;
    for (const std::string& model : flags.models) {
      subscriptions_.push_back(
          std::make_unique<Subscription>(Options{.server = flags.server,
                                                 .model = model,
                                                 .group = group,
                                                 .location = flags.location.text,
                                                 .http = flags.http,
                                                 .trace = flags.trace,
                                                 .connect_timeout = flags.connect_timeout}));
    }
  }

  void OnSignal(int signal) {
    if (stopping_.exchange(true)) ctl::ExitNow(ctl::ExitCodeOf(signal));
    StopAll();
  }

  absl::Status Run() {
    std::vector<std::thread> threads;
    for (auto& subscription : subscriptions_) {
      threads.push_back(StartThreadOrEnd("a model", [this, &subscription] {
        const absl::Status status = subscription->Run();
        if (!status.ok()) Fail(status);
      }));
    }
    for (std::thread& thread : threads) thread.join();
    MutexLock lock(mutex_);
    return status_;
  }

 private:
  void Fail(const absl::Status& status) {
    {
      MutexLock lock(mutex_);
      status_.Update(status);
    }
    StopAll();
  }
  void StopAll() {
    for (auto& subscription : subscriptions_) subscription->Stop();
  }

  std::vector<std::unique_ptr<Subscription>> subscriptions_;
  std::atomic<bool> stopping_{false};
  Mutex mutex_;
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
};

// What could not be written would be found out at the first version only.
absl::Status CheckTrace(const Flags& flags) {
  if (flags.trace.empty()) return absl::OkStatus();
  std::error_code error;
  if (std::filesystem::is_directory(flags.trace, error) && access(flags.trace.c_str(), W_OK) == 0) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(
      absl::StrCat("--trace: \"", cli::OneLine(flags.trace),
                   "\" is no folder that can be written to; make it, or name another"));
}

// Null: none is wanted.
absl::StatusOr<std::shared_ptr<agent::WorkerPage>> PageOf(const Flags& flags) {
  if (flags.http.empty()) return nullptr;
  auto page = agent::WorkerPage::At(flags.http);
  if (!page.ok()) {
    return absl::UnavailableError(absl::StrCat("--http: ", std::string(page.status().message())));
  }
  std::cout << "metrics at http://" << (*page)->address().ToString() << "/metrics" << std::endl;
  return page;
}

int Main(int argc, char** argv) {
  cli::StartProgram();
  // What is held outlasts whoever reads the output; and a file that may not grow, of shared memory,
  // say, is an error like others.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  std::signal(SIGHUP, SIG_IGN);  // a daemon, with nothing to reload
  Flags flags;
  cli::CommandLine line("tensorhub-agent",
                        "Keeps the newest version of models in this host's memory, for whoever "
                        "needs it after its trainer has moved on.");
  Declare(line, flags);
  if (std::optional<int> exit_code = line.Parse(argc, argv)) return *exit_code;
  if (cli::ErrorText problem = Check(flags)) return cli::Fail(line.name(), *problem, kUsage);
  ctl::UseInThisProcess(flags.security);
  cli::InitLogging(line.name(), line.log());
  std::optional<Agent> agent;  // goes after the thread that may be stopping it
  std::atomic<bool> running = false;
  ctl::SignalThread signals([&](int signal) {
    running ? agent->OnSignal(signal) : ctl::ExitNow(ctl::ExitCodeOf(signal));
  });
  // Readers of this host do not wait for a reader of its log.
  const cli::LogThread log(line.name(), line.log());
  if (absl::Status status = CheckTrace(flags); !status.ok()) {
    return cli::Fail(line.name(), std::string(status.message()), 1);
  }
  // Here also before there is a model to keep.
  const absl::StatusOr<std::shared_ptr<agent::WorkerPage>> page = PageOf(flags);
  if (!page.ok()) return cli::Fail(line.name(), std::string(page.status().message()), 1);
  agent.emplace(flags);
  running = true;
  const absl::Status status = agent->Run();
  if (status.ok()) return 0;
  spdlog::error("{}", std::string(status.message()));
  return 1;
}

}  // namespace
}  // namespace tensorhub::keeper

int main(int argc, char** argv) { return tensorhub::keeper::Main(argc, argv); }
