// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "bench/pairs.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace tensorhub::bench {
namespace {

absl::StatusOr<std::unique_ptr<Child>> StartRole(const std::string& name, const std::string& role,
                                                 const std::string& args,
                                                 const Environment& environment) {
  return Child::Start(
      {.name = name, .binary = OwnBinary(), .args = {role, args}, .env = environment});
}

absl::StatusOr<double> AskNumber(Child& child, const std::string& line, const std::string& key) {
  const absl::StatusOr<Fields> answer = child.Ask(line);
  if (!answer.ok()) return answer.status();
  return answer->Number(key);
}

// Equal digests at both ends.
absl::Status Compare(Child& source, Child& reader, const std::string& name) {
  std::string digests[2];
  Child* children[2] = {&source, &reader};
  for (int i = 0; i < 2; ++i) {
    const absl::StatusOr<Fields> answer = children[i]->Ask("digest");
    if (!answer.ok()) return answer.status();
    const absl::StatusOr<std::string> digest = answer->Text("digest");
    if (!digest.ok()) return digest.status();
    digests[i] = *digest;
  }
  if (digests[0] == digests[1]) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat(name, ": the reader's bytes are not the source's"));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Hub>> Hub::Start() {
  return Start([](const Child::Options& process) { return process; }, "127.0.0.1:0", {});
}

absl::StatusOr<std::unique_ptr<Hub>> Hub::Start(
    const std::function<Child::Options(const Child::Options&)>& place, const std::string& listen,
    const std::vector<std::string>& flags) {
  constexpr char kReady[] = "listening on ";
  auto hub = std::make_unique<Hub>();
  std::vector<std::string> args = {"--listen", listen};
  const bool quiet = std::none_of(flags.begin(), flags.end(), [](const std::string& flag) {
    return absl::StartsWith(flag, "--log-level");
  });
  if (quiet) args.emplace_back("--log-level=warn");
  // What publishing and unpublishing take is measured, not what a copy takes.
  const bool retains = std::any_of(flags.begin(), flags.end(), [](const std::string& flag) {
    return absl::StartsWith(flag, "--keep-latest");
  });
  if (!retains) args.emplace_back("--keep-latest=0");
  args.insert(args.end(), flags.begin(), flags.end());
  absl::StatusOr<std::unique_ptr<Child>> process =
      Child::Start(place({.name = "tensorhub-server",
                          .binary = BinaryBeside("tensorhub-server"),
                          .args = args,
                          .daemon = true}));
  if (!process.ok()) return process.status();
  hub->process_ = *std::move(process);
  const absl::StatusOr<std::string> line =
      hub->process_->LineWith(kReady, std::chrono::seconds(20));
  if (!line.ok()) return line.status();
  hub->address_ = line->substr(line->find(kReady) + sizeof(kReady) - 1);
  return hub;
}

absl::StatusOr<std::unique_ptr<BarePair>> BarePair::Start(const std::string& role,
                                                          const BareSettings& settings,
                                                          const Environment& environment) {
  auto pair = std::make_unique<BarePair>();
  std::string offers[2];
  std::unique_ptr<Child>* children[2] = {&pair->source_, &pair->reader_};
  for (int i = 0; i < 2; ++i) {
    absl::StatusOr<std::unique_ptr<Child>> child =
        StartRole(absl::StrCat(role, i == 0 ? " source" : " reader"), role,
                  absl::StrCat("source=", 1 - i, " ", settings.ToText()), environment);
    if (!child.ok()) return child.status();
    *children[i] = *std::move(child);
    const absl::StatusOr<Fields> offer = (*children[i])->Answer();
    if (!offer.ok()) return offer.status();
    offers[i] = offer->ToText();
  }
  for (int i = 0; i < 2; ++i) {
    if (offers[1 - i].empty()) continue;  // who only reads need not be reached
    const absl::StatusOr<Fields> done = (*children[i])->Ask("connect " + offers[1 - i]);
    if (!done.ok()) return done.status();
  }
  return pair;
}

absl::StatusOr<double> BarePair::Round() {
  if (absl::Status status = source_->Send("serve"); !status.ok()) return status;
  absl::StatusOr<double> seconds = AskNumber(*reader_, "read", "seconds");
  if (!seconds.ok()) return seconds;
  const absl::StatusOr<Fields> served = source_->Answer();
  if (!served.ok()) return served.status();
  return seconds;
}

absl::Status BarePair::Verify() { return Compare(*source_, *reader_, "the bare pair"); }

absl::StatusOr<std::unique_ptr<Child>> AgentPair::StartAgent(bool is_source) const {
  const int device = is_source ? options_.source_device : options_.reader_device;
  const bool one_sided = options_.way == "one-sided" && device < 0;
  const std::string role = is_source ? "source" : "reader";
  absl::StatusOr<std::unique_ptr<Child>> child = StartRole(
      absl::StrCat(options_.name, " ", role), "@agent",
      absl::StrCat("server=", options_.server, " group=", options_.name, "-", role,
                   " bytes=", options_.bytes, " tensors=", options_.tensors,
                   " source=", is_source ? 1 : 0, " allocate=", one_sided && is_source ? 1 : 0,
                   " mapped=", one_sided && !is_source ? options_.bytes : 0, " device=", device),
      options_.environment);
  if (!child.ok()) return child.status();
  const absl::StatusOr<Fields> ready = (*child)->Answer();
  if (!ready.ok()) return ready.status();
  return child;
}

absl::StatusOr<std::unique_ptr<AgentPair>> AgentPair::Start(const Options& options) {
  std::unique_ptr<AgentPair> pair(new AgentPair(options));
  absl::StatusOr<std::unique_ptr<Child>> source = pair->StartAgent(/*is_source=*/true);
  if (!source.ok()) return source.status();
  pair->source_ = *std::move(source);
  absl::StatusOr<std::unique_ptr<Child>> reader = pair->StartAgent(/*is_source=*/false);
  if (!reader.ok()) return reader.status();
  pair->reader_ = *std::move(reader);
  return pair;
}

absl::StatusOr<AgentPair::Sample> AgentPair::Round() {
  Sample sample;
  const absl::StatusOr<double> unpublished = AskNumber(*source_, "unpublish", "ms");
  if (!unpublished.ok()) return unpublished.status();
  sample.unpublish_ms = *unpublished;
  const std::string version = absl::StrCat(" version=", ++version_);
  const absl::StatusOr<Fields> published = source_->Ask("publish" + version);
  if (!published.ok()) return published.status();
  const absl::StatusOr<double> publish_ms = published->Number("ms");
  const absl::StatusOr<double> publish_bytes = published->Number("message");
  if (!publish_ms.ok()) return publish_ms.status();
  if (!publish_bytes.ok()) return publish_bytes.status();
  sample.publish_ms = *publish_ms;
  sample.publish_bytes = *publish_bytes;
  if (options_.settle) {
    if (absl::Status status = Settle(); !status.ok()) return status;
  }
  const absl::StatusOr<Fields> fetched = reader_->Ask("fetch" + version);
  if (!fetched.ok()) return fetched.status();
  const absl::StatusOr<double> seconds = fetched->Number("seconds");
  const absl::StatusOr<std::string> way = fetched->Text("way");
  if (!seconds.ok()) return seconds.status();
  if (!way.ok()) return way.status();
  if (!way->starts_with(options_.way)) {
    return absl::FailedPreconditionError(absl::StrCat(options_.name, ": the bytes came ", *way,
                                                      ", not ", options_.way, ", on this machine"));
  }
  way_ = *way;
  sample.seconds = *seconds;
  return sample;
}

absl::StatusOr<double> AgentPair::Stall() {
  const absl::StatusOr<Fields> unpublished = source_->Ask("unpublish");
  if (!unpublished.ok()) return unpublished.status();
  return AskNumber(*source_, absl::StrCat("stall version=", ++version_), "ms");
}

absl::Status AgentPair::Settle() {
  constexpr std::chrono::milliseconds kLook(20);
  constexpr double kRestSeconds = 0.002;  // of CPU within a look
  double before = -1;
  for (int look = 0; look < 1000; ++look) {
    const absl::StatusOr<double> cpu = AskNumber(*source_, "stat", "cpu");
    if (!cpu.ok()) return cpu.status();
    if (before >= 0 && *cpu - before < kRestSeconds) return absl::OkStatus();
    before = *cpu;
    std::this_thread::sleep_for(kLook);
  }
  return absl::DeadlineExceededError(absl::StrCat(options_.name, ": the source never rests"));
}

absl::Status AgentPair::Verify() {
  for (const char* command : {"unpublish", "scrub"}) {
    const absl::StatusOr<Fields> done = reader_->Ask(command);
    if (!done.ok()) return done.status();
  }
  const absl::StatusOr<Sample> sample = Round();
  if (!sample.ok()) return sample.status();
  return Compare(*source_, *reader_, options_.name);
}

absl::StatusOr<std::vector<AgentPair::Usage>> AgentPair::Usages() {
  std::vector<Usage> usages;
  for (Child* child : {source_.get(), reader_.get()}) {
    const absl::StatusOr<Fields> answer = child->Ask("stat");
    if (!answer.ok()) return answer.status();
    const absl::StatusOr<double> growth = answer->Number("growth");
    const absl::StatusOr<double> cpu = answer->Number("cpu");
    if (!growth.ok()) return growth.status();
    if (!cpu.ok()) return cpu.status();
    usages.push_back({*growth, *cpu});
  }
  return usages;
}

}  // namespace tensorhub::bench
