// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "worker_agent/ucx/ucx_log.h"

#include <ucs/config/global_opts.h>
#include <ucs/debug/log_def.h>
#include <unistd.h>

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include "absl/strings/str_format.h"

namespace tensorhub::agent {
namespace {

const char* LevelName(ucs_log_level_t level) {
  if (level == UCS_LOG_LEVEL_FATAL) return "fatal";
  if (level == UCS_LOG_LEVEL_ERROR) return "error";
  return level == UCS_LOG_LEVEL_WARN ? "warning" : "note";
}

thread_local KeptComplaints* kept_complaints = nullptr;

// A line is one write, so that the lines of several threads do not mix.
ucs_log_func_rc_t WriteLine(const char* file, unsigned line, const char* /*function*/,
                            ucs_log_level_t level, const ucs_log_component_config_t* /*component*/,
                            const char* message, va_list arguments) {
  char text[1024];
  std::vsnprintf(text, sizeof(text), message, arguments);
  const char* const name = std::strrchr(file, '/');
  const std::string_view source = name != nullptr ? name + 1 : file;
  const bool is_error = level == UCS_LOG_LEVEL_ERROR;
  if (kept_complaints != nullptr && kept_complaints->Take(is_error, text)) {
    return UCS_LOG_FUNC_RC_STOP;
  }
  // A local peer's memory that may not be mapped, found while it connects: it goes another way
  // then.
  if (is_error && source.starts_with("mm_")) return UCS_LOG_FUNC_RC_STOP;
  const std::string whole =
      absl::StrFormat("UCX %s: %s (%s:%u)\n", LevelName(level), text, std::string(source), line);
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, whole.data(), whole.size());
  return UCS_LOG_FUNC_RC_STOP;
}

}  // namespace

void SendUcxLogToStandardError() {
  if (std::getenv("UCX_LOG_FILE") == nullptr) ucs_log_push_handler(&WriteLine);
}

KeptComplaints::KeptComplaints() : before_(kept_complaints) { kept_complaints = this; }

KeptComplaints::~KeptComplaints() { kept_complaints = before_; }

bool KeptComplaints::Take(bool is_error, std::string_view line) {
  const bool is_unused = !is_error && line.starts_with("invalid configuration");
  if (is_unused) unused_ = line.substr(line.find(':') + 1);
  if (is_error && first_.empty()) first_ = line;
  return is_error || is_unused;
}

std::string KeptComplaints::Explain(const std::string& text) const {
  return first_.empty() ? text : absl::StrFormat("%s (%s)", text, first_);
}

void SilenceUcx() {
  if (std::getenv("UCX_LOG_LEVEL") != nullptr) return;
  static_cast<void>(ucs_global_opts_set_value("LOG_LEVEL", "fatal"));
}

}  // namespace tensorhub::agent
