// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Where UCX's own log goes. By itself it goes to standard output, where programs have their
// results.

#ifndef TENSORHUB_WORKER_AGENT_UCX_UCX_LOG_H_
#define TENSORHUB_WORKER_AGENT_UCX_UCX_LOG_H_

#include <string>
#include <string_view>

namespace tensorhub::agent {

// To standard error from now on, unless the environment names a file (UCX_LOG_FILE). What UCX says
// while it is loaded, before main, comes too early. Once per process.
void SendUcxLogToStandardError();

// For programs who say themselves what failed: only what ends the process is logged from now on,
// unless the environment asks for more (UCX_LOG_LEVEL).
void SilenceUcx();

// While it lives, what UCX complains of on this thread is kept and not written: what it tries may
// fail, and whoever tries says what came of it.
class KeptComplaints {
 public:
  KeptComplaints();
  ~KeptComplaints();
  KeptComplaints(const KeptComplaints&) = delete;
  KeptComplaints& operator=(const KeptComplaints&) = delete;
  // `text`, and UCX's first words in brackets, if it said any.
  std::string Explain(const std::string& text) const;
  // Empty: it complained of nothing.
  const std::string& first() const { return first_; }
  // The keys of transports that a new context has found no use for, as "KEY=VALUE,KEY=VALUE".
  const std::string& unused() const { return unused_; }
  // Whether the line is kept, and so not to be written. For the log's handler.
  bool Take(bool is_error, std::string_view line);

 private:
  KeptComplaints* const before_;
  std::string first_;
  std::string unused_;
};

}  // namespace tensorhub::agent

#endif  // TENSORHUB_WORKER_AGENT_UCX_UCX_LOG_H_
