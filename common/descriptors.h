// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Descriptors 0, 1 and 2 of this process.

#ifndef TENSORHUB_COMMON_DESCRIPTORS_H_
#define TENSORHUB_COMMON_DESCRIPTORS_H_

namespace tensorhub {

// Some supervisors start programs with them closed. Then the next file or socket that is opened
// gets such a number, and what is printed or logged lands in it: in a database, say. So those that
// are free become /dev/null, and stay it. Idempotent; does nothing in most processes.
void OccupyStandardStreams();

}  // namespace tensorhub

#endif  // TENSORHUB_COMMON_DESCRIPTORS_H_
