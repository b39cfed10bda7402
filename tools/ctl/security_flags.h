// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The flags by which a tool shows the hub who it is, and knows the hub.

#ifndef TENSORHUB_TOOLS_CTL_SECURITY_FLAGS_H_
#define TENSORHUB_TOOLS_CTL_SECURITY_FLAGS_H_

#include <string>

#include "common/cli/flags.h"
#include "common/tls/client_security.h"

namespace tensorhub::ctl {

void DeclareSecurity(cli::CommandLine& line, tls::ClientSecurity& security);
// What is wrong with the files, or with where a token would go (tls::Check).
cli::ErrorText SecurityProblem(const tls::ClientSecurity& security, const std::string& server);
// For every client that this process makes: what they are not told themselves, they take from the
// environment. Before there are threads.
void UseInThisProcess(const tls::ClientSecurity& security);

}  // namespace tensorhub::ctl

#endif  // TENSORHUB_TOOLS_CTL_SECURITY_FLAGS_H_
