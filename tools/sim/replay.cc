// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tools/sim/replay.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "server/core/hub.h"
#include "server/record/codec.h"
#include "server/record/recording.h"
#include "tools/ctl/table.h"
#include "tools/sim/hub_tables.h"

namespace tensorhub::sim {
namespace {

struct Replayed {
  std::unique_ptr<hub::Hub> hub;
  TimeMs start = 0;
  TimeMs now = 0;  // of the last step
  uint64_t steps = 0;
  uint64_t torn = 0;
  std::string program;
};

absl::StatusOr<std::string> ReadFile(const std::string& name) {
  std::ifstream file(name, std::ios::binary);
  if (!file) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, ": cannot be read: ", std::strerror(errno)));
  }
  return std::string(std::istreambuf_iterator<char>(file), {});
}

absl::Status Named(const std::string& file, const absl::Status& status) {
  return absl::Status(status.code(), absl::StrCat(file, ": ", std::string(status.message())));
}

double SecondsAfter(TimeMs start, TimeMs now) { return static_cast<double>(now - start) / 1000; }

absl::Status Differs(const record::Step& step, TimeMs start) {
  return absl::DataLossError(absl::StrFormat(
      "step %d, %s at %.3f s, has other effects than it had in the server: what came before it is "
      "the same; was the server of this very version, and built from the same source?",
      step.number, std::string(record::NameOf(step.event)), SecondsAfter(start, step.now)));
}

// All of it, or what was until `at`.
absl::StatusOr<Replayed> Replay(std::string_view bytes,
                                const std::optional<std::chrono::milliseconds>& at) {
  auto decoder = record::Decoder::Open(bytes);
  if (!decoder.ok()) return decoder.status();
  const record::Beginning& beginning = decoder->beginning();
  Replayed replayed;
  replayed.program = beginning.program;
  replayed.start = replayed.now = beginning.start;
  replayed.hub = std::make_unique<hub::Hub>(beginning.options, beginning.start);
  record::EffectsDigest digest;
  hub::Effects effects;
  record::Step step;
  for (;;) {
    const absl::StatusOr<bool> more = decoder->Next(step);
    if (!more.ok()) return more.status();
    if (!*more || (at && step.now - replayed.start > at->count())) break;
    effects.clear();
    replayed.hub->Apply(step.event, step.now, effects);
    digest.Add(step.now, effects);
    if (digest.low() != step.digest) return Differs(step, replayed.start);
    replayed.now = step.now;
    replayed.steps = step.number;
  }
  replayed.torn = decoder->torn();
  return replayed;
}

void PrintSummary(const Replayed& replayed, bool json, std::ostream& out) {
  const double seconds = SecondsAfter(replayed.start, replayed.now);
  if (json) {
    return ctl::PrintJson({{"steps", replayed.steps},
                           {"seconds", seconds},
                           {"torn_bytes", replayed.torn},
                           {"server_version", replayed.program}},
                          out);
  }
  out << absl::StrFormat("%d steps in %.3f s: every effect is what it was\n", replayed.steps,
                         seconds);
  if (replayed.torn > 0) {
    out << absl::StrFormat("the last %d bytes are no whole step: the server ended there\n",
                           replayed.torn);
  }
}

}  // namespace

void ReplayVerb::AddFlags(cli::Command& command) {
  command.Argument("FILE", &file_, "what tensorhub-server --record wrote");
  command.Flag("at", &at_, "shows the hub's state so long after its start");
  command.Example("tensorhub-sim replay /var/lib/tensorhub/record");
  command.Example("tensorhub-sim replay record --at 93s -o json | jq .workers");
}

absl::Status ReplayVerb::Run(bool json, std::ostream& out) const {
  const absl::StatusOr<std::string> bytes = ReadFile(file_);
  if (!bytes.ok()) return bytes.status();
  const absl::StatusOr<Replayed> replayed = Replay(*bytes, at_);
  if (!replayed.ok()) return Named(file_, replayed.status());
  if (!at_) {
    PrintSummary(*replayed, json, out);
  } else {
    PrintHub(*replayed->hub, replayed->start + at_->count(), json, out);
  }
  return absl::OkStatus();
}

}  // namespace tensorhub::sim
