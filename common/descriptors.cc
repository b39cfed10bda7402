// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "common/descriptors.h"

#include <fcntl.h>
#include <unistd.h>

namespace tensorhub {
namespace {

// The number of a new file; -1: none is to be had. Where there is no /dev, writing to it fails,
// which does no harm either.
int OpenHarmless() {
  const int fd = open("/dev/null", O_RDWR);
  return fd >= 0 ? fd : open("/", O_RDONLY | O_DIRECTORY);
}

}  // namespace

// A new file takes the lowest number that is free.
void OccupyStandardStreams() {
  int fd = OpenHarmless();
  while (fd >= 0 && fd <= STDERR_FILENO) fd = OpenHarmless();
  if (fd >= 0) close(fd);
}

}  // namespace tensorhub
