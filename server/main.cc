// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// tensorhub-server: flags, data directory, signals.

#include <grpc/support/log.h>
#include <signal.h>
#include <spdlog/spdlog.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/cli/flags.h"
#include "common/cli/lock_tracking.h"
#include "common/mutex.h"
#include "common/random.h"
#include "server/rpc/rpc_server.h"
#include "server/store/memory_store.h"
#include "server/store/sqlite_store.h"

namespace tensorhub {
namespace {

constexpr char kName[] = "tensorhub-server";

struct Flags {
  std::string listen = "0.0.0.0:7070";
  std::string data_dir;
  std::string store = "auto";
  std::chrono::milliseconds lease{5000};
  uint32_t readers_per_source = 1;
  uint32_t keep_latest = 1;
  bool reflection = true;
};

void Declare(cli::CommandLine& line, Flags& flags) {
  line.DefaultLogLevel("info");
  line.Flag("listen", &flags.listen,
            "where workers and tools reach the hub; 0.0.0.0 is all addresses, IPv6's as well; port "
            "0 takes any free one; there is no authentication yet, so name an address that only "
            "your cluster reaches",
            {.placeholder = "HOST:PORT"});
  line.Flag("data-dir", &flags.data_dir,
            "keep what must outlive the server in this directory, so that workers know it again "
            "after a restart and no version is forgotten; it is made if it is missing (default: "
            "keep nothing)",
            {.placeholder = "DIR"});
  line.Flag("store", &flags.store,
            "memory, sqlite (a database in --data-dir; `file` is the same), or auto: sqlite if "
            "--data-dir is given, else memory",
            {.placeholder = "auto|memory|sqlite"});
  line.Flag("lease", &flags.lease,
            "how long a worker that fell silent counts as alive; shorter frees the readers of "
            "dead workers sooner, longer survives longer pauses");
  line.Flag("readers-per-source", &flags.readers_per_source,
            "readers that one source feeds before others are preferred");
  line.Flag("keep-latest", &flags.keep_latest,
            "of each model's versions, how many of the newest must not be lost when their last "
            "holder unpublishes; it waits then until somebody else keeps them, or makes a copy in "
            "host memory; tensorhubctl retain changes it for one model");
  line.Flag("reflection", &flags.reflection,
            "let tools list the services (grpcurl); --reflection=false: do not");
  line.Example("tensorhub-server --data-dir /var/lib/tensorhub");
  line.Example("tensorhub-server --listen 127.0.0.1:0 --lease 1s --log-level debug");
  line.Example("TENSORHUB_LISTEN=[::]:7070 tensorhub-server --log-format json");
}

// What is wrong with the flags beyond their types, or nothing.
cli::Problem Check(const cli::CommandLine& line, Flags& flags) {
  using std::chrono::milliseconds;
  if (line.IsSet("data-dir") && flags.data_dir.empty()) {
    return "--data-dir: is empty; name a directory";
  }
  if (flags.lease < milliseconds(100) || flags.lease > std::chrono::hours(1)) {
    return "--lease: give a duration between 100ms and 1h";
  }
  if (flags.readers_per_source == 0) return "--readers-per-source: give at least 1";
  if (flags.store == "auto") flags.store = flags.data_dir.empty() ? "memory" : "sqlite";
  if (flags.store == "file") flags.store = "sqlite";
  if (flags.store != "memory" && flags.store != "sqlite") {
    return absl::StrCat("--store: \"", flags.store,
                        "\" is not available in this build; give auto, memory or sqlite");
  }
  if (flags.store == "sqlite" && flags.data_dir.empty()) {
    return "--store sqlite needs --data-dir DIR";
  }
  if (flags.store == "memory" && !flags.data_dir.empty()) {
    return "--store memory keeps nothing: leave out --data-dir, or give --store sqlite";
  }
  return std::nullopt;
}

sigset_t StopSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  return signals;
}

// Before any thread starts: all of them inherit it, so that only WaitForStop sees the signals.
void BlockStopSignals() {
  const sigset_t signals = StopSignals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  signal(SIGPIPE, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN);  // a file that may not grow is an error of the store
}

// Why the server ends by itself. Any thread.
class Failure {
 public:
  void Set(const absl::Status& status) {
    {
      MutexLock lock(mutex_);
      status_ = status;
    }
    kill(getpid(), SIGTERM);  // wakes WaitForStop
  }
  std::optional<absl::Status> status() const {
    MutexLock lock(mutex_);
    return status_;
  }

