// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The hub's events and options as bytes, member by member: unsigned numbers seven bits at a time,
// least first, signed ones folded, texts and lists behind their length. There are no names and no
// numbers of fields in it, so that it is read by the program that wrote it (recording.h).
//
// An attachment's content is left out, and stands there as zeros: the hub decides by its size, and
// it is its publisher's code. A worker's key is left out as well: that there is one is all that
// decides, and all that the digest of the effects sees of what it signs.

#ifndef TENSORHUB_SERVER_RECORD_CODEC_H_
#define TENSORHUB_SERVER_RECORD_CODEC_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "server/core/events.h"
#include "server/core/hub.h"

namespace tensorhub::record {

// Appends.
void Encode(const hub::Event& event, std::string& out);
void Encode(const hub::HubOptions& options, std::string& out);
void EncodeNumber(uint64_t number, std::string& out);
void EncodeSigned(int64_t number, std::string& out);

// Takes what it reads off the front. False: it is not what Encode writes, and `out` may be
// anything.
bool Decode(std::string_view& from, hub::Event& out);
bool Decode(std::string_view& from, hub::HubOptions& out);
bool DecodeNumber(std::string_view& from, uint64_t& out);
bool DecodeSigned(std::string_view& from, int64_t& out);

// "JoinFetch"
std::string_view NameOf(const hub::Event& event);

}  // namespace tensorhub::record

#endif  // TENSORHUB_SERVER_RECORD_CODEC_H_
