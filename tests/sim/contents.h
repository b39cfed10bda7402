// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The truth about versions: which bytes are behind a number, as those who publish know it and the
// hub does not. Publishers agree on them as long as somebody has them, or is about to publish them;
// but for one that comes back from a checkpoint with bytes of its own (`OfItsOwn`), which the hub
// must not take for the same.

#ifndef TENSORHUB_TESTS_SIM_CONTENTS_H_
#define TENSORHUB_TESTS_SIM_CONTENTS_H_

#include <map>
#include <optional>
#include <string>
#include <utility>

#include "common/ids.h"
#include "tests/sim/agenda.h"
#include "tests/sim/memory.h"

namespace tensorhub::fault {

class Contents {
 public:
  using Number = std::pair<std::string, VersionNumber>;  // of a model

  // What whoever publishes this number now has to publish. `in_use`: somebody still has it. A call
  // of somebody who has given up may still be under way.
  ContentId ForPublish(const Number& number, bool in_use, Nanos now) {
    Entry& entry = entries_[number];
    const bool free = !in_use && entry.users == 0 && now - entry.used_at > kCallsTravel;
    if (entry.content == 0 || free) entry.content = ++last_;
    return entry.content;
  }
  ContentId OfItsOwn() { return ++last_; }
  // While a publish is planned or under way.
  void Use(const Number& number) { ++entries_[number].users; }
  void Unuse(const Number& number, Nanos now) {
    --entries_[number].users;
    entries_[number].used_at = now;
  }

  struct Publication {
    Number number;
    ContentId content = 0;
  };
  // What the hub made of it. Nothing: fits what is known. Otherwise what is wrong.
  std::optional<std::string> Bind(const PublicationId& id, const Publication& publication);
  // 0: not known.
  ContentId Of(const PublicationId& id) const {
    const auto found = publications_.find(id);
    return found == publications_.end() ? 0 : found->second.content;
  }
  const Publication* Find(const PublicationId& id) const {
    const auto found = publications_.find(id);
    return found == publications_.end() ? nullptr : &found->second;
  }

 private:
  struct Entry {
    ContentId content = 0;
    int users = 0;
    Nanos used_at = 0;
  };
  static constexpr Nanos kCallsTravel = 40 * sim::kSecond;
  ContentId last_ = 0;
  std::map<Number, Entry> entries_;
  std::map<PublicationId, Publication> publications_;
};

}  // namespace tensorhub::fault

#endif  // TENSORHUB_TESTS_SIM_CONTENTS_H_
