// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The lines that a process wrote to one of its streams, gathered by a thread until the stream ends.

#ifndef TENSORHUB_TESTS_INTEGRATION_HARNESS_LINE_BUFFER_H_
#define TENSORHUB_TESTS_INTEGRATION_HARNESS_LINE_BUFFER_H_

#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "common/mutex.h"
#include "tests/integration/harness/eventually.h"

namespace tensorhub::harness {

class LineBuffer {
 public:
  LineBuffer() = default;
  // The stream must have ended by now, or end soon: its writer is dead.
  ~LineBuffer() { Join(); }
  LineBuffer(const LineBuffer&) = delete;
  LineBuffer& operator=(const LineBuffer&) = delete;

  // Takes the descriptor over.
  void Follow(int fd);
  // Returns once the stream has ended.
  void Join();

  // The first line from `from` on that contains `text`; nothing if there is none in time, or the
  // stream ended without it.
  std::optional<std::string> WaitFor(std::string_view text, milliseconds timeout, size_t from = 0);
  // The next line that Next has not returned yet.
  std::optional<std::string> Next(milliseconds timeout);

  size_t LineCount() const;
  std::string Text() const;
  bool Contains(std::string_view text) const { return Text().find(text) != std::string::npos; }

 private:
  void Add(std::string_view bytes);
  void End();

  std::thread thread_;
  mutable Mutex mutex_;
  CondVar changed_;
  std::vector<std::string> lines_ ABSL_GUARDED_BY(mutex_);
  std::string partial_ ABSL_GUARDED_BY(mutex_);
  size_t taken_ ABSL_GUARDED_BY(mutex_) = 0;
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace tensorhub::harness

#endif  // TENSORHUB_TESTS_INTEGRATION_HARNESS_LINE_BUFFER_H_
