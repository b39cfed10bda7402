// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "server/rpc/caller.h"

#include <grpc/grpc_security_constants.h>

#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/tls/certificates.h"

namespace tensorhub::rpc {
namespace {

constexpr char kBearer[] = "Bearer ";

std::string Text(const grpc::string_ref& text) { return std::string(text.data(), text.size()); }

void AddNames(const grpc::AuthContext& auth, const char* property, const char* prefix,
              Caller& caller) {
  for (const grpc::string_ref& value : auth.FindPropertyValues(property)) {
    caller.names.push_back(absl::StrCat(prefix, Text(value)));
  }
}

}  // namespace

Caller CallerOf(const grpc::ServerContextBase& context) {
  Caller caller;
  const std::shared_ptr<const grpc::AuthContext> auth = context.auth_context();
  if (auth != nullptr && auth->IsPeerAuthenticated()) {
    AddNames(*auth, GRPC_PEER_URI_PROPERTY_NAME, "uri:", caller);
    AddNames(*auth, GRPC_PEER_DNS_PROPERTY_NAME, "dns:", caller);
    AddNames(*auth, GRPC_X509_CN_PROPERTY_NAME, "cn:", caller);
  }
  const auto header = context.client_metadata().find("authorization");
  if (header != context.client_metadata().end()) {
    const std::string value = Text(header->second);
    caller.token = absl::StartsWith(value, kBearer) ? value.substr(sizeof(kBearer) - 1) : value;
  }
  return caller;
}

int64_t CertificateEnds(const grpc::ServerContextBase& context) {
  const std::shared_ptr<const grpc::AuthContext> auth = context.auth_context();
  if (auth == nullptr) return 0;
  const auto values = auth->FindPropertyValues(GRPC_X509_PEM_CERT_PROPERTY_NAME);
  if (values.empty()) return 0;
  const auto facts = tls::FactsOf(Text(values.front()));
  return facts.ok() ? facts->not_after : 0;
}

}  // namespace tensorhub::rpc
