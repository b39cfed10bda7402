// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tools/ctl/table.h"

#include <algorithm>
#include <optional>
#include <ostream>
#include <utility>

#include "common/check.h"
#include "common/cli/logging.h"
#include "common/ids.h"
#include "tools/ctl/units.h"

namespace tensorhub::ctl {
namespace {

using nlohmann::ordered_json;

std::string Padded(const std::string& text, size_t width, bool right) {
  const std::string space(width - std::min(width, text.size()), ' ');
  return right ? space + text : text + space;
}

// No row ends in blanks, whatever its last column's width.
void PrintLine(std::string line, std::ostream& out) {
  line.erase(line.find_last_not_of(' ') + 1);
  out << line << '\n';
}

}  // namespace

Cell TextCell(const std::string& text) {
  const std::string shown = cli::OneLine(text);
  return {shown.empty() ? "-" : shown, text};
}
Cell NumberCell(uint64_t number) { return {std::to_string(number), number}; }
Cell BytesCell(uint64_t bytes) { return {HumanBytes(bytes), bytes}; }
Cell MillisCell(int64_t milliseconds) {
  return {HumanSeconds(static_cast<double>(milliseconds) / 1e3), milliseconds};
}
Cell BoolCell(bool value) { return {value ? "yes" : "no", value}; }
Cell NoCell() { return {"-", nullptr}; }
Cell IdCell(const std::string& bytes) {
  const std::optional<Id128> id = FromBytes(bytes);
  return id && *id ? TextCell(ToHex(*id)) : NoCell();
}
Cell CutCell(const std::string& sharding, bool full) {
  constexpr size_t kShown = 8;
  Cell cell = IdCell(sharding);
  if (cell.value.is_null()) return cell;
  cell.text = cell.text.substr(0, kShown) + (full ? "" : ", a part");
  return cell;
}
Cell MixedCell(std::string text, ordered_json value) { return {std::move(text), std::move(value)}; }

void PrintJson(const ordered_json& object, std::ostream& out) {
  out << object.dump(-1, ' ', false, ordered_json::error_handler_t::replace) << '\n';
}

Table::Table(std::string key, std::vector<Column> columns, std::string empty_line)
    : key_(std::move(key)), columns_(std::move(columns)), empty_line_(std::move(empty_line)) {}

void Table::AddRow(std::vector<Cell> cells) {
  TH_CHECK(cells.size() == columns_.size());
  rows_.push_back(std::move(cells));
}

void Table::Print(OutputFormat format, std::ostream& out) const {
  if (format == OutputFormat::kTable) return PrintText(out);
  ordered_json list = ordered_json::array();
  for (const auto& row : rows_) list.push_back(RowObject(row));
  PrintJson(ordered_json{{key_, std::move(list)}}, out);
}

void Table::PrintRecord(OutputFormat format, std::ostream& out) const {
  TH_CHECK(rows_.size() == 1);
  if (format == OutputFormat::kJson) return PrintJson(RowObject(rows_[0]), out);
  size_t width = 0;
  for (const Column& column : columns_) width = std::max(width, column.title.size());
  for (size_t i = 0; i < columns_.size(); ++i) {
    if (columns_[i].title.empty()) continue;
    PrintLine(Padded(columns_[i].title + ":", width + 2, false) + rows_[0][i].text, out);
  }
}

ordered_json Table::RowObject(const std::vector<Cell>& row) const {
  ordered_json object = ordered_json::object();
  for (size_t i = 0; i < columns_.size(); ++i) {
    if (!columns_[i].key.empty()) object[columns_[i].key] = row[i].value;
  }
  return object;
}

size_t Table::WidthOf(size_t column) const {
  size_t width = columns_[column].title.size();
  for (const auto& row : rows_) width = std::max(width, row[column].text.size());
  return width;
}

void Table::PrintText(std::ostream& out) const {
  if (rows_.empty()) return PrintLine(empty_line_, out);
  std::string header;
  std::vector<std::string> lines(rows_.size());
  for (size_t i = 0; i < columns_.size(); ++i) {
    const Column& column = columns_[i];
    if (column.title.empty()) continue;
    const size_t width = WidthOf(i);
    header += Padded(column.title, width, column.right) + "  ";
    for (size_t row = 0; row < rows_.size(); ++row) {
      lines[row] += Padded(rows_[row][i].text, width, column.right) + "  ";
    }
  }
  PrintLine(header, out);
  for (std::string& line : lines) PrintLine(std::move(line), out);
}

}  // namespace tensorhub::ctl
