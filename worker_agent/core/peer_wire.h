// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The header of every message between two agents: one fixed record for all kinds, so that there is
// one encoder, one decoder and one place that checks (R9). Little endian; see docs/protocol.
// Fields that a kind does not name are zero. What says where a stream of ranges stands (kPart,
// kStand) has three more numbers behind the record, and what opens a read (kOpen, kOpenRanges) has
// a capability there, if a flag says so.

#ifndef TENSORHUB_WORKER_AGENT_CORE_PEER_WIRE_H_
#define TENSORHUB_WORKER_AGENT_CORE_PEER_WIRE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "common/capability.h"
#include "common/ids.h"
#include "common/limits.h"

namespace tensorhub::agent {

enum class PeerKind : uint8_t {
  kHello = 1,    // who connects, first on the connection: text = own endpoint
  kOpen = 2,     // reader: begin a read at `chunk`; publication, generation, chunk_bytes, flags;
                 // begin: of so many chunks it has the digests; text: own endpoint
  kOpened = 3,   // source: valid, flags; payload = description of memory (if one-sided)
  kRequest = 4,  // reader: chunks below `chunk` may be sent; begin: the longest payload that its
                 // connection carries in one piece, 0 if it does not know
  kData = 5,     // source: payload belongs at byte `begin`; valid, confirmed
  kConfirm = 6,  // source: valid, confirmed; also its sign of life
  kRefuse = 7,   // source: the read is over; code, text
  kClose = 8,    // reader: the read is over
  kDigests =
      9,  // source, to a reader that wants them: those of the chunks from `chunk` on, 8 bytes
          // each in `text`; the first comes before anything else of the read, even if empty
  kAskWord = 10,  // reader: tell the control word; `begin` is the question's number
  kWord = 11,     // source: valid, under the read's generation; `begin` as in the question
  kBye = 12,      // either side, last on a connection: it ends here, and nothing can be read there
  kOpenRanges =
      13,       // reader: begin a read of ranges that it names one after the other; publication,
                // generation, chunk_bytes (of the source's content), flags; begin, text: as
                // kOpen's. Positions count the bytes that were wanted, in that order
  kWant = 14,   // reader: these, too, behind what it wanted before: EncodeRanges in `text`
                // (wanted_ranges.h); begin: as kRequest's
  kPart = 15,   // source: payload is what is wanted from position `begin` on; valid, available,
                // proven, digest
  kStand = 16,  // source: valid, available, proven; also its sign of life
};

inline constexpr uint8_t kFlagOneSided = 1;         // Open: wanted; Opened: offered
inline constexpr uint8_t kFlagHaveDescription = 2;  // Open: kept from an earlier read
inline constexpr uint8_t kFlagDigests = 4;          // Open: wanted
inline constexpr uint8_t kFlagNoMoreDigests = 8;    // Digests: than these, as it stands
inline constexpr uint8_t kFlagLivesOn = 16;         // Bye: only the connection ends
inline constexpr uint8_t kFlagHashed =
    32;  // OpenRanges: parts with digests are wanted; Part: has it
// Open, OpenRanges: a capability follows. Only a source that has a key is shown one, so that no
// older agent gets what it cannot decode.
inline constexpr uint8_t kFlagCapability = 64;

struct PeerMessage {
  PeerKind kind = PeerKind::kHello;
  uint8_t flags = 0;
  uint16_t code = 0;  // absl::StatusCode
  Incarnation from = 0;
  Incarnation to = 0;
  uint64_t read = 0;          // the reader's number for this read, unique within its incarnation
  Generation generation = 0;  // the source's, as assigned to the reader
  PublicationId publication;
  uint64_t chunk_bytes = 0;
  uint32_t chunk = 0;
  uint32_t valid = 0;      // the source's count of valid leading chunks
  uint32_t confirmed = 0;  // chunks below it were sent whole and the generation checked after (R4)
  uint64_t begin = 0;
  std::string text;  // at most kPeerTextMax bytes; of kDigests and kWant, binary
  // For a stream of ranges, in positions. What is wanted below `available` lies in the source's
  // valid prefix. What is wanted below `proven` was sent whole and the generation checked after
  // (R4). proven <= available.
  uint64_t available = 0;
  uint64_t proven = 0;
  uint64_t digest = 0;  // XXH3-64 of the payload, if kFlagHashed
  // R9: by what right a read is opened, if kFlagCapability. The rest of what is signed is above.
  ReadUse use = ReadUse::kChunks;
  Capability capability;
};

// An endpoint, or a reason, which is shorter.
inline constexpr size_t kPeerTextMax = kEndpointBytesMax;
// Bytes of a message without text, and of what stands behind it for a stream of ranges.
inline constexpr size_t kPeerHeaderBytes = 88;
inline constexpr size_t kPeerPositionsBytes = 24;
inline constexpr size_t kPeerCapabilityBytes = 1 + kCapabilityBytes;

std::string Encode(const PeerMessage& message);
// Nothing for bytes that Encode would not have written.
std::optional<PeerMessage> DecodePeerMessage(std::string_view bytes);

// The message opens a read and shows this, if there is any.
void Show(const Capability& capability, ReadUse use, PeerMessage& open);

// Whether what Encode wrote, or anything else, is a part whose payload's digest it has, or is
// to have. So shells need not decode, and the core need not touch a payload.
bool IsHashedPart(std::string_view header);
// `header` is one.
void SetPayloadDigest(uint64_t digest, std::string& header);
uint64_t PayloadDigestOf(std::string_view header);

}  // namespace tensorhub::agent

#endif  // TENSORHUB_WORKER_AGENT_CORE_PEER_WIRE_H_
