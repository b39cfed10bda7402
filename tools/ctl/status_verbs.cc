// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// status and transfers: what the hub is doing now.

#include <algorithm>
#include <iostream>
#include <map>

#include "absl/strings/str_cat.h"
#include "common/ids.h"
#include "common/tls/certificates.h"
#include "tools/ctl/admin_client.h"
#include "tools/ctl/units.h"
#include "tools/ctl/verbs.h"

namespace tensorhub::ctl {
namespace {

Cell StoreCell(const std::string& bytes) {
  const auto id = FromBytes(bytes);
  return id && *id ? TextCell(ToHex(*id)) : NoCell();
}

Cell RoleCell(const v1::GetStatusResponse& status) {
  if (status.role().empty()) return NoCell();
  return TextCell(absl::StrCat(status.role(), status.doubted() ? ", in doubt" : ""));
}

// Refusals of the server's clients, since its start.
Cell RefusedCell(const v1::GetStatusResponse& status) {
  const std::map<std::string, uint64_t> by_code(status.refused().begin(), status.refused().end());
  std::string text;
  for (const auto& [code, count] : by_code) {
    absl::StrAppend(&text, text.empty() ? "" : ", ", count, " ", code);
  }
  return MixedCell(text.empty() ? "nothing" : text, by_code);
}

absl::Status ShowStatus(const Globals& globals) {
  AdminClient admin(globals.server, globals.connect_timeout);
  const auto status = admin.GetStatus();
  if (!status.ok()) return status.status();
  Table table("status",
              {{"server", "Server"},
               {"server_version", "Version"},
               {"listen", "Listens on"},
               {"data_dir", "Data in"},
               {"store_id", "Store"},
               {"epoch", "Epoch"},
               {"role", "Role"},
               {"leader", "Led by"},
               {"uptime_ms", "Up for"},
               {"recovering", "Recovering"},
               {"models", "Models"},
               {"workers", "Workers"},
               {"connected", "Connected"},
               {"references", "References"},
               {"transfers", "Transfers"},
               {"decisions", "Decisions"},
               {"refused", "Refused"},
               {"security", "Lets in by"},
               {"certificate", "TLS name"},
               {"certificate_ends", "TLS until"},
               {"reloads_failed", "Not loaded"}},
              "");
  table.AddRow({TextCell(globals.server),
                TextCell(status->server_version()),
                TextCell(status->listen()),
                TextCell(status->data_dir()),
                StoreCell(status->store_id()),
                NumberCell(status->epoch()),
                RoleCell(*status),
                status->leader().empty() ? NoCell() : TextCell(status->leader()),
                MillisCell(static_cast<int64_t>(status->uptime_ms())),
                BoolCell(status->recovering()),
                NumberCell(status->models()),
                NumberCell(status->workers()),
                NumberCell(status->connected()),
                NumberCell(status->references()),
                NumberCell(status->transfers()),
                NumberCell(status->decisions()),
                RefusedCell(*status),
                TextCell(status->security().empty() ? "plain" : status->security()),
                status->certificate().empty() ? NoCell() : TextCell(status->certificate()),
                status->certificate_ends() == 0
                    ? NoCell()
                    : TextCell(tls::ShownTime(status->certificate_ends())),
                NumberCell(status->reloads_failed())});
  table.PrintRecord(globals.format(), std::cout);
  return absl::OkStatus();
}

absl::Status ListTransfers(const Globals& globals) {
  AdminClient admin(globals.server, globals.connect_timeout);
  const auto response = admin.ListTransfers();
  if (!response.ok()) return response.status();
  Table table("transfers",
              {{"model", "MODEL"},
               {"version", "VERSION", true},
               {"", "READER"},
               {"", "SOURCE"},
               {"reader_group", ""},
               {"reader_rank", ""},
               {"source_group", ""},
               {"source_rank", ""},
               {"sources", ""},
               {"tier", "TIER"},
               {"", "PROGRESS", true},
               {"valid_chunks", ""},
               {"chunks", "CHUNKS", true},
               {"chunk_bytes", "CHUNK", true},
               {"running_ms", "RUNNING", true},
               {"sharding", "CUT"},
               {"full", ""},
               {"way", "WAY"}},
              "No transfers are under way.");
  for (const v1::TransferInfo& transfer : response->transfers()) {
    const bool assigned = !transfer.source_group().empty();
    table.AddRow({TextCell(transfer.model()), NumberCell(transfer.version()),
                  TextCell(RankText(transfer.reader_group(), transfer.reader_rank())),
                  assigned ? TextCell(SourceText(transfer.source_group(), transfer.source_rank(),
                                                 transfer.sources()))
                           : NoCell(),
                  TextCell(transfer.reader_group()), NumberCell(transfer.reader_rank()),
                  assigned ? TextCell(transfer.source_group()) : NoCell(),
                  assigned ? NumberCell(transfer.source_rank()) : NoCell(),
                  NumberCell(transfer.sources()), TextCell(transfer.tier()),
                  MixedCell(HumanPercent(transfer.valid_chunks(), transfer.chunks()), nullptr),
                  NumberCell(transfer.valid_chunks()), NumberCell(transfer.chunks()),
                  BytesCell(transfer.chunk_bytes()), MillisCell(transfer.running_ms()),
                  CutCell(transfer.sharding(), transfer.full()),
                  BoolCell(transfer.sharding().empty() || transfer.full()),
                  transfer.way().empty() ? NoCell() : TextCell(transfer.way())});
  }
  table.Print(globals.format(), std::cout);
  return absl::OkStatus();
}

}  // namespace

void AddStatusVerbs(Verbs& verbs) {
  verbs.Add("status", "Shows how the hub is.", ShowStatus);
  verbs.Add("transfers", "Lists the reads under way.", ListTransfers);
}

}  // namespace tensorhub::ctl
