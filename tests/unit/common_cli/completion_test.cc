// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The scripts are run by the shells themselves in tests/integration/ctl.

#include "common/cli/completion.h"

#include <optional>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tensorhub::cli {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class CompletionTest : public testing::Test {
 protected:
  CompletionTest() {
    line_.Flag("server", &server_, "the hub");
    Command& tree = line_.AddCommand("tree", "Shows it's a tree.");
    tree.Argument("MODEL", &model_, "the model");
    tree.Flag("dot", &dot_, "for Graphviz");
    line_.AddCommand("status", "Shows how the hub is.");
  }

  std::string Script(const std::string& shell) {
    return CompletionScript(line_, shell, {"MODEL", "list-models"});
  }

  std::string server_;
  std::string model_;
  bool dot_ = false;
  CommandLine line_{"tensor-ctl", "A tool."};
};

TEST_F(CompletionTest, BashHasVerbsFlagsAndWords) {
  const std::string script = Script("bash");
  EXPECT_THAT(script, HasSubstr("flags='tree status'"));
  EXPECT_THAT(script, HasSubstr("tree) flags='--help --version --log-level --log-format --config "
                                "--server --dot' dynamic=1 ;;"));
  EXPECT_THAT(script, HasSubstr("$(list-models)"));
  EXPECT_THAT(script, HasSubstr("complete -o default -F _tensor_ctl_complete tensor-ctl\n"));
  EXPECT_THAT(script, Not(HasSubstr("@")));
}

TEST_F(CompletionTest, VerbsWithoutTheArgumentHaveNoWords) {
  EXPECT_THAT(Script("bash"),
              Not(HasSubstr("status) flags='--help --version --log-level --log-format "
                            "--config --server' dynamic")));
}

TEST_F(CompletionTest, ZshReadsBashsScript) {
  EXPECT_THAT(Script("zsh"), StartsWith("#compdef tensor-ctl\nautoload"));
  EXPECT_THAT(Script("zsh"), HasSubstr(Script("bash")));
}

TEST_F(CompletionTest, FishSaysWhatVerbsDo) {
  const std::string script = Script("fish");
  EXPECT_THAT(script, HasSubstr("-n __fish_use_subcommand -a tree -d 'Shows it'\\''s a tree.'\n"));
  EXPECT_THAT(script, HasSubstr("-n '__fish_seen_subcommand_from tree' -l dot\n"));
  EXPECT_THAT(script, HasSubstr("-n '__fish_seen_subcommand_from tree' -a '(list-models)'\n"));
}

}  // namespace
}  // namespace tensorhub::cli
