// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// tensorhub-server: from its flags to its end.

#include <grpc/support/log.h>
#include <spdlog/spdlog.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/cli/child.h"
#include "common/cli/flags.h"
#include "common/cli/log_thread.h"
#include "common/cli/program.h"
#include "common/memory_left.h"
#include "common/random.h"
#include "common/tls/client_security.h"
#include "server/candidacy.h"
#include "server/flags.h"
#include "server/http/pages.h"
#include "server/observed.h"
#include "server/rpc/room_to_run.h"
#include "server/rpc/rpc_server.h"
#include "server/signals.h"
#include "server/store/memory_store.h"
#include "server/store/sqlite_store.h"
#include "server/supervised.h"

namespace tensorhub {
namespace {

constexpr char kName[] = "tensorhub-server";

// A failed handshake is told once in a while: a client that has a wrong certificate tries again and
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

rpc::Guard::Options GuardOptions(const Flags& flags) {
  rpc::Guard::Options options;
  options.tls = flags.tls;
  options.client_auth = ClientAuthOf(flags.client_auth);
  options.access = flags.access;
  options.limits = flags.limits;
  options.limits.document_bytes_per_min = flags.document_bytes_per_caller.value;
  return options;
}

rpc::RpcServer::Options ServerOptions(const Flags& flags, const ListenAddress& listen,
                                      const store::Loaded& loaded) {
  const auto lease_ms = flags.lease.count();
  rpc::RpcServer::Options options;
  options.listen = listen;
  options.loop.hub.seed = RandomSeed();
  options.loop.hub.hub_epoch = loaded.identity.epoch;
  options.loop.hub.store = loaded.identity.store_id;
  options.loop.hub.lease_ms = lease_ms;
  options.loop.hub.heartbeat_ms = lease_ms / 5;
  options.loop.hub.recovering = loaded.earlier_life;
  options.loop.hub.durable = loaded.state;
  options.loop.hub.readers_per_source = flags.readers_per_source;
  options.loop.hub.sources_per_reader = flags.sources_per_reader;
  options.loop.hub.keep_latest = flags.keep_latest;
  options.loop.hub.guard_reads = flags.guard_reads;
  options.identity = loaded.identity;
  options.data_dir = flags.data_dir;
  options.reflection = flags.reflection;
  options.guard = GuardOptions(flags);
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
  const absl::StatusOr<ListenAddress> address = ListenAddress::Parse(flags.http);
  if (!address.ok()) return address.status();
  return http::Pages::Start(
      address->host, address->port, [&server] { return Observe(server); },
      [&server](auto reader) { return LookAndWait(server, std::move(reader)); });
}

// Null: nobody asked for it.
absl::StatusOr<std::unique_ptr<rpc::Recorder>> OpenRecord(const Flags& flags) {
  if (flags.record.empty()) return nullptr;
  return rpc::Recorder::Open({flags.record, flags.record_max.value, TENSORHUB_VERSION});
}

void Announce(const ListenAddress& listen, const http::Pages* pages) {
  std::printf("listening on %s\n", listen.ToString().c_str());
  if (pages != nullptr) std::printf("metrics on port %d\n", pages->port());
  std::fflush(stdout);
}

// The hub of this store, until it is told to end, or has to: the exit code. `candidacy`: null, or
// how this server came to lead.
int ServeHub(const Flags& flags, const ListenAddress& listen, store::Store& store,
             Candidacy* candidacy, Supervised& supervised) {
  const absl::StatusOr<store::Loaded> loaded = store.Load();
  if (!loaded.ok()) return Failed(loaded.status());
  rpc::RpcServer::Options options = ServerOptions(flags, listen, *loaded);
  options.loop.store = &store;
  options.loop.on_failure = EndFor;
  const auto recorder = OpenRecord(flags);
  if (!recorder.ok()) return Failed(recorder.status());
  options.loop.recorder = recorder->get();
  if (candidacy != nullptr) {
    options.loop.on_end = [candidacy] { candidacy->GiveBack(); };
    options.leads_at = candidacy->address();
  }
  auto server = rpc::RpcServer::Start(options);
  if (!server.ok()) return Failed(server.status());
  // Only now: a port that refuses would be taken for this server's death (Deathwatch).
  if (candidacy != nullptr) candidacy->EndStandby();
  const auto pages = ShowPages(flags, **server);
  if (!pages.ok()) return Failed(pages.status());
  const std::string which = Describe(options);
  spdlog::info("{}", which);
  if (candidacy == nullptr) {
    Announce((*server)->address(), pages->get());
    WarnIfOpen(flags);
  } else {
    spdlog::info("this server leads, and is reached at {}", candidacy->address());
    candidacy->Show(server->get());
  }
  supervised.Ready([&](auto sign) { (*server)->GiveSign(std::move(sign)); },
                   absl::StrCat("listening on ", (*server)->address().ToString(), ", ", which));
  WaitForNews([&] { (*server)->Reload(); });
  supervised.Stopping();
  EndAtOnceIfAsked();
  if (candidacy != nullptr) {
    candidacy->Show(nullptr);
    candidacy->Hurry();
  }
  (*server)->Shutdown();
  return HasFailed() ? 1 : 0;
}

// Until it is elected; false: it ends before that. `http`: with the port that was found.
bool StandBy(Candidacy& candidacy, Flags& flags, Supervised& supervised) {
  std::unique_ptr<http::Pages> pages;
  if (!flags.http.empty()) {
    ListenAddress http = *ListenAddress::Parse(flags.http);
    auto started = http::Pages::StartForStandby(http.host, http.port);
    if (!started.ok()) {
      EndFor(started.status());
      return false;
    }
    pages = *std::move(started);
    http.port = pages->port();
    flags.http = http.ToString();
  }
  Announce(candidacy.listen(), pages.get());
  WarnIfOpen(flags);
  supervised.Ready([](auto sign) { sign(); },
                   absl::StrCat("listening on ", candidacy.listen().ToString(), ", standing by"));
  return WaitForNews([&] { candidacy.Reload(); }) == News::kElected;
}

// One of several: the exit code.
int ServeWhenElected(Flags flags, const ListenAddress& listen, Supervised& supervised) {
  absl::StatusOr<std::unique_ptr<Candidacy>> candidacy =
      Candidacy::Start(flags, listen, GuardOptions(flags));
  if (!candidacy.ok()) return Failed(candidacy.status());
  if (!StandBy(**candidacy, flags, supervised)) return HasFailed() ? 1 : 0;
  const std::unique_ptr<store::Store> store = (*candidacy)->OpenStore();
  const int code = ServeHub(flags, (*candidacy)->listen(), *store, candidacy->get(), supervised);
  (*candidacy)->GiveBack();
  return code;
}

// No worker, and no supervisor, waits for whoever reads the log.
int Serve(const Flags& flags, const ListenAddress& listen, const cli::LogOptions& log) {
  const cli::LogThread log_thread(kName, log);
  Supervised supervised;
  if (flags.etcd) return ServeWhenElected(flags, listen, supervised);
  const absl::StatusOr<std::unique_ptr<store::Store>> store = OpenStore(flags);
  if (!store.ok()) return Failed(store.status());
  return ServeHub(flags, listen, **store, nullptr, supervised);
}

int Main(int argc, char** argv) {
  cli::StartProgram();
  Flags flags;
  cli::CommandLine line(kName, "The hub of TensorHub: knows which worker holds which version.");
  Declare(line, flags);
  if (std::optional<int> exit_code = line.Parse(argc, argv)) return *exit_code;
  if (cli::ErrorText problem = Check(line, flags)) return cli::Fail(kName, *problem, 2);
  const absl::StatusOr<ListenAddress> listen = ListenAddress::Parse(flags.listen);
  if (!listen.ok()) {
    return cli::Fail(kName, "--listen: " + std::string(listen.status().message()), 2);
  }
  if (!flags.http.empty()) {
    const absl::Status http = ListenAddress::Parse(flags.http).status();
    if (!http.ok()) return cli::Fail(kName, "--http: " + std::string(http.message()), 2);
  }
  rpc::EndWithAWordIfMemoryEnds();
  if (const absl::Status room = rpc::CheckRoomToRun(); !room.ok()) {
    return cli::Fail(kName, std::string(room.message()), 1);
  }
  cli::InitLogging(kName, line.log());
  RouteGrpcLog();
  RaiseFileLimit();
  BlockSignals();
  if (const auto problem = flags.child ? cli::EndWithInput() : std::nullopt)
    return cli::Fail(kName, "--child " + *problem, 2);
  return Serve(flags, *listen, line.log());
}

}  // namespace
}  // namespace tensorhub

int main(int argc, char** argv) { return tensorhub::Main(argc, argv); }
