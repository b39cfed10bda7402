// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tools/ctl/fetch_trace.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"

namespace tensorhub::ctl {
namespace {

using nlohmann::ordered_json;

// A process of the trace is a group, a thread of it a track.
struct Track {
  int group = 0;
  int number = 0;
};

struct Span {
  const char* name;
  bool there;
  int64_t ms;
};

class Trace {
 public:
  Trace(const std::string& model, const v1::ExplainFetchesResponse& fetches,
        std::optional<int64_t> now_ms)
      : model_(model), begin_(now_ms.value_or(0)) {
    for (const v1::FetchInfo& fetch : fetches.fetches()) {
      if (!now_ms) begin_ = std::max(begin_, fetch.age_ms());
    }
    for (const v1::FetchInfo& fetch : fetches.fetches()) Add(fetch);
  }
  std::vector<ordered_json> events() && { return std::move(events_); }

 private:
  // Ranks come before the tracks of what they serve, each by its name.
  Track TrackOf(const std::string& group, const std::string& name) {
    const auto [of_group, new_group] =
        groups_.try_emplace(group, static_cast<int>(groups_.size()) + 1);
    const Track track{of_group->second, static_cast<int>(tracks_.size()) + 1};
    if (new_group) Name("process_name", {track.group, 0}, absl::StrCat(model_, " ", group));
    const auto [found, new_track] = tracks_.try_emplace({group, name}, track);
    if (new_track) Name("thread_name", track, name);
    return found->second;
  }
  void Name(const char* what, Track track, const std::string& name) {
    events_.push_back({{"name", what},
                       {"ph", "M"},
                       {"pid", track.group},
                       {"tid", track.number},
                       {"args", {{"name", name}}}});
  }
  void Slice(const std::string& name, Track track, int64_t from_ms, int64_t ms,
             ordered_json args = ordered_json::object()) {
    events_.push_back({{"name", name},
                       {"ph", "X"},
                       {"ts", from_ms * 1000},
                       {"dur", std::max<int64_t>(ms * 1000, 1)},
                       {"pid", track.group},
                       {"tid", track.number},
                       {"args", std::move(args)}});
  }
  void Arrow(Track from, Track to, int64_t at_ms) {
    ++arrows_;
    for (const bool ends : {false, true}) {
      const Track& track = ends ? to : from;
      ordered_json event = {{"name", "source"},   {"cat", "source"},    {"ph", ends ? "f" : "s"},
                            {"id", arrows_},      {"ts", at_ms * 1000}, {"pid", track.group},
                            {"tid", track.number}};
      if (ends) event["bp"] = "e";
      events_.push_back(std::move(event));
    }
  }

  void Add(const v1::FetchInfo& fetch) {
    const std::string rank = absl::StrCat("rank ", fetch.rank());
    const Track track = TrackOf(fetch.group(), rank);
    const int64_t joined = begin_ - fetch.age_ms();
    const Span spans[] = {{"join", true, fetch.join_ms()},
                          {"drain", fetch.has_drain_ms(), fetch.drain_ms()},
                          {"assign", fetch.has_assign_ms(), fetch.assign_ms()},
                          {"read", fetch.has_read_ms(), fetch.read_ms()},
                          {"commit", fetch.has_commit_ms(), fetch.commit_ms()}};
    int64_t total = 0;
    for (const Span& span : spans) total += span.there ? span.ms : 0;
    const std::string what =
        fetch.has_version() ? absl::StrCat("fetch version ", fetch.version()) : "fetch";
    Slice(what, track, joined, total,
          {{"ended", fetch.ended()}, {"code", fetch.code()}, {"error", fetch.error()}});
    int64_t at = joined;
    int64_t read_end = joined + total;
    for (const Span& span : spans) {
      if (!span.there) continue;
      Slice(span.name, track, at, span.ms);
      at += span.ms;
      if (std::string_view(span.name) == "read") read_end = at;
    }
    for (int i = 0; i < fetch.choices_size(); ++i) {
      AddChoice(fetch, i, joined, read_end, absl::StrCat(fetch.group(), " ", rank), track);
    }
  }

  // Until this part of it got another source, or it had everything.
  void AddChoice(const v1::FetchInfo& fetch, int index, int64_t joined, int64_t read_end,
                 const std::string& reader, Track to) {
    const v1::SourceChoiceInfo& choice = fetch.choices(index);
    int64_t end = read_end;
    for (int later = index + 1; later < fetch.choices_size(); ++later) {
      if (fetch.choices(later).part() != choice.part()) continue;
      end = joined + fetch.choices(later).after_ms();
      break;
    }
    const int64_t from = joined + choice.after_ms();
    const Track source = TrackOf(choice.group(), absl::StrCat("rank ", choice.rank(), " serves ",
                                                              reader, ", part ", choice.part()));
    Slice(absl::StrCat("serves ", reader), source, from, end - from,
          {{"tier", choice.tier()},
           {"why", choice.why()},
           {"left", choice.left()},
           {"reader_chunks", choice.valid_chunks()}});
    Arrow(source, to, from);
  }

  const std::string model_;
  int64_t begin_;  // how long ago time 0 was
  uint64_t arrows_ = 0;
  std::map<std::string, int> groups_;
  std::map<std::pair<std::string, std::string>, Track> tracks_;
  std::vector<ordered_json> events_;
};

}  // namespace

std::vector<ordered_json> TraceOf(const std::string& model,
                                  const v1::ExplainFetchesResponse& fetches,
                                  std::optional<int64_t> now_ms) {
  return Trace(model, fetches, now_ms).events();
}

}  // namespace tensorhub::ctl
