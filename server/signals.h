// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// What the main thread of the server waits for: an operator's signals, and what its own threads
// have to tell it.
//
// Thread contract: BlockSignals before any thread starts; WaitForNews on the main thread; the rest
// on any.

#ifndef TENSORHUB_SERVER_SIGNALS_H_
#define TENSORHUB_SERVER_SIGNALS_H_

#include <functional>

#include "absl/status/status.h"

namespace tensorhub {

// All threads inherit it, so that only WaitForNews sees the signals.
void BlockSignals();

enum class News { kStop, kFailed, kElected };

// On SIGHUP, `reload`. What was told before is heard of as well.
News WaitForNews(const std::function<void()>& reload);

// The server ends by itself, and says why, once. gRPC's threads may speak of it to the end.
void EndFor(const absl::Status& why);
// Whether it does, or has said why it cannot begin.
bool HasFailed();
// Says why; 1.
int Failed(const absl::Status& status);

// This server leads.
void TellElected();

// To end in order may take as long as the store takes for what is being kept. Ending at once is
// safe as well, like being killed: nobody has heard of what is not kept.
void EndAtOnceIfAsked();

}  // namespace tensorhub

#endif  // TENSORHUB_SERVER_SIGNALS_H_
