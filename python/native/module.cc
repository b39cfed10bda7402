// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// tensorhub._native: the C++ library, for the Python files beside it and nobody else.

#include <nanobind/nanobind.h>

#include "python/native/call.h"
#include "python/native/client.h"
#include "python/native/layouts.h"
#include "python/native/log.h"
#include "python/native/memory.h"

NB_MODULE(_native, module) {
  // A client that is open when the interpreter ends is none of the user's leaks.
  nanobind::set_leak_warnings(false);
  module.attr("__version__") = TENSORHUB_VERSION;
  tensorhub::python::BindCall(module);
  tensorhub::python::BindClient(module);
  tensorhub::python::BindLayouts(module);
  tensorhub::python::BindLog(module);
  tensorhub::python::BindMemory(module);
}
