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

thread_local std::string* first_complaint = nullptr;

// A line is one write, so that the lines of several threads do not mix.
ucs_log_func_rc_t WriteLine(const char* file, unsigned line, const char* /*function*/,
                            ucs_log_level_t level, const ucs_log_component_config_t* /*component*/,
                            const char* message, va_list arguments) {
  char text[1024];
  std::vsnprintf(text, sizeof(text), message, arguments);
  const char* const name = std::strrchr(file, '/');
  const std::string_view source = name != nullptr ? name + 1 : file;
  if (first_complaint != nullptr && level == UCS_LOG_LEVEL_ERROR) {
    if (first_complaint->empty()) *first_complaint = text;
    return UCS_LOG_FUNC_RC_STOP;
  }
  // A transport's key is said by two names, of which each UCX knows one (ucx_settings.cc).
  if (std::string_view(message).starts_with("invalid configuration")) return UCS_LOG_FUNC_RC_STOP;
  // A local peer's memory that may not be mapped, found while it connects: it goes another way
  // then.
  if (level == UCS_LOG_LEVEL_ERROR && source.starts_with("mm_")) return UCS_LOG_FUNC_RC_STOP;
  const std::string whole =
      absl::StrFormat("UCX %s: %s (%s:%u)\n", LevelName(level), text, std::string(source), line);
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, whole.data(), whole.size());
  return UCS_LOG_FUNC_RC_STOP;
}

}  // namespace

void SendUcxLogToStandardError() {
  if (std::getenv("UCX_LOG_FILE") == nullptr) ucs_log_push_handler(&WriteLine);
}

KeptComplaints::KeptComplaints() : before_(first_complaint) { first_complaint = &first_; }

KeptComplaints::~KeptComplaints() { first_complaint = before_; }

std::string KeptComplaints::Explain(const std::string& text) const {
  return first_.empty() ? text : absl::StrFormat("%s (%s)", text, first_);
}

void SilenceUcx() {
  if (std::getenv("UCX_LOG_LEVEL") != nullptr) return;
  static_cast<void>(ucs_global_opts_set_value("LOG_LEVEL", "fatal"));
}

}  // namespace tensorhub::agent
