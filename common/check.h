// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// TH_CHECK(condition): an assertion that is always on. For what only a programmer of this project
// can get wrong; whatever a peer, a user, the network or the disk can cause is an absl::Status.

#ifndef TENSORHUB_COMMON_CHECK_H_
#define TENSORHUB_COMMON_CHECK_H_

#include <cstdio>
#include <cstdlib>

#define TH_CHECK(condition)                                                              \
  do {                                                                                   \
    if (!(condition)) [[unlikely]] {                                                     \
      std::fprintf(stderr, "%s:%d: check failed: %s\n", __FILE__, __LINE__, #condition); \
      std::abort();                                                                      \
    }                                                                                    \
  } while (false)

#endif  // TENSORHUB_COMMON_CHECK_H_
