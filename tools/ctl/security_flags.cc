// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tools/ctl/security_flags.h"

#include <cstdlib>

namespace tensorhub::ctl {

void DeclareSecurity(cli::CommandLine& line, tls::ClientSecurity& security) {
  const cli::FlagHints file{.placeholder = "FILE"};
  line.Flag("tls-ca", &security.tls.ca,
            "whose certificate the server has to have, in PEM; any of these makes the connection "
            "TLS",
            file);
  line.Flag("tls-cert", &security.tls.cert, "this client's certificate, if the server asks", file);
  line.Flag("tls-key", &security.tls.key, "the certificate's key", file);
  line.Flag("token-file", &security.token_file,
            "a file with a token, by which the server knows this client", file);
}

cli::ErrorText SecurityProblem(const tls::ClientSecurity& security, const std::string& server) {
  const absl::Status status = tls::Check(security, server);
  if (status.ok()) return std::nullopt;
  return std::string(status.message());
}

void UseInThisProcess(const tls::ClientSecurity& security) {
  const auto set = [](const char* name, const std::string& value) {
    if (!value.empty()) setenv(name, value.c_str(), 1);
  };
  set("TENSORHUB_TLS_CA", security.tls.ca);
  set("TENSORHUB_TLS_CERT", security.tls.cert);
  set("TENSORHUB_TLS_KEY", security.tls.key);
  set("TENSORHUB_TOKEN_FILE", security.token_file);
}

}  // namespace tensorhub::ctl
