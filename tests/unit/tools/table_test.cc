// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tools/ctl/table.h"

#include <gtest/gtest.h>

#include <sstream>

namespace tensorhub::ctl {
namespace {

Table Example() {
  Table table("things", {{"name", "NAME"}, {"bytes", "SIZE", true}, {"id", ""}, {"", "SHARE"}},
              "No things.");
  return table;
}

std::string Printed(const Table& table, OutputFormat format) {
  std::ostringstream out;
  table.Print(format, out);
  return out.str();
}

TEST(TableTest, AlignsColumnsForPeople) {
  Table table = Example();
  table.AddRow({TextCell("long name"), BytesCell(5), NumberCell(7), MixedCell("1%", nullptr)});
  table.AddRow({TextCell("n"), BytesCell(1536), NoCell(), MixedCell("", nullptr)});
  EXPECT_EQ(Printed(table, OutputFormat::kTable),
            "NAME          SIZE  SHARE\n"
            "long name      5 B  1%\n"
            "n          1.5 KiB\n");
}

TEST(TableTest, GivesProgramsRawValuesUnderStableKeys) {
  Table table = Example();
  table.AddRow({TextCell("a\"b"), BytesCell(1536), NoCell(), MixedCell("1%", nullptr)});
  EXPECT_EQ(Printed(table, OutputFormat::kJson),
            "{\"things\":[{\"name\":\"a\\\"b\",\"bytes\":1536,\"id\":null}]}\n");
}

TEST(TableTest, NoRows) {
  EXPECT_EQ(Printed(Example(), OutputFormat::kTable), "No things.\n");
  EXPECT_EQ(Printed(Example(), OutputFormat::kJson), "{\"things\":[]}\n");
}

TEST(TableTest, ControlCharactersDoNotReachTheTerminal) {
  Table table("things", {{"name", "NAME"}}, "");
  table.AddRow({TextCell("a\x1b[2Jb\n")});
  const std::string text = Printed(table, OutputFormat::kTable);
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2);
}

TEST(TableTest, BytesThatAreNoTextStayOneJsonLine) {
  Table table("things", {{"name", "NAME"}}, "");
  table.AddRow({TextCell("a\xff\n")});
  const std::string text = Printed(table, OutputFormat::kJson);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1);
}

TEST(TableTest, ARecord) {
  Table table("status", {{"up_ms", "Up for"}, {"ok", "Healthy"}, {"hidden", ""}}, "");
  table.AddRow({MillisCell(1500), BoolCell(true), NumberCell(1)});
  std::ostringstream text;
  table.PrintRecord(OutputFormat::kTable, text);
  EXPECT_EQ(text.str(), "Up for:  1.50 s\nHealthy: yes\n");
  std::ostringstream json;
  table.PrintRecord(OutputFormat::kJson, json);
  EXPECT_EQ(json.str(), "{\"up_ms\":1500,\"ok\":true,\"hidden\":1}\n");
}

}  // namespace
}  // namespace tensorhub::ctl
