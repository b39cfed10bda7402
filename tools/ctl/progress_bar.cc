// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tools/ctl/progress_bar.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <ostream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/cli/logging.h"
#include "tools/ctl/units.h"

namespace tensorhub::ctl {
namespace {

constexpr size_t kBarMin = 8;
constexpr size_t kBarMax = 30;

// Estimate for work that has begun.
double SecondsLeft(const ProgressState& state) {
  const uint64_t left = state.total - std::min(state.done, state.total);
  return state.seconds * static_cast<double>(left) / static_cast<double>(state.done);
}

std::string Figures(const ProgressState& state) {
  std::string text =
      absl::StrCat(HumanPercent(state.done, state.total), "  ", HumanBytes(state.done), " of ",
                   HumanBytes(state.total), "  ", HumanRate(state.done, state.seconds));
  if (state.done > 0 && state.done < state.total)
    absl::StrAppend(&text, "  ", HumanSeconds(SecondsLeft(state)), " left");
  return text;
}

std::string WithNote(std::string text, const std::string& note) {
  if (!note.empty()) absl::StrAppend(&text, "  ", cli::OneLine(note));
  return text;
}

std::string Bar(const ProgressState& state, size_t width) {
  const double share = state.total == 0 ? 1
                                        : static_cast<double>(std::min(state.done, state.total)) /
                                              static_cast<double>(state.total);
  const auto full = static_cast<size_t>(share * static_cast<double>(width));
  return absl::StrCat("[", std::string(full, '#'), std::string(width - full, '-'), "]");
}

}  // namespace

std::string RenderBar(const ProgressState& state, size_t columns) {
  const std::string figures = Figures(state);
  const size_t fixed = state.label.size() + figures.size() + 4;  // brackets and two blanks
  const size_t room = columns > fixed ? columns - fixed : 0;
  std::string line = state.label + " ";
  if (room >= kBarMin) line += Bar(state, std::min(room, kBarMax)) + " ";
  line = WithNote(line + figures, state.note);
  return line.substr(0, columns);
}

std::string RenderLine(const ProgressState& state) {
  return WithNote(absl::StrCat(state.label, " ", Figures(state)), state.note);
}

ProgressBar::ProgressBar(const Options& options, std::ostream& out, Clock::time_point now)
    : options_(options), out_(out), start_(now), next_(now) {
  // An operation that is over at once leaves no line in a log.
  if (!options_.terminal) next_ += options_.line_interval;
}

ProgressBar::~ProgressBar() { Clear(); }

void ProgressBar::Update(uint64_t done, const std::string& note, Clock::time_point now) {
  if (now < next_) return;
  next_ = now + (options_.terminal ? options_.draw_interval : options_.line_interval);
  const ProgressState state{.label = options_.label,
                            .done = done,
                            .total = options_.total,
                            .seconds = std::chrono::duration<double>(now - start_).count(),
                            .note = note};
  if (options_.terminal) {
    // The last column stays empty: some terminals wrap when it is written.
    out_ << "\r\x1b[K" << RenderBar(state, options_.columns - 1) << std::flush;
    drawn_ = true;
  } else {
    out_ << RenderLine(state) << std::endl;
  }
}

void ProgressBar::Clear() {
  if (drawn_) out_ << "\r\x1b[K" << std::flush;
  drawn_ = false;
}

ProgressBar::Options StderrOptions(const std::string& label, uint64_t total) {
  ProgressBar::Options options{.label = label, .total = total, .terminal = ::isatty(2) == 1};
  struct winsize size {};
  if (options.terminal && ::ioctl(2, TIOCGWINSZ, &size) == 0 && size.ws_col > 1) {
    options.columns = size.ws_col;
  }
  return options;
}

}  // namespace tensorhub::ctl
