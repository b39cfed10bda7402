// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "common/cli/flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <map>
#include <sstream>

namespace tensorhub::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class FlagsTest : public testing::Test {
 protected:
  FlagsTest() {
    line_.Flag("listen", &listen_, "where to listen", {.placeholder = "HOST:PORT"});
    line_.Flag("lease", &lease_, "how long a silent worker counts as alive");
    line_.Flag("budget", &budget_, "memory to use");
    line_.Flag("readers", &readers_, "readers per source");
    line_.Flag("fast", &fast_, "do it fast");
    line_.Flag("tag", &tags_, "a tag");
    line_.Choice("output", &output_, {"table", "json"}, "how to print", 'o');
  }

  std::optional<int> Parse(const std::vector<std::string>& arguments) {
    return line_.Parse(arguments, {.out = &out_, .err = &err_, .environment = [&](auto& name) {
                                     const auto found = environment_.find(name);
                                     return found == environment_.end()
                                                ? std::nullopt
                                                : std::optional<std::string>(found->second);
                                   }});
  }
  // What it complains of, without the program's name and the end of the line.
  std::string Complaint(const std::vector<std::string>& arguments) {
    EXPECT_EQ(Parse(arguments), 2);
    EXPECT_EQ(out_.str(), "");
    const std::string text = err_.str();
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1) << text;
    return text.size() < 7 ? text : text.substr(6, text.size() - 7);
  }
  std::string ConfigFile(const std::string& content) {
    const std::string path = testing::TempDir() + "/cli_test.conf";
    std::ofstream(path) << content;
    return path;
  }

  std::string listen_ = "0.0.0.0:7070";
  std::chrono::milliseconds lease_{5000};
  Bytes budget_{64 << 20};
  uint32_t readers_ = 2;
  bool fast_ = false;
  std::vector<std::string> tags_;
  std::string output_ = "table";
  CommandLine line_{"prog", "Does things."};
  std::map<std::string, std::string> environment_;
  std::ostringstream out_, err_;
};

TEST_F(FlagsTest, DefaultsStay) {
  EXPECT_EQ(Parse({}), std::nullopt);
  EXPECT_EQ(listen_, "0.0.0.0:7070");
  EXPECT_EQ(lease_.count(), 5000);
  EXPECT_FALSE(line_.IsSet("lease"));
  EXPECT_EQ(line_.log().level, "warn");
}

TEST_F(FlagsTest, EverySpelling) {
  EXPECT_EQ(Parse({"--listen", "[::1]:0", "--lease=250ms", "--fast", "-o", "json", "--budget",
                   "1GiB", "--tag", "a", "--tag=b", "--readers=3", "--log-level=debug"}),
            std::nullopt);
  EXPECT_EQ(listen_, "[::1]:0");
  EXPECT_EQ(lease_.count(), 250);
  EXPECT_TRUE(fast_);
  EXPECT_EQ(output_, "json");
  EXPECT_EQ(budget_.value, 1u << 30);
  EXPECT_THAT(tags_, ElementsAre("a", "b"));
  EXPECT_EQ(readers_, 3u);
  EXPECT_EQ(line_.log().level, "debug");
  EXPECT_TRUE(line_.IsSet("lease"));
}

TEST_F(FlagsTest, WordsInAnyCase) {
  environment_ = {{"TENSORHUB_LOG_LEVEL", "INFO"}};
  EXPECT_EQ(Parse({"-o", "Json"}), std::nullopt) << err_.str();
  EXPECT_EQ(line_.log().level, "info");
  EXPECT_EQ(output_, "json");
}

TEST_F(FlagsTest, LevelsAsPythonNamesThem) {
  EXPECT_EQ(Parse({"--log-level=WARNING"}), std::nullopt) << err_.str();
  EXPECT_EQ(line_.log().level, "warning");
}

TEST_F(FlagsTest, CommandLineThenEnvironmentThenFile) {
  environment_ = {{"TENSORHUB_LEASE", "2s"}, {"TENSORHUB_READERS", "7"}, {"TENSORHUB_TAG", "x,y"}};
  const std::string path =
      ConfigFile("# a comment\n\nlease = 9s\nreaders=9\n listen = h:1  # why\n");
  EXPECT_EQ(Parse({"--config", path, "--lease", "1s"}), std::nullopt);
  EXPECT_EQ(lease_.count(), 1000);
  EXPECT_EQ(readers_, 7u);
  EXPECT_EQ(listen_, "h:1");
  EXPECT_THAT(tags_, ElementsAre("x", "y"));
}

TEST_F(FlagsTest, ConfigFileMayComeFromTheEnvironment) {
  environment_ = {{"TENSORHUB_CONFIG", ConfigFile("tag = a\ntag = b\n")}, {"TENSORHUB_LEASE", ""}};
  EXPECT_EQ(Parse({}), std::nullopt);
  EXPECT_THAT(tags_, ElementsAre("a", "b"));
}

TEST_F(FlagsTest, ErrorsNameTheFlagAndTheRemedy) {
  EXPECT_EQ(Complaint({"--lease", "5"}),
            "--lease: \"5\" is not a duration; write it like 250ms, 5s, 1m or 2h");
}

TEST_F(FlagsTest, UnknownFlagsSuggestTheNearest) {
  EXPECT_EQ(Complaint({"--lisen", "x"}), "unknown flag --lisen: did you mean --listen?");
}

TEST_F(FlagsTest, UnknownFlagsPointToTheHelp) {
  EXPECT_EQ(Complaint({"--what"}), "unknown flag --what: see prog --help");
}

