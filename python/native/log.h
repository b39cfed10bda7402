// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The library's log, for Python's logging: lines wait here until a Python thread takes them, since
// the threads that write them must never wait for the interpreter.
//
// Thread contract: any thread.

#ifndef TENSORHUB_PYTHON_NATIVE_LOG_H_
#define TENSORHUB_PYTHON_NATIVE_LOG_H_

#include <nanobind/nanobind.h>

namespace tensorhub::python {

void BindLog(nanobind::module_& module);

}  // namespace tensorhub::python

#endif  // TENSORHUB_PYTHON_NATIVE_LOG_H_
