// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tests/integration/harness/server_process.h"

#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <utility>

namespace tensorhub::harness {

ServerProcess::ServerProcess(std::vector<std::string> args) : args_(std::move(args)) {
  Start("127.0.0.1:0");
}

void ServerProcess::Restart() {
  process_->Kill();
  Start(address_);
}

void ServerProcess::Start(const std::string& listen) {
  std::vector<std::string> args = {"--listen",       listen,        "--data-dir",
                                   data_dir_.path(), "--log-level", "debug"};
  args.insert(args.end(), args_.begin(), args_.end());
  // Without retention, unless the test asks for it: unpublishing ends what there was.
  process_ = std::make_unique<Process>(Process::Options{.binary = BinaryPath("tensorhub-server"),
                                                        .args = args,
                                                        .env = {{"TENSORHUB_KEEP_LATEST", "0"}}});
  constexpr std::string_view kReady = "listening on ";
  const auto line = process_->output().WaitFor(kReady, seconds(20));
  if (!line.has_value()) {
    process_->Kill();
    std::fprintf(stderr, "no `listening on` from %s\n", process_->Describe().c_str());
    std::abort();
  }
  address_ = line->substr(line->find(kReady) + kReady.size());
}

}  // namespace tensorhub::harness
