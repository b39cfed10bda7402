// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The level of the protocol between agents and servers. What is added to it leaves it as it is: an
// older peer ignores that, or is not told (tensorhub.v1.Feature). It rises with what an older
// server would get wrong, and is all that makes a server refuse a newer agent. A newer server
// takes agents of all levels below its own.

#ifndef TENSORHUB_COMMON_PROTOCOL_LEVEL_H_
#define TENSORHUB_COMMON_PROTOCOL_LEVEL_H_

#include <cstdint>

namespace tensorhub {

inline constexpr uint32_t kProtocolLevel = 1;

}  // namespace tensorhub

#endif  // TENSORHUB_COMMON_PROTOCOL_LEVEL_H_
