// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// A child process with its input and output in hand. It is killed with its owner, whether the
// owner ends in order (destructor) or not (the kernel's parent-death signal).
//
// Thread contract: one thread owns a Process; its output is gathered by threads of its own.

#ifndef TENSORHUB_TESTS_INTEGRATION_HARNESS_PROCESS_H_
#define TENSORHUB_TESTS_INTEGRATION_HARNESS_PROCESS_H_

#include <sys/types.h>

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tests/integration/harness/eventually.h"
#include "tests/integration/harness/line_buffer.h"

namespace tensorhub::harness {

class Process {
 public:
  struct Options {
    std::string binary;
    std::vector<std::string> args = {};
    std::map<std::string, std::string> env = {};  // on top of the test's own
  };

  // Aborts the test program if the process cannot be made; a missing binary is exit code 127.
  explicit Process(const Options& options);
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  // One line to its standard input. False if it reads no more.
  bool WriteLine(const std::string& line);
  void CloseInput();

  LineBuffer& output() { return output_; }
  LineBuffer& errors() { return errors_; }

  // One that stops the process returns when all of its threads have stopped.
  void Signal(int number);
  bool Running() { return !Wait(milliseconds(0)).has_value(); }
  // Its exit code, or 128 + the signal that ended it; nothing while it runs on. All its output has
  // been gathered once there is an exit code.
  std::optional<int> Wait(milliseconds timeout);
  // SIGKILL, and waits for the end.
  void Kill();
  pid_t pid() const { return pid_; }

  // For the message of a failed assertion.
  std::string Describe();

 private:
  std::string name_;
  pid_t pid_ = -1;
  int pid_fd_ = -1;
  int input_fd_ = -1;
  std::optional<int> exit_code_;
  LineBuffer output_;
  LineBuffer errors_;
};

// Runs to the end (killed after `timeout`: exit code 137).
struct Finished {
  int exit_code = 0;
  std::string output;
  std::string errors;
};
Finished RunToEnd(const Process::Options& options, milliseconds timeout = seconds(30));

// Lets a process run for only `run` of every `run + stop` while this object lives: transfers that
// would be over in a blink take long enough to be interrupted. Ends with the process running.
class Throttle {
 public:
  Throttle(pid_t pid, milliseconds run, milliseconds stop);
  ~Throttle();
  Throttle(const Throttle&) = delete;
  Throttle& operator=(const Throttle&) = delete;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tensorhub::harness

#endif  // TENSORHUB_TESTS_INTEGRATION_HARNESS_PROCESS_H_
