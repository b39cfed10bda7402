// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// A tensorhub-test-worker: one client of the public interface in a process of its own, driven line
// by line (tests/integration/worker/commands.h says which).

#ifndef TENSORHUB_TESTS_INTEGRATION_HARNESS_WORKER_PROCESS_H_
#define TENSORHUB_TESTS_INTEGRATION_HARNESS_WORKER_PROCESS_H_

#include <map>
#include <string>

#include "tests/integration/harness/process.h"

namespace tensorhub::harness {

class WorkerProcess {
 public:
  explicit WorkerProcess(std::map<std::string, std::string> env = {});
  // The test fails if anything held the worker's progress thread up: nothing may.
  ~WorkerProcess();

  // Sends a command and waits for its answer: "ok …" or "error CODE message". If none comes:
  // "dead" or "silent", followed by what the process said.
  std::string Do(const std::string& command, milliseconds timeout = seconds(60));
  // The halves of Do, for commands that run in several workers at once.
  void Send(const std::string& command);
  std::string Answer(milliseconds timeout = seconds(60));
  // Waits until the fetch sent last has some of its bytes, but not all. False if that never showed.
  bool AwaitProgress(milliseconds timeout = seconds(30));
  // The worker that the fetch sent last read from first, as its progress names it ("a/0").
  std::string PresentSource();

  Process& process() { return process_; }

 private:
  Process process_;
  size_t progress_from_ = 0;  // output lines before the command sent last
};

// The value of `name=` in an answer; empty if there is none.
std::string Field(const std::string& answer, const std::string& name);

}  // namespace tensorhub::harness

#endif  // TENSORHUB_TESTS_INTEGRATION_HARNESS_WORKER_PROCESS_H_
