// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "common/server_choice.h"

#include "absl/strings/str_cat.h"
#include "common/ids.h"
#include "common/listen_address.h"
#include "common/text.h"

namespace tensorhub {

std::vector<std::string> ServersOf(std::string_view servers) {
  std::vector<std::string> found;
  while (true) {
    const size_t comma = servers.find(',');
    found.emplace_back(servers.substr(0, comma));
    if (comma == std::string_view::npos) return found;
    servers.remove_prefix(comma + 1);
  }
}

absl::Status CheckServers(std::string_view servers) {
  for (const std::string& server : ServersOf(servers)) {
    const absl::StatusOr<ListenAddress> address = ListenAddress::Parse(server);
    if (!address.ok()) return address.status();
    if (address->port != 0 && !NameProblem(server)) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        Shown(server), " is nobody's address; write HOST:PORT, like hub:7070, without spaces"));
  }
  return absl::OkStatus();
}

std::optional<std::string> ServerChoice::Other(size_t turn) const {
  for (size_t i = 0; i < servers_.size(); ++i) {
    const std::string& server = servers_[(turn + i) % servers_.size()];
    if (server != current()) return server;
  }
  return std::nullopt;
}

void ServerChoice::NotThere(std::string_view asked, std::string_view leader) {
  if (asked != current()) return;
  const bool was_told = !leader_.empty();
  leader_.clear();
  if (!leader.empty()) told_ = true;
  if (!leader.empty() && leader != asked && told_in_a_row_ < kToldInARowMax) {
    leader_ = leader;
    ++told_in_a_row_;
    return;
  }
  // A server that was only spoken of has no place in the list: the speaker is asked again, unless
  // what it says leads nowhere.
  const bool in_vain = told_in_a_row_ >= kToldInARowMax;
  told_in_a_row_ = 0;
  if (!was_told || in_vain) at_ = (at_ + 1) % servers_.size();
}

void ServerChoice::There(std::string_view asked) {
  if (asked == current()) told_in_a_row_ = 0;
}

KnownHub::Verdict KnownHub::Meet(std::string_view store_id, uint64_t epoch,
                                 std::string_view adopts) {
  if (store_id.empty()) return Verdict::kLeads;
  const bool foreign = !store_id_.empty() && store_id_ != store_id;
  if (foreign && adopts != store_id_) return Verdict::kAnother;
  if (store_id_ == store_id && epoch < epoch_) return Verdict::kOlder;
  store_id_ = store_id;
  epoch_ = epoch;
  return Verdict::kLeads;
}

}  // namespace tensorhub
