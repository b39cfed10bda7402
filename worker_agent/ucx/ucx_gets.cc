// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "worker_agent/ucx/ucx_gets.h"

#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <utility>

#include "absl/strings/str_format.h"
#include "common/check.h"
#include "common/memory_left.h"
#include "worker_agent/ucx/ucx_device.h"
#include "worker_agent/ucx/ucx_envelope.h"
#include "worker_agent/ucx/ucx_settings.h"
#include "worker_agent/ucx/ucx_status.h"

namespace tensorhub::agent {
namespace {

// What precedes UCX's key in the envelope: what the key is good for.
struct KeyHead {
  uint64_t base;
  uint64_t bytes;
};

bool Contains(uint64_t outer_base, uint64_t outer_bytes, uint64_t base, uint64_t bytes) {
  return base >= outer_base && bytes <= outer_bytes && base - outer_base <= outer_bytes - bytes;
}

// True if every page of the range is mapped here: the only check of a peer's word about its size.
// (On shared memory an asynchronous msync does nothing else.)
bool IsMapped(void* address, size_t bytes) {
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<uintptr_t>(address);
  const uintptr_t aligned = begin & ~(page - 1);
  return msync(reinterpret_cast<void*>(aligned), bytes + (begin - aligned), MS_ASYNC) == 0;
}

uint64_t DevShmAvailable() {
  struct statvfs shm = {};
  if (statvfs("/dev/shm", &shm) != 0) return 0;
  return static_cast<uint64_t>(shm.f_bavail) * shm.f_bsize;
}

bool SysvGives(size_t bytes) {
  const int id = shmget(IPC_PRIVATE, bytes, IPC_CREAT | 0600);
  if (id < 0) return false;
  shmctl(id, IPC_RMID, nullptr);
  return true;
}

// UCX's posix allocation writes the whole size to /dev/shm before it knows that it fits: without
// these checks one wrong number takes all memory of the host. sysv comes first where it is on.
bool HasRoomFor(size_t bytes, bool sysv) {
  if (const auto left = MemoryLeft(); left && bytes > *left) return false;
  return (sysv && SysvGives(bytes)) || bytes <= DevShmAvailable();
}

absl::Status NoRoom(size_t bytes, std::string_view why) {
  return absl::ResourceExhaustedError(absl::StrFormat(
      "no shared memory of %d bytes: %s (see free memory, /dev/shm and kernel.shmmax)", bytes,
      why));
}

// The thread sanitizer does not know fences, and g++ says so. The other side is another process.
#if defined(__SANITIZE_THREAD__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wtsan"
#endif

// R4: a control word in one load, since its source may be writing it, and only after whatever was
// copied before.
void CopyMapped(const std::byte* from, void* to, size_t bytes) {
  if (bytes == sizeof(uint64_t) && reinterpret_cast<uintptr_t>(from) % alignof(uint64_t) == 0) {
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    const uint64_t word =
        __atomic_load_n(reinterpret_cast<const uint64_t*>(from), __ATOMIC_ACQUIRE);
    std::memcpy(to, &word, sizeof(word));
    return;
  }
  std::memcpy(to, from, bytes);
}

absl::StatusOr<KeyHead> ReadKeyHead(std::string_view content) {
  KeyHead head;
  if (content.size() <= sizeof(head)) {
    return absl::InvalidArgumentError("packed key is too short");
  }
  std::memcpy(&head, content.data(), sizeof(head));
  return head;
}

absl::StatusOr<ucp_rkey_h> UnpackKey(ucp_ep_h endpoint, std::string_view packed) {
  ucp_rkey_h key = nullptr;
  const std::string aligned(packed);
  const ucs_status_t status = ucp_ep_rkey_unpack(endpoint, aligned.data(), &key);
  if (status == UCS_OK) return key;
  return absl::FailedPreconditionError(absl::StrFormat(
      "no one-sided lane to the region (unpacking its key: %s)", ucs_status_string(status)));
}

// A peer's region, as this process sees it.
struct Mapped {
  ucp_rkey_h key = nullptr;
  const std::byte* local = nullptr;
};

// The region by its key for `endpoint`, if that maps [base, base + bytes) into this process.
absl::StatusOr<Mapped> UnpackMapped(ucp_ep_h endpoint, std::string_view packed, uint64_t base,
                                    size_t bytes) {
  const absl::StatusOr<ucp_rkey_h> key = UnpackKey(endpoint, packed);
  if (!key.ok()) return key.status();
  void* local = nullptr;
  const ucs_status_t mapped = ucp_rkey_ptr(*key, base, &local);
  if (mapped == UCS_OK && IsMapped(local, bytes)) {
    return Mapped{*key, static_cast<const std::byte*>(local)};
  }
  ucp_rkey_destroy(*key);
  return absl::FailedPreconditionError(
      "no one-sided lane to the region (it is not shared memory mapped into this process)");
}

}  // namespace

absl::StatusOr<std::unique_ptr<UcxGets>> UcxGets::Create(Sink* sink, Kind kind) {
  if (kind == Kind::kDevice) {
    if (absl::Status status = CheckDeviceSupport(); !status.ok()) return status;
  }
  std::unique_ptr<UcxGets> gets(new UcxGets(sink, kind));
  if (absl::Status status = gets->Open(); !status.ok()) return status;
  return gets;
}

UcxWorker::Options UcxGets::WorkerOptions() {
  UcxWorker::Options options;
  options.features = UCP_FEATURE_RMA;
  options.address_kind = EnvelopeKind::kGetAddress;
  if (kind_ == Kind::kDevice) {
    options.name = "tensorhub-device";
    options.settings = DeviceSettings();
    options.transports = DeviceTransports(UsersUcxSetting("TLS"));
  } else {
    options.name = "tensorhub-gets";
    options.settings = GetSettings();
    options.transports = OneSidedTransports(UsersUcxSetting("TLS"));
    with_sysv_ = options.transports.find("sysv") != std::string::npos;
  }
  return options;
}

absl::Status UcxGets::Open() {
  absl::StatusOr<std::unique_ptr<UcxWorker>> worker = UcxWorker::Create(WorkerOptions());
  if (!worker.ok()) return worker.status();
  worker_ = *std::move(worker);
  endpoints_ = std::make_unique<UcxEndpoints>(worker_.get());
  return kind_ == Kind::kDevice ? CheckSeesDevices(worker_->context()) : absl::OkStatus();
}

void UcxGets::End() {
  if (worker_ == nullptr) return;
  endpoints_.reset();  // and the keys
  // While there is a `done_` for gets that complete only now.
  worker_->End();
}

UcxGets::~UcxGets() {
  if (worker_ == nullptr) return;
  End();
  for (const Region& region : regions_) ucp_mem_unmap(worker_->context(), region.memory);
}

absl::StatusOr<SharedRegion> UcxGets::Allocate(size_t bytes) {
  if (kind_ == Kind::kDevice) {
    return absl::FailedPreconditionError("memory of a device is allocated by its owner");
  }
  if (bytes == 0) return absl::InvalidArgumentError("a region of 0 bytes");
  if (!HasRoomFor(bytes, with_sysv_)) return NoRoom(bytes, "it does not fit");
  ucp_mem_map_params_t params = {};
  params.field_mask = UCP_MEM_MAP_PARAM_FIELD_LENGTH | UCP_MEM_MAP_PARAM_FIELD_FLAGS;
  params.length = bytes;
  params.flags = UCP_MEM_MAP_ALLOCATE;
  ucp_mem_h memory = nullptr;
  const ucs_status_t status = ucp_mem_map(worker_->context(), &params, &memory);
  if (status != UCS_OK) {
    return NoRoom(bytes, ucs_status_string(status));
  }
  ucp_mem_attr_t attributes = {};
  attributes.field_mask = UCP_MEM_ATTR_FIELD_ADDRESS;
  ucp_mem_query(memory, &attributes);
  return Keep(memory, attributes.address, bytes);
}

// UCX is not told what memory it is: what it finds by itself is what its gets will go by.
absl::StatusOr<SharedRegion> UcxGets::Register(void* base, size_t bytes) {
  if (kind_ != Kind::kDevice) {
    return absl::FailedPreconditionError("only memory that the client allocated can be shared");
  }
  ucp_mem_map_params_t params = {};
  params.field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS | UCP_MEM_MAP_PARAM_FIELD_LENGTH;
  params.address = base;
  params.length = bytes;
  ucp_mem_h memory = nullptr;
  const ucs_status_t mapped = ucp_mem_map(worker_->context(), &params, &memory);
  if (mapped != UCS_OK) {
    return UcxStatus(mapped, absl::StrFormat("registering %d bytes of device memory", bytes));
  }
  ucp_mem_attr_t attributes = {};
  attributes.field_mask = UCP_MEM_ATTR_FIELD_MEM_TYPE;
  const ucs_status_t known = ucp_mem_query(memory, &attributes);
  if (known == UCS_OK && attributes.mem_type == UCS_MEMORY_TYPE_CUDA) {
    return Keep(memory, base, bytes);
  }
  ucp_mem_unmap(worker_->context(), memory);
  return absl::FailedPreconditionError(absl::StrFormat(
      "UCX %s takes device memory (%d bytes at %p) for memory of another kind; is UCX_TLS, or "
      "UCX_MEMTYPE_CACHE, set? See docs/gpu.md",
      UcxVersion(), bytes, base));
}

absl::StatusOr<SharedRegion> UcxGets::Keep(ucp_mem_h memory, void* base, size_t bytes) {
  SharedRegion region{base, bytes, {}, {}};
  absl::StatusOr<std::string> key = PackKey(memory, reinterpret_cast<uint64_t>(base), bytes);
  if (!key.ok()) {
    ucp_mem_unmap(worker_->context(), memory);
    return key.status();
  }
  region.packed_key = *std::move(key);
  regions_.push_back({memory, static_cast<const std::byte*>(base), bytes});
  return region;
}

absl::StatusOr<std::string> UcxGets::PackKey(ucp_mem_h memory, uint64_t base, size_t bytes) const {
  void* packed = nullptr;
  size_t packed_bytes = 0;
  const ucs_status_t status = ucp_rkey_pack(worker_->context(), memory, &packed, &packed_bytes);
  if (status != UCS_OK) return UcxStatus(status, "packing a region's key");
  const KeyHead head{base, bytes};
  std::string content(reinterpret_cast<const char*>(&head), sizeof(head));
  content.append(static_cast<const char*>(packed), packed_bytes);
  ucp_rkey_buffer_release(packed);
  return WrapEnvelope(EnvelopeKind::kMemoryKey, content);
}

absl::StatusOr<PeerId> UcxGets::Connect(std::string_view address) {
  return endpoints_->Connect(EnvelopeKind::kGetAddress, address);
}

absl::StatusOr<GetTransport::RegionId> UcxGets::ImportRegion(PeerId peer,
                                                             std::string_view packed_key,
                                                             uint64_t remote_base, size_t bytes) {
  UcxEndpoint* endpoint = endpoints_->Usable(peer);
  if (endpoint == nullptr) return endpoints_->Unusable(peer);
  absl::StatusOr<std::string_view> content = UnwrapEnvelope(EnvelopeKind::kMemoryKey, packed_key);
  if (!content.ok()) return content.status();
  absl::StatusOr<KeyHead> head = ReadKeyHead(*content);
  if (!head.ok()) return head.status();
  if (bytes == 0 || !Contains(head->base, head->bytes, remote_base, bytes)) {
    return absl::InvalidArgumentError(
        absl::StrFormat("key is for %d bytes at %#x, not for %d at %#x", head->bytes, head->base,
                        bytes, remote_base));
  }
  content->remove_prefix(sizeof(KeyHead));
  absl::StatusOr<Import> import = Unpack(*endpoint, *content, remote_base, bytes);
  if (!import.ok()) return import.status();
  import->peer = peer;
  endpoint->keys.push_back(import->key);
  imports_[++last_id_] = *import;
  return last_id_;
}

absl::StatusOr<UcxGets::Import> UcxGets::Unpack(const UcxEndpoint& endpoint,
                                                std::string_view packed, uint64_t base,
                                                size_t bytes) const {
  Import import;
  import.remote_base = base;
  import.bytes = bytes;
  if (kind_ == Kind::kSharedMemory) {
    const absl::StatusOr<Mapped> mapped = UnpackMapped(endpoint.ep, packed, base, bytes);
    if (!mapped.ok()) return mapped.status();
    import.key = mapped->key;
    import.local = mapped->local;
    return import;
  }
  const std::string lanes = endpoints_->Describe(endpoint.id);
  if (!ReachesDevices(lanes)) {
    return absl::FailedPreconditionError(
        absl::StrFormat("no one-sided lane to the peer's device (its lanes: %s)", lanes));
  }
  const absl::StatusOr<ucp_rkey_h> key = UnpackKey(endpoint.ep, packed);
  if (!key.ok()) return key.status();
  import.key = *key;
  return import;
}

ucp_mem_h UcxGets::HandleOf(const void* data, size_t bytes) const {
  const auto begin = reinterpret_cast<uintptr_t>(data);
  for (const Region& region : regions_) {
    if (Contains(reinterpret_cast<uintptr_t>(region.base), region.bytes, begin, bytes)) {
      return region.memory;
    }
  }
  return nullptr;
}

absl::StatusOr<const UcxGets::Import*> UcxGets::CheckGet(PeerId peer, RegionId region,
                                                         uint64_t offset, size_t bytes) const {
  const auto found = imports_.find(region);
  if (found == imports_.end() || found->second.peer != peer) {
    return absl::InvalidArgumentError("the region was not imported through this peer");
  }
  if (!Contains(0, found->second.bytes, offset, bytes)) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "get of %d bytes at %d leaves the region (%d)", bytes, offset, found->second.bytes));
  }
  return &found->second;
}

