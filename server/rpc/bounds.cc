// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "server/rpc/bounds.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cstring>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/remedy.h"

namespace tensorhub::rpc {
namespace {

constexpr char kSessions[] = "sessions-per-caller";
constexpr char kCalls[] = "calls-per-caller";
constexpr char kDocuments[] = "document-bytes-per-caller";

constexpr int64_t kSecondMs = 1000;
constexpr int64_t kMinuteMs = 60 * kSecondMs;

// Empty if it is none.
std::string NetworkOf(const std::string& address) {
  in6_addr bits{};
  if (inet_pton(AF_INET6, address.c_str(), &bits) != 1) return "";
  std::memset(bits.s6_addr + 8, 0, 8);
  char text[INET6_ADDRSTRLEN] = "";
  inet_ntop(AF_INET6, &bits, text, sizeof(text));
  return absl::StrCat(text, "/64");
}

// Agents repeat it: to them RESOURCE_EXHAUSTED alone is the hub's own answer (R7).
absl::Status ForNow(absl::Status refused) {
  return WithRemedy(std::move(refused), Remedy::kCallAgain);
}

}  // namespace

std::string Bounds::AddressOf(std::string_view peer) {
  const size_t colon = peer.rfind(':');
  std::string text(peer.substr(0, std::min(colon, peer.size())));
  if (absl::StartsWith(text, "ipv4:")) return text.substr(5);
  if (!absl::StartsWith(text, "ipv6:")) return std::string(peer);
  text = absl::StrReplaceAll(text.substr(5), {{"%5B", ""}, {"%5D", ""}, {"[", ""}, {"]", ""}});
  text = text.substr(0, text.find('%'));  // the device of a link's own address
  if (absl::StartsWith(text, "::ffff:")) return text.substr(7);  // of IPv4
  const std::string network = NetworkOf(text);
  return network.empty() ? text : network;
}

Bounds::Account* Bounds::AccountOf(const std::string& caller, int64_t now_ms) {
  auto found = accounts_.find(caller);
  if (found == accounts_.end()) {
    if (accounts_.size() >= kCallersMax) ForgetIdle(now_ms);
    if (accounts_.size() >= kCallersMax) return nullptr;
    found = accounts_.emplace(caller, Account{}).first;
  }
  Account& account = found->second;
  if (account.second != now_ms / kSecondMs) {
    account.second = now_ms / kSecondMs;
    account.calls = 0;
  }
  if (account.minute != now_ms / kMinuteMs) {
    account.minute = now_ms / kMinuteMs;
    account.bytes = 0;
  }
  return &account;
}

// Once a second at most: it looks at all of them.
void Bounds::ForgetIdle(int64_t now_ms) {
  if (now_ms - forgot_at_ms_ < kSecondMs && forgot_at_ms_ != 0) return;
  forgot_at_ms_ = now_ms;
  std::erase_if(accounts_, [now_ms](const auto& entry) {
    const Account& account = entry.second;
    return account.sessions == 0 && account.second != now_ms / kSecondMs &&
           (account.bytes == 0 || account.minute != now_ms / kMinuteMs);
  });
}

absl::Status Bounds::Refuse(const std::string& caller, const std::string& flag,
                            const std::string& what) {
  ++met_[flag];
  return absl::ResourceExhaustedError(absl::StrCat(caller, " ", what, "; or raise --", flag));
}

absl::Status Bounds::CheckLocked(const std::string& caller, const Account& account,
                                 uint64_t bytes) {
  if (limits_.calls_per_s != 0 && account.calls >= limits_.calls_per_s) {
    return ForNow(Refuse(caller, kCalls,
                         absl::StrCat("has made ", limits_.calls_per_s,
                                      " calls in this second, which is the most that one caller "
                                      "may: call again later")));
  }
  const uint64_t most = limits_.document_bytes_per_min;
  if (bytes == 0 || most == 0 || account.bytes + bytes <= most) return absl::OkStatus();
  return ForNow(Refuse(caller, kDocuments,
                       absl::StrCat("has put ", account.bytes,
                                    " bytes of layouts and attachments in this minute, and one "
                                    "caller may put ",
                                    most, ": put them later")));
}

// All are asked before one is charged: a call that is refused costs nobody anything.
absl::Status Bounds::Count(const std::vector<std::string>& callers, uint64_t bytes,
                           int64_t now_ms) {
  MutexLock lock(mutex_);
  for (const std::string& caller : callers) {
    const Account* account = AccountOf(caller, now_ms);
    if (account == nullptr) continue;
    if (absl::Status status = CheckLocked(caller, *account, bytes); !status.ok()) return status;
  }
  for (const std::string& caller : callers) {
    Account* account = AccountOf(caller, now_ms);
    if (account == nullptr) continue;
    ++account->calls;
    account->bytes += bytes;
  }
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<Bounds::Seat>> Bounds::Sit(const std::vector<std::string>& callers,
                                                          int64_t now_ms) {
  MutexLock lock(mutex_);
  std::vector<std::string> seated;
  for (const std::string& caller : callers) {
    const Account* account = AccountOf(caller, now_ms);
    if (account == nullptr) continue;
    if (limits_.sessions != 0 && account->sessions >= limits_.sessions) {
      return Refuse(caller, kSessions,
                    absl::StrCat("has ", account->sessions,
                                 " sessions and watches open, which is the most that one caller "
                                 "may have: end some"));
    }
    seated.push_back(caller);
  }
  for (const std::string& caller : seated) ++accounts_[caller].sessions;
  return std::shared_ptr<Seat>(new Seat(shared_from_this(), std::move(seated)));
}

void Bounds::Leave(const std::vector<std::string>& callers) {
  MutexLock lock(mutex_);
  for (const std::string& caller : callers) --accounts_[caller].sessions;
}

std::map<std::string, uint64_t> Bounds::Met() {
  MutexLock lock(mutex_);
  return met_;
}

}  // namespace tensorhub::rpc
