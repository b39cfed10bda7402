// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// What a version consists of, as the server knows it.

#ifndef TENSORHUB_PYTHON_NATIVE_LAYOUTS_H_
#define TENSORHUB_PYTHON_NATIVE_LAYOUTS_H_

#include <nanobind/nanobind.h>

namespace tensorhub::python {

void BindLayouts(nanobind::module_& module);

}  // namespace tensorhub::python

#endif  // TENSORHUB_PYTHON_NATIVE_LAYOUTS_H_
