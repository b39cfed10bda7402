// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// What a program tells the supervisor that started it (systemd, or another that speaks the protocol
// of sd_notify(3)). libsystemd would bring libraries for compression and cryptography along for one
// datagram.
//
// Thread contract: any thread; nothing here blocks.

#ifndef TENSORHUB_COMMON_CLI_SUPERVISOR_H_
#define TENSORHUB_COMMON_CLI_SUPERVISOR_H_

#include <chrono>
#include <optional>
#include <string>

namespace tensorhub::cli {

// `lines` are KEY=value, such as "READY=1\nSTATUS=recovering". False where nobody asks to be told
// (NOTIFY_SOCKET), or where the supervisor does not take it now.
bool TellSupervisor(const std::string& lines);

// How long the supervisor waits for the next WATCHDOG=1 before it takes this process for stuck
// (WATCHDOG_USEC, and WATCHDOG_PID where it is set). Nothing: it does not watch.
std::optional<std::chrono::microseconds> WatchdogPatience();

}  // namespace tensorhub::cli

#endif  // TENSORHUB_COMMON_CLI_SUPERVISOR_H_
