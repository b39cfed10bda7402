// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// What speaks DLPack or the buffer protocol, as plain numbers.

#ifndef TENSORHUB_PYTHON_NATIVE_MEMORY_H_
#define TENSORHUB_PYTHON_NATIVE_MEMORY_H_

#include <nanobind/nanobind.h>

namespace tensorhub::python {

void BindMemory(nanobind::module_& module);

}  // namespace tensorhub::python

#endif  // TENSORHUB_PYTHON_NATIVE_MEMORY_H_
