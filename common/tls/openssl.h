// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// OpenSSL's objects with owners, and the few things that are asked of them.

#ifndef TENSORHUB_COMMON_TLS_OPENSSL_H_
#define TENSORHUB_COMMON_TLS_OPENSSL_H_

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <memory>
#include <string>
#include <vector>

#include "common/tls/certificates.h"

namespace tensorhub::tls {

template <auto Free>
struct Freeing {
  template <typename T>
  void operator()(T* object) const {
    Free(object);
  }
};
using X509Ptr = std::unique_ptr<X509, Freeing<X509_free>>;
using KeyPtr = std::unique_ptr<EVP_PKEY, Freeing<EVP_PKEY_free>>;
using BioPtr = std::unique_ptr<BIO, Freeing<BIO_free_all>>;
using NamesPtr = std::unique_ptr<GENERAL_NAMES, Freeing<GENERAL_NAMES_free>>;

// In the order of the text; what is no certificate is passed over.
std::vector<X509Ptr> ParseCertificates(const std::string& pem);
// Null: none, or it has a pass phrase. Never asks for one.
KeyPtr ParseKey(const std::string& pem);
CertificateFacts FactsOf(X509* certificate);
// Empties the thread's queue of errors, of which the last one's reason is returned.
std::string LastReason();

}  // namespace tensorhub::tls

#endif  // TENSORHUB_COMMON_TLS_OPENSSL_H_
