// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tools/sim/hub_tables.h"

#include <string>

#include "absl/strings/str_join.h"
#include "tools/ctl/table.h"

namespace tensorhub::sim {
namespace {

using ctl::BoolCell;
using ctl::BytesCell;
using ctl::MillisCell;
using ctl::NoCell;
using ctl::NumberCell;
using ctl::OutputFormat;
using ctl::Table;
using ctl::TextCell;

ctl::Cell Word(std::string_view text) { return TextCell(std::string(text)); }

Table ModelsOf(const hub::Hub& hub) {
  Table table("models",
              {{"model", "MODEL"},
               {"latest", "LATEST", true},
               {"versions", "VERSIONS", true},
               {"replicas", "REPLICAS", true},
               {"workers", "WORKERS", true},
               {"keep_latest", "KEEP", true},
               {"term", "TERM", true}},
              "No models: nobody had joined.");
  for (const hub::ModelView& view : hub.Models()) {
    table.AddRow({TextCell(view.model), view.has_latest ? NumberCell(view.latest) : NoCell(),
                  NumberCell(view.versions), NumberCell(view.replicas), NumberCell(view.workers),
                  NumberCell(view.keep_latest), NumberCell(view.term)});
  }
  return table;
}

Table VersionsOf(const hub::Hub& hub) {
  Table table("versions",
              {{"model", "MODEL"},
               {"version", "VERSION", true},
               {"state", "STATE"},
               {"bytes", "SIZE", true},
               {"complete_replicas", "COMPLETE", true},
               {"filling_replicas", "FILLING", true},
               {"kept_by", "KEPT BY"}},
              "No versions.");
  for (const hub::ModelView& model : hub.Models()) {
    for (const hub::VersionView& view : hub.Versions(model.model)) {
      table.AddRow({TextCell(model.model), NumberCell(view.version), Word(ToString(view.state)),
                    BytesCell(view.bytes), NumberCell(view.complete_replicas),
                    NumberCell(view.filling_replicas), Word(absl::StrJoin(view.kept_by, ", "))});
    }
  }
  return table;
}

Table ReplicasOf(const hub::Hub& hub) {
  Table table("replicas",
              {{"model", "MODEL"},
               {"version", "VERSION", true},
               {"group", "GROUP"},
               {"rank", "RANK", true},
               {"state", "STATE"},
               {"valid_chunks", "VALID", true},
               {"chunks", "CHUNKS", true},
               {"readers", "READERS", true}},
              "No replicas.");
  for (const hub::ModelView& model : hub.Models()) {
    for (const hub::ReferenceView& view : hub.References(model.model, std::nullopt)) {
      table.AddRow({TextCell(model.model), NumberCell(view.version), TextCell(view.group),
                    NumberCell(view.worker.key.rank), Word(ToString(view.state)),
                    NumberCell(view.valid_chunks), NumberCell(view.chunks),
                    NumberCell(view.readers)});
    }
  }
  return table;
}

Table WorkersOf(const hub::Hub& hub, TimeMs now) {
  Table table("workers",
              {{"model", "MODEL"},
               {"group", "GROUP"},
               {"rank", "RANK", true},
               {"world_size", "RANKS", true},
               {"version", "VERSION", true},
               {"connected", "CONNECTED"},
               {"withdrawn", "OUT OF SERVICE"},
               {"spot", "SPOT"},
               {"lease_left_ms", "LEASE", true},
               {"location", "LOCATION"},
               {"stalled_ms", ""}},
              "No workers.");
  for (const hub::WorkerView& view : hub.Workers(now)) {
    const WorkerKey& key = view.worker.key;
    table.AddRow({TextCell(key.model), TextCell(key.group), NumberCell(key.rank),
                  NumberCell(view.world_size), view.holds ? NumberCell(view.version) : NoCell(),
                  BoolCell(view.connected), BoolCell(view.withdrawn), BoolCell(!view.stable),
                  MillisCell(view.lease_left_ms), TextCell(view.location),
                  MillisCell(view.stalled_ms)});
  }
  return table;
}

Table TransfersOf(const hub::Hub& hub, TimeMs now) {
  Table table("transfers",
              {{"model", "MODEL"},
               {"reader_group", "READER"},
               {"reader_rank", "RANK", true},
               {"version", "VERSION", true},
               {"source_group", "SOURCE"},
               {"source_rank", "RANK", true},
               {"valid_chunks", "VALID", true},
               {"chunks", "CHUNKS", true},
               {"tier", "TIER"},
               {"way", "WAY"},
               {"running_ms", "RUNNING", true}},
              "No transfers.");
  for (const hub::TransferView& view : hub.Transfers(now)) {
    const bool fed = view.source.incarnation != 0;
    table.AddRow({TextCell(view.reader.key.model), TextCell(view.reader.key.group),
                  NumberCell(view.reader.key.rank), NumberCell(view.version),
                  fed ? TextCell(view.source.key.group) : NoCell(),
                  fed ? NumberCell(view.source.key.rank) : NoCell(), NumberCell(view.valid_chunks),
                  NumberCell(view.chunks), fed ? Word(ToString(view.tier)) : NoCell(),
                  TextCell(view.way), MillisCell(view.running_ms)});
  }
  return table;
}

}  // namespace

void PrintHub(const hub::Hub& hub, TimeMs now, bool json, std::ostream& out) {
  const OutputFormat format = json ? OutputFormat::kJson : OutputFormat::kTable;
  const Table tables[] = {ModelsOf(hub), VersionsOf(hub), ReplicasOf(hub), WorkersOf(hub, now),
                          TransfersOf(hub, now)};
  bool first = true;
  for (const Table& table : tables) {
    if (!json && !first) out << '\n';
    table.Print(format, out);
    first = false;
  }
}

}  // namespace tensorhub::sim
