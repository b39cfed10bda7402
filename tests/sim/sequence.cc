// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tests/sim/sequence.h"

#include "absl/strings/str_cat.h"
#include "tests/sim/story.h"

namespace tensorhub::fault {
namespace {

constexpr char kIntroduction[] =
    R"(# What is said, in which order

The real cores of server and agents act these stories, in a simulated world where nothing fails but what the story is
about. The diagrams are what they said, so they cannot be out of date: a test compares this page, and
`TENSORHUB_REWRITE=1 build/release/tests/sim_check_test --gtest_filter='Sequence*'` writes it anew.

An arrow is drawn when its message arrives. Heartbeats are left out, and what repeats while bytes flow is drawn once,
with how often. What each message means is in [messages.md](messages.md), and why it is so in
[rules.md](rules.md).
)";

std::string Chapter(const char* title, const char* text, const Story& story) {
  return absl::StrCat("\n## ", title, "\n\n", text, "\n\n```mermaid\n", story.Drawn(), "```\n");
}

void PublishWhole(Story& story, Process& trainer) {
  story.Publish(trainer, 1);
  story.UntilIdle();
}

void FetchSome(Story& story, Process& reader) {
  story.Fetch(reader);
  story.UntilSomeIsThere(reader);
}

// A trainer and a reader hold the version, and another reader is in the middle of its read.
Process& BeginSecondFetch(Story& story) {
  Process& trainer = story.Add("trainer");
  Process& first = story.Add("first");
  Process& second = story.Add("second");
  PublishWhole(story, trainer);
  story.Fetch(first);
  story.UntilIdle();
  FetchSome(story, second);
  return second;
}

std::string PublishAndFetch() {
  Story story;
  story.Draw();
  Process& trainer = story.Add("trainer");
  Process& rollout = story.Add("rollout");
  PublishWhole(story, trainer);
  story.Fetch(rollout);
  story.UntilIdle();
  return Chapter("A publish and a fetch",
                 "Bytes go from worker to worker. The server hears who holds what.", story);
}

std::string GroupOfTwo() {
  Story story;
  Process& trainer0 = story.Add("trainer", 0, 2);
  Process& trainer1 = story.Add("trainer", 1, 2);
  Process& rollout0 = story.Add("rollout", 0, 2);
  Process& rollout1 = story.Add("rollout", 1, 2);
  story.Draw();
  story.Publish(trainer0, 1);
  story.Publish(trainer1, 1);
  story.UntilIdle();
  story.Fetch(rollout0);
  story.Fetch(rollout1);
  story.UntilIdle();
  return Chapter(
      "A group of two ranks",
      "Nobody is told a version before all ranks have asked, and nobody hears of success "
      "before all\nranks have read (R6).",
      story);
}

std::string Chain() {
  Story story;
  Process& trainer = story.Add("trainer");
  Process& first = story.Add("first");
  Process& second = story.Add("second");
  PublishWhole(story, trainer);
  story.Draw();
  FetchSome(story, first);
  story.Fetch(second);
  story.UntilIdle();
  return Chapter("A reader feeds the next",
                 "The second reader is led to the first one, which has a part of the version only "
                 "(R5). The trainer's link\ncarries the version once.",
                 story);
}

std::string Drain() {
  Story story;
  Process& trainer = story.Add("trainer");
  Process& rollout = story.Add("rollout");
  PublishWhole(story, trainer);
  FetchSome(story, rollout);
  story.Draw();
  story.Unpublish(trainer);
  story.UntilIdle();
  return Chapter(
      "A trainer takes its buffers back",
      "`unpublish` returns when nobody reads there any more (R3). The only reader has no "
      "other source, so it\nreads to its end first.",
      story);
}

std::string Redirect() {
  Story story;
  Process& second = BeginSecondFetch(story);
  story.Draw();
  story.Unpublish(story.SourceOf(second));
  story.UntilIdle();
  return Chapter("A reader goes on elsewhere",
                 "The same, where somebody else has the version. The reader is led there in the "
                 "event that closes admission (R3).",
                 story);
}

std::string IntoHeldBuffers() {
  Story story;
  Process& trainer = story.Add("trainer");
  Process& rollout = story.Add("rollout");
  PublishWhole(story, trainer);
  story.Fetch(rollout);
  story.UntilIdle();
  story.Unpublish(trainer);
  story.UntilIdle();
  story.Publish(trainer, 2);
  story.UntilIdle();
  story.Draw();
  story.Fetch(rollout);
  story.UntilIdle();
  return Chapter("A fetch into buffers that hold a version",
                 "One call gives the old version up and begins to read the new one (R3). So there "
                 "is no `BeginRead`.",
                 story);
}

std::string RankReplaced() {
  Story story;
  Process& trainer0 = story.Add("trainer", 0, 2);
  Process& trainer1 = story.Add("trainer", 1, 2);
  story.Publish(trainer0, 1);
  story.UntilIdle();
  story.Draw();
  Process& next = story.Replace(trainer1);
  story.UntilDropped(trainer0);
  story.Publish(trainer0, 1);
  story.Publish(next, 1);
  story.UntilIdle();
  return Chapter("A rank is replaced before its group has published",
                 "A new process makes a new epoch of the group. What the other rank had published "
                 "is over, and both publish\nagain (R2).",
                 story);
}

std::string SourceDies() {
  Story story;
  Process& second = BeginSecondFetch(story);
  story.Draw();
  story.SourceOf(second).Kill(/*told=*/true);
  story.UntilIdle();
  return Chapter("A source dies",
                 "The reader says so and is given another source. It goes on where it was: what is "
                 "committed stays (R4).",
                 story);
}

std::string ServerRestarts() {
  Story story;
  Process& trainer = story.Add("trainer");
  Process& rollout = story.Add("rollout");
  PublishWhole(story, trainer);
  FetchSome(story, rollout);
  story.Draw();
  story.hub().Crash(/*data_lost=*/false);
  story.hub().Start();
  story.UntilIdle();
  return Chapter("The server restarts in the middle of a read",
                 "The read goes on. Workers report what they hold and what they read, and the "
                 "server takes it up (R8).",
                 story);
}

std::string OneHost() {
  Story story;
  Process& trainer = story.Add("trainer", 0, 1, "host");
  Process& rollout = story.Add("rollout", 0, 1, "host");
  PublishWhole(story, trainer);
  story.Draw();
  story.Fetch(rollout);
  story.UntilIdle();
  return Chapter("On one host",
                 "The reader copies from the source's memory itself, and looks at the source's "
                 "control word before and\nafter (R4).",
                 story);
}

}  // namespace

std::string SequencesPage() {
  return absl::StrCat(kIntroduction, PublishAndFetch(), GroupOfTwo(), IntoHeldBuffers(), Chain(),
                      Drain(), Redirect(), SourceDies(), ServerRestarts(), RankReplaced(),
                      OneHost());
}

}  // namespace tensorhub::fault