TEST_F(FlagsTest, MissingValue) {
  EXPECT_EQ(Complaint({"--listen", "--fast"}), "--listen needs a value: --listen HOST:PORT");
}

TEST_F(FlagsTest, GivenTwice) {
  EXPECT_EQ(Complaint({"--lease=1s", "--lease=2s"}), "--lease is given twice: give it once");
}

TEST_F(FlagsTest, BadChoice) {
  EXPECT_EQ(Complaint({"-o", "xml"}), "--output: \"xml\" is not one of table, json");
}

TEST_F(FlagsTest, BadEnvironment) {
  environment_ = {{"TENSORHUB_READERS", "many"}};
  EXPECT_EQ(Complaint({}),
            "TENSORHUB_READERS (environment): \"many\" is not a whole number from 0 to 4294967295");
}

TEST_F(FlagsTest, BadFiles) {
  const std::string path = ConfigFile("\nspeed = 9\n");
  EXPECT_EQ(Complaint({"--config", path}), path + ":2: unknown flag \"speed\": see prog --help");
}

TEST_F(FlagsTest, FileThatIsNotThere) {
  EXPECT_EQ(Complaint({"--config", "/nowhere/x"}),
            "--config: \"/nowhere/x\" cannot be read: name a readable file");
}

TEST_F(FlagsTest, TooManyArguments) {
  EXPECT_EQ(Complaint({"word"}), "\"word\" is one argument too many: prog [FLAGS]");
}

TEST_F(FlagsTest, HelpGoesToOutput) {
  EXPECT_EQ(Parse({"--help"}), 0);
  EXPECT_EQ(err_.str(), "");
  EXPECT_THAT(out_.str(), HasSubstr("Usage: prog [FLAGS]\n"));
  EXPECT_THAT(out_.str(), HasSubstr("--listen HOST:PORT"));
  EXPECT_THAT(out_.str(), HasSubstr("(default 5s)"));
  EXPECT_THAT(out_.str(), HasSubstr("-o, --output table|json"));
}

TEST_F(FlagsTest, VersionNumber) {
  EXPECT_EQ(Parse({"--version"}), 0);
  EXPECT_EQ(out_.str(), std::string("prog ") + TENSORHUB_VERSION + "\n");
}

class VerbsTest : public FlagsTest {
 protected:
  VerbsTest() {
    Command& tree = line_.AddCommand("tree", "Shows who fed whom.");
    tree.Argument("MODEL", &model_, "the model");
    tree.OptionalArgument("VERSION", &version_, "the version");
    tree.Choice("format", &format_, {"dot", "text"}, "how to draw");
    Command& publish = line_.AddCommand("publish", "Publishes files.");
    publish.Arguments("PATH", &paths_, "files");
  }
  std::string model_;
  std::optional<uint64_t> version_;
  std::string format_ = "text";
  std::vector<std::string> paths_;
};

TEST_F(VerbsTest, FlagsBeforeAndAfterTheVerb) {
  EXPECT_EQ(Parse({"-o", "json", "tree", "--format", "dot", "m/x", "--fast", "7"}), std::nullopt);
  EXPECT_EQ(line_.verb(), "tree");
  EXPECT_EQ(model_, "m/x");
  EXPECT_EQ(version_, 7u);
  EXPECT_EQ(format_, "dot");
  EXPECT_TRUE(fast_);
}

TEST_F(VerbsTest, OptionalArgumentsMayBeMissing) {
  EXPECT_EQ(Parse({"tree", "m"}), std::nullopt);
  EXPECT_EQ(version_, std::nullopt);
}

TEST_F(VerbsTest, DashDashEndsFlags) {
  EXPECT_EQ(Parse({"publish", "--", "--odd", "-x"}), std::nullopt);
  EXPECT_THAT(paths_, ElementsAre("--odd", "-x"));
}

TEST_F(VerbsTest, MissingArgument) {
  EXPECT_EQ(Complaint({"tree"}), "MODEL is missing: prog tree [FLAGS] MODEL [VERSION]");
}

TEST_F(VerbsTest, BadArgument) {
  EXPECT_EQ(Complaint({"tree", "m", "new"}),
            "VERSION: \"new\" is not a whole number from 0 to 18446744073709551615");
}

TEST_F(VerbsTest, NoVerb) {
  EXPECT_EQ(Complaint({}), "what to do is missing: give one of tree, publish");
}

TEST_F(VerbsTest, UnknownVerb) {
  EXPECT_EQ(Complaint({"grow"}), "\"grow\" is unknown: give one of tree, publish");
}

TEST_F(VerbsTest, VerbsFlagBeforeTheVerb) {
  EXPECT_EQ(Complaint({"--format", "dot", "tree"}),
            "--format belongs to a verb: put it after the verb");
}

TEST_F(VerbsTest, HelpOfOneVerb) {
  EXPECT_EQ(Parse({"tree", "--help"}), 0);
  EXPECT_THAT(out_.str(), HasSubstr("prog tree: Shows who fed whom."));
  EXPECT_THAT(out_.str(), HasSubstr("--format dot|text"));
  EXPECT_THAT(out_.str(), HasSubstr("Flags of every verb:"));
}

TEST_F(VerbsTest, FileMaySpeakToOtherVerbs) {
  EXPECT_EQ(Parse({"--config", ConfigFile("format = dot\n"), "publish", "a"}), std::nullopt);
}

}  // namespace
}  // namespace tensorhub::cli
