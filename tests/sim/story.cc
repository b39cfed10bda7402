// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tests/sim/story.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/check.h"

namespace tensorhub::fault {
namespace {

constexpr char kModel[] = "actor";
constexpr uint64_t kChunkBytes = 128 << 10;
constexpr uint64_t kChunks = 32;
constexpr Nanos kPatience = 60 * kSecond;

FaultPlan Quiet() {
  FaultPlan plan;
  plan.data_latency_max = 400 * kMicrosecond;
  plan.digests = FaultPlan::DigestUse::kOff;
  plan.hashing_max = kMillisecond;
  return plan;
}

void AskAndSucceed(Process& worker, const agent::Verb& verb) {
  worker.Ask(verb, [](const agent::VerbDone& done) { TH_CHECK(done.status.ok()); });
}

std::shared_ptr<const Layout> SmallLayout() {
  TensorSpec tensor;
  tensor.name = "weights";
  tensor.shape = {kChunks * kChunkBytes};
  auto layout = Layout::Make({tensor});
  TH_CHECK(layout.ok());
  return std::make_shared<const Layout>(*std::move(layout));
}

}  // namespace

Story::Story(Listener* listener)
    : scene_(1), hub_(scene_), wire_(scene_), gets_(scene_), checkers_(scene_, true) {
  scene_.plan = Quiet();
  scene_.hub = &hub_;
  scene_.wire = &wire_;
  scene_.gets = &gets_;
  scene_.checkers = &checkers_;
  scene_.listener = listener != nullptr ? listener : &drawing_;
  hub_.Start();
}

Process& Story::Add(const std::string& group, Rank rank, uint32_t world_size,
                    const std::string& host) {
  Place& place = places_.emplace_back();
  place.number = places_.size() - 1;
  place.key = {kModel, group, rank};
  place.world_size = world_size;
  place.one_sided = !host.empty();
  place.host = absl::StrCat("us/dc/rack/", host.empty() ? absl::StrCat(place.number) : host);
  place.location = *Location::Parse(absl::StrCat(place.host, "/", place.number));
  place.layout = SmallLayout();
  place.frame_bytes = kChunkBytes;
  place.slowness = 2 * kMillisecond;
  Process& process = Start(place);
  drawing_.AddParticipant(process.name());
  Until([&] { return process.link().up(); });
  return process;
}

Process& Story::Start(const Place& place) {
  Process& process = AddProcess(scene_, place);
  actors_.push_back(&process);
  process.Begin();
  return process;
}

Process& Story::Replace(Process& process) {
  process.Kill(/*told=*/true);
  return Supplant(process);
}

Process& Story::Supplant(const Process& process) {
  Process& next = Start(places_[process.place()]);
  scene_.Note(next.name(), "starts again");
  Until([&] { return next.link().up(); });
  return next;
}

void Story::Write(Process& trainer, VersionNumber version) {
  trainer.WriteContent(scene_.contents.ForPublish({kModel, version}, /*in_use=*/true, 0));
}

void Story::Ask(Process& worker, const agent::Verb& verb) {
  worker.Ask(verb, [](const agent::VerbDone&) {});
}

void Story::Publish(Process& trainer, VersionNumber version) {
  Write(trainer, version);
  AskAndSucceed(trainer, agent::PublishVerb{version});
}

void Story::Fetch(Process& rollout) { AskAndSucceed(rollout, agent::FetchVerb{}); }

void Story::Unpublish(Process& worker) { AskAndSucceed(worker, agent::UnpublishVerb{}); }

void Story::Until(const std::function<bool()>& holds) {
  const Nanos end = scene_.agenda.now() + kPatience;
  while (!holds() && scene_.agenda.DoNext(end)) TH_CHECK(!scene_.violation);
  TH_CHECK(holds());
}

void Story::UntilIdle() {
  Until([this] { return IsIdle(); });
}

bool Story::IsIdle() const {
  return std::all_of(actors_.begin(), actors_.end(), [](const Process* process) {
    return process->node().dead() || process->idle();
  });
}

void Story::RunFor(Nanos time) {
  const Nanos end = scene_.agenda.now() + time;
  while (!scene_.violation && scene_.agenda.DoNext(end)) {
  }
}

void Story::UntilSomeIsThere(const Process& reader) {
  Until([&reader] { return reader.memory().word().valid_chunks >= kChunks / 4; });
}

void Story::UntilDropped(const Process& holder) {
  Until([&holder] { return !holder.Report().holding; });
}

Process& Story::SourceOf(const Process& reader) {
  Incarnation source = 0;
  for (const hub::TransferView& transfer : hub_.core().Transfers(hub_.NowMs())) {
    if (transfer.reader == reader.identity()) source = transfer.source.incarnation;
  }
  TH_CHECK(source != 0);
  return *FindProcess(scene_, source);
}

}  // namespace tensorhub::fault
