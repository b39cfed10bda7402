// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "worker_agent/cuda/kernels/device_kernels.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "worker_agent/cuda/finish.h"

namespace tensorhub::agent::kernels {
namespace {

// How long hashing a gigabyte takes, with as much copying beside.
constexpr std::chrono::microseconds kHashingTakes(1000);
// Growing frees memory, which waits for all of the device.
constexpr size_t kBlockBytesMin = size_t{1} << 20;

size_t Aligned(size_t bytes) { return (bytes + 15) / 16 * 16; }

template <typename T>
void Put(const std::vector<T>& values, std::byte* to) {
  if (!values.empty()) std::memcpy(to, values.data(), values.size() * sizeof(T));
}

}  // namespace

absl::StatusOr<std::unique_ptr<KernelModule>> KernelModule::Load(const CudaPrimary& primary,
                                                                 std::span<const char> image) {
  if (image.empty()) {
    return absl::FailedPreconditionError(
        "this build has no GPU kernels; build it where nvcc is (TENSORHUB_CUDA=ON says what it "
        "lacks)");
  }
  const CudaCurrent current(primary);
  if (!current.status().ok()) return current.status();
  std::unique_ptr<KernelModule> loaded(new KernelModule(primary));
  const absl::StatusOr<CudaModule> module = primary.driver()->LoadModule(image);
  if (!module.ok()) {
    return absl::FailedPreconditionError(
        absl::StrCat("the GPU kernels cannot be loaded (", std::string(module.status().message()),
                     "); the driver must be as new as the CUDA toolkit of the build"));
  }
  loaded->module_ = *module;
  const struct {
    const char* name;
    CudaKernel* to;
  } wanted[] = {{"tensorhub_digest", &loaded->digest_},
                {"tensorhub_digest_copy", &loaded->digest_copy_},
                {"tensorhub_move", &loaded->move_}};
  for (const auto& [name, to] : wanted) {
    const absl::StatusOr<CudaKernel> found = primary.driver()->FindKernel(*module, name);
    if (!found.ok()) return found.status();
    *to = *found;
  }
  return loaded;
}

KernelModule::~KernelModule() {
  if (module_ == nullptr) return;
  const CudaCurrent current(primary_);
  static_cast<void>(primary_.driver()->UnloadModule(module_));
}

absl::Status MirroredBlock::Reserve(size_t bytes) {
  if (bytes <= bytes_) return absl::OkStatus();
  Free();
  const size_t wanted = std::max({bytes, kBlockBytesMin, bytes + bytes / 2});
  const absl::StatusOr<void*> host = driver_->AllocateHost(wanted);
  if (!host.ok()) return host.status();
  host_ = *host;
  const absl::StatusOr<void*> device = driver_->AllocateDevice(wanted);
  if (!device.ok()) {
    Free();
    return device.status();
  }
  device_ = *device;
  bytes_ = wanted;
  return absl::OkStatus();
}

absl::Status MirroredBlock::ToDevice(size_t bytes, CudaStream stream) {
  return driver_->CopyAsync(device_, host_, bytes, stream);
}

absl::Status MirroredBlock::ToHost(size_t bytes, CudaStream stream) {
  return driver_->CopyAsync(host_, device_, bytes, stream);
}

void MirroredBlock::Free() {
  if (host_ != nullptr) static_cast<void>(driver_->FreeHost(host_));
  if (device_ != nullptr) static_cast<void>(driver_->FreeDevice(device_));
  host_ = device_ = nullptr;
  bytes_ = 0;
}

absl::Status DigestJob::Enqueue(CudaKernel kernel, const DigestTables& tables, CudaStream stream) {
  chunks_ = 0;
  const size_t digest_bytes = Aligned(tables.chunks.size() * sizeof(uint64_t));
  const size_t pieces_at = digest_bytes + Aligned(tables.chunks.size() * sizeof(Chunk));
  const size_t bytes = pieces_at + tables.pieces.size() * sizeof(Piece);
  if (absl::Status status = block_.Reserve(bytes); !status.ok()) return status;
  Put(tables.chunks, block_.host() + digest_bytes);
  Put(tables.pieces, block_.host() + pieces_at);
  if (absl::Status status = block_.ToDevice(bytes, stream); !status.ok()) return status;
  void* digests = block_.device();
  void* chunks = block_.device() + digest_bytes;
  void* pieces = block_.device() + pieces_at;
  std::array<void*, 3> arguments = {&chunks, &pieces, &digests};
  const CudaGrid grid{.blocks_x = static_cast<uint32_t>(tables.chunks.size()),
                      .threads = kDigestThreads};
  absl::Status status = driver_->Launch(kernel, grid, stream, arguments);
  if (status.ok()) status = block_.ToHost(digest_bytes, stream);
  if (status.ok()) chunks_ = tables.chunks.size();
  return status;
}

absl::StatusOr<std::unique_ptr<DeviceDigester>> DeviceDigester::Create(const KernelModule* module) {
  absl::StatusOr<OwnedStream> stream = OwnedStream::Make(module->primary(), StreamKind::kOrdinary);
  if (!stream.ok()) return stream.status();
  std::unique_ptr<DeviceDigester> digester(new DeviceDigester(module));
  digester->stream_ = *std::move(stream);
  return digester;
}

DeviceDigester::~DeviceDigester() {
  const CudaCurrent current(module_->primary());
  job_.Free();
}

absl::Status DeviceDigester::Start(const DigestTables& tables) {
  if (tables.chunks.empty()) return absl::OkStatus();
  const CudaCurrent current(module_->primary());
  if (!current.status().ok()) return current.status();
  const absl::Status enqueued = job_.Enqueue(module_->digest(), tables, stream());
  under_way_ = enqueued.ok();
  // The blocks are in use until what was enqueued is done.
  if (!under_way_) static_cast<void>(FinishStream(*driver(), stream(), kHashingTakes));
  return enqueued;
}

absl::Status DeviceDigester::Finish(std::vector<uint64_t>& digests) {
  if (!std::exchange(under_way_, false)) return absl::OkStatus();
  const CudaCurrent current(module_->primary());
  if (!current.status().ok()) return current.status();
  absl::Status done = FinishStream(*driver(), stream(), kHashingTakes);
  if (!done.ok()) return done;
  digests.insert(digests.end(), job_.digests().begin(), job_.digests().end());
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<DeviceMover>> DeviceMover::Create(const KernelModule* module) {
  absl::StatusOr<OwnedEvent> done = OwnedEvent::Make(module->primary(), EventKind::kOrdinary);
  if (!done.ok()) return done.status();
  std::unique_ptr<DeviceMover> mover(new DeviceMover(module));
  mover->done_ = *std::move(done);
  return mover;
}

DeviceMover::~DeviceMover() {
  const CudaCurrent current(module_->primary());
  if (done_) static_cast<void>(driver()->SynchronizeEvent(done_.get()));
  tables_.Free();
}

absl::Status DeviceMover::Start(std::span<const MovePiece> pieces, CudaStream stream) {
  const MoveTables tables = MoveTables::Of(pieces);
  if (tables.moves.empty()) return absl::OkStatus();
  const CudaCurrent current(module_->primary());
  if (!current.status().ok()) return current.status();
  if (absl::Status free = driver()->SynchronizeEvent(done_.get()); !free.ok()) return free;
  const absl::Status enqueued = Enqueue(tables, stream);
  const absl::Status recorded = driver()->RecordEvent(done_.get(), stream);
  return enqueued.ok() ? recorded : enqueued;
}

absl::Status DeviceMover::Enqueue(const MoveTables& tables, CudaStream stream) {
  const size_t move_bytes = Aligned(tables.moves.size() * sizeof(Move));
  const size_t table_bytes = move_bytes + tables.hints.size() * sizeof(uint32_t);
  if (absl::Status status = tables_.Reserve(table_bytes); !status.ok()) return status;
  Put(tables.moves, tables_.host());
  Put(tables.hints, tables_.host() + move_bytes);
  if (absl::Status status = tables_.ToDevice(table_bytes, stream); !status.ok()) return status;
  void* moves = tables_.device();
  void* hints = tables_.device() + move_bytes;
  uint64_t windows = tables.windows;
  std::array<void*, 3> arguments = {&moves, &hints, &windows};
  const CudaGrid grid{.blocks_x = static_cast<uint32_t>(tables.blocks()), .threads = kMoveThreads};
  return driver()->Launch(module_->move(), grid, stream, arguments);
}

}  // namespace tensorhub::agent::kernels
