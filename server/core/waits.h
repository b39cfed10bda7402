// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Calls that wait for a newer version, by call and by model. A model that nobody has mentioned yet
// may still come. What a wait is for, and its bound in number and time, is decided in
// wait_calls.cc.

#ifndef TENSORHUB_SERVER_CORE_WAITS_H_
#define TENSORHUB_SERVER_CORE_WAITS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/ids.h"
#include "common/time.h"
#include "server/core/events.h"

namespace tensorhub::hub {

struct Model;

struct Wait {
  std::string model;
  VersionNumber newer_than = 0;
  std::optional<TermNumber> held_in;
  bool any = false;
  uint64_t max_lag = 0;
  TimeMs deadline = 0;
};

// The version that ends the wait, if the model has one. R2: `latest` is a watermark; whether it is
// still held is the fetch's question.
std::optional<VersionNumber> VersionFor(const Wait& wait, const Model& model);

class Waits {
 public:
  size_t size() const { return waits_.size(); }
  // Requires: the call does not wait yet.
  void Add(CallId call, Wait wait);
  // Null: the call does not wait (any more). Valid until the next change.
  const Wait* Find(CallId call) const;
  // Nothing: the call does not wait (any more).
  std::optional<Wait> Take(CallId call);
  // The calls that wait for a version of this model, in their order.
  std::vector<CallId> Of(const std::string& model) const;
  const std::map<CallId, Wait>& all() const { return waits_; }

  void CheckInvariants() const;

 private:
  std::map<CallId, Wait> waits_;
  std::map<std::string, std::set<CallId>> by_model_;
};

}  // namespace tensorhub::hub

#endif  // TENSORHUB_SERVER_CORE_WAITS_H_
