// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef TENSORHUB_COMMON_FINGERPRINT_H_
#define TENSORHUB_COMMON_FINGERPRINT_H_

#include <string_view>

#include "common/ids.h"

namespace tensorhub {

// XXH3-128 of the bytes.
Fingerprint FingerprintOf(std::string_view bytes);

}  // namespace tensorhub

#endif  // TENSORHUB_COMMON_FINGERPRINT_H_
