// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// How far a long operation is. On a terminal one line that is drawn over itself; elsewhere (a log)
// a plain line now and then. Goes to standard error: results own standard output.
//
// Threads: one.

#ifndef TENSORHUB_TOOLS_CTL_PROGRESS_BAR_H_
#define TENSORHUB_TOOLS_CTL_PROGRESS_BAR_H_

#include <chrono>
#include <cstdint>
#include <iosfwd>
#include <string>

namespace tensorhub::ctl {

struct ProgressState {
  std::string label;
  uint64_t done = 0;
  uint64_t total = 0;
  double seconds = 0;  // since the start
  std::string note;    // what is being done, e.g. the source
};

// At most `columns` wide: label, bar, percent, bytes, rate, time left, note.
std::string RenderBar(const ProgressState& state, size_t columns);
// The same without a bar.
std::string RenderLine(const ProgressState& state);

class ProgressBar {
 public:
  using Clock = std::chrono::steady_clock;
  struct Options {
    std::string label;
    uint64_t total = 0;
    bool terminal = false;
    size_t columns = 80;
    // Between two plain lines.
    std::chrono::milliseconds line_interval{2000};
    std::chrono::milliseconds draw_interval{100};
  };

  // `now` is passed in everywhere: nothing here reads a clock.
  ProgressBar(const Options& options, std::ostream& out, Clock::time_point now);
  // Ends the drawn line, if one is there.
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  void Update(uint64_t done, const std::string& note, Clock::time_point now);
  // Removes the bar from the terminal; what comes next begins a line.
  void Clear();

 private:
  const Options options_;
  std::ostream& out_;
  const Clock::time_point start_;
  Clock::time_point next_;
  bool drawn_ = false;
};

// Whether standard error is a terminal, and how wide.
ProgressBar::Options StderrOptions(const std::string& label, uint64_t total);

}  // namespace tensorhub::ctl

#endif  // TENSORHUB_TOOLS_CTL_PROGRESS_BAR_H_
