// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "common/tls/openssl.h"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/pem.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace tensorhub::tls {
namespace {

BioPtr Reading(const std::string& text) {
  return BioPtr(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

int NoPassPhrase(char* /*buffer*/, int /*size*/, int /*writing*/, void* /*user*/) { return 0; }

int64_t SecondsOf(const ASN1_TIME* time) {
  std::tm broken = {};
  return ASN1_TIME_to_tm(time, &broken) == 1 ? timegm(&broken) : 0;
}

std::string TextOf(const ASN1_STRING* text) {
  const auto* bytes = reinterpret_cast<const char*>(ASN1_STRING_get0_data(text));
  return std::string(bytes, static_cast<size_t>(ASN1_STRING_length(text)));
}

std::string AddressOf(const ASN1_OCTET_STRING* bytes) {
  const int family = ASN1_STRING_length(bytes) == 4 ? AF_INET : AF_INET6;
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (family == AF_INET6 && ASN1_STRING_length(bytes) != 16) return "";
  inet_ntop(family, ASN1_STRING_get0_data(bytes), text.data(), text.size());
  return text.data();
}

std::string NameOf(const GENERAL_NAME& name) {
  switch (name.type) {
    case GEN_URI:
      return absl::StrCat("uri:", TextOf(name.d.uniformResourceIdentifier));
    case GEN_DNS:
      return absl::StrCat("dns:", TextOf(name.d.dNSName));
    case GEN_IPADD:
      return absl::StrCat("ip:", AddressOf(name.d.iPAddress));
    default:
      return "";
  }
}

std::string SubjectOf(X509* certificate) {
  const BioPtr out(BIO_new(BIO_s_mem()));
  X509_NAME_print_ex(out.get(), X509_get_subject_name(certificate), 0, XN_FLAG_RFC2253);
  char* text = nullptr;
  const long length = BIO_get_mem_data(out.get(), &text);
  return std::string(text, static_cast<size_t>(length));
}

std::string CommonNameOf(X509* certificate) {
  X509_NAME* const subject = X509_get_subject_name(certificate);
  const int at = X509_NAME_get_index_by_NID(subject, NID_commonName, -1);
  if (at < 0) return "";
  return TextOf(X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at)));
}

}  // namespace

std::vector<X509Ptr> ParseCertificates(const std::string& pem) {
  std::vector<X509Ptr> certificates;
  const BioPtr in = Reading(pem);
  while (X509* const each = PEM_read_bio_X509(in.get(), nullptr, NoPassPhrase, nullptr)) {
    certificates.emplace_back(each);
  }
  ERR_clear_error();  // that there are no more
  return certificates;
}

KeyPtr ParseKey(const std::string& pem) {
  KeyPtr key(PEM_read_bio_PrivateKey(Reading(pem).get(), nullptr, NoPassPhrase, nullptr));
  ERR_clear_error();
  return key;
}

CertificateFacts FactsOf(X509* certificate) {
  CertificateFacts facts;
  facts.subject = SubjectOf(certificate);
  facts.not_before = SecondsOf(X509_get0_notBefore(certificate));
  facts.not_after = SecondsOf(X509_get0_notAfter(certificate));
  const NamesPtr names(static_cast<GENERAL_NAMES*>(
      X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)));
  for (int i = 0; i < sk_GENERAL_NAME_num(names.get()); ++i) {
    std::string name = NameOf(*sk_GENERAL_NAME_value(names.get(), i));
    if (!name.empty()) facts.names.push_back(std::move(name));
  }
  // What a mesh calls a workload by says most.
  std::stable_partition(facts.names.begin(), facts.names.end(),
                        [](const std::string& name) { return absl::StartsWith(name, "uri:"); });
  const std::string common = CommonNameOf(certificate);
  if (!common.empty()) facts.names.push_back(absl::StrCat("cn:", common));
  return facts;
}

std::string LastReason() {
  std::string reason;
  while (const unsigned long code = ERR_get_error()) {
    const char* const text = ERR_reason_error_string(code);
    if (text != nullptr) reason = text;
  }
  return reason;
}

}  // namespace tensorhub::tls
