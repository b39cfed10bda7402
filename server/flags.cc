// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "server/flags.h"

#include <optional>

#include "absl/strings/str_cat.h"
#include "common/ids.h"
#include "common/listen_address.h"
#include "common/tls/client_security.h"

namespace tensorhub {
namespace {

// More connections than that fill no link.
constexpr uint32_t kSourcesPerReaderMax = 16;
constexpr char kStorePrefix[] = "store-";

// What the three files are for, on one of the server's sides.
struct TlsWords {
  const char* cert;
  const char* key;
  const char* ca;
};

void DeclareTls(cli::CommandLine& line, const std::string& prefix, tls::Files& files,
                const TlsWords& words) {
  const cli::FlagHints file{.placeholder = "FILE"};
  line.Flag(prefix + "tls-cert", &files.cert, words.cert, file);
  line.Flag(prefix + "tls-key", &files.key, words.key, file);
  line.Flag(prefix + "tls-ca", &files.ca, words.ca, file);
}

cli::ErrorText CheckPair(const std::string& prefix, const tls::Files& files) {
  if (files.cert.empty() == files.key.empty()) return std::nullopt;
  return absl::StrCat("--", prefix, "tls-cert and --", prefix, "tls-key: give both, or neither");
}

void DeclareGuard(cli::CommandLine& line, Flags& flags) {
  const cli::FlagHints file{.placeholder = "FILE"};
  DeclareTls(
      line, "", flags.tls,
      {.cert = "the server's certificate in PEM, its issuers' behind it: connections are TLS "
               "then; files that change are put in force while the server runs",
       .key = "the certificate's key",
       .ca = "whose certificates clients may have, in PEM"});
  line.Flag("tls-client-auth", &flags.client_auth,
            "whether clients show a certificate of --tls-ca; auto: required if --tls-ca is given, "
            "else none",
            {.placeholder = "auto|none|optional|required"});
  line.Flag("access", &flags.access,
            "who may do what, a line each (docs/security.md); without it, whoever may connect may "
            "do everything",
            file);
  line.Flag("sessions-per-caller", &flags.limits.sessions,
            "sessions and watches that one caller may have open: an address, and whoever a "
            "certificate or a token says; 0: no bound");
  line.Flag("calls-per-caller", &flags.limits.calls_per_s,
            "calls that one caller may make in a second; 0: no bound");
  line.Flag("document-bytes-per-caller", &flags.document_bytes_per_caller,
            "of layouts and attachments, what one caller may put in a minute; 0: no bound");
  line.Flag(
      "guard-reads", &flags.guard_reads,
      "workers serve only whom this server sends to them; --guard-reads=false: whoever reaches "
      "them, for as long as there are older agents, which have nothing to show");
  line.Flag("insecure-loopback", &flags.insecure_loopback,
            "for demonstrations: listen on this host's loopback only, to whoever is on this host");
}

void DeclareStore(cli::CommandLine& line, Flags& flags) {
  line.Flag("data-dir", &flags.data_dir,
            "keep what must outlive the server in this directory, so that workers know it again "
            "after a restart and no version is forgotten; it is made if it is missing (default: "
            "keep nothing)",
            {.placeholder = "DIR"});
  line.Flag("store", &flags.store,
            "memory, sqlite (a database in --data-dir; `file` is the same), auto: sqlite if "
            "--data-dir is given, else memory; or etcd://HOST:PORT,HOST:PORT/PREFIX: several "
            "servers, of which one leads (docs/high_availability.md)",
            {.placeholder = "auto|memory|sqlite|etcd://..."});
  line.Flag("advertise", &flags.advertise,
            "with etcd: where agents and the other servers reach this one (default: --listen, if "
            "that is one address)",
            {.placeholder = "HOST:PORT"});
  line.Flag("hub-name", &flags.hub_name,
            "with etcd: this hub's name, which is kept there; a prefix of a hub of another name is "
            "refused",
            {.placeholder = "NAME"});
  line.Flag("leader-lease", &flags.leader_lease,
            "with etcd: how long a leader that is silent keeps the others waiting, in whole "
            "seconds; shorter replaces it sooner, longer survives longer pauses of etcd");
  DeclareTls(line, kStorePrefix, flags.store_tls,
             {.cert = "the certificate that etcd is shown",
              .key = "its key",
              .ca = "whose certificates etcd's members may have, in PEM: its connections are TLS "
                    "then"});
}

}  // namespace

void Declare(cli::CommandLine& line, Flags& flags) {
  line.DefaultLogLevel("info");
  line.Flag("listen", &flags.listen,
            "where workers and tools reach the hub; 0.0.0.0 is all addresses, IPv6's as well; port "
            "0 takes any free one; without TLS and --access, name an address that only your "
            "cluster reaches",
            {.placeholder = "HOST:PORT"});
  DeclareStore(line, flags);
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
  line.Flag("record", &flags.record,
            "write what goes into the hub to this file, for tensorhub-sim replay; an older one "
            "becomes FILE.1 (default: do not)",
            {.placeholder = "FILE"});
  line.Flag("record-max", &flags.record_max, "the record ends when its file would be larger");
  line.Flag("child", &flags.child,
            "for programs that run this one: end when standard input, a pipe, ends");
  DeclareGuard(line, flags);
  line.Example("tensorhub-server --data-dir /var/lib/tensorhub");
  line.Example("tensorhub-server --listen 127.0.0.1:0 --lease 1s --log-level debug");
  line.Example("tensorhub-server --store etcd://e1:2379,e2:2379,e3:2379/hub --advertise hub1:7070");
  line.Example("TENSORHUB_LISTEN=[::]:7070 tensorhub-server --log-format json");
}

bool OnLoopback(const Flags& flags) { return tls::IsLoopback(flags.listen); }

namespace {

// The flags of the guard.
cli::ErrorText CheckGuard(const cli::CommandLine& line, Flags& flags) {
  if (flags.insecure_loopback && !line.IsSet("listen")) flags.listen = "127.0.0.1:7070";
  if (flags.insecure_loopback && !OnLoopback(flags)) {
    return absl::StrCat("--insecure-loopback: --listen ", flags.listen,
                        " is beyond the loopback; name 127.0.0.1 or [::1]");
  }
  if (cli::ErrorText problem = CheckPair("", flags.tls)) return problem;
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

constexpr const char* kEtcdOnly[] = {"advertise",    "hub-name",       "leader-lease",
                                     "store-tls-ca", "store-tls-cert", "store-tls-key"};

bool IsAllAddresses(const std::string& host) {
  return host == "0.0.0.0" || host == "::" || host.empty() || host == "*";
}

// Where agents are sent to has to be one place.
cli::ErrorText CheckAdvertised(Flags& flags) {
  const auto listen = ListenAddress::Parse(flags.listen);
  if (!listen.ok()) return std::nullopt;  // that is said elsewhere
  if (flags.advertise.empty()) {
    if (!IsAllAddresses(listen->host)) return std::nullopt;
    return absl::StrCat(
        "--advertise: name the HOST:PORT by which agents reach this server; "
        "--listen ",
        flags.listen, " is all addresses");
  }
  const auto address = ListenAddress::Parse(flags.advertise);
  if (!address.ok()) return "--advertise: " + std::string(address.status().message());
  if (IsAllAddresses(address->host) || address->port == 0) {
    return absl::StrCat("--advertise: ", flags.advertise,
                        " is no place to send agents to; name one host and its port");
  }
  return std::nullopt;
}

cli::ErrorText CheckEtcd(const cli::CommandLine& line, Flags& flags) {
  auto place = store::EtcdPlace::Parse(flags.store);
  if (!place.ok()) return "--store: " + std::string(place.status().message());
  flags.etcd = *std::move(place);
  if (line.IsSet("data-dir")) {
    return "--data-dir: with --store etcd://..., all is kept in etcd; leave one of them out";
  }
  constexpr std::chrono::seconds kLeast(2);
  constexpr std::chrono::seconds kMost(60);
  if (flags.leader_lease < kLeast || flags.leader_lease > kMost ||
      flags.leader_lease % std::chrono::seconds(1) != std::chrono::milliseconds(0)) {
    return "--leader-lease: give whole seconds, 2s to 60s";
  }
  if (cli::ErrorText problem = CheckPair(kStorePrefix, flags.store_tls)) return problem;
  if (const auto problem = NameProblem(flags.hub_name); line.IsSet("hub-name") && problem) {
    return absl::StrCat("--hub-name ", *problem);
  }
  return CheckAdvertised(flags);
}

cli::ErrorText CheckStore(const cli::CommandLine& line, Flags& flags) {
  if (store::EtcdPlace::Meant(flags.store)) return CheckEtcd(line, flags);
  for (const char* name : kEtcdOnly) {
    if (line.IsSet(name)) {
      return absl::StrCat("--", name, ": is for --store etcd://HOST:PORT/PREFIX; leave it out");
    }
  }
  if (flags.store == "auto") flags.store = flags.data_dir.empty() ? "memory" : "sqlite";
  if (flags.store == "file") flags.store = "sqlite";
  if (flags.store != "memory" && flags.store != "sqlite") {
    return absl::StrCat("--store: \"", flags.store,
                        "\" is not available in this build; give auto, memory, sqlite or "
                        "etcd://HOST:PORT/PREFIX");
  }
  if (flags.store == "sqlite" && flags.data_dir.empty()) {
    return "--store sqlite needs --data-dir DIR";
  }
  if (flags.store == "memory" && !flags.data_dir.empty()) {
    return "--store memory keeps nothing: leave out --data-dir, or give --store sqlite";
  }
  return std::nullopt;
}

}  // namespace

cli::ErrorText Check(const cli::CommandLine& line, Flags& flags) {
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
  if (cli::ErrorText problem = CheckStore(line, flags)) return problem;
  return CheckGuard(line, flags);
}

}  // namespace tensorhub
