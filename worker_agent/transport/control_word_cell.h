// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

// Where the control word of rule R4 lies: in memory that peers can read once there is some, else
// in the process's own.
//
// Thread contract: the progress thread writes; peers read at any time.

#ifndef TENSORHUB_WORKER_AGENT_TRANSPORT_CONTROL_WORD_CELL_H_
#define TENSORHUB_WORKER_AGENT_TRANSPORT_CONTROL_WORD_CELL_H_

#include <atomic>
#include <cstdint>

#include "common/ids.h"

namespace tensorhub::agent {

// The thread sanitizer does not know fences, and g++ says so. The other side is another process.
#if defined(__SANITIZE_THREAD__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wtsan"
#endif

class ControlWordCell {
 public:
  ControlWordCell() = default;
  ControlWordCell(const ControlWordCell&) = delete;
  ControlWordCell& operator=(const ControlWordCell&) = delete;

  // R4. Release: bytes that were written before are seen by whoever sees the word. The fence: no
  // byte that is written after it, by this very thread too, is seen before it. A release store does
  // not say that (ARM), nor x86 of the streaming stores of a large memcpy.
  // tests/model/arm_order_test.py
  void Store(ControlWord word) {
    std::atomic_ref<uint64_t>(*place_).store(Pack(word), std::memory_order_release);
    std::atomic_thread_fence(std::memory_order_seq_cst);
  }
  // `place` is 8 bytes, aligned to 8, and lives longer than this. Before any peer knows of it.
  void MoveTo(void* place) {
    const uint64_t word = std::atomic_ref<uint64_t>(*place_).load(std::memory_order_relaxed);
    place_ = static_cast<uint64_t*>(place);
    std::atomic_ref<uint64_t>(*place_).store(word, std::memory_order_release);
  }
  const void* place() const { return place_; }

 private:
  alignas(8) uint64_t own_ = 0;
  uint64_t* place_ = &own_;
};

}  // namespace tensorhub::agent

#endif  // TENSORHUB_WORKER_AGENT_TRANSPORT_CONTROL_WORD_CELL_H_
