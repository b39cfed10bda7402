// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// What a verb answers, described once and printed either way: an aligned table for people, or one
// JSON object with raw numbers and stable keys for programs.

#ifndef TENSORHUB_TOOLS_CTL_TABLE_H_
#define TENSORHUB_TOOLS_CTL_TABLE_H_

#include <cstdint>
#include <iosfwd>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace tensorhub::ctl {

enum class OutputFormat { kTable, kJson };

// `text` for people, `value` for programs.
struct Cell {
  std::string text;
  nlohmann::ordered_json value;
};
Cell TextCell(const std::string& text);
Cell NumberCell(uint64_t number);
Cell BytesCell(uint64_t bytes);
Cell MillisCell(int64_t milliseconds);
Cell BoolCell(bool value);
// A value that is not there: "-" and null.
Cell NoCell();
// 16 bytes as the wire has them; none, or zeros: NoCell.
Cell IdCell(const std::string& bytes);
// How a group has cut a version: by its sharding's id, of which people see the beginning, and that
// it leaves tensors out. As it was published: NoCell.
Cell CutCell(const std::string& sharding, bool full);
// Shown as one thing, given as another.
Cell MixedCell(std::string text, nlohmann::ordered_json value);

struct Column {
  std::string key;    // in JSON; empty: for people only
  std::string title;  // in the table; empty: for programs only
  bool right = false;
};

class Table {
 public:
  // In JSON the rows are the list `key`. `empty_line` is what people read when there are no rows.
  Table(std::string key, std::vector<Column> columns, std::string empty_line);

  // As many cells as columns.
  void AddRow(std::vector<Cell> cells);
  void Print(OutputFormat format, std::ostream& out) const;
  // One object, for rows that are not in a list; one `Title: value` line each for people.
  void PrintRecord(OutputFormat format, std::ostream& out) const;

 private:
  nlohmann::ordered_json RowObject(const std::vector<Cell>& row) const;
  void PrintText(std::ostream& out) const;
  size_t WidthOf(size_t column) const;

  const std::string key_;
  const std::vector<Column> columns_;
  const std::string empty_line_;
  std::vector<std::vector<Cell>> rows_;
};

// One line, whatever bytes are in it.
void PrintJson(const nlohmann::ordered_json& object, std::ostream& out);

}  // namespace tensorhub::ctl

#endif  // TENSORHUB_TOOLS_CTL_TABLE_H_
