// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tests/sim/two_sided.h"

#include <cstdint>
#include <string_view>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/check.h"

namespace tensorhub::fault {
namespace {

constexpr Nanos kStabilizeMax = 120 * kSecond;
constexpr Nanos kArrival = 100 * kMillisecond;  // of what was said last
constexpr TimeMs kVerbMs = 30'000;
constexpr Ppm kAlways = 1'000'000;

uint64_t NumberOf(std::string_view word) {
  uint64_t number = 0;
  TH_CHECK(absl::SimpleAtoi(absl::string_view(word.data(), word.size()), &number));
  return number;
}

// "v7": 7.
VersionNumber VersionOf(const std::string& word) {
  return NumberOf(std::string_view(word).substr(1));
}

}  // namespace

std::string TwoSided::Replay(const std::string& script) {
  std::string text;
  const std::vector<std::string> lines = absl::StrSplit(absl::StripSuffix(script, "\n"), '\n');
  for (const std::string& line : lines) {
    const bool asks = line.rfind("> ", 0) == 0;
    if (!asks && line.rfind("  ", 0) == 0) continue;
    absl::StrAppend(&text, line, "\n");
    if (!asks) continue;
    const Arguments words = absl::StrSplit(line.substr(2), ' ', absl::SkipEmpty());
    if (!Do(words)) absl::StrAppend(&text, "  ? no such command\n");
    text += transcript_.Take();
  }
  const auto& violation = story_.scene().violation;
  if (violation) absl::StrAppend(&text, "  ! ", violation->rule, ": ", violation->text, "\n");
  return text;
}

bool TwoSided::Do(const Arguments& words) {
  const std::string& verb = words.at(0);
  if (verb == "stabilize") return Stabilize(), true;
  if (verb == "heal") return Heal(), true;
  if (verb == "wait") return story_.RunFor(NumberOf(words.at(1)) * kMillisecond), true;
  if (verb == "lose") return Lose(words.at(1));
  if (verb == "cut") return Cut(words), true;
  if (verb == "add") return Add(words), true;
  return words.at(1) == "hub" ? DoToHub(verb) : DoToWorker(words);
}

bool TwoSided::DoToHub(const std::string& verb) {
  if (verb == "crash") return story_.hub().Crash(/*data_lost=*/false), true;
  if (verb == "start") return story_.hub().Start(), true;
  return false;
}

bool TwoSided::DoToWorker(const Arguments& words) {
  const std::string& verb = words[0];
  const auto found = workers_.find(words[1]);
  if (found == workers_.end()) return false;
  Process& worker = *found->second;
  if (verb == "mend") {
    worker.link().Unblock();
  } else if (verb == "kill") {
    worker.Kill(/*told=*/words.size() < 3);
  } else if (verb == "replace") {
    found->second = &story_.Replace(worker);
  } else if (verb == "supplant") {
    Process& next = story_.Supplant(worker);
    workers_[words.at(3)] = &worker;
    workers_[words[1]] = &next;
  } else if (verb == "until") {
    const uint64_t chunks = NumberOf(words.at(3));
    story_.Until([&worker, chunks] { return worker.memory().word().valid_chunks >= chunks; });
  } else if (verb == "drain") {
    story_.hub().Drain(worker.identity().key, /*undo=*/words.size() > 2);
  } else {
    AskFor(words, worker);
  }
  return true;
}

void TwoSided::AskFor(const Arguments& words, Process& worker) {
  const std::string& verb = words[0];
  if (verb == "publish") {
    const VersionNumber version = VersionOf(words.at(2));
    story_.Write(worker, version);
    agent::PublishVerb publish{version};
    publish.wait_for_group = true;
    publish.timeout_ms = kVerbMs;
    return Story::Ask(worker, publish);
  }
  if (verb == "fetch") {
    agent::FetchVerb fetch;
    if (words.size() > 2) fetch.selector = {VersionSelector::Kind::kExact, VersionOf(words[2])};
    fetch.timeout_ms = kVerbMs;
    return Story::Ask(worker, fetch);
  }
  if (verb == "unpublish") return Story::Ask(worker, agent::UnpublishVerb{});
  TH_CHECK(verb == "leave");
  worker.AskToLeave(kVerbMs);
}

void TwoSided::Add(const Arguments& words) {
  uint32_t of = 1;
  std::string host;
  for (size_t i = 2; i < words.size(); ++i) {
    const std::vector<std::string> option = absl::StrSplit(words[i], '=');
    if (option.at(0) == "of") of = static_cast<uint32_t>(NumberOf(option.at(1)));
    if (option.at(0) == "host") host = option.at(1);
  }
  const std::vector<std::string> name = absl::StrSplit(words.at(1), '/');
  workers_[words[1]] = &story_.Add(name.at(0), static_cast<Rank>(NumberOf(name.at(1))), of, host);
}

bool TwoSided::Lose(const std::string& what) {
  Scene& scene = story_.scene();
  scene.faults_on = true;
  if (what == "calls") return scene.plan.call_lost = kAlways, true;
  if (what == "answers") return scene.plan.answer_lost = kAlways, true;
  return false;
}

void TwoSided::Cut(const Arguments& words) {
  Process& one = *workers_.at(words.at(1));
  if (words.at(2) == "hub") return one.link().Block(/*up=*/true, /*down=*/true);
  const Process& other = *workers_.at(words[2]);
  story_.scene().wire->Block(one.place(), other.place());
  story_.scene().wire->Block(other.place(), one.place());
}

void TwoSided::Heal() {
  Scene& scene = story_.scene();
  scene.faults_on = false;
  scene.plan.call_lost = scene.plan.answer_lost = 0;
  scene.wire->UnblockAll();
  for (const auto& [name, worker] : workers_) {
    if (!worker->node().dead()) worker->link().Unblock();
  }
}

void TwoSided::Stabilize() {
  const Nanos end = story_.scene().agenda.now() + kStabilizeMax;
  while (!story_.IsIdle() && story_.scene().agenda.now() < end) story_.RunFor(kMillisecond);
  story_.RunFor(kArrival);
}

}  // namespace tensorhub::fault
