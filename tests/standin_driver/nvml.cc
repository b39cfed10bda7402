// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// libnvidia-ml.so.1, so far as UCX is linked with it: there is nothing to manage.

namespace {

constexpr int kDriverNotLoaded = 9;  // NVML_ERROR_DRIVER_NOT_LOADED

}  // namespace

extern "C" {

int nvmlInit_v2();
int nvmlShutdown();
const char* nvmlErrorString(int error);

int nvmlInit_v2() { return kDriverNotLoaded; }
int nvmlShutdown() { return kDriverNotLoaded; }
const char* nvmlErrorString(int /*error*/) { return "no device of NVIDIA's is there"; }

}  // extern "C"