 private:
  mutable Mutex mutex_;
  std::optional<absl::Status> status_ ABSL_GUARDED_BY(mutex_);
};

// The process's one; gRPC's threads may speak of it to the end.
Failure& TheFailure() {
  static auto* const failure = new Failure;
  return *failure;
}

// gRPC writes to standard error in a format of its own; what matters of it goes through our log.
// After a failed accept, 1.51 never listens again (grpc/grpc#20418): nobody could connect any more.
void RouteGrpcLog() {
  gpr_set_log_function([](gpr_log_func_args* record) {
    const bool error = record->severity == GPR_LOG_SEVERITY_ERROR;
    spdlog::log(error ? spdlog::level::warn : spdlog::level::debug, "grpc: {}", record->message);
    if (!absl::StartsWith(record->message, "Failed accept")) return;
    TheFailure().Set(absl::ResourceExhaustedError(absl::StrCat(
        "no connections can be taken any more (", record->message,
        "); the limit of open files (ulimit -n) must be above the number of clients")));
  });
}

// Each client is a connection.
void RaiseFileLimit() {
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

void WaitForStop() {
  const sigset_t signals = StopSignals();
  int received = 0;
  sigwait(&signals, &received);
  if (TheFailure().status()) return;
  spdlog::info("stopping: received {}", received == SIGTERM ? "SIGTERM" : "SIGINT");
}

rpc::RpcServer::Options ServerOptions(const Flags& flags, const rpc::ListenAddress& listen,
                                      const store::Loaded& loaded) {
  const auto lease_ms = flags.lease.count();
  rpc::RpcServer::Options options;
  options.listen = listen;
  options.loop.hub.seed = RandomSeed();
  options.loop.hub.life = loaded.identity.epoch;
  options.loop.hub.lease_ms = lease_ms;
  options.loop.hub.heartbeat_ms = lease_ms / 5;
  options.loop.hub.recovering = loaded.earlier_life;
  options.loop.hub.durable = loaded.state;
  options.loop.hub.readers_per_source = flags.readers_per_source;
  options.loop.hub.keep_latest = flags.keep_latest;
  options.identity = loaded.identity;
  options.data_dir = flags.data_dir;
  options.reflection = flags.reflection;
  return options;
}

absl::StatusOr<std::unique_ptr<store::Store>> OpenStore(const Flags& flags) {
  if (flags.store == "memory") return std::make_unique<store::MemoryStore>();
  return store::SqliteStore::Open(flags.data_dir);
}

int Serve(const Flags& flags, const rpc::ListenAddress& listen) {
  const absl::StatusOr<std::unique_ptr<store::Store>> store = OpenStore(flags);
  if (!store.ok()) return cli::Fail(kName, std::string(store.status().message()), 1);
  const absl::StatusOr<store::Loaded> loaded = (*store)->Load();
  if (!loaded.ok()) return cli::Fail(kName, std::string(loaded.status().message()), 1);
  rpc::RpcServer::Options options = ServerOptions(flags, listen, *loaded);
  options.loop.store = store->get();
  options.loop.on_failure = [](const absl::Status& status) { TheFailure().Set(status); };
  auto server = rpc::RpcServer::Start(options);
  if (!server.ok()) return cli::Fail(kName, std::string(server.status().message()), 1);
  spdlog::info(
      "hub {} epoch {}{}, lease {} ms",
      options.identity.store_id ? ToHex(options.identity.store_id) : std::string("without a store"),
      options.identity.epoch, options.loop.hub.recovering ? ", recovering" : "",
      options.loop.hub.lease_ms);
  std::printf("listening on %s\n", (*server)->address().ToString().c_str());
  std::fflush(stdout);
  WaitForStop();
  (*server)->Shutdown();
  if (const auto why = TheFailure().status())
    return cli::Fail(kName, std::string(why->message()), 1);
  return 0;
}

int Main(int argc, char** argv) {
  cli::StopLockTracking();
  Flags flags;
  cli::CommandLine line(kName, "The hub of TensorHub: knows which worker holds which version.");
  Declare(line, flags);
  if (std::optional<int> exit_code = line.Parse(argc, argv)) return *exit_code;
  if (cli::Problem problem = Check(line, flags)) return cli::Fail(kName, *problem, 2);
  const absl::StatusOr<rpc::ListenAddress> listen = rpc::ListenAddress::Parse(flags.listen);
  if (!listen.ok()) {
    return cli::Fail(kName, "--listen: " + std::string(listen.status().message()), 2);
  }
  cli::InitLogging(kName, line.log());
  RouteGrpcLog();
  RaiseFileLimit();
  BlockStopSignals();
  return Serve(flags, *listen);
}

}  // namespace
}  // namespace tensorhub

int main(int argc, char** argv) { return tensorhub::Main(argc, argv); }
