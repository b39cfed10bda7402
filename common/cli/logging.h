// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Logs go to standard error, one line per record, whatever a peer put into the text: control
// characters are escaped. After InitLogging use spdlog::info(…) and its siblings from any thread.
//
//   2026-11-21T10:53:15.123Z info tensorhub-server: listening on 0.0.0.0:7070
//   {"time":"2026-11-21T10:53:15.123Z","level":"info","program":"tensorhub-server","message":"…"}

#ifndef TENSORHUB_COMMON_CLI_LOGGING_H_
#define TENSORHUB_COMMON_CLI_LOGGING_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace spdlog {
class formatter;
class logger;
}  // namespace spdlog

namespace tensorhub::cli {

struct LogOptions {
  std::string level = "warn";   // debug, info, warn (or warning, as Python has it), error
  std::string format = "text";  // text, json
};

const std::vector<std::string>& LogLevels();

// Sets spdlog's default logger. Call once, before other threads log.
void InitLogging(const std::string& program, const LogOptions& options);

// The parts of it, for other ways to write: lines as above, and which logger is spdlog's default,
// and the worker agent's.
std::unique_ptr<spdlog::formatter> LineFormat(const std::string& program,
                                              const LogOptions& options);
void LogBy(std::shared_ptr<spdlog::logger> logger, const LogOptions& options);

// The characters of a JSON string, without the quotes. Bytes that are not UTF-8 become U+FFFD.
std::string JsonEscaped(std::string_view text);
// Without control characters: "\n" becomes a backslash and an n.
std::string OneLine(std::string_view text);

}  // namespace tensorhub::cli

#endif  // TENSORHUB_COMMON_CLI_LOGGING_H_
