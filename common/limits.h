// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The bounds of rule R9 that both ends of a connection must agree on: what one end lets through,
// the other takes.

#ifndef TENSORHUB_COMMON_LIMITS_H_
#define TENSORHUB_COMMON_LIMITS_H_

#include <cstddef>

namespace tensorhub {

// The opaque bytes by which peers reach a worker's data plane.
inline constexpr size_t kEndpointBytesMax = 4096;
// What travels with a published version beside its tensors.
inline constexpr size_t kAttachmentBytesMax = size_t{64} << 20;
// Bytes of an error that a worker reports. It is for people; what is longer is cut, not refused.
inline constexpr size_t kReasonBytesMax = 1024;
// How a reader's bytes come, for people; what is longer is cut.
inline constexpr size_t kWayBytesMax = 256;
// What a worker's bytes lie in, for people; likewise.
inline constexpr size_t kMediumBytesMax = 64;
// The encoding of a shard's layout: a million tensors with names of fifty bytes.
inline constexpr size_t kLayoutBytesMax = size_t{79} << 20;
// A tensor's dimensions.
inline constexpr size_t kTensorDimensionsMax = 32;
// The sources that one reader reads its shard from at a time, where they hold another sharding.
inline constexpr size_t kReadStreamsMax = 512;
// What its plan consists of: 56 bytes of memory each.
inline constexpr size_t kReadItemsMax = size_t{4} << 20;
// The boxes whose digests a hub asks a worker for at a time.
inline constexpr size_t kAskedBoxesMax = 4096;
// One message between a worker and the hub (gRPC counts in int). The longest carries an attachment
// or a layout, whole.
inline constexpr int kHubMessageBytesMax = static_cast<int>(kLayoutBytesMax) + (1 << 20);
static_assert(kAttachmentBytesMax <= kLayoutBytesMax);
// One that carries neither.
inline constexpr size_t kPlainMessageBytesMax = 64 << 10;

}  // namespace tensorhub

#endif  // TENSORHUB_COMMON_LIMITS_H_
