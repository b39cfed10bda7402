// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The two ways in which bytes move between agents, as interfaces: `MessageTransport` carries
// messages (the served way), `GetTransport` reads a peer's memory one-sidedly. They are implemented
// in worker_agent/tcp and worker_agent/ucx; tests use fakes.
//
// Thread contract: every method and every callback runs on the agent's progress thread. Callbacks
// are invoked from within `Progress` only, never from within another method, so a caller's state is
// never re-entered. To wake a thread that waits for `EventFd`, its owner has an fd of its own.

#ifndef TENSORHUB_WORKER_AGENT_CORE_TRANSPORT_H_
#define TENSORHUB_WORKER_AGENT_CORE_TRANSPORT_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace tensorhub::agent {

// A connection to one peer. Never reused by a transport; 0 is no peer.
using PeerId = uint64_t;

// A piece of local memory to send from. Not owned.
struct ConstPiece {
  const void* data = nullptr;
  size_t bytes = 0;
};

// Largest payload of a message. 256 KiB: about four fifths of what 512 KiB gives over TCP, at half
// of the delay per hop of a chain.
inline constexpr size_t kMaxPayloadBytes = 256 * 1024;

// Messages of up to so many pieces travel from where those lie, those of more are gathered first.
// (UCX's TCP takes six, and the header is one of them.)
inline constexpr size_t kPiecesInPlace = 5;

// Served way. Messages between two peers arrive in the order sent, each exactly once or not at
// all; after the first loss the peer is reported as failed.
class MessageTransport {
 public:
  // What the owner is told.
  class Sink {
   public:
    virtual ~Sink() = default;
    // A message arrived. `header` and `payload` are valid only during the call. `from` is unknown
    // to the transport: the header says who sent it.
    virtual void OnMessage(std::string_view header, std::string_view payload) = 0;
    // A part of a message has come from a peer that this side has connected to; `lossy`: by a path
    // that has lost much of late. Said at times only.
    virtual void OnHeard(PeerId /*peer*/, bool /*lossy*/) {}
    // The send with this token no longer touches its memory. An error says it was not delivered.
    virtual void OnSent(uint64_t token, const absl::Status& status) = 0;
    // The peer's process died, its connection broke, or too many messages wait for it. Every
    // outstanding send to it has been, or will be, reported through OnSent. Called at most once per
    // peer; `Close` it then.
    virtual void OnPeerFailed(PeerId peer, const absl::Status& status) = 0;
    // SelfTestReceive found that peers do not reach this transport any more, and why: nothing that
    // local ones send arrives, since one was killed, or is stopped, in the middle of a message.
    // Abandon this transport, and make another.
    virtual void OnDeaf(std::string_view why) = 0;
  };

  virtual ~MessageTransport() = default;

  // This process's address, opaque bytes for a peer's `Connect`. Stable for the object's life.
  virtual std::string Address() const = 0;
  // Largest payload that travels without being reassembled, the same for all peers (bytes).
  virtual size_t MaxPayloadBytes() const = 0;
  // Largest payload that travels to this peer in one piece, and is faster for it; MaxPayloadBytes
  // unless more is known.
  virtual size_t WholePayloadBytes(PeerId peer) const = 0;
  // Starts connecting; never blocks. INVALID_ARGUMENT for malformed bytes, UNAVAILABLE if no
  // transport reaches that address.
  virtual absl::StatusOr<PeerId> Connect(std::string_view address) = 0;
  // Sends `header` followed by the concatenated pieces (at most MaxPayloadBytes in all). Header
  // and the piece array are copied before return; the memory that the pieces name must not change
  // until OnSent(token). token 0: the payload is empty and nobody wants to know.
  virtual void Send(PeerId peer, std::string_view header, std::span<const ConstPiece> pieces,
                    uint64_t token) = 0;
  // Force-closes: outstanding sends complete with an error through OnSent, from later Progress
  // calls. No OnPeerFailed follows.
  virtual void Close(PeerId peer) = 0;
  // Finds out whether peers still reach this transport; OnDeaf follows if not, in less than a
  // second. Costs a message to oneself.
  virtual void SelfTestReceive() = 0;
  // Nothing is torn down with this object: a peer may be in the middle of connecting, unheard of
  // and perhaps stopped, and UCX 1.13 aborts when it has to give that up. Costs its memory.
  virtual void Abandon() = 0;
  // What this peer is reached by, for people ("tcp/eth0", "posix/memory").
  virtual std::string Describe(PeerId peer) const = 0;
  // One line for the log: what it goes by.
  virtual std::string Summary() const = 0;

