// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "common/random.h"

#include <sys/random.h>

#include <random>

#include "common/check.h"

namespace tensorhub {

uint64_t RandomSeed() {
  std::random_device device;
  return uint64_t{device()} << 32 | device();
}

// The kernel gives so few bytes whole, once it has any (getrandom(2)).
std::array<uint8_t, 32> RandomSecret() {
  std::array<uint8_t, 32> secret;
  TH_CHECK(getrandom(secret.data(), secret.size(), 0) == static_cast<ssize_t>(secret.size()));
  return secret;
}

}  // namespace tensorhub
