// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// A command line, an environment and a configuration file: the program goes on, or ends with 0 or 2
// after one line. The first line of the input is the command line, words parted by spaces; the
// second what a variable of the environment says; the rest is the file.

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/check.h"
#include "common/cli/flags.h"
#include "tests/fuzz/fuzz.h"

namespace tensorhub::fuzz {
namespace {

// Of this process' own, gone with it.
class ConfigFile {
 public:
  ConfigFile()
      : path_(absl::StrCat(std::filesystem::temp_directory_path().string(), "/flags_fuzz.",
                           getpid())) {}
  ~ConfigFile() { std::filesystem::remove(path_); }

  const std::string& Write(std::string_view content) const {
    std::ofstream(path_, std::ios::binary) << content;
    return path_;
  }

 private:
  const std::string path_;
};

struct Program {
  Program() {
    line.Flag("listen", &listen, "where to listen", {.alias = 'l', .placeholder = "HOST:PORT"});
    line.Flag("fast", &fast, "do it fast", {.alias = 'f'});
    cli::Command& get = line.AddCommand("get", "Gets.");
    get.Argument("MODEL", &model, "the model");
    get.OptionalArguments("PATH", &paths, "files");
    get.Flag("lease", &lease, "a lease");
    get.Flag("budget", &budget, "a budget");
    get.Flag("readers", &readers, "readers");
    get.Flag("ratio", &ratio, "a ratio");
    get.Flag("tag", &tags, "tags");
    get.Flag("for", &duration, "how long");
    get.Choice("output", &output, {"table", "json"}, "how to print", 'o');
    line.AddCommand("put", "Puts.").Argument("VERSION", &version, "the version");
  }

  cli::CommandLine line{"prog", "Does things."};
  std::string listen, model, output = "table";
  bool fast = false;
  std::vector<std::string> paths, tags;
  std::chrono::milliseconds lease{5};
  cli::Bytes budget;
  uint32_t readers = 1;
  double ratio = 0.5;
  uint64_t version = 0;
  std::optional<std::chrono::milliseconds> duration;
};

std::pair<std::string_view, std::string_view> Line(std::string_view text) {
  const size_t end = text.find('\n');
  if (end == std::string_view::npos) return {text, {}};
  return {text.substr(0, end), text.substr(end + 1)};
}

}  // namespace

std::vector<std::string> Seeds() {
  return {"get m a b --lease 5s --budget=64MiB -o json --tag x --tag=y\n\nreaders = 7\n",
          "put 18446744073709551615\n127.0.0.1:0\n# a comment\nlisten = [::1]:0 # why\nfast=yes",
          "--help\n\n",
          "get --help\n\n",
          "--version",
          "get -fo json m -- --not-a-flag\n\ntag=a\ntag=b\n",
          "get m --ratio nan --for 1h --readers -1",
          "get m\nx,y\nratio = 1e-300\nlease = 9999999h\n= x\n",
          "-l\n",
          "--=\n",
          "get --lease\n"};
}

void Run(std::string_view input) {
  static const ConfigFile file;
  const auto [command, after] = Line(input);
  const auto [variable, content] = Line(after);
  std::vector<std::string> words = absl::StrSplit(std::string(command), ' ');
  std::ostringstream out, err;
  const std::string said(variable);
  const std::string path = file.Write(content);
  Program program;
  const std::optional<int> code = program.line.Parse(
      words, {.out = &out, .err = &err, .environment = [&](const std::string& name) {
                if (name == "TENSORHUB_CONFIG") return std::optional<std::string>(path);
                return said.empty() ? std::nullopt : std::optional<std::string>(said);
              }});
  if (!code) {
    TH_CHECK(program.line.verb() == "get" || program.line.verb() == "put");
    TH_CHECK(program.output == "table" || program.output == "json");
    TH_CHECK(program.lease.count() >= 0);
    TH_CHECK(out.str().empty() && err.str().empty());
  } else if (*code == 0) {
    TH_CHECK(!out.str().empty() && err.str().empty());
  } else {
    const std::string text = err.str();
    TH_CHECK(*code == 2 && out.str().empty());
    TH_CHECK(std::count(text.begin(), text.end(), '\n') == 1 && text.back() == '\n');
  }
}

}  // namespace tensorhub::fuzz
