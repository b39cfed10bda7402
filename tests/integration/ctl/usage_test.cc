// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The command lines of every binary: help, version, and mistakes, which cost one line and exit
// code 2.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "tests/integration/ctl/checkpoint_files.h"
#include "tests/integration/ctl/ctl.h"

namespace tensorhub::harness {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

Finished RunBinary(const std::string& binary, const Arguments& words) {
  return RunToEnd({.binary = BinaryPath(binary), .args = words});
}

class EveryBinaryTest : public testing::TestWithParam<std::string> {};

TEST_P(EveryBinaryTest, Help) {
  for (const std::string flag : {"--help", "-h"}) {
    const Finished run = RunBinary(GetParam(), {flag});
    EXPECT_EQ(run.exit_code, 0);
    EXPECT_EQ(run.errors, "");
    EXPECT_THAT(run.output, StartsWith(GetParam() + ": "));
    EXPECT_THAT(run.output, HasSubstr("\nUsage: " + GetParam() + " "));
    EXPECT_THAT(run.output, HasSubstr("--log-level"));
  }
}

TEST_P(EveryBinaryTest, VersionNumber) {
  const Finished run = RunBinary(GetParam(), {"--version"});
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_EQ(run.errors, "");
  EXPECT_EQ(run.output, GetParam() + " " TENSORHUB_VERSION "\n");
}

TEST_P(EveryBinaryTest, WrongFlags) {
  ExpectFailure(RunBinary(GetParam(), {"--no-such-flag"}), 2,
                {GetParam() + ": ", "--no-such-flag"});
  ExpectFailure(RunBinary(GetParam(), {"--log-level", "loud"}), 2, {});
  ExpectFailure(RunBinary(GetParam(), {"--log-level"}), 2, {"--log-level"});
}

std::string NameOf(const testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}
INSTANTIATE_TEST_SUITE_P(Binaries, EveryBinaryTest,
                         testing::ValuesIn(std::vector<std::string>(absl::StrSplit(PROGRAMS, ' '))),
                         NameOf);

void ExpectUsage(const Arguments& words, const Arguments& named) {
  ExpectFailure(RunBinary("tensorhubctl", words), 2, named);
}

TEST(CtlUsageTest, VerbsAndArguments) {
  ExpectUsage({}, {"give one of", "publish"});
  ExpectUsage({"two\nlines\x1b"}, {"\"two\\nlines"});
  ExpectUsage({"frobnicate"}, {"\"frobnicate\"", "give one of"});
  ExpectUsage({"versions"}, {"MODEL is missing", "tensorhubctl versions"});
  ExpectUsage({"publish", "m", "1"}, {"PATH is missing"});
  ExpectUsage({"fetch", "m", "1"}, {"DIR is missing"});
  ExpectUsage({"models", "surplus"}, {"\"surplus\""});
  ExpectUsage({"versions", "a model"}, {"MODEL", "\"a model\""});
  ExpectUsage({"versions", ""}, {"MODEL"});
  for (const std::string version : {"-1", "1.5", "one", "18446744073709551616", ""}) {
    ExpectUsage({"publish", "m", "--", version, "path"}, {"VERSION", "\"" + version + "\""});
    ExpectUsage({"fetch", "m", "--", version, "dir"}, {"VERSION", "latest"});
  }
}

TEST(CtlUsageTest, FlagValues) {
  for (const std::string server : {"hub", "hub:", ":7070", "hub:0", "hub:99999", "::1:7070"}) {
    ExpectUsage({"models", "--server", server}, {"--server", "\"" + server + "\""});
  }
  ExpectUsage({"models", "-o", "yaml"}, {"\"yaml\"", "table, json"});
  ExpectUsage({"models", "--connect-timeout", "soon"}, {"--connect-timeout", "\"soon\""});
  ExpectUsage({"models", "--connect-timeout", "0"}, {"--connect-timeout", "at least 1ms"});
  ExpectUsage({"watch", "m", "--connect-timeout", "0s"}, {"--connect-timeout", "at least 1ms"});
  ExpectUsage({"publish", "m", "1", "p", "--for", "5"}, {"--for", "\"5\""});
  ExpectUsage({"models", "--for", "5s"}, {"--for"});
  ExpectUsage({"publish", "m", "1", "p", "--group", "a b"}, {"--group", "a b"});
  ExpectUsage({"publish", "m", "1", "p", "--location", "a/b/c/d/e/f"}, {"--location"});
}

TEST(SimUsageTest, CheckCountsItsSeeds) {
  const Finished run =
      RunBinary("tensorhub-sim", {"check", "--seeds", "2", "--seconds", "5", "-o", "json"});
  ASSERT_EQ(run.exit_code, 0) << run.errors;
  EXPECT_EQ(run.errors, "");
  const auto report = nlohmann::json::parse(run.output, nullptr, /*allow_exceptions=*/false);
  ASSERT_TRUE(report.is_object()) << run.output;
  std::map<std::string, double> beside;
  for (const auto& entry : report.at("beside")) beside[entry.at("name")] = entry.at("value");
  EXPECT_EQ(beside.at("seeds"), 2);
  EXPECT_EQ(beside.at("violations"), 0);
  ExpectFailure(RunBinary("tensorhub-sim", {"check", "--seeds", "0"}), 2, {"--seeds 0"});
}

class ServerUsageTest : public testing::Test {
 protected:
  Finished Serve(Arguments words) {
    words.insert(words.begin(), {"--listen", "127.0.0.1:0"});
    return RunBinary("tensorhub-server", words);
  }
  TempDir dir_;
};

TEST_F(ServerUsageTest, FlagValues) {
  for (const std::string listen : {"7070", "127.0.0.1:", "127.0.0.1:70000", "::1:7070"}) {
    ExpectFailure(RunBinary("tensorhub-server", {"--listen", listen}), 2, {"--listen", listen});
  }
  ExpectFailure(Serve({"--lease", "1"}), 2, {"--lease", "\"1\""});
  ExpectFailure(Serve({"--lease", "1ms"}), 2, {"--lease", "100ms"});
  ExpectFailure(Serve({"--readers-per-source", "0"}), 2, {"--readers-per-source"});
  ExpectFailure(Serve({"--readers-per-source", "-1"}), 2, {"--readers-per-source"});
  ExpectFailure(Serve({"--sources-per-reader", "0"}), 2, {"--sources-per-reader"});
  ExpectFailure(Serve({"--sources-per-reader", "17"}), 2, {"--sources-per-reader", "1 to 16"});
  ExpectFailure(Serve({"--store", "etcd"}), 2, {"--store", "etcd"});
  ExpectFailure(Serve({"--store", "file"}), 2, {"--data-dir"});
  ExpectFailure(Serve({"--lisen", "x"}), 2, {"--lisen", "did you mean --listen?"});
  ExpectFailure(Serve({"--config", dir_ / "missing"}), 2, {"--config", dir_ / "missing"});
}

TEST_F(ServerUsageTest, AnAddressThatIsNotOurs) {
  ExpectFailure(RunBinary("tensorhub-server", {"--listen", "192.0.2.1:7070"}), 1,
                {"192.0.2.1:7070"});
  ExpectFailure(RunBinary("tensorhub-server", {"--listen", "nowhere.invalid:7070"}), 1,
                {"nowhere.invalid"});
}

TEST_F(ServerUsageTest, DataDirsThatCannotBe) {
  std::ofstream(dir_ / "file") << "mine";
  ExpectFailure(Serve({"--data-dir", dir_ / "file"}), 1, {"--data-dir", dir_ / "file"});
  ExpectFailure(Serve({"--data-dir", dir_ / "file/below"}), 1,
                {dir_ / "file/below", "name another"});
  // Nobody may make a folder there, root included.
  ExpectFailure(Serve({"--data-dir", "/proc/self/data"}), 1, {"/proc/self/data", "name another"});
  WriteFiles(dir_ / "damaged", {{"identity", "not what a server wrote\n"}});
  ExpectFailure(Serve({"--data-dir", dir_ / "damaged"}), 1, {dir_ / "damaged", "restore it"});
  EXPECT_EQ(FilesIn(dir_ / "damaged").at("identity"), "not what a server wrote\n");
  WriteFiles(dir_ / "broken", {{"hub.db", "not a database\n"}});
  ExpectFailure(Serve({"--data-dir", dir_ / "broken"}), 1, {dir_ / "broken/hub.db", "restore it"});
  EXPECT_EQ(FilesIn(dir_ / "broken").at("hub.db"), "not a database\n");
}

}  // namespace
}  // namespace tensorhub::harness
