// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "worker_agent/seen/trace_lines.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/location.h"

namespace tensorhub::agent {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kFetches = 1;  // the track

std::string Text(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// Both ends have the same; readers of the format count in hexadecimal here.
std::string IdOf(Incarnation reader, uint64_t read) {
  constexpr uint64_t kGolden = 0x9e3779b97f4a7c15;
  return absl::StrFormat("0x%x", reader ^ ((read + 1) * kGolden));
}

// A number of a process, as the format wants one.
uint32_t ProcessOf(Incarnation incarnation) {
  const uint64_t mixed = incarnation ^ (incarnation >> 32);
  return static_cast<uint32_t>(mixed & 0x3fffffff) | 0x40000000;
}

}  // namespace

struct TraceLines::Slice {
  std::string name;
  int track = 0;
  int64_t begin_us = 0;
  int64_t end_us = 0;
  Json args = Json::object();
};

void TraceLines::AddLine(const std::string& line) { absl::StrAppend(&lines_, line, ",\n"); }

void TraceLines::Name(const char* what, int track, const std::string& name) {
  AddLine(Text({{"name", what},
                {"cat", self_.key.model},
                {"ph", "M"},
                {"pid", ProcessOf(self_.incarnation)},
                {"tid", track},
                {"args", {{"name", name}}}}));
}

int TraceLines::TrackFor(Tracks& tracks, int64_t begin_us, int64_t end_us) {
  auto& busy = tracks.busy_until_us;
  const auto free =
      std::find_if(busy.begin(), busy.end(), [&](int64_t until) { return until <= begin_us; });
  const int index = static_cast<int>(free - busy.begin());
  if (free == busy.end()) {
    busy.push_back(end_us);
    Name("thread_name", tracks.first + index,
         index == 0 ? tracks.name : absl::StrCat(tracks.name, " ", index + 1));
  }
  busy[static_cast<size_t>(index)] = end_us;
  return tracks.first + index;
}

void TraceLines::AddSlice(const Slice& slice) {
  if (!std::exchange(named_, true)) {
    Name("process_name", 0,
         absl::StrCat(self_.key.model, " ", self_.key.group, " rank ", self_.key.rank));
    Name("thread_name", kFetches, "fetches");
  }
  AddLine(Text({{"name", slice.name},
                {"cat", self_.key.model},
                {"ph", "X"},
                {"ts", slice.begin_us},
                {"dur", std::max<int64_t>(slice.end_us - slice.begin_us, 1)},
                {"pid", ProcessOf(self_.incarnation)},
                {"tid", slice.track},
                {"args", slice.args}}));
}

// One end of an arrow: "s" where it begins, "f" where it ends.
void TraceLines::AddEnd(const char* phase, int track, int64_t at_us, const std::string& read) {
  Json event = {{"name", "source"}, {"cat", self_.key.model},
                {"ph", phase},      {"id", read},
                {"ts", at_us},      {"pid", ProcessOf(self_.incarnation)},
                {"tid", track}};
  if (*phase == 'f') event["bp"] = "e";
  AddLine(Text(event));
}

void TraceLines::Add(const FetchRecord& fetch, int64_t ahead_us) {
  Json args = {{"version", fetch.version},
               {"code", absl::StatusCodeToString(fetch.status.code())},
               {"error", std::string(fetch.status.message())}};
  if (!fetch.traceparent.empty()) args["traceparent"] = fetch.traceparent;
  AddSlice({fetch.version == 0 ? "fetch" : absl::StrCat("fetch version ", fetch.version), kFetches,
            fetch.begin_us + ahead_us, fetch.end_us + ahead_us, args});
  for (const FetchRecord::Span& span : fetch.spans) {
    AddSlice({std::string(kFetchPhases[span.phase]),
              kFetches,
              span.begin_us + ahead_us,
              span.end_us + ahead_us,
              {{"version", fetch.version}}});
  }
  for (const FetchRecord::Stream& stream : fetch.streams) {
    const int64_t begin_us = stream.begin_us + ahead_us;
    const int64_t end_us = std::max(stream.end_us + ahead_us, begin_us + 1);
    const int track = TrackFor(reads_, begin_us, end_us);
    const std::string read = IdOf(self_.incarnation, stream.read);
    AddSlice({absl::StrCat("reads ", stream.source.group, "/", stream.source.rank),
              track,
              begin_us,
              end_us,
              {{"version", fetch.version},
               {"read", read},
               {"tier", std::string(ToString(stream.tier))},
               {"way", stream.way},
               {"bytes", stream.bytes}}});
    AddEnd("f", track, end_us - 1, read);
  }
}

void TraceLines::Add(const ServeRecord& serve, int64_t ahead_us) {
  const int64_t begin_us = serve.begin_us + ahead_us;
  const int64_t end_us = std::max(serve.end_us + ahead_us, begin_us + 1);
  const int track = TrackFor(serves_, begin_us, end_us);
  const std::string read = IdOf(serve.reader, serve.read);
  AddSlice({"serves",
            track,
            begin_us,
            end_us,
            {{"read", read}, {"bytes", serve.bytes}, {"outcome", serve.outcome}}});
  AddEnd("s", track, begin_us, read);
}

std::string TraceLines::Take() { return std::exchange(lines_, std::string()); }

}  // namespace tensorhub::agent
