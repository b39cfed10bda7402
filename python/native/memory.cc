// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "python/native/memory.h"

#include <nanobind/ndarray.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>

namespace tensorhub::python {
namespace {

namespace nb = nanobind;
using Writable = nb::ndarray<>;
using ReadOnly = nb::ndarray<nb::ro>;

template <class Array>
nb::object Describe(Array array, bool writable) {
  nb::list shape;
  nb::list strides;
  for (size_t i = 0; i < array.ndim(); ++i) {
    shape.append(array.shape(i));
    strides.append(array.stride(i));
  }
  const nb::dlpack::dtype type = array.dtype();
  nb::dict found;
  found["address"] = reinterpret_cast<uintptr_t>(array.data());
  found["code"] = static_cast<int>(type.code);
  found["bits"] = static_cast<int>(type.bits);
  found["lanes"] = static_cast<int>(type.lanes);
  found["shape"] = shape;
  found["strides"] = strides;
  found["device_type"] = array.device_type();
  found["device_id"] = array.device_id();
  found["writable"] = writable;
  auto kept = std::make_unique<Array>(std::move(array));
  found["kept"] =
      nb::capsule(kept.release(), [](void* held) noexcept { delete static_cast<Array*>(held); });
  return found;
}

// Describes an array: address, dtype, shape, strides (in elements) and device, or None if it is
// none.
nb::object DescribeArray(nb::handle array) {
  Writable writable;
  if (nb::try_cast(array, writable)) return Describe(std::move(writable), true);
  ReadOnly read_only;
  if (nb::try_cast(array, read_only)) return Describe(std::move(read_only), false);
  return nb::none();
}

// The machine word at an offset in each object, which is to have one there.
nb::list WordsAt(const nb::list& objects, size_t offset) {
  nb::list words;
  for (const nb::handle object : objects) {
    uintptr_t word = 0;
    std::memcpy(&word, reinterpret_cast<const std::byte*>(object.ptr()) + offset, sizeof(word));
    words.append(word);
  }
  return words;
}

}  // namespace

void BindMemory(nb::module_& module) {
  module.def("describe_array", &DescribeArray, nb::arg("array"));
  module.def("words_at", &WordsAt, nb::arg("objects"), nb::arg("offset"));
  // Host memory of this process, for the buffer protocol; `owner` is kept as long as it is in use.
  module.def(
      "array_at",
      [](uintptr_t address, size_t bytes, nb::object owner) {
        return nb::ndarray<nb::memview, uint8_t, nb::ndim<1>>(reinterpret_cast<uint8_t*>(address),
                                                              {bytes}, std::move(owner));
      },
      nb::arg("address"), nb::arg("bytes"), nb::arg("owner"));
}

}  // namespace tensorhub::python
