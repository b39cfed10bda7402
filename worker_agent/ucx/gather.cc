// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "worker_agent/ucx/gather.h"

#include <algorithm>
#include <cstring>

#include "common/check.h"

namespace tensorhub::agent {
namespace {

void* StartPack(void* /*context*/, const void* buffer, size_t /*count*/) {
  return const_cast<void*>(buffer);
}
size_t PackedSize(void* state) { return static_cast<Gather*>(state)->bytes(); }
size_t PackBytes(void* state, size_t offset, void* to, size_t room) {
  return static_cast<Gather*>(state)->Pack(offset, to, room);
}
// Messages are received as contiguous bytes.
void* StartUnpack(void* /*context*/, void* /*buffer*/, size_t /*count*/) { return nullptr; }
ucs_status_t Unpack(void* /*state*/, size_t /*offset*/, const void* /*from*/, size_t /*bytes*/) {
  return UCS_ERR_UNSUPPORTED;
}
void Finish(void* /*state*/) {}

}  // namespace

ucp_datatype_t Gather::Datatype() {
  static const ucp_datatype_t datatype = [] {
    ucp_generic_dt_ops_t functions = {};
    functions.start_pack = &StartPack;
    functions.start_unpack = &StartUnpack;
    functions.packed_size = &PackedSize;
    functions.pack = &PackBytes;
    functions.unpack = &Unpack;
    functions.finish = &Finish;
    ucp_datatype_t made = 0;
    TH_CHECK(ucp_dt_create_generic(&functions, nullptr, &made) == UCS_OK);
    return made;
  }();
  return datatype;
}

void Gather::Start(std::span<const ucp_dt_iov_t> pieces) {
  pieces_ = pieces;
  bytes_ = 0;
  for (const ucp_dt_iov_t& piece : pieces) bytes_ += piece.length;
  offset_ = piece_ = within_ = 0;
}

void Gather::Seek(size_t offset) {
  if (offset == offset_) return;
  offset_ = within_ = offset;
  for (piece_ = 0; piece_ < pieces_.size() && within_ >= pieces_[piece_].length; ++piece_) {
    within_ -= pieces_[piece_].length;
  }
}

size_t Gather::Pack(size_t offset, void* to, size_t room) {
  Seek(offset);
  char* at = static_cast<char*>(to);
  size_t left = room;
  while (left > 0 && piece_ < pieces_.size()) {
    const ucp_dt_iov_t& piece = pieces_[piece_];
    const size_t bytes = std::min(left, piece.length - within_);
    std::memcpy(at, static_cast<const char*>(piece.buffer) + within_, bytes);
    at += bytes;
    left -= bytes;
    within_ += bytes;
    if (within_ < piece.length) break;
    ++piece_;
    within_ = 0;
  }
  offset_ += room - left;
  return room - left;
}

}  // namespace tensorhub::agent
