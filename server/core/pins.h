// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// R7: pins, by model and name, and the order in which they end. That a pin's version is there, how
// many a model may have, and what a pin keeps, is for policies.cc and retention.cc.

#ifndef TENSORHUB_SERVER_CORE_PINS_H_
#define TENSORHUB_SERVER_CORE_PINS_H_

#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>

#include "common/ids.h"
#include "common/time.h"

namespace tensorhub::hub {

// R7: `version` must not be lost until then.
struct PinnedVersion {
  VersionNumber version = 0;
  std::optional<TimeMs> until;  // none: for ever
};

class Pins {
 public:
  using ByName = std::map<std::string, PinnedVersion>;

  // In place of the one of that name.
  void Put(const std::string& model, const std::string& name, const PinnedVersion& pin);
  // False: there is none of that name.
  bool Drop(const std::string& model, const std::string& name);
  // Valid until the next change.
  const ByName& Of(const std::string& model) const;

  // None: no pin ends.
  std::optional<TimeMs> FirstEnd() const;
  // Drops the pins that have ended by now. Returns the models that had one.
  std::set<std::string> End(TimeMs now);

  void CheckInvariants() const;

 private:
  std::map<std::string, ByName> by_model_;                       // of models that have one
  std::set<std::tuple<TimeMs, std::string, std::string>> ends_;  // time, model, name
};

}  // namespace tensorhub::hub

#endif  // TENSORHUB_SERVER_CORE_PINS_H_
