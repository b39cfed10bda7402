// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// R9: what a reader that is sent to a source shows there (common/capability.h).

#ifndef TENSORHUB_SERVER_CORE_READ_RIGHTS_H_
#define TENSORHUB_SERVER_CORE_READ_RIGHTS_H_

#include "common/capability.h"
#include "server/core/hub.h"
#include "server/core/tables.h"

namespace tensorhub::hub {

// None: the source has told no key, or this hub signs nothing.
inline Capability SignRead(const HubOptions& options, const Worker& source, ReadRight right) {
  if (!options.guard_reads || !source.read_key) return {};
  right.source = source.id.incarnation;
  return Sign(source.read_key, right);
}

}  // namespace tensorhub::hub

#endif  // TENSORHUB_SERVER_CORE_READ_RIGHTS_H_
