// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Which server of a hub is asked. Of several, one leads, and the others say who does. Who is told
// asks there next; whoever is not reached, or does not lead and knows nobody, is followed by the
// next of the list. What a server says is followed a few times in a row at most: two that stand by
// may each take the other for the leader for a moment.
//
// Thread contract: none.

#ifndef TENSORHUB_COMMON_SERVER_CHOICE_H_
#define TENSORHUB_COMMON_SERVER_CHOICE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

namespace tensorhub {

// The addresses of "HOST:PORT,HOST:PORT", in order. Whether they are addresses is not looked at.
std::vector<std::string> ServersOf(std::string_view servers);
// INVALID_ARGUMENT names the first that is none, and how to write it. Whether the host exists shows
// when it is called.
absl::Status CheckServers(std::string_view servers);

class ServerChoice {
 public:
  explicit ServerChoice(std::string_view servers) : servers_(ServersOf(servers)) {}

  const std::string& current() const { return leader_.empty() ? servers_[at_] : leader_; }
  // Another one may be the right one. A single name that is followed by no word of a leader is the
  // only one.
  bool several() const { return servers_.size() > 1 || told_; }

  // Another one than the one that is asked, in turn; none: there is none in the list.
  std::optional<std::string> Other(size_t turn) const;

  // `asked` was not reached, or does not lead and says that `leader` does; empty: it does not say.
  // Of who is not asked any more, nothing follows.
  void NotThere(std::string_view asked, std::string_view leader);
  // `asked` leads.
  void There(std::string_view asked);

 private:
  static constexpr int kToldInARowMax = 3;

  const std::vector<std::string> servers_;  // never empty
  size_t at_ = 0;
  std::string leader_;  // as was said, instead of servers_[at_]
  int told_in_a_row_ = 0;
  bool told_ = false;
};

// R8: which hub a worker belongs to, and its latest life that it knows.
class KnownHub {
 public:
  enum class Verdict {
    kLeads,    // and is known from now on
    kOlder,    // a life that another one has followed: it is not to be obeyed
    kAnother,  // another store's
  };
  // A store id that is empty is one of a hub that keeps nothing: its epochs are times. `adopts`:
  // the store whose workers that hub has taken over by an operator's word; empty: none.
  Verdict Meet(std::string_view store_id, uint64_t epoch, std::string_view adopts = {});
  // A later life of it than the one that is known.
  bool IsFollowedBy(std::string_view store_id, uint64_t epoch) const {
    return !store_id_.empty() && store_id_ == store_id && epoch > epoch_;
  }

  const std::string& store_id() const { return store_id_; }
  uint64_t epoch() const { return epoch_; }

 private:
  std::string store_id_;
  uint64_t epoch_ = 0;
};

}  // namespace tensorhub

#endif  // TENSORHUB_COMMON_SERVER_CHOICE_H_
