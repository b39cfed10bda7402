// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The files behind --tls-cert, --tls-key and --tls-ca: read, and looked through before anybody uses
// them. gRPC says of a bad set only that connections fail, and says it to everybody; so a set is
// validated here, whole, and what is wrong is named with the file.
//
// Thread contract: none; any thread.

#ifndef TENSORHUB_COMMON_TLS_CERTIFICATES_H_
#define TENSORHUB_COMMON_TLS_CERTIFICATES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace tensorhub::tls {

// PEM; empty: not given.
struct Files {
  std::string ca;    // whose certificates the other side may have
  std::string cert;  // one's own, its issuers' behind it
  std::string key;   // of the first certificate in `cert`
  bool any() const { return !ca.empty() || !cert.empty() || !key.empty(); }
  std::vector<std::string> Paths() const { return {ca, cert, key}; }
  bool operator==(const Files&) const = default;
};

enum class Side { kServer, kClient };

struct CertificateFacts {
  std::string subject;             // "CN=hub,O=example"
  std::vector<std::string> names;  // "uri:spiffe://a/b", "dns:hub", "ip:10.0.0.1", "cn:hub"
  int64_t not_before = 0;          // seconds since 1970
  int64_t not_after = 0;
  // For messages: the first name, which says most.
  const std::string& Name() const { return names.empty() ? subject : names.front(); }
};

// A set that fits together.
struct Set {
  std::string ca;
  std::string cert;
  std::string key;
  std::optional<CertificateFacts> own;  // of the first certificate in `cert`
};

// INVALID_ARGUMENT, in one line that names the file: it cannot be read, is no PEM, has ended or not
// begun by `now` (seconds since 1970), the key is another certificate's or has a pass phrase, the
// certificate is not made for this side, or its issuers are not in order.
absl::StatusOr<Set> Load(const Files& files, Side side, int64_t now);

// The first certificate of the text. INVALID_ARGUMENT if there is none.
absl::StatusOr<CertificateFacts> FactsOf(const std::string& pem);

// Changes when one of the files does, by its name, its place, its time or its size.
std::string StampOf(const std::vector<std::string>& files);

// At most 1 MiB. INVALID_ARGUMENT names the file.
absl::StatusOr<std::string> ReadSmallFile(const std::string& path);

int64_t SecondsNow();
// "2027-01-31 12:00:00 UTC".
std::string ShownTime(int64_t seconds);
// When it is time to say that a certificate ends: 7 days ahead, or a quarter of a short life.
int64_t WarnFrom(const CertificateFacts& facts);

}  // namespace tensorhub::tls

#endif  // TENSORHUB_COMMON_TLS_CERTIFICATES_H_
