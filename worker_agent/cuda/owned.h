// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Streams and events that end with whoever has them.
//
// Thread contract: one thread at a time. Every call makes the context current itself.

#ifndef TENSORHUB_WORKER_AGENT_CUDA_OWNED_H_
#define TENSORHUB_WORKER_AGENT_CUDA_OWNED_H_

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "worker_agent/cuda/driver.h"

namespace tensorhub::agent {

enum class StreamKind { kOrdinary, kUrgent };
enum class EventKind { kOrdinary, kTimed };

struct StreamCalls {
  using Handle = CudaStream;
  using Kind = StreamKind;
  static absl::StatusOr<CudaStream> Create(CudaDriver& driver, StreamKind kind) {
    return driver.CreateStream(/*urgent=*/kind == StreamKind::kUrgent);
  }
  // What it was given may use memory that goes next.
  static void Destroy(CudaDriver& driver, CudaStream stream) {
    static_cast<void>(driver.SynchronizeStream(stream));
    static_cast<void>(driver.DestroyStream(stream));
  }
};

struct EventCalls {
  using Handle = CudaEvent;
  using Kind = EventKind;
  static absl::StatusOr<CudaEvent> Create(CudaDriver& driver, EventKind kind) {
    return driver.CreateEvent(/*timed=*/kind == EventKind::kTimed);
  }
  static void Destroy(CudaDriver& driver, CudaEvent event) {
    static_cast<void>(driver.DestroyEvent(event));
  }
};

// Movable; empty when default-constructed.
template <typename Calls>
class CudaOwned {
 public:
  using Handle = typename Calls::Handle;

  // `primary` outlives the object.
  static absl::StatusOr<CudaOwned> Make(const CudaPrimary& primary, typename Calls::Kind kind) {
    const CudaCurrent current(primary);
    if (!current.status().ok()) return current.status();
    const absl::StatusOr<Handle> made = Calls::Create(*primary.driver(), kind);
    if (!made.ok()) return made.status();
    return CudaOwned(&primary, *made);
  }
  CudaOwned() = default;
  ~CudaOwned() {
    if (handle_ == nullptr) return;
    const CudaCurrent current(*primary_);
    Calls::Destroy(*primary_->driver(), handle_);
  }
  CudaOwned(CudaOwned&& other) noexcept
      : primary_(other.primary_), handle_(std::exchange(other.handle_, nullptr)) {}
  CudaOwned& operator=(CudaOwned&& other) noexcept {
    std::swap(primary_, other.primary_);
    std::swap(handle_, other.handle_);
    return *this;
  }

  explicit operator bool() const { return handle_ != nullptr; }
  Handle get() const { return handle_; }

 private:
  CudaOwned(const CudaPrimary* primary, Handle handle) : primary_(primary), handle_(handle) {}

  const CudaPrimary* primary_ = nullptr;
  Handle handle_ = nullptr;
};

using OwnedStream = CudaOwned<StreamCalls>;
using OwnedEvent = CudaOwned<EventCalls>;

}  // namespace tensorhub::agent

#endif  // TENSORHUB_WORKER_AGENT_CUDA_OWNED_H_
