// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "common/cli/logging.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <chrono>
#include <ctime>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/text.h"

namespace tensorhub::cli {
namespace {

std::string TimeText(spdlog::log_clock::time_point time) {
  const auto since_epoch = time.time_since_epoch();
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(since_epoch).count();
  const std::time_t seconds = static_cast<std::time_t>(ms / 1000);
  std::tm utc{};
  gmtime_r(&seconds, &utc);
  return absl::StrFormat("%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", utc.tm_year + 1900, utc.tm_mon + 1,
                         utc.tm_mday, utc.tm_hour, utc.tm_min, utc.tm_sec, ms % 1000);
}

// spdlog says "warning" where our flag says "warn".
const char* LevelText(spdlog::level::level_enum level) {
  if (level <= spdlog::level::debug) return "debug";
  if (level == spdlog::level::info) return "info";
  return level == spdlog::level::warn ? "warn" : "error";
}

spdlog::level::level_enum LevelOf(const std::string& name) {
  if (name == "debug") return spdlog::level::debug;
  if (name == "info") return spdlog::level::info;
  return name == "error" ? spdlog::level::err : spdlog::level::warn;
}

class LineFormatter : public spdlog::formatter {
 public:
  LineFormatter(std::string program, bool json) : program_(std::move(program)), json_(json) {}

  void format(const spdlog::details::log_msg& record, spdlog::memory_buf_t& out) override {
    const std::string_view text(record.payload.data(), record.payload.size());
    const std::string line = json_ ? Json(record, text) : Text(record, text);
    out.append(line.data(), line.data() + line.size());
  }

  std::unique_ptr<spdlog::formatter> clone() const override {
    return std::make_unique<LineFormatter>(program_, json_);
  }

 private:
  std::string Text(const spdlog::details::log_msg& record, std::string_view text) const {
    return absl::StrCat(TimeText(record.time), " ", LevelText(record.level), " ", program_, ": ",
                        OneLine(text), "\n");
  }

  std::string Json(const spdlog::details::log_msg& record, std::string_view text) const {
    return absl::StrCat("{\"time\":\"", TimeText(record.time), "\",\"level\":\"",
                        LevelText(record.level), "\",\"program\":\"", JsonEscaped(program_),
                        "\",\"message\":\"", JsonEscaped(text), "\"}\n");
  }

  const std::string program_;
  const bool json_;
};

bool IsControl(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

std::string EscapedControl(char c) {
  if (c == '\n') return "\\n";
  if (c == '\t') return "\\t";
  if (c == '\r') return "\\r";
  return absl::StrFormat("\\u%04x", static_cast<unsigned char>(c));
}

}  // namespace

const std::vector<std::string>& LogLevels() {
  static const auto& levels =
      *new std::vector<std::string>{"debug", "info", "warn", "warning", "error"};
  return levels;
}

std::unique_ptr<spdlog::formatter> LineFormat(const std::string& program,
                                              const LogOptions& options) {
  return std::make_unique<LineFormatter>(program, options.format == "json");
}

void LogBy(std::shared_ptr<spdlog::logger> logger, const LogOptions& options) {
  logger->set_level(LevelOf(options.level));
  // The worker agent's, if there is one in this program: worker_agent/runtime/log.h.
  spdlog::drop("tensorhub");  // of an earlier call
  spdlog::register_logger(logger->clone("tensorhub"));
  spdlog::set_default_logger(std::move(logger));
}

void InitLogging(const std::string& program, const LogOptions& options) {
  auto logger =
      std::make_shared<spdlog::logger>(program, std::make_shared<spdlog::sinks::stderr_sink_mt>());
  logger->set_formatter(LineFormat(program, options));
  logger->flush_on(spdlog::level::debug);
  LogBy(std::move(logger), options);
}

std::string JsonEscaped(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const size_t length = Utf8Length(text);
    if (length == 0) {
      out += "\\ufffd";
    } else if (IsControl(text[0])) {
      out += EscapedControl(text[0]);
    } else {
      if (text[0] == '"' || text[0] == '\\') out += '\\';
      out += text.substr(0, length);
    }
    text.remove_prefix(std::max<size_t>(length, 1));
  }
  return out;
}

std::string OneLine(std::string_view text) {
  std::string out;
  for (char c : text) out += IsControl(c) ? EscapedControl(c) : std::string(1, c);
  return out;
}

}  // namespace tensorhub::cli
