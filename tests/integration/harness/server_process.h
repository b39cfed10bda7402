// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// A tensorhub-server of the build under test, on 127.0.0.1.

#ifndef TENSORHUB_TESTS_INTEGRATION_HARNESS_SERVER_PROCESS_H_
#define TENSORHUB_TESTS_INTEGRATION_HARNESS_SERVER_PROCESS_H_

#include <memory>
#include <string>
#include <vector>

#include "tests/integration/harness/places.h"
#include "tests/integration/harness/process.h"

namespace tensorhub::harness {

class ServerProcess {
 public:
  // Starts on any port and waits for "listening on". Aborts with the server's errors if that does
  // not come.
  explicit ServerProcess(std::vector<std::string> args = {});

  // HOST:PORT; the same through all restarts.
  const std::string& address() const { return address_; }
  const std::string& data_dir() const { return data_dir_.path(); }
  Process& process() { return *process_; }

  // SIGKILL.
  void Kill() { process_->Kill(); }
  // Kills what still runs, and starts on the same port and data.
  void Restart();

 private:
  void Start(const std::string& listen);

  const std::vector<std::string> args_;
  TempDir data_dir_;
  std::string address_;
  std::unique_ptr<Process> process_;
};

}  // namespace tensorhub::harness

#endif  // TENSORHUB_TESTS_INTEGRATION_HARNESS_SERVER_PROCESS_H_
