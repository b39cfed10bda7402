// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tests/integration/harness/places.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <filesystem>
#include <system_error>

#include "common/check.h"
#include "common/random.h"

namespace tensorhub::harness {

std::string BinaryPath(const std::string& name) {
  return std::string(TENSORHUB_BINARY_FOLDER) + "/" + name;
}

uint16_t FreePort() {
  static Random random(RandomSeed());
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  for (;;) {
    const auto port = static_cast<uint16_t>(20000 + random.Below(12000));
    address.sin_port = htons(port);
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    TH_CHECK(fd >= 0);
    const bool is_free = bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0;
    close(fd);
    if (is_free) return port;
  }
}

TempDir::TempDir() {
  std::string name = std::filesystem::temp_directory_path() / "tensorhub-test-XXXXXX";
  TH_CHECK(mkdtemp(name.data()) != nullptr);
  path_ = name;
}

TempDir::~TempDir() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace tensorhub::harness
