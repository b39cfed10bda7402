// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "worker_agent/ucx/ucx_settings.h"

#include <dlfcn.h>
#include <signal.h>
#include <ucs/config/global_opts.h>
#include <ucs/debug/debug.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <mutex>
#include <string_view>
#include <system_error>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "worker_agent/ucx/ucx_log.h"
#include "worker_agent/ucx/ucx_status.h"

namespace tensorhub::agent {
namespace {

static_assert(kMaxPayloadBytes + kSegmentSlackBytes == 263168, "adapt the segment sizes below");

// Measured on two cores: request and reply, 256 KiB frames, 4 MiB in flight, warm buffers. Socket
// buffers (UCX_TCP_SNDBUF, RCVBUF) stay with the kernel: 1 MiB and 4 MiB made no difference beyond
// the noise of 20 %, and fixed ones switch off its tuning for long links.
// Shared-memory segments must stay below 64 KiB: their FIFO keeps lengths in 16 bits, and 1.13.1
// truncates longer messages without a word. UCX cuts a frame into five there and joins them again.
constexpr UcxSetting kTransports[] = {
    {"TCP_TX_SEG_SIZE", "263168", "one frame per segment, not 33 (the default is 8K)"},
    {"TCP_RX_SEG_SIZE", "263168", "a frame arrives whole, no reassembly; larger costs a memmove"},
    {"TCP_PUT_ENABLE", "n", "a TCP put lets any peer write anywhere in this process"},
    {"TCP_CONN_NB", "y", "else connecting to who does not answer blocks, for two minutes"},
    {"POSIX_SEG_SIZE", "65472", "the largest below 64 KiB in whole cache lines; see above"},
    {"POSIX_FIFO_SIZE", "32", "2 MiB resident per worker, and in each local peer that sends to it"},
    {"POSIX_RX_BUFS_GROW", "34", "what the FIFO needs; the default 512 reserves 32 MiB"},
    {"POSIX_ERROR_HANDLING", "y", "else shared memory is refused under peer error handling"},
    {"SYSV_SEG_SIZE", "65472", "as posix"},
    {"SYSV_FIFO_SIZE", "32", "as posix"},
    {"SYSV_RX_BUFS_GROW", "34", "as posix"},
    {"SYSV_ERROR_HANDLING", "y", "as posix"},
};

// Eager everywhere: rendezvous costs a round trip; its gain on loopback TCP (5.0 instead of about
// 4.2 GB/s) was measured with TCP_PUT_ENABLE=y only. With zcopy left to UCX, a contiguous frame
// goes over TCP straight from its memory (the "short" path, faster there than zcopy: 4.2 against
// 3.6 GB/s), and one of several pieces by zcopy (4.5 against 3.0 gathered). 1.13.1 aborts in zcopy
// when the pieces reach the transport's limit (proto_am.inl:403): UcxMessages stays below it.
constexpr UcxSetting kMessages[] = {
    {"KEEPALIVE_INTERVAL", "1s", "a dead peer is noticed in about a second (default 20 s)"},
    {"RNDV_THRESH", "inf", "frames go eagerly; see above"},
    {"ZCOPY_THRESH", "inf", "1.13.1 aborts when the pieces reach the transport's limit"},
};
// With RDMA devices the two thresholds are UCX's business: copying would halve their rate.
constexpr size_t kMessagesWithRdma = 1;
// The last one only where the user allows fewer pieces than UcxMessages counts on (kPiecesInPlace
// and the header).
constexpr size_t kMessagesUsually = 2;

constexpr UcxSetting kGets[] = {
    {"ALLOC_PRIO", "md:sysv,md:posix,mmap", "memory that peers can map, and zeroed in any case"},
    {"KEEPALIVE_INTERVAL", "1s", "a dead peer is noticed in about a second (default 20 s)"},
};

const char* OurSetting(const char* name) {
  return std::getenv(absl::StrCat("TENSORHUB_UCX_", name).c_str());
}

absl::Status Refused(const char* name, const char* value, ucs_status_t status) {
  return absl::FailedPreconditionError(absl::StrFormat("UCX %s refuses TENSORHUB_UCX_%s=%s: %s",
                                                       UcxVersion(), name, value,
                                                       ucs_status_string(status)));
}

// "tcp", "posix" or "sysv": the transport that the key is of.
std::string TransportOf(std::string_view key) {
  std::string name(key.substr(0, key.find('_')));
  absl::AsciiStrToLower(&name);
  return name;
}

// A transport's key goes by its whole name in 1.22, and by that within the transport's own table in
// 1.13, which is one for all shared memory: each UCX knows one of the two.
std::string NameWithin(std::string_view key) {
  const std::string rest(key.substr(key.find('_') + 1));
  return TransportOf(key) == "tcp" ? rest : "MM_" + rest;
}

// Whether `transports` may bring the one that the key is of.
bool Concerns(std::string_view key, std::string_view transports) {
  if (transports.empty()) return true;
  const std::string transport = TransportOf(key);
  const bool refused = transports[0] == '^';
  const std::string_view names = refused ? transports.substr(1) : transports;
  for (absl::string_view name :
       absl::StrSplit(absl::string_view(names.data(), names.size()), ',')) {
    const bool family = name == "sm" || name == "shm" || name == "mm";
    if (name == transport || (family && transport != "tcp") || name == "all") return !refused;
  }
  return refused;
}

// What the user wants of the key; of one kind of shared memory also what is said of the other.
const char* UsersTransportSetting(const std::string& key) {
  if (const char* const users = OurSetting(key.c_str())) return users;
  const std::string transport = TransportOf(key);
  if (transport == "tcp") return nullptr;
  const std::string other = transport == "posix" ? "SYSV_" : "POSIX_";
  return OurSetting((other + key.substr(key.find('_') + 1)).c_str());
}

bool HandlerIsUcx(int signal_number) {
  struct sigaction action = {};
  Dl_info library = {};
  if (sigaction(signal_number, nullptr, &action) != 0) return false;
  const void* handler = action.sa_flags & SA_SIGINFO ? reinterpret_cast<void*>(action.sa_sigaction)
                                                     : reinterpret_cast<void*>(action.sa_handler);
  if (dladdr(handler, &library) == 0 || library.dli_fname == nullptr) return false;
  return std::string_view(library.dli_fname).find("libucs") != std::string_view::npos;
}

// UCX installs them when it is loaded, before main, so that the environment comes too late.
void TakeBackSignals() {
  if (std::getenv("UCX_ERROR_SIGNALS") != nullptr) return;
  for (int signal_number : {SIGILL, SIGSEGV, SIGBUS, SIGFPE}) {
    if (HandlerIsUcx(signal_number)) ucs_debug_disable_signal(signal_number);
  }
}

// A context of ours that has no tcp would warn about what the user has set for tcp. Read at load as
// well.
void SilenceUnusedVariables() {
  if (std::getenv("UCX_WARN_UNUSED_ENV_VARS") != nullptr) return;
  static_cast<void>(ucs_global_opts_set_value("WARN_UNUSED_ENV_VARS", "n"));
}

void PrepareOnce() {
  SendUcxLogToStandardError();
  TakeBackSignals();
  SilenceUnusedVariables();
  // Crashes belong to the host program; this helps its child processes.
  setenv("UCX_ERROR_SIGNALS", "", /*overwrite=*/0);
}

}  // namespace

std::span<const UcxSetting> TransportSettings() { return kTransports; }

std::span<const UcxSetting> MessageSettings() {
  const std::span<const UcxSetting> all = kMessages;
  if (HasRdmaDevices()) return all.first(kMessagesWithRdma);
  return UsersUcxSetting("TCP_MAX_IOV") != nullptr ? all : all.first(kMessagesUsually);
}

std::span<const UcxSetting> GetSettings() { return kGets; }

const char* UsersUcxSetting(const char* name) {
  const char* const ours = OurSetting(name);
  return ours != nullptr ? ours : std::getenv(absl::StrCat("UCX_", name).c_str());
}

std::string UsersUcxVariable(const char* name) {
  return absl::StrCat(OurSetting(name) != nullptr ? "TENSORHUB_UCX_" : "UCX_", name);
}

void PrepareProcessForUcx() {
  static std::once_flag once;
  std::call_once(once, PrepareOnce);
}

absl::Status ApplySettings(ucp_config_t* config, std::span<const UcxSetting> settings) {
  for (const UcxSetting& setting : settings) {
    const char* const users = OurSetting(setting.name);
    const char* const value = users != nullptr ? users : setting.value;
    const ucs_status_t status = ucp_config_modify(config, setting.name, value);
    if (status != UCS_OK) return Refused(setting.name, value, status);
  }
  return absl::OkStatus();
}

absl::Status ApplyTransportSetting(ucp_config_t* config, const char* name, const char* value) {
  const ucs_status_t status = ucp_config_modify(config, name, value);
  const ucs_status_t second = ucp_config_modify(config, NameWithin(name).c_str(), value);
  return status != UCS_OK && second != UCS_OK ? Refused(name, value, status) : absl::OkStatus();
}

absl::Status ApplyTransportSettings(ucp_config_t* config, std::string_view transports) {
  for (const UcxSetting& setting : kTransports) {
    if (!Concerns(setting.name, transports)) continue;
    const char* const users = UsersTransportSetting(setting.name);
    const char* const value = users != nullptr ? users : setting.value;
    const absl::Status applied = ApplyTransportSetting(config, setting.name, value);
    if (!applied.ok()) return applied;
  }
  return absl::OkStatus();
}

absl::Status CheckTransportSettings(std::string_view unused, std::string_view available) {
  const std::vector<std::string> pairs =
      absl::StrSplit(absl::string_view(unused.data(), unused.size()), absl::ByAnyChar(", "));
  const auto is_unused = [&](const std::string& name) {
    return std::any_of(pairs.begin(), pairs.end(),
                       [&](const std::string& pair) { return pair.starts_with(name + "="); });
  };
  for (const UcxSetting& setting : kTransports) {
    const bool there = available.find(TransportOf(setting.name) + "/") != available.npos;
    if (!there || !is_unused(setting.name) || !is_unused(NameWithin(setting.name))) continue;
    return absl::FailedPreconditionError(
        absl::StrFormat("UCX %s takes no %s by any name, or not this value of "
                        "TENSORHUB_UCX_%s; unset that, or use another UCX",
                        UcxVersion(), setting.name, setting.name));
  }
  return absl::OkStatus();
}

std::string OneSidedTransports(const char* user_tls) {
  constexpr const char* kAll = "posix,sysv,self";
  if (user_tls == nullptr || user_tls[0] == '\0' || user_tls[0] == '^') return kAll;
  std::vector<std::string> kept;
  for (absl::string_view name : absl::StrSplit(user_tls, ',')) {
    if (name == "all" || name == "shm" || name == "sm" || name == "mm") return kAll;
    if (name == "posix" || name == "sysv") kept.emplace_back(name);
  }
  kept.emplace_back("self");  // a context needs one; self reaches no other process
  return absl::StrJoin(kept, ",");
}

std::string MemoryTransports(const char* user_tls) {
  const absl::string_view given = user_tls == nullptr ? "" : user_tls;
  const bool refuses = !given.empty() && given[0] == '^';
  std::vector<absl::string_view> kept = {"posix", "sysv"};
  std::vector<absl::string_view> named;
  for (absl::string_view name : absl::StrSplit(refuses ? given.substr(1) : given, ',')) {
    if (name == "all" || name == "shm" || name == "sm" || name == "mm") named = kept;
    if (name == "posix" || name == "sysv") named.push_back(name);
  }
  const bool chosen = !given.empty() && !refuses;
  std::erase_if(kept, [&](absl::string_view name) {
    const bool is_named = std::find(named.begin(), named.end(), name) != named.end();
    return chosen ? !is_named : is_named;
  });
  return absl::StrJoin(kept, ",");
}

std::string CardTransports(const char* user_tls) {
  static constexpr absl::string_view kNoCards[] = {"self", "posix", "sysv", "shm",   "sm",
                                                   "mm",   "cma",   "knem", "xpmem", "tcp"};
  constexpr absl::string_view kAll = "^self,sm,tcp";
  const absl::string_view given = user_tls == nullptr ? "" : user_tls;
  if (given.empty()) return std::string(kAll);
  if (given[0] == '^') return absl::StrCat(given, ",self,sm,tcp");
  std::vector<absl::string_view> kept;
  for (absl::string_view name : absl::StrSplit(given, ',', absl::SkipEmpty())) {
    if (name == "all") return std::string(kAll);
    const bool other =
        std::find(std::begin(kNoCards), std::end(kNoCards), name) != std::end(kNoCards);
    if (!other) kept.push_back(name);
  }
  return absl::StrJoin(kept, ",");
}

std::vector<std::string> RdmaPorts() {
  namespace fs = std::filesystem;
  std::vector<std::string> ports;
  std::error_code error;
  for (const auto& card : fs::directory_iterator("/sys/class/infiniband", error)) {
    std::error_code none;
    for (const auto& port : fs::directory_iterator(card.path() / "ports", none)) {
      ports.push_back(
          absl::StrCat(card.path().filename().string(), ":", port.path().filename().string()));
    }
  }
  std::sort(ports.begin(), ports.end());
  return ports;
}

bool HasRdmaDevices() {
  std::error_code error;
  const std::filesystem::directory_iterator devices("/sys/class/infiniband", error);
  return !error && devices != std::filesystem::directory_iterator();
}

std::string UcxVersion() {
  unsigned major = 0, minor = 0, release = 0;
  ucp_get_version(&major, &minor, &release);
  return absl::StrFormat("%u.%u.%u", major, minor, release);
}

}  // namespace tensorhub::agent
