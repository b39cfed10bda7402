// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tests/integration/harness/process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <thread>

#include "common/check.h"

namespace tensorhub::harness {
namespace {

struct Pipe {
  Pipe() {
    int fds[2];
    // Close-on-exec: a child that kept another's input open would keep that one alive.
    TH_CHECK(pipe2(fds, O_CLOEXEC) == 0);
    read_end = fds[0];
    write_end = fds[1];
  }
  int read_end;
  int write_end;
};

std::vector<char*> Pointers(std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  pointers.reserve(strings.size() + 1);
  for (std::string& string : strings) pointers.push_back(string.data());
  pointers.push_back(nullptr);
  return pointers;
}

std::vector<std::string> Environment(const std::map<std::string, std::string>& additions) {
  std::vector<std::string> environment;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string name(*entry, std::strcspn(*entry, "="));
    if (!additions.contains(name)) environment.emplace_back(*entry);
  }
  for (const auto& [name, value] : additions) environment.push_back(name + "=" + value);
  return environment;
}

}  // namespace

Process::Process(const Options& options)
    : name_(options.binary.substr(options.binary.rfind('/') + 1)) {
  Pipe input;
  Pipe output;
  Pipe errors;
  std::vector<std::string> args = options.args;
  args.insert(args.begin(), options.binary);
  std::vector<std::string> environment = Environment(options.env);
  const std::vector<char*> arg_pointers = Pointers(args);
  const std::vector<char*> env_pointers = Pointers(environment);
  const pid_t parent = getpid();
  pid_ = fork();
  TH_CHECK(pid_ >= 0);
  if (pid_ == 0) {
    // Only what is safe between fork and exec: the parent has threads.
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(126);
    dup2(input.read_end, STDIN_FILENO);
    dup2(output.write_end, STDOUT_FILENO);
    dup2(errors.write_end, STDERR_FILENO);
    execve(arg_pointers[0], arg_pointers.data(), env_pointers.data());
    _exit(127);
  }
  close(input.read_end);
  close(output.write_end);
  close(errors.write_end);
  input_fd_ = input.write_end;
  signal(SIGPIPE, SIG_IGN);  // a dead child is a false from WriteLine
  output_.Follow(output.read_end);
  errors_.Follow(errors.read_end);
  pid_fd_ = static_cast<int>(syscall(SYS_pidfd_open, pid_, 0));
  TH_CHECK(pid_fd_ >= 0);
}

Process::~Process() {
  Kill();
  CloseInput();
  close(pid_fd_);
}

bool Process::WriteLine(const std::string& line) {
  if (input_fd_ < 0) return false;
  const std::string text = line + "\n";
  return write(input_fd_, text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

void Process::CloseInput() {
  if (input_fd_ >= 0) close(input_fd_);
  input_fd_ = -1;
}

void Process::Signal(int number) {
  if (exit_code_.has_value()) return;
  kill(pid_, number);
  if (number != SIGSTOP) return;
  // Some of its threads may run on for a moment.
  siginfo_t stopped = {};
  waitid(P_PID, static_cast<id_t>(pid_), &stopped, WSTOPPED | WEXITED | WNOWAIT);
}

std::optional<int> Process::Wait(milliseconds timeout) {
  if (exit_code_.has_value()) return exit_code_;
  pollfd readable{.fd = pid_fd_, .events = POLLIN, .revents = 0};
  if (poll(&readable, 1, static_cast<int>(timeout.count())) <= 0) return std::nullopt;
  int status = 0;
  TH_CHECK(waitpid(pid_, &status, 0) == pid_);
  exit_code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  output_.Join();
  errors_.Join();
  return exit_code_;
}

void Process::Kill() {
  Signal(SIGKILL);
  TH_CHECK(Wait(seconds(30)).has_value());
}

std::string Process::Describe() {
  return name_ + " (" + std::to_string(pid_) + ")" +
         (exit_code_ ? ", exit code " + std::to_string(*exit_code_) : "") + "\n--- output\n" +
         output_.Text() + "--- errors\n" + errors_.Text();
}

Finished RunToEnd(const Process::Options& options, milliseconds timeout) {
  Process process(options);
  process.CloseInput();
  if (!process.Wait(timeout).has_value()) process.Kill();
  return {*process.Wait(milliseconds(0)), process.output().Text(), process.errors().Text()};
}

class Throttle::Impl {
 public:
  Impl(pid_t pid, milliseconds run, milliseconds stop)
      : thread_([this, pid, run, stop] {
          while (!ended_) {
            kill(pid, SIGSTOP);
            poll(nullptr, 0, static_cast<int>(stop.count()));
            kill(pid, SIGCONT);
            poll(nullptr, 0, static_cast<int>(run.count()));
          }
        }) {}
  ~Impl() {
    ended_ = true;
    thread_.join();
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

 private:
  std::atomic<bool> ended_ = false;
  std::thread thread_;
};

Throttle::Throttle(pid_t pid, milliseconds run, milliseconds stop)
    : impl_(std::make_unique<Impl>(pid, run, stop)) {}
Throttle::~Throttle() = default;

}  // namespace tensorhub::harness
