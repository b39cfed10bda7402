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

// A TCP port of 127.0.0.1 that was free a moment ago. Where a port 0 is possible, use that.
uint16_t FreePort();

// A new folder, deleted with everything in it at the end.
class TempDir {
 public:
  TempDir();                                    // where the system keeps such
  explicit TempDir(const std::string& parent);  // in a folder that is there
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
