// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

// The one-sided way: own memory that peers may read, and the peers' memory mapped by their
// descriptions. Splits the core's reads into the pieces that both sides have. Peers are read by one
// of two transports: UCX's, and, where device memory is part of it, the device's own copies for
// those on the same host.
//
// Invariants: (1) as in message_peers.h, no method enters the core; (2) each Get and GetWord of the
// core is answered once, after the last of its pieces no longer touches memory (R4).
//
// Thread contract: the progress thread.

#ifndef TENSORHUB_WORKER_AGENT_TRANSPORT_ONE_SIDED_H_
#define TENSORHUB_WORKER_AGENT_TRANSPORT_ONE_SIDED_H_

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "absl/status/statusor.h"
#include "worker_agent/core/effects.h"
#include "worker_agent/core/transport.h"
#include "worker_agent/memory/memory.h"
#include "worker_agent/transport/shared_memory_description.h"

namespace tensorhub::agent {

class OneSided : private GetTransport::Sink {
 public:
  using OnEvent = std::function<void(const Event&)>;
  using Factory =
      std::function<absl::StatusOr<std::unique_ptr<GetTransport>>(GetTransport::Sink* sink)>;

  OneSided(Factory factory, OnEvent now, OnEvent later)
      : factory_(std::move(factory)), now_(std::move(now)), later_(std::move(later)) {}

  // The transport costs memory and a file descriptor, so it is made when first wanted.
  absl::StatusOr<SharedRegion> Allocate(size_t bytes);
  // What peers may read: what was shared, else what was allocated.
  const std::vector<SharedRegion>& regions() const {
    return word_by_message() ? shared_ : allocated_;
  }
  // Empty before the first Allocate.
  std::string Address() const { return transport_ ? transport_->Address() : ""; }

  // Device memory: from now on it is what is shared, and what peers' memory is read into, by gets
  // of this transport. What Allocate gave before stays. On failure nothing has changed.
  absl::Status ShareDevice(const Factory& factory, std::span<const Memory::Piece> regions);
  // The owner of the memory that ShareWithin shares.
  struct Within {
    bool of_device = false;  // a device's
    bool with_host = false;  // also shared with other processes of this host
  };
  // Shares with those in this process, too. Without ShareDevice before: only with them.
  absl::Status ShareWithin(const Factory& factory, std::span<const Memory::Piece> regions,
                           const Within& whose);
  // Peers cannot get the control word of what is shared.
  bool word_by_message() const { return device_ || within_ != nullptr; }
  // Undoes ShareDevice and ShareWithin; nothing reads that memory any more afterwards. No peer's
  // memory may be mapped.
  void StopSharing();

  // An empty description stands for the one that this peer sent before. `total_bytes`: of its
  // memory, if that is known.
  void Import(Incarnation peer, std::string_view description, std::optional<uint64_t> total_bytes);
  void Get(const agent::Get& get, const Memory& memory);
  void GetWord(const agent::GetWord& get);
  void Close(Incarnation peer);
  void CloseAll();
  // The last call, but for the destructor: only memory from Allocate stays.
  void End();
  std::string Describe(Incarnation peer) const;
  size_t outstanding() const { return gets_.size() + words_.size(); }

  // The transports', of whichever there are (GetTransport).
  bool Progress();
  bool Arm();
  int EventFd() const { return transport_ ? transport_->EventFd() : -1; }

 private:
  struct Peer {
    GetTransport* by = nullptr;
    PeerId id = 0;
    std::vector<GetTransport::RegionId> regions;  // as in the description
    SharedMemoryDescription description;
    uint64_t used = 0;  // the later, the higher
  };
  struct Reach {
    GetTransport* by = nullptr;
    std::string address;  // for its Connect
  };
  struct PendingGet {
    uint64_t core_token = 0;
    size_t pieces = 0;  // that are under way
    absl::Status status;
    std::vector<std::optional<uint64_t>> digests;  // of its chunks, if they are wanted
  };
  struct PendingWord {
    uint64_t core_token = 0;
    alignas(8) uint64_t value = 0;
  };

  // A peer that comes and goes sends its description once; so many are remembered.
  static constexpr size_t kDescriptionsMax = 64;
  // Mapping anew costs a page fault per page, so what was read once stays mapped until the peer
  // goes. It keeps the peer's memory from being freed, so only so many: as one read may need.
  static constexpr size_t kMappedMax = kGotFromMax;

  absl::Status EnsureTransport();
  bool IsMapped(Incarnation peer, std::string_view description) const;
  absl::Status Map(Incarnation peer, std::string_view description,
                   std::optional<uint64_t> total_bytes);
  absl::StatusOr<SharedMemoryDescription> Understand(Incarnation peer, std::string_view description,
                                                     std::optional<uint64_t> total_bytes);
  // The transports that may reach it, the best one first; none: `why`.
  std::vector<Reach> Choose(const SharedMemoryDescription& description, absl::Status& why);
  void CloseLeastUsed();
  // What others have mapped, so that the driver may map anew what lies there now. True if any had.
  bool CloseOthers(Incarnation but);
  absl::StatusOr<Peer> MapBy(const Reach& reach, const SharedMemoryDescription& description) const;
  // To `parts_`: the pieces that both sides have of those runs.
  void Split(const Peer& peer, const agent::Get& get, const Memory& memory);
  // What Split has found, chunk by chunk.
  void IssueChunks(const Peer& peer, const agent::Get& get, uint64_t token);
  static size_t IssueParts(const Peer& peer, std::span<const GetTransport::Part> parts,
                           uint64_t token);

  void OnGetDone(uint64_t token, const absl::Status& status) override;
  void OnWordDone(uint64_t token, const absl::Status& status);
  void OnGetPeerFailed(PeerId peer, const absl::Status& status) override;

  const Factory factory_;  // for host memory
  const OnEvent now_;
  const OnEvent later_;
  bool device_ = false;  // ShareDevice
  Within whose_;         // ShareWithin
  std::vector<SharedRegion> allocated_;
  std::vector<SharedRegion> shared_;
  std::map<Incarnation, Peer> peers_;
  std::map<Incarnation, std::string> descriptions_;
  uint64_t last_token_ = 0;
  uint64_t uses_ = 0;
  std::unordered_map<uint64_t, PendingGet> gets_;
  std::unordered_map<uint64_t, PendingWord> words_;  // nodes stay where they are: gets write there
  std::vector<Memory::Piece> pieces_;                // reused
  std::vector<GetTransport::Part> parts_;            // reused
  std::vector<GetTransport::Part> chunk_;            // reused
  std::vector<GetTransport::Part> plain_;            // reused
  // Last: they go first, and with them whatever touches the above.
  std::unique_ptr<GetTransport> allocator_;  // of memory from Allocate, once another does the gets
  std::unique_ptr<GetTransport> transport_;
  std::unique_ptr<GetTransport> within_;
};

}  // namespace tensorhub::agent

#endif  // TENSORHUB_WORKER_AGENT_TRANSPORT_ONE_SIDED_H_
