// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// top: what moves, looked at again and again until interrupted.

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tools/ctl/admin_client.h"
#include "tools/ctl/live_rates.h"
#include "tools/ctl/signals.h"
#include "tools/ctl/units.h"
#include "tools/ctl/verbs.h"

namespace tensorhub::ctl {
namespace {

using nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

constexpr char kClear[] = "\033[H\033[2J";
constexpr size_t kRowsOfRest = 12;  // on a screen, beside the reads
constexpr size_t kRowsMin = 5;
constexpr size_t kRowsNoScreen = 20;

struct TopArguments {
  std::chrono::milliseconds every{2000};
  std::optional<uint64_t> count;
};

struct Look {
  v1::GetStatusResponse status;
  v1::ListModelsResponse models;
  v1::ListTransfersResponse transfers;
};

// A read and its rate.
struct Row {
  v1::TransferInfo transfer;
  std::optional<double> rate;
};

std::string ReaderOf(const v1::TransferInfo& transfer) {
  return RankText(transfer.reader_group(), transfer.reader_rank());
}

std::string SourceOf(const v1::TransferInfo& transfer) {
  if (transfer.source_group().empty()) return "nobody";
  return SourceText(transfer.source_group(), transfer.source_rank(), transfer.sources());
}

std::string RateText(std::optional<double> rate) {
  return rate ? HumanRate(static_cast<uint64_t>(*rate), 1) : "-";
}

size_t RowsOfScreen() {
  winsize size{};
  const bool known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0;
  if (!known) return kRowsNoScreen;
  return std::max<size_t>(kRowsMin, size.ws_row > kRowsOfRest ? size.ws_row - kRowsOfRest : 0);
}

// Readers without a source come first, since they are what an operator looks for; then the slowest.
std::vector<Row> RowsOf(const v1::ListTransfersResponse& transfers, LiveRates& rates, double at_s) {
  std::vector<Moving> moving;
  for (const v1::TransferInfo& transfer : transfers.transfers()) {
    moving.push_back({absl::StrCat(transfer.model(), " ", ReaderOf(transfer)), transfer.version(),
                      transfer.valid_chunks() * transfer.chunk_bytes()});
  }
  const auto found = rates.Look(moving, at_s);
  std::vector<Row> rows;
  for (int i = 0; i < transfers.transfers_size(); ++i) {
    rows.push_back({transfers.transfers(i), found[static_cast<size_t>(i)]});
  }
  std::stable_sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) {
    const bool fed_a = !a.transfer.source_group().empty();
    const bool fed_b = !b.transfer.source_group().empty();
    if (fed_a != fed_b) return !fed_a;
    return a.rate.value_or(1e18) < b.rate.value_or(1e18);
  });
  return rows;
}

double TotalOf(const std::vector<Row>& rows) {
  double total = 0;
  for (const Row& row : rows) total += row.rate.value_or(0);
  return total;
}

void PrintTables(const Globals& globals, const Look& look, const std::vector<Row>& rows,
                 std::ostream& out) {
  out << "tensorhub " << globals.server << "  workers " << look.status.workers() << "  reads "
      << look.status.transfers() << "  moving " << RateText(TotalOf(rows))
      << (look.status.recovering() ? "  recovering" : "") << "\n\n";
  Table models("models",
               {{"model", "MODEL"},
                {"latest", "LATEST", true},
                {"workers", "WORKERS", true},
                {"versions", "VERSIONS", true},
                {"replicas", "REPLICAS", true}},
               "No models: nobody has joined.");
  for (const v1::ModelInfo& model : look.models.models()) {
    models.AddRow(
        {TextCell(model.model()), model.has_latest() ? NumberCell(model.latest()) : NoCell(),
         NumberCell(model.workers()), NumberCell(model.versions()), NumberCell(model.replicas())});
  }
  models.Print(OutputFormat::kTable, out);
  out << "\n";
  Table reads("reads",
              {{"reader", "READER"},
               {"version", "VERSION", true},
               {"source", "SOURCE"},
               {"tier", "TIER"},
               {"progress", "PROGRESS", true},
               {"rate", "RATE", true},
               {"running", "RUNNING", true}},
              "Nobody reads just now.");
  const size_t shown = std::min(rows.size(), RowsOfScreen());
  for (size_t i = 0; i < shown; ++i) {
    const v1::TransferInfo& transfer = rows[i].transfer;
    reads.AddRow({TextCell(ReaderOf(transfer)), NumberCell(transfer.version()),
                  TextCell(SourceOf(transfer)), TextCell(transfer.tier()),
                  TextCell(HumanPercent(transfer.valid_chunks(), transfer.chunks())),
                  TextCell(RateText(rows[i].rate)), MillisCell(transfer.running_ms())});
  }
  reads.Print(OutputFormat::kTable, out);
  if (shown < rows.size()) out << "and " << rows.size() - shown << " more, which are faster\n";
}

