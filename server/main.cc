// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// tensorhub-server: flags, data directory, signals.

#include <grpc/support/log.h>
#include <signal.h>
#include <spdlog/spdlog.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/cli/flags.h"
#include "common/cli/log_thread.h"
#include "common/cli/program.h"
#include "common/memory_left.h"
#include "common/random.h"
#include "common/tls/client_security.h"
#include "server/http/pages.h"
#include "server/observed.h"
#include "server/rpc/room_to_run.h"
#include "server/rpc/rpc_server.h"
#include "server/store/memory_store.h"
#include "server/store/sqlite_store.h"
#include "server/supervised.h"

namespace tensorhub {
namespace {

constexpr char kName[] = "tensorhub-server";

// More connections than that fill no link.
constexpr uint32_t kSourcesPerReaderMax = 16;

struct Flags {
  std::string listen = "0.0.0.0:7070";
  std::string data_dir;
  std::string store = "auto";
  std::chrono::milliseconds lease{5000};
  uint32_t readers_per_source = 1;
  uint32_t sources_per_reader = 1;
  uint32_t keep_latest = 1;
  bool reflection = true;
  bool insecure_loopback = false;
  tls::Files tls;
  std::string client_auth = "auto";
  std::string access;
  std::string http;
};

void DeclareGuard(cli::CommandLine& line, Flags& flags) {
  const cli::FlagHints file{.placeholder = "FILE"};
  line.Flag("tls-cert", &flags.tls.cert,
            "the server's certificate in PEM, its issuers' behind it: connections are TLS then; "
            "files that change are put in force while the server runs",
            file);
  line.Flag("tls-key", &flags.tls.key, "the certificate's key", file);
  line.Flag("tls-ca", &flags.tls.ca, "whose certificates clients may have, in PEM", file);
  line.Flag("tls-client-auth", &flags.client_auth,
            "whether clients show a certificate of --tls-ca; auto: required if --tls-ca is given, "
            "else none",
            {.placeholder = "auto|none|optional|required"});
  line.Flag("access", &flags.access,
            "who may do what, a line each (docs/security.md); without it, whoever may connect may "
            "do everything",
            file);
  line.Flag("insecure-loopback", &flags.insecure_loopback,
            "for demonstrations: listen on this host's loopback only, to whoever is on this host");
}

void Declare(cli::CommandLine& line, Flags& flags) {
  line.DefaultLogLevel("info");
  line.Flag("listen", &flags.listen,
            "where workers and tools reach the hub; 0.0.0.0 is all addresses, IPv6's as well; port "
            "0 takes any free one; without TLS and --access, name an address that only your "
            "cluster reaches",
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
  line.Flag("sources-per-reader", &flags.sources_per_reader,
            "sources that feed one reader at a time where so many are free and near: for links, or "
            "connections, slower than the reader's own; 1 to 16");
  line.Flag("keep-latest", &flags.keep_latest,
            "of each model's versions, how many of the newest must not be lost when their last "
            "holder unpublishes; it waits then until somebody else keeps them, or makes a copy in "
            "host memory; tensorhubctl retain changes it for one model");
  line.Flag("reflection", &flags.reflection,
            "let tools list the services (grpcurl); --reflection=false: do not");
  line.Flag("http", &flags.http,
            "show there a page of models and workers (/), the same as JSON (/api/v1), and metrics "
            "for Prometheus (/metrics), and answer probes (/livez, /readyz), in plain HTTP and to "
            "whoever asks (default: do not)",
            {.placeholder = "HOST:PORT"});
  DeclareGuard(line, flags);
  line.Example("tensorhub-server --data-dir /var/lib/tensorhub");
  line.Example("tensorhub-server --listen 127.0.0.1:0 --lease 1s --log-level debug");
  line.Example("TENSORHUB_LISTEN=[::]:7070 tensorhub-server --log-format json");
}

bool OnLoopback(const Flags& flags) { return tls::IsLoopback(flags.listen); }

// The flags of the guard.
cli::Problem CheckGuard(const cli::CommandLine& line, Flags& flags) {
  if (flags.insecure_loopback && !line.IsSet("listen")) flags.listen = "127.0.0.1:7070";
  if (flags.insecure_loopback && !OnLoopback(flags)) {
    return absl::StrCat("--insecure-loopback: --listen ", flags.listen,
                        " is beyond the loopback; name 127.0.0.1 or [::1]");
  }
  if (flags.tls.cert.empty() != flags.tls.key.empty()) {
    return "--tls-cert and --tls-key: give both, or neither";
  }
  if (flags.client_auth == "auto") flags.client_auth = flags.tls.ca.empty() ? "none" : "required";
  const bool known = flags.client_auth == "none" || flags.client_auth == "optional" ||
                     flags.client_auth == "required";
  if (!known) return "--tls-client-auth: give auto, none, optional or required";
  if (flags.tls.cert.empty() && flags.client_auth == "required") {
    return "--tls-client-auth: client certificates need TLS; give --tls-cert and --tls-key";
  }
  if (flags.client_auth != "none" && flags.tls.ca.empty()) {
    return "--tls-client-auth: say by --tls-ca whose certificates clients may have";
  }
  if (!flags.access.empty() && flags.tls.cert.empty() && !OnLoopback(flags)) {
    return "--access: beyond the loopback, who calls is known by TLS only; give --tls-cert and "
           "--tls-key";
  }
  return std::nullopt;
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
  if (flags.sources_per_reader == 0 || flags.sources_per_reader > kSourcesPerReaderMax) {
    return absl::StrCat("--sources-per-reader: give 1 to ", kSourcesPerReaderMax);
  }
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
  return CheckGuard(line, flags);
}

constexpr std::chrono::milliseconds kFirstSignal(300);

// The server's own, to wake WaitForStop.
constexpr int kFailed = SIGUSR1;

sigset_t SignalSet(std::initializer_list<int> of) {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : of) sigaddset(&signals, signal);
  return signals;
}

// Before any thread starts: all of them inherit it, so that only WaitForStop sees the signals.
void BlockStopSignals() {
  const sigset_t signals = SignalSet({SIGTERM, SIGINT, SIGHUP, kFailed});
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  signal(SIGPIPE, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN);  // a file that may not grow is an error of the store
}

int Failed(const absl::Status& status) {
  spdlog::error("{}", std::string(status.message()));
  return 1;
}

// That the server ends by itself. Any thread; gRPC's may speak of it to the end.
std::atomic<bool> g_failed = false;

void EndFor(const absl::Status& why) {
  if (g_failed.exchange(true)) return;
  Failed(why);
  kill(getpid(), kFailed);
}

// Of handshakes that fail, one in a while is told: who has a wrong certificate tries again and
// again.
bool TooOften(const char* message) {
  constexpr int64_t kEverySeconds = 10;
  static std::atomic<int64_t> next{0};
  if (!absl::StrContains(message, "andshake")) return false;
  const int64_t now = tls::SecondsNow();
  int64_t due = next;
  return now < due || !next.compare_exchange_strong(due, now + kEverySeconds);
}

// gRPC writes to standard error in a format of its own; what matters of it goes through our log.
// After a failed accept, 1.51 never listens again (grpc/grpc#20418): nobody could connect any more.
void RouteGrpcLog() {
  gpr_set_log_function([](gpr_log_func_args* record) {
    if (TooOften(record->message)) return;
    const bool error = record->severity == GPR_LOG_SEVERITY_ERROR;
    spdlog::log(error ? spdlog::level::warn : spdlog::level::debug, "grpc: {}", record->message);
    if (!absl::StartsWith(record->message, "Failed accept")) return;
    EndFor(absl::ResourceExhaustedError(absl::StrCat(
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

const char* NameOf(int signal) { return signal == SIGTERM ? "SIGTERM" : "SIGINT"; }

// On SIGHUP, `reload`.
void WaitForStop(const std::function<void()>& reload) {
  const sigset_t signals = SignalSet({SIGTERM, SIGINT, SIGHUP, kFailed});
  int received = 0;
  do {
    sigwait(&signals, &received);
    if (g_failed) return;
    if (received == SIGHUP) reload();
  } while (received == SIGHUP || received == kFailed);  // somebody else's
  spdlog::info("stopping: received {}; once more ends it at once", NameOf(received));
}

// To end in order may take as long as the disk takes for what is being kept. Ending at once is safe
// as well, like being killed: nobody has heard of what is not kept.
void EndAtOnceIfAsked() {
  std::thread([] {
    const sigset_t signals = SignalSet({SIGTERM, SIGINT});
    // A terminal and a launcher may both send the first.
    std::this_thread::sleep_for(kFirstSignal);
    timespec none = {};
    while (sigtimedwait(&signals, nullptr, &none) > 0) continue;
    int received = 0;
    sigwait(&signals, &received);
    _exit(128 + received);
  }).detach();
}

// For what is being received: half of the memory that there is, and no more than is ever needed.
size_t ReceiveBytesMax() {
  constexpr uint64_t kLeast = uint64_t{256} << 20;
  constexpr uint64_t kMost = uint64_t{2} << 30;
  const uint64_t bytes = std::clamp(MemoryLeft().value_or(kMost) / 2, kLeast, kMost);
  return std::min(bytes, rpc::AddressBytesMax() / 4);
}

rpc::ClientAuth ClientAuthOf(const std::string& word) {
  if (word == "required") return rpc::ClientAuth::kRequired;
  return word == "optional" ? rpc::ClientAuth::kOptional : rpc::ClientAuth::kNone;
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
  options.loop.hub.sources_per_reader = flags.sources_per_reader;
  options.loop.hub.keep_latest = flags.keep_latest;
  options.identity = loaded.identity;
  options.data_dir = flags.data_dir;
  options.reflection = flags.reflection;
  options.guard.tls = flags.tls;
  options.guard.client_auth = ClientAuthOf(flags.client_auth);
  options.guard.access = flags.access;
  options.receive_bytes_max = ReceiveBytesMax();
  return options;
}

absl::StatusOr<std::unique_ptr<store::Store>> OpenStore(const Flags& flags) {
  if (flags.store == "memory") return std::make_unique<store::MemoryStore>();
  return store::SqliteStore::Open(flags.data_dir);
}

std::string Describe(const rpc::RpcServer::Options& options) {
  const Id128& id = options.identity.store_id;
  return absl::StrCat("hub ", id ? ToHex(id) : "without a store", " epoch ", options.identity.epoch,
                      options.loop.hub.recovering ? ", recovering" : "", ", lease ",
                      options.loop.hub.lease_ms, " ms");
}

void WarnIfOpen(const Flags& flags) {
  if (OnLoopback(flags) || flags.client_auth == "required" || !flags.access.empty()) return;
  spdlog::warn(
      "whoever reaches {} may list, publish and take versions: keep it in a network of its own, or "
      "give --tls-cert, --tls-key, --tls-ca and --access (docs/security.md)",
      flags.listen);
}

// Null: nobody asked for them.
absl::StatusOr<std::unique_ptr<http::Pages>> ShowPages(const Flags& flags, rpc::RpcServer& server) {
  if (flags.http.empty()) return nullptr;
  const absl::StatusOr<rpc::ListenAddress> address = rpc::ListenAddress::Parse(flags.http);
  if (!address.ok()) return address.status();
  return http::Pages::Start(
      address->host, address->port, [&server] { return Observe(server); },
      [&server](auto reader) { return LookAndWait(server, std::move(reader)); });
}

// Until it is told to end, or has to: the exit code. No worker, and no supervisor, waits for
// whoever reads the log.
int Serve(const Flags& flags, const rpc::ListenAddress& listen, const cli::LogOptions& log) {
  const cli::LogThread log_thread(kName, log);
  const absl::StatusOr<std::unique_ptr<store::Store>> store = OpenStore(flags);
  if (!store.ok()) return Failed(store.status());
  const absl::StatusOr<store::Loaded> loaded = (*store)->Load();
  if (!loaded.ok()) return Failed(loaded.status());
  rpc::RpcServer::Options options = ServerOptions(flags, listen, *loaded);
  options.loop.store = store->get();
  options.loop.on_failure = EndFor;
  auto server = rpc::RpcServer::Start(options);
  if (!server.ok()) return Failed(server.status());
  const auto pages = ShowPages(flags, **server);
  if (!pages.ok()) return Failed(pages.status());
  const std::string which = Describe(options);
  const std::string address = (*server)->address().ToString();
  spdlog::info("{}", which);
  std::printf("listening on %s\n", address.c_str());
  if (*pages != nullptr) std::printf("metrics on port %d\n", (*pages)->port());
  std::fflush(stdout);
  WarnIfOpen(flags);
  {
    const Supervised supervised(**server, absl::StrCat("listening on ", address, ", ", which));
    WaitForStop([&] { (*server)->Reload(); });
  }
  EndAtOnceIfAsked();
  (*server)->Shutdown();
  return g_failed ? 1 : 0;
}

int Main(int argc, char** argv) {
  cli::StartProgram();
  Flags flags;
  cli::CommandLine line(kName, "The hub of TensorHub: knows which worker holds which version.");
  Declare(line, flags);
  if (std::optional<int> exit_code = line.Parse(argc, argv)) return *exit_code;
  if (cli::Problem problem = Check(line, flags)) return cli::Fail(kName, *problem, 2);
  const absl::StatusOr<rpc::ListenAddress> listen = rpc::ListenAddress::Parse(flags.listen);
  if (!listen.ok()) {
    return cli::Fail(kName, "--listen: " + std::string(listen.status().message()), 2);
  }
  if (!flags.http.empty()) {
    const absl::Status http = rpc::ListenAddress::Parse(flags.http).status();
    if (!http.ok()) return cli::Fail(kName, "--http: " + std::string(http.message()), 2);
  }
  rpc::EndWithAWordIfMemoryEnds();
  if (const absl::Status room = rpc::CheckRoomToRun(); !room.ok()) {
    return cli::Fail(kName, std::string(room.message()), 1);
  }
  cli::InitLogging(kName, line.log());
  RouteGrpcLog();
  RaiseFileLimit();
  BlockStopSignals();
  return Serve(flags, *listen, line.log());
}

}  // namespace
}  // namespace tensorhub

int main(int argc, char** argv) { return tensorhub::Main(argc, argv); }
