// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Runs seeds until the planted bug is caught; fails if it survives them all, or if another rule's
// checker sees it than those that are named. The hub's own invariants are left out, so that the
// checkers have to see it.

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "tests/sim/seed_run.h"

namespace tensorhub::fault {

extern const bool planted_applied;

namespace {

constexpr uint64_t kSeeds = 6000;
constexpr double kSeconds = 200;

// In place of a rule: an assertion that is always on finds it, in production as well.
constexpr char kAssertion[] = "assertion";

struct Task {
  std::string expected;  // rules ("R3"), or kAssertion; commas between them
  uint64_t seeds = kSeeds;
  uint64_t first = 1;
};

// 0 if the right one found it.
int EvaluateProbation(const Task& task, const std::string& finder, const std::string& what) {
  const std::set<std::string> expected = absl::StrSplit(task.expected, ',');
  if (expected.contains(finder)) {
    std::printf("caught by %s: %s\n", finder.c_str(), what.c_str());
    return 0;
  }
  std::printf("found by %s, and %s was expected: %s\n", finder.c_str(), task.expected.c_str(),
              what.c_str());
  return 1;
}

int RunSeeds(const Task& task) {
  for (uint64_t seed = task.first; seed < task.first + task.seeds; ++seed) {
    SeedOptions options;
    options.seed = seed;
    options.seconds = kSeconds;
    options.looks_inside = false;
    const SeedResult result = RunSeed(options);
    if (!result.violation) continue;
    std::printf("seed %lu after %.1f s: ", static_cast<unsigned long>(seed),
                sim::Seconds(result.violation->at));
    return EvaluateProbation(task, result.violation->rule, result.violation->text);
  }
  std::printf("survived %lu seeds\n", static_cast<unsigned long>(task.seeds));
  return 1;
}

struct Ending {
  int status = 0;      // as waitpid has it
  std::string errors;  // all that it wrote to standard error
};

// Until its other end is closed; shown as well, since it may be what a failure is about.
std::string ReadErrors(int from) {
  std::string errors;
  char some[4096];
  for (ssize_t got = 0; (got = read(from, some, sizeof some)) > 0;) {
    errors.append(some, static_cast<size_t>(got));
    std::fwrite(some, 1, static_cast<size_t>(got), stderr);
  }
  return errors;
}

// In a process of its own, so that an assertion ends that one, and can be told from other ends.
Ending RunSeedsApart(const Task& task) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return {.status = -1, .errors = "no pipe"};
  const pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], STDERR_FILENO);
    std::exit(RunSeeds(task));
  }
  close(ends[1]);
  Ending ending;
  ending.errors = ReadErrors(ends[0]);
  close(ends[0]);
  if (child < 0 || waitpid(child, &ending.status, 0) != child) ending.status = -1;
  return ending;
}

// TH_CHECK's line; none if something else ended the process.
std::string AssertionIn(const Ending& ending) {
  if (!WIFSIGNALED(ending.status) || WTERMSIG(ending.status) != SIGABRT) return "";
  for (const absl::string_view line : absl::StrSplit(ending.errors, '\n')) {
    if (absl::StrContains(line, ": check failed: ")) return std::string(line);
  }
  return "";
}

int Main(const Task& task) {
  if (!planted_applied) {
    std::puts("the patch does not apply to its source any more: see HACKING.md");
    return 1;
  }
  const Ending ending = RunSeedsApart(task);
  if (WIFEXITED(ending.status)) return WEXITSTATUS(ending.status);
  const std::string assertion = AssertionIn(ending);
  if (!assertion.empty()) return EvaluateProbation(task, kAssertion, assertion);
  std::printf("the seeds ended with status %d, by no assertion\n", ending.status);
  return 1;
}

uint64_t Argument(int argc, char** argv, int index, uint64_t otherwise) {
  return argc > index ? std::strtoull(argv[index], nullptr, 10) : otherwise;
}

}  // namespace
}  // namespace tensorhub::fault

int main(int argc, char** argv) {
  using tensorhub::fault::Argument;
  if (argc < 2) {
    std::printf("usage: %s RULE[,RULE...]|assertion [FIRST [SEEDS]]\n", argv[0]);
    return 2;
  }
  return tensorhub::fault::Main({.expected = argv[1],
                                 .seeds = Argument(argc, argv, 3, tensorhub::fault::kSeeds),
                                 .first = Argument(argc, argv, 2, 1)});
}