void PrintObject(const Look& look, const std::vector<Row>& rows) {
  ordered_json models = ordered_json::array();
  for (const v1::ModelInfo& model : look.models.models()) {
    models.push_back(
        {{"model", model.model()},
         {"latest", model.has_latest() ? ordered_json(model.latest()) : ordered_json(nullptr)},
         {"workers", model.workers()},
         {"replicas", model.replicas()}});
  }
  ordered_json reads = ordered_json::array();
  for (const Row& row : rows) {
    reads.push_back(
        {{"model", row.transfer.model()},
         {"reader", ReaderOf(row.transfer)},
         {"version", row.transfer.version()},
         {"source", SourceOf(row.transfer)},
         {"tier", row.transfer.tier()},
         {"valid_chunks", row.transfer.valid_chunks()},
         {"chunks", row.transfer.chunks()},
         {"bytes_per_second", row.rate ? ordered_json(*row.rate) : ordered_json(nullptr)}});
  }
  PrintJson({{"workers", look.status.workers()},
             {"bytes_per_second", TotalOf(rows)},
             {"models", std::move(models)},
             {"reads", std::move(reads)}},
            std::cout);
}

absl::StatusOr<Look> LookAt(AdminClient& admin) {
  auto status = admin.GetStatus();
  if (!status.ok()) return status.status();
  auto models = admin.ListModels();
  if (!models.ok()) return models.status();
  auto transfers = admin.ListTransfers();
  if (!transfers.ok()) return transfers.status();
  return Look{*std::move(status), *std::move(models), *std::move(transfers)};
}

// The whole screen in one write, so that it does not flicker.
void Show(const Globals& globals, const Look& look, const std::vector<Row>& rows) {
  if (globals.format() == OutputFormat::kJson) return PrintObject(look, rows);
  std::ostringstream screen;
  if (isatty(STDOUT_FILENO) == 1) screen << kClear;
  PrintTables(globals, look, rows, screen);
  std::cout << screen.str();
}

absl::Status Top(const Globals& globals, const TopArguments& arguments) {
  AdminClient admin(globals.server, globals.connect_timeout);
  LiveRates rates;
  const Clock::time_point begin = Clock::now();
  for (uint64_t shown = 0; !arguments.count || shown < *arguments.count; ++shown) {
    if (shown > 0) std::this_thread::sleep_until(begin + shown * arguments.every);
    const absl::StatusOr<Look> look = LookAt(admin);
    if (!look.ok()) return look.status();
    const double at_s = std::chrono::duration<double>(Clock::now() - begin).count();
    Show(globals, *look, RowsOf(look->transfers, rates, at_s));
    std::cout.flush();
    if (!std::cout.good()) return absl::OkStatus();  // main says so
  }
  return absl::OkStatus();
}

}  // namespace

void AddTopVerb(Verbs& verbs) {
  auto arguments = std::make_shared<TopArguments>();
  const auto run = [arguments](const Globals& globals) -> absl::Status {
    if (arguments->every < std::chrono::milliseconds(100)) {
      return absl::InvalidArgumentError("--every: give at least 100ms");
    }
    SignalThread signals([](int) { ExitNow(0); });
    return Top(globals, *arguments);
  };
  cli::Command& command =
      verbs.Add("top", "Shows what moves, and how fast, until interrupted.", run);
  command.Flag("every", &arguments->every, "time between two looks");
  command.Flag("count", &arguments->count, "end after this many looks");
  command.Example("tensorhubctl top --every 1s");
  command.Example("tensorhubctl top --count 2 -o json | tail -1");
}

}  // namespace tensorhub::ctl
