// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// One story (sequence.h): a world in which nothing fails by itself, and who acts in it.

#ifndef TENSORHUB_TESTS_SIM_STORY_H_
#define TENSORHUB_TESTS_SIM_STORY_H_

#include <deque>
#include <functional>
#include <string>

#include "tests/sim/checkers/checkers.h"
#include "tests/sim/drawing.h"
#include "tests/sim/gets.h"
#include "tests/sim/hub_node.h"
#include "tests/sim/place.h"
#include "tests/sim/process.h"
#include "tests/sim/wire.h"

namespace tensorhub::fault {

class Story {
 public:
  // What is said goes to `listener`, or else is drawn.
  explicit Story(Listener* listener = nullptr);

  // A rank of a group of `world_size`, on a host of its own, or on `host`. It connects.
  Process& Add(const std::string& group, Rank rank = 0, uint32_t world_size = 1,
               const std::string& host = "");
  // What is said from now on is drawn.
  void Draw() { drawing_.Begin(); }
  std::string Drawn() const { return drawing_.Text(); }

  // The same rank of the same group, as another process.
  Process& Replace(Process& process);
  // The same, and the first one lives on.
  Process& Supplant(const Process& process);

  // These have to succeed.
  void Publish(Process& trainer, VersionNumber version);
  void Fetch(Process& rollout);
  void Unpublish(Process& worker);
  // Whatever comes of it.
  static void Ask(Process& worker, const agent::Verb& verb);
  // The bytes of a version, into buffers that nobody reads.
  void Write(Process& trainer, VersionNumber version);

  // Until it holds; aborts if it does not within a minute.
  void Until(const std::function<bool()>& holds);
  void UntilIdle();
  bool IsIdle() const;
  void RunFor(Nanos time);
  void UntilSomeIsThere(const Process& reader);
  // The holder has been told that what it held is over.
  void UntilDropped(const Process& holder);
  // Whom it reads from.
  Process& SourceOf(const Process& reader);
  HubNode& hub() { return hub_; }
  Scene& scene() { return scene_; }

 private:
  Process& Start(const Place& place);

  Scene scene_;
  HubNode hub_;
  Wire wire_;
  Gets gets_;
  Checkers checkers_;
  Drawing drawing_;
  std::deque<Place> places_;
  std::deque<Process*> actors_;
};

}  // namespace tensorhub::fault

#endif  // TENSORHUB_TESTS_SIM_STORY_H_