void UcxGets::Get(PeerId peer, RegionId region, uint64_t offset, void* to, size_t bytes,
                  uint64_t token) {
  UcxEndpoint* endpoint = endpoints_->Usable(peer);
  if (endpoint == nullptr) {
    done_.emplace_back(token, endpoints_->Unusable(peer));
    return;
  }
  absl::StatusOr<const Import*> import = CheckGet(peer, region, offset, bytes);
  if (!import.ok()) {
    done_.emplace_back(token, import.status());
    return;
  }
  if (kind_ == Kind::kSharedMemory) {
    CopyMapped((*import)->local + offset, to, bytes);
    done_.emplace_back(token, absl::OkStatus());
    return;
  }
  Fetch(endpoint, **import, offset, to, bytes, token);
}

// Gets of shared memory have ended by then.
size_t UcxGets::GetAll(PeerId peer, std::span<const Part> parts, uint64_t token) {
  if (kind_ != Kind::kSharedMemory || endpoints_->Usable(peer) == nullptr) {
    return GetTransport::GetAll(peer, parts, token);
  }
  absl::Status status;
  for (const Part& part : parts) {
    const auto import = CheckGet(peer, part.region, part.offset, part.bytes);
    status.Update(import.status());
    if (!status.ok()) break;
    CopyMapped((*import)->local + part.offset, part.to, part.bytes);
  }
  done_.emplace_back(token, status);
  return 1;
}

