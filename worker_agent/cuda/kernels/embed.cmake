# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
#
# cmake -D INPUT=FILE -D OUTPUT=FILE -P embed.cmake: the input as the array of kernels_image.h.

file(READ ${INPUT} bytes HEX)
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
string(REGEX REPLACE "(................................................................................)" "\\1\n" bytes "${bytes}")
file(WRITE ${OUTPUT} "#include \"worker_agent/cuda/kernels/kernels_image.h\"

namespace tensorhub::agent::kernels {
namespace {

alignas(16) constexpr unsigned char kImage[] = {
${bytes}};

}  // namespace

std::span<const char> KernelImage() {
  return {reinterpret_cast<const char*>(kImage), sizeof(kImage)};
}

}  // namespace tensorhub::agent::kernels
")
