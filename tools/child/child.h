// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// A child process that takes one-line commands and answers each with one line, `@ok key=value ...`
// or `@error text`. It is killed when its owner goes, in whatever way (the kernel's parent-death
// signal). Other lines on its standard output are passed on to standard error.
//
// Thread contract: one thread, which must not end before the process does.

#ifndef TENSORHUB_TOOLS_CHILD_CHILD_H_
#define TENSORHUB_TOOLS_CHILD_CHILD_H_

#include <sys/types.h>

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace tensorhub::bench {

// "key=value key=value"; values hold no blanks.
class Fields {
 public:
  Fields() = default;
  static absl::StatusOr<Fields> Parse(const std::string& text);
  // INVALID_ARGUMENT names a key that is missing or no number.
  absl::StatusOr<std::string> Text(const std::string& key) const;
  absl::StatusOr<double> Number(const std::string& key) const;
  // What Parse takes.
  std::string ToText() const;

 private:
  std::map<std::string, std::string> values_;
};

class Child {
 public:
  struct Options {
    std::string name;  // for errors
    std::string binary;
    std::vector<std::string> args = {};
    std::map<std::string, std::string> env = {};  // on top of our own; an empty value unsets
    bool silent_errors = false;                   // its standard error is of no interest
    bool daemon = false;                          // ends on SIGTERM, not with its input
  };

  static absl::StatusOr<std::unique_ptr<Child>> Start(const Options& options);
  // Closes its input (or asks it to end) and gives it a moment to end in order, then kills it.
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  absl::Status Send(const std::string& line);
  // The answer to the oldest Send without one. UNAVAILABLE: it ended; DEADLINE_EXCEEDED.
  absl::StatusOr<Fields> Answer(std::chrono::seconds timeout = std::chrono::seconds(120));
  absl::StatusOr<Fields> Ask(const std::string& line);
  // The first line that contains `text` (programs that are not ours).
  absl::StatusOr<std::string> LineWith(const std::string& text, std::chrono::seconds timeout);
  // At once, as a machine dies; its answers end.
  void Kill();
  pid_t pid() const { return pid_; }
  // Everything up to the end of its output.
  absl::StatusOr<std::string> ReadToEnd(std::chrono::seconds timeout);

 private:
  Child() = default;
  using Clock = std::chrono::steady_clock;
  absl::StatusOr<std::string> ReadLine(Clock::time_point deadline);
  absl::Status ReadMore(Clock::time_point deadline);

  std::string name_;
  bool daemon_ = false;
  pid_t pid_ = -1;
  int input_ = -1;
  int output_ = -1;
  std::string buffer_;
};

// This very program, and a program beside it.
std::string OwnBinary();
std::string BinaryBeside(const std::string& name);

// For the roles that this program plays for itself: reads commands until the input ends, answers
// each with what `run` returns ("key=value ..." or an error).
template <typename Run>
int AnswerCommands(Run run);
void AnswerOk(const std::string& fields);
void AnswerError(const absl::Status& status);
// False at the end of the input.
bool ReadCommand(std::string& line);

template <typename Run>
int AnswerCommands(Run run) {
  std::string line;
  while (ReadCommand(line)) {
    const absl::StatusOr<std::string> answer = run(line);
    if (answer.ok()) {
      AnswerOk(*answer);
    } else {
      AnswerError(answer.status());
    }
  }
  return 0;
}

}  // namespace tensorhub::bench

#endif  // TENSORHUB_TOOLS_CHILD_CHILD_H_
