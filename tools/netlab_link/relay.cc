// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tools/netlab_link/relay.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"

namespace tensorhub::netlab {
namespace {

constexpr size_t kTrainMax = 1 << 17;
constexpr size_t kBatch = 128;  // frames of one port, before the others have their turn
constexpr double kPortion = 0.0005;
constexpr size_t kHomesMax = 1 << 14;
// More than 5 s of 200 Mbit/s; what comes then is lost, as in a switch without memory.
constexpr size_t kWaitingMax = size_t{256} << 20;

uint64_t HardwareAddress(Bytes frame, size_t at) {
  uint64_t address = 0;
  for (size_t byte = 0; byte < 6; ++byte) address = address << 8 | frame[at + byte];
  return address;
}

bool ForMany(Bytes frame) { return (frame[0] & 1) != 0; }

}  // namespace

Relay::Relay(std::vector<Port> ports) : ports_(std::move(ports)), room_(kTrainMax) {
  for (size_t index = 0; index < ports_.size() * ports_.size(); ++index) {
    ways_.emplace_back(index + 1);
  }
}

bool Relay::Later(const Waiting& one, const Waiting& other) {
  return std::pair(one.due, one.order) > std::pair(other.due, other.order);
}

std::optional<double> Relay::Next() const {
  return waiting_.empty() ? std::nullopt : std::optional(waiting_.front().due);
}

bool Relay::Turn(double now) {
  bool any = false;
  for (size_t port = 0; port < ports_.size(); ++port) any |= TakeIn(port, now);
  return GiveOut(now) || any;
}

bool Relay::TakeIn(size_t port, double now) {
  for (size_t taken = 0; taken < kBatch; ++taken) {
    const size_t size = ports_[port].tap.Read(room_);
    if (size == 0) return taken > 0;
    const Train train(Bytes(room_.data(), size));
    if (!train.frame().empty()) Switch(port, train, now);
  }
  return true;
}

bool Relay::GiveOut(double now) {
  bool any = false;
  while (!waiting_.empty() && waiting_.front().due <= now) {
    std::pop_heap(waiting_.begin(), waiting_.end(), Later);
    ports_[waiting_.back().port].tap.Write(waiting_.back().frame);
    waiting_bytes_ -= waiting_.back().frame.size();
    waiting_.pop_back();
    any = true;
  }
  return any;
}

void Relay::Switch(size_t from, const Train& train, double now) {
  const Bytes frame = train.frame();
  if (homes_.size() >= kHomesMax) homes_.clear();
  homes_[HardwareAddress(frame, 6)] = from;
  const FrameInfo info = Look(frame);
  const auto home = homes_.find(HardwareAddress(frame, 0));
  if (!ForMany(frame) && home != homes_.end()) {
    if (home->second != from) Send(from, home->second, info, train, now);
    return;
  }
  for (size_t to = 0; to < ports_.size(); ++to) {
    if (to != from) Send(from, to, info, train, now);
  }
}

// Segments that arrive within a portion of each other go on as one.
void Relay::Send(size_t from, size_t to, const FrameInfo& info, const Train& train, double now) {
  size_t first = 0;  // of those that are still together, before `segment`
  double begin = 0;
  double end = 0;
  for (size_t segment = 0; segment < train.segments(); ++segment) {
    const Way::Fate fate = way(from, to).Take(info, train.BytesOf(segment), now);
    if (fate.reset) return Reset(from, to, train.frame(), now);
    const bool joins = fate.arrives.has_value() && *fate.arrives <= begin + kPortion;
    if (first < segment && !joins) Keep(end, to, train.Cut(first, segment - first));
    if (!joins) first = fate.arrives.has_value() ? segment : segment + 1;
    if (first == segment && fate.arrives.has_value()) begin = *fate.arrives;
    if (fate.arrives.has_value()) end = *fate.arrives;
    if (fate.again.has_value()) Keep(*fate.again, to, train.Cut(segment, 1));
  }
  if (first < train.segments()) Keep(end, to, train.Cut(first, train.segments() - first));
}

void Relay::Reset(size_t from, size_t to, Bytes segment, double now) {
  const auto keep = [&](double due, size_t port, const std::vector<uint8_t>& reset) {
    if (!reset.empty()) Keep(due, port, Train::Whole(reset));
  };
  keep(way(from, to).Arrival(now), to, ResetForReceiver(segment));
  keep(way(to, from).Arrival(now), from, ResetForSender(segment));
}

void Relay::Keep(double due, size_t port, std::vector<uint8_t> frame) {
  if (waiting_bytes_ + frame.size() > kWaitingMax) return;
  waiting_bytes_ += frame.size();
  waiting_.push_back({due, ++order_, port, std::move(frame)});
  std::push_heap(waiting_.begin(), waiting_.end(), Later);
}

std::optional<size_t> Relay::PortNamed(std::string_view name) const {
  for (size_t port = 0; port < ports_.size(); ++port) {
    if (ports_[port].name == name) return port;
  }
  return std::nullopt;
}

std::string Relay::Order(const std::string& line, double now) {
  const std::vector<std::string> words = absl::StrSplit(line, ' ', absl::SkipEmpty());
  if (words.size() == 1 && words[0] == "status") return Status();
  if (words.size() >= 3 && words[0] == "set") return Set(words, now);
  return "error: say set FROM TO NAME=NUMBER, or status";
}

std::string Relay::Set(const std::vector<std::string>& words, double now) {
  const std::optional<size_t> from = PortNamed(words[1]);
  const std::optional<size_t> to = PortNamed(words[2]);
  if (!from.has_value() || !to.has_value() || from == to) return "error: no such link";
  const absl::StatusOr<Settings> settings = ParseSettings({words.begin() + 3, words.end()});
  if (!settings.ok()) return absl::StrCat("error: ", std::string(settings.status().message()));
  way(*from, *to).Set(*settings, now);
  return "ok";
}

std::string Relay::Status() {
  std::string list;
  for (size_t from = 0; from < ports_.size(); ++from) {
    for (size_t to = 0; to < ports_.size(); ++to) {
      const Counts& counts = way(from, to).counts();
      if (from == to || way(from, to).flows() == 0) continue;
      absl::StrAppend(
          &list, list.empty() ? "" : ", ",
          absl::StrFormat(R"({"from": "%s", "to": "%s", "frames": %d, "bytes": %d, "lost": %d, )"
                          R"("overflowed": %d, "dead": %d, "duplicated": %d, "reset": %d, )"
                          R"("refused": %d, "flows": %d})",
                          ports_[from].name, ports_[to].name, counts.frames, counts.bytes,
                          counts.lost, counts.overflowed, counts.dead, counts.duplicated,
                          counts.reset, counts.refused, way(from, to).flows()));
    }
  }
  return absl::StrCat("[", list, "]");
}

}  // namespace tensorhub::netlab