// Gets device memory by UCX.
void UcxGets::Fetch(UcxEndpoint* endpoint, const Import& import, uint64_t offset, void* to,
                    size_t bytes, uint64_t token) {
  auto op = std::make_unique<GetOp>(GetOp{this, endpoint, token});
  ucp_request_param_t params = {};
  params.op_attr_mask =
      UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FIELD_MEMORY_TYPE;
  params.cb.send = &UcxGets::OnGetCompleted;
  params.user_data = op.get();
  params.memory_type = UCS_MEMORY_TYPE_CUDA;
  params.memh = HandleOf(to, bytes);
  if (params.memh != nullptr) params.op_attr_mask |= UCP_OP_ATTR_FIELD_MEMH;
  const ucs_status_ptr_t result =
      ucp_get_nbx(endpoint->ep, to, bytes, import.remote_base + offset, import.key, &params);
  if (!UCS_PTR_IS_PTR(result)) {
    done_.emplace_back(token, UcxStatus(UCS_PTR_STATUS(result), "reading the peer's memory"));
    return;
  }
  ++endpoint->outstanding;
  op.release();  // OnGetCompleted has it
}

void UcxGets::OnGetCompleted(void* request, ucs_status_t status, void* op) {
  const std::unique_ptr<GetOp> done(static_cast<GetOp*>(op));
  ucp_request_free(request);
  TH_CHECK(done->endpoint->outstanding > 0);
  --done->endpoint->outstanding;
  done->owner->done_.emplace_back(done->token, UcxStatus(status, "reading the peer's memory"));
}

void UcxGets::Close(PeerId peer) {
  std::erase_if(imports_, [peer](const auto& entry) { return entry.second.peer == peer; });
  endpoints_->Close(peer);
}

bool UcxGets::Progress() {
  bool any = worker_->Progress();
  endpoints_->RunCloses();
  const auto done = std::exchange(done_, {});
  for (const auto& [token, status] : done) sink_->OnGetDone(token, status);
  const auto failures = endpoints_->TakeFailures();
  for (const auto& [peer, status] : failures) sink_->OnGetPeerFailed(peer, status);
  return any || !done.empty() || !failures.empty();
}

bool UcxGets::Arm() {
  if (!done_.empty() || endpoints_->has_work()) return false;
  return worker_->Arm();
}

}  // namespace tensorhub::agent
