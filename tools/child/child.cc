// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tools/child/child.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/cli/logging.h"

namespace tensorhub::bench {
namespace {

constexpr std::chrono::seconds kGoodbye{10};

std::vector<char*> Pointers(std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  for (std::string& string : strings) pointers.push_back(string.data());
  pointers.push_back(nullptr);
  return pointers;
}

std::vector<std::string> Environment(const std::map<std::string, std::string>& changes) {
  std::vector<std::string> environment;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string name(*entry, std::strcspn(*entry, "="));
    if (!changes.contains(name)) environment.emplace_back(*entry);
  }
  for (const auto& [name, value] : changes) {
    if (!value.empty()) environment.push_back(absl::StrCat(name, "=", value));
  }
  return environment;
}

// Only what is safe between fork and exec.
[[noreturn]] void BecomeChild(pid_t parent, int input, int output, bool silent, char* const* args,
                              char* const* environment) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(126);
  dup2(input, STDIN_FILENO);
  dup2(output, STDOUT_FILENO);
  if (silent) {
    const int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (null >= 0) dup2(null, STDERR_FILENO);
  }
  execve(args[0], args, environment);
  _exit(127);
}

}  // namespace

absl::StatusOr<Fields> Fields::Parse(const std::string& text) {
  Fields fields;
  size_t begin = 0;
  while (begin < text.size()) {
    size_t end = text.find(' ', begin);
    if (end == std::string::npos) end = text.size();
    const std::string word = text.substr(begin, end - begin);
    begin = end + 1;
    if (word.empty()) continue;
    const size_t equals = word.find('=');
    if (equals == std::string::npos) {
      return absl::InvalidArgumentError(absl::StrCat("\"", word, "\" is no key=value"));
    }
    fields.values_[word.substr(0, equals)] = word.substr(equals + 1);
  }
  return fields;
}

std::string Fields::ToText() const {
  std::string text;
  for (const auto& [key, value] : values_) {
    absl::StrAppend(&text, text.empty() ? "" : " ", key, "=", value);
  }
  return text;
}

absl::StatusOr<std::string> Fields::Text(const std::string& key) const {
  const auto found = values_.find(key);
  if (found == values_.end()) return absl::InvalidArgumentError(absl::StrCat(key, " is missing"));
  return found->second;
}

absl::StatusOr<double> Fields::Number(const std::string& key) const {
  const absl::StatusOr<std::string> text = Text(key);
  if (!text.ok()) return text.status();
  char* end = nullptr;
  const double value = std::strtod(text->c_str(), &end);
  if (text->empty() || *end != '\0') {
    return absl::InvalidArgumentError(absl::StrCat(key, "=", *text, " is no number"));
  }
  return value;
}

absl::StatusOr<std::unique_ptr<Child>> Child::Start(const Options& options) {
  signal(SIGPIPE, SIG_IGN);  // a dead child is an error from Send
  int input[2];
  int output[2];
  if (pipe2(input, O_CLOEXEC) != 0 || pipe2(output, O_CLOEXEC) != 0) {
    return absl::ResourceExhaustedError(absl::StrCat("no pipe: ", std::strerror(errno)));
  }
  std::vector<std::string> args = options.args;
  args.insert(args.begin(), options.binary);
  std::vector<std::string> environment = Environment(options.env);
  const std::vector<char*> arg_pointers = Pointers(args);
  const std::vector<char*> env_pointers = Pointers(environment);
  std::unique_ptr<Child> child(new Child);
  child->name_ = options.name;
  child->daemon_ = options.daemon;
  const pid_t parent = getpid();
  child->pid_ = fork();
  if (child->pid_ == 0) {
    BecomeChild(parent, input[0], output[1], options.silent_errors, arg_pointers.data(),
                env_pointers.data());
  }
  close(input[0]);
  close(output[1]);
  child->input_ = input[1];
  child->output_ = output[0];
  if (child->pid_ < 0) {
    return absl::ResourceExhaustedError(absl::StrCat("no process: ", std::strerror(errno)));
  }
  return child;
}

