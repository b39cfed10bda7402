// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Places: the binaries under test, folders that go away, ports that nobody has.

#ifndef TENSORHUB_TESTS_INTEGRATION_HARNESS_PLACES_H_
#define TENSORHUB_TESTS_INTEGRATION_HARNESS_PLACES_H_

#include <cstdint>
#include <string>

namespace tensorhub::harness {

// The build's binary of this name.
std::string BinaryPath(const std::string& name);

// A TCP port of 127.0.0.1 that was free a moment ago, and none of those that the system gives to
// connections: one of these could have it by the time it is listened at, for the first time or
// again. Where a port 0 is possible, use that. One thread at a time.
uint16_t FreePort();

// A new folder, deleted with everything in it at the end.
class TempDir {
 public:
  TempDir();
  ~TempDir();
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;

  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

}  // namespace tensorhub::harness

#endif  // TENSORHUB_TESTS_INTEGRATION_HARNESS_PLACES_H_