  // Runs callbacks for whatever is ready; returns false if nothing was.
  virtual bool Progress() = 0;
  // A file descriptor that becomes readable once Progress has work, valid after Arm returned true.
  virtual int EventFd() const = 0;
  // True: nothing is pending and the event fd will signal. False: call Progress again.
  virtual bool Arm() = 0;
};

// A contiguous piece of memory that peers can read one-sidedly.
struct SharedRegion {
  void* base = nullptr;
  size_t bytes = 0;
  std::string packed_key;  // for a peer's ImportRegion; empty: other processes cannot
  std::string local_key;   // the same for a peer on this host that has device memory
};

// One-sided way: reads complete without the source's CPU. A get that succeeds proves nothing about
// the source (it may be dead, or have changed the bytes): rule R4's word check is the caller's.
class GetTransport {
 public:
  class Sink {
   public:
    virtual ~Sink() = default;
    // The get no longer touches its destination. ABORTED: this process's own device has failed.
    virtual void OnGetDone(uint64_t token, const absl::Status& status) = 0;
    // As MessageTransport::Sink::OnPeerFailed.
    virtual void OnGetPeerFailed(PeerId peer, const absl::Status& status) = 0;
  };
  using RegionId = uint64_t;
  struct Part {
    RegionId region = 0;
    uint64_t offset = 0;
    std::byte* to = nullptr;
    size_t bytes = 0;
  };

  virtual ~GetTransport() = default;

  // Memory for tensors or control words, zeroed, page aligned; it lives as long as the transport.
  // RESOURCE_EXHAUSTED names the size.
  virtual absl::StatusOr<SharedRegion> Allocate(size_t bytes) = 0;
  // Makes memory that exists, a device's, readable; it must stay for as long as the transport.
  // FAILED_PRECONDITION: this transport takes it for other memory than a device's, or reads none.
  virtual absl::StatusOr<SharedRegion> Register(void* base, size_t bytes) = 0;

  virtual std::string Address() const = 0;
  virtual absl::StatusOr<PeerId> Connect(std::string_view address) = 0;
  // Makes a peer's region readable. FAILED_PRECONDITION if this pair has no truly one-sided lane
  // to it (the get would be emulated by the source's CPU): use the served way then.
  virtual absl::StatusOr<RegionId> ImportRegion(PeerId peer, std::string_view packed_key,
                                                uint64_t remote_base, size_t bytes) = 0;
  // Reads [offset, offset+bytes) of the region into `to`; bounds are checked against the import.
  virtual void Get(PeerId peer, RegionId region, uint64_t offset, void* to, size_t bytes,
                   uint64_t token) = 0;
  // Get for each of these parts. How many OnGetDone follow: one for each, or fewer where a
  // transport has several end together.
  virtual size_t GetAll(PeerId peer, std::span<const Part> parts, uint64_t token) {
    for (const Part& part : parts) Get(peer, part.region, part.offset, part.to, part.bytes, token);
    return parts.size();
  }
  // Get for a chunk that is in these parts, with its digest (chunk_digest.h) made as it passes:
  // there before an OnGetDone that is OK, or left empty if it could not be made after all. How many
  // OnGetDone follow: one for all the parts, or none where the chunk ends with the last one that
  // was asked for under this token. Nothing: this transport has no such way, or not for these
  // parts, and nothing has begun.
  virtual std::optional<size_t> GetWithDigest(PeerId /*peer*/, std::span<const Part> /*parts*/,
                                              uint64_t /*token*/,
                                              std::optional<uint64_t>* /*digest*/) {
    return std::nullopt;
  }
  // Force-closes the connection and releases the regions imported through it; every outstanding
  // get is reported through OnGetDone from later Progress calls.
  virtual void Close(PeerId peer) = 0;
  // The last call, by the thread of all others: only memory from Allocate stays, until the
  // destructor, which may run on another thread.
  virtual void End() {}
  virtual std::string Describe(PeerId peer) const = 0;
  virtual std::string Summary() const = 0;

  virtual bool Progress() = 0;
  virtual int EventFd() const = 0;
  virtual bool Arm() = 0;
};

}  // namespace tensorhub::agent

#endif  // TENSORHUB_WORKER_AGENT_CORE_TRANSPORT_H_