Child::~Child() {
  close(input_);
  if (pid_ > 0) {
    if (daemon_) kill(pid_, SIGTERM);
    const auto deadline = Clock::now() + kGoodbye;
    while (ReadMore(deadline).ok()) buffer_.clear();  // its output closes when it has ended
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  close(output_);
}

void Child::Kill() { kill(pid_, SIGKILL); }

absl::Status Child::Send(const std::string& line) {
  const std::string text = line + "\n";
  if (write(input_, text.data(), text.size()) == static_cast<ssize_t>(text.size())) {
    return absl::OkStatus();
  }
  return absl::UnavailableError(absl::StrCat(name_, " ended unexpectedly"));
}

absl::Status Child::ReadMore(Clock::time_point deadline) {
  const auto left =
      std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
  pollfd readable{.fd = output_, .events = POLLIN, .revents = 0};
  const int ready = poll(&readable, 1, static_cast<int>(std::max<int64_t>(left, 0)));
  if (ready < 0 && errno == EINTR) return absl::OkStatus();
  if (ready <= 0) {
    return absl::DeadlineExceededError(absl::StrCat(name_, " did not answer in time"));
  }
  char bytes[65536];
  const ssize_t count = read(output_, bytes, sizeof(bytes));
  if (count <= 0) return absl::UnavailableError(absl::StrCat(name_, " ended unexpectedly"));
  buffer_.append(bytes, static_cast<size_t>(count));
  return absl::OkStatus();
}

absl::StatusOr<std::string> Child::ReadLine(Clock::time_point deadline) {
  size_t end = 0;
  while ((end = buffer_.find('\n')) == std::string::npos) {
    if (absl::Status status = ReadMore(deadline); !status.ok()) return status;
  }
  std::string line = buffer_.substr(0, end);
  buffer_.erase(0, end + 1);
  return line;
}

absl::StatusOr<Fields> Child::Answer(std::chrono::seconds timeout) {
  constexpr std::string_view kOk = "@ok";
  constexpr std::string_view kError = "@error ";
  const auto deadline = Clock::now() + timeout;
  while (true) {
    absl::StatusOr<std::string> line = ReadLine(deadline);
    if (!line.ok()) return line.status();
    if (line->starts_with(kOk)) return Fields::Parse(line->substr(kOk.size()));
    if (line->starts_with(kError)) {
      return absl::InternalError(absl::StrCat(name_, ": ", line->substr(kError.size())));
    }
    std::fprintf(stderr, "%s: %s\n", name_.c_str(), line->c_str());
  }
}

absl::StatusOr<Fields> Child::Ask(const std::string& line) {
  if (absl::Status status = Send(line); !status.ok()) return status;
  return Answer();
}

absl::StatusOr<std::string> Child::LineWith(const std::string& text, std::chrono::seconds timeout) {
  const auto deadline = Clock::now() + timeout;
  while (true) {
    absl::StatusOr<std::string> line = ReadLine(deadline);
    if (!line.ok() || line->find(text) != std::string::npos) return line;
  }
}

absl::StatusOr<std::string> Child::ReadToEnd(std::chrono::seconds timeout) {
  const auto deadline = Clock::now() + timeout;
  absl::Status status;
  while (status.ok()) status = ReadMore(deadline);
  if (absl::IsDeadlineExceeded(status)) return status;
  return std::exchange(buffer_, {});
}

std::string OwnBinary() { return std::filesystem::read_symlink("/proc/self/exe").string(); }

std::string BinaryBeside(const std::string& name) {
  return (std::filesystem::path(OwnBinary()).parent_path() / name).string();
}

void AnswerOk(const std::string& fields) { std::cout << "@ok " << fields << std::endl; }

void AnswerError(const absl::Status& status) {
  std::cout << "@error " << cli::OneLine(std::string(status.message())) << std::endl;
}

bool ReadCommand(std::string& line) { return static_cast<bool>(std::getline(std::cin, line)); }

}  // namespace tensorhub::bench
