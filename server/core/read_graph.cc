// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// What comes of references and of the hub's grace for those who read, and what the graph hands
// back.

#include "server/core/read_graph.h"

#include <utility>

namespace tensorhub::hub {

std::set<Worker*, BySerial> ReadGraph::TakeDrained() { return std::exchange(drained_, {}); }

bool ReadGraph::TakeAbsenceChanged() { return std::exchange(absence_changed_, false); }

void ReadGraph::List(Worker& holder) { holder.reference->shard->index.Add(holder); }

// Its readers are queued for another source.
void ReadGraph::Unlist(Worker& holder) {
  EndQuestion(holder);
  const std::set<ReaderSlot> readers = std::exchange(holder.reference->readers, {});
  for (const ReaderSlot& slot : readers) LoseSource(slot);
  Shard& shard = *holder.reference->shard;
  shard.index.Remove(holder, std::exchange(holder.listed, {}));
  shard.waiting.erase(&holder);
  PublicationOf(holder).awaiting.erase(&holder);
}

// Sources were reported in any order.
void ReadGraph::EndGrace(Worker& worker) {
  if (!Reads(worker)) return;
  if (!IsFedWhole(worker)) return QueueForAssignment(worker);
  worker.read->depth = static_cast<uint32_t>(worker.node.Depth());
  MarkIndexStale(worker);
  ReturnInside(worker);
}

}  // namespace tensorhub::hub
