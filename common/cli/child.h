// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// For programs that another one starts as its child (--child).

#ifndef TENSORHUB_COMMON_CLI_CHILD_H_
#define TENSORHUB_COMMON_CLI_CHILD_H_

#include "common/cli/values.h"

namespace tensorhub::cli {

// From now on this process gets SIGTERM once its standard input ends. It is a pipe, of which the
// parent holds the other end and writes nothing: so the child ends with its parent, whatever ends
// that, and whichever of its threads started the child (prctl's parent-death signal follows the
// thread). What is wrong with it, or nothing. Call it once.
ErrorText EndWithInput();

}  // namespace tensorhub::cli

#endif  // TENSORHUB_COMMON_CLI_CHILD_H_
