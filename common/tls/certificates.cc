// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "common/tls/certificates.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "common/tls/openssl.h"

namespace tensorhub::tls {
namespace {

constexpr size_t kFileBytesMax = size_t{1} << 20;
constexpr int64_t kDay = 24 * 3600;

absl::Status Wrong(const std::string& thing, const std::string& path, const std::string& what) {
  return absl::InvalidArgumentError(absl::StrCat(thing, " ", path, ": ", what));
}

// One's own certificate, and whether it may be used now, here, with this key.
absl::Status CheckValidity(const Files& files, const CertificateFacts& facts, int64_t now) {
  if (now > facts.not_after) {
    return Wrong("TLS certificate", files.cert,
                 absl::StrCat("the certificate of ", facts.Name(), " ended at ",
                              ShownTime(facts.not_after), "; renew it"));
  }
  if (now >= facts.not_before) return absl::OkStatus();
  return Wrong("TLS certificate", files.cert,
               absl::StrCat("the certificate of ", facts.Name(), " counts from ",
                            ShownTime(facts.not_before), " only; check this host's clock"));
}

absl::Status CheckPurpose(const Files& files, X509* leaf, Side side) {
  const bool server = side == Side::kServer;
  const int purpose = server ? X509_PURPOSE_SSL_SERVER : X509_PURPOSE_SSL_CLIENT;
  if (X509_check_purpose(leaf, purpose, 0) == 1) return absl::OkStatus();
  return Wrong("TLS certificate", files.cert,
               server ? "is not made for servers; its extendedKeyUsage lacks serverAuth"
                      : "is not made for clients; its extendedKeyUsage lacks clientAuth");
}

absl::Status CheckOrder(const Files& files, const std::vector<X509Ptr>& chain) {
  for (size_t i = 0; i + 1 < chain.size(); ++i) {
    if (X509_check_issued(chain[i + 1].get(), chain[i].get()) == X509_V_OK) continue;
    return Wrong("TLS certificate", files.cert,
                 absl::StrCat("certificate ", i + 2, " did not issue certificate ", i + 1,
                              "; write one's own first, and each one's issuer behind it"));
  }
  return absl::OkStatus();
}

absl::Status CheckKey(const Files& files, const std::string& pem, X509* leaf) {
  const KeyPtr key = ParseKey(pem);
  if (key == nullptr) {
    return Wrong("TLS key", files.key, "is no private key in PEM, or has a pass phrase");
  }
  if (X509_check_private_key(leaf, key.get()) == 1) return absl::OkStatus();
  return Wrong("TLS key", files.key,
               absl::StrCat("is not the key of the certificate in ", files.cert));
}

absl::Status LoadOwn(const Files& files, Side side, int64_t now, Set& set) {
  absl::StatusOr<std::string> cert = ReadSmallFile(files.cert);
  if (!cert.ok()) return Wrong("TLS certificate", files.cert, std::string(cert.status().message()));
  absl::StatusOr<std::string> key = ReadSmallFile(files.key);
  if (!key.ok()) return Wrong("TLS key", files.key, std::string(key.status().message()));
  const std::vector<X509Ptr> chain = ParseCertificates(*cert);
  if (chain.empty()) return Wrong("TLS certificate", files.cert, "has no certificate in PEM");
  X509* const leaf = chain.front().get();
  set.own = FactsOf(leaf);
  absl::Status status = CheckValidity(files, *set.own, now);
  if (status.ok()) status = CheckPurpose(files, leaf, side);
  if (status.ok()) status = CheckOrder(files, chain);
  if (status.ok()) status = CheckKey(files, *key, leaf);
  set.cert = *std::move(cert);
  set.key = *std::move(key);
  return status;
}

absl::Status LoadCa(const Files& files, int64_t now, Set& set) {
  absl::StatusOr<std::string> ca = ReadSmallFile(files.ca);
  if (!ca.ok()) return Wrong("TLS authorities", files.ca, std::string(ca.status().message()));
  const std::vector<X509Ptr> authorities = ParseCertificates(*ca);
  if (authorities.empty()) return Wrong("TLS authorities", files.ca, "has no certificate in PEM");
  const bool all_ended =
      std::all_of(authorities.begin(), authorities.end(),
                  [now](const X509Ptr& each) { return now > FactsOf(each.get()).not_after; });
  if (all_ended) return Wrong("TLS authorities", files.ca, "every certificate in it has ended");
  set.ca = *std::move(ca);
  return absl::OkStatus();
}

std::string StampOfOne(const std::string& path) {
  struct stat info = {};
  if (path.empty() || ::stat(path.c_str(), &info) != 0) return path;
  return absl::StrCat(path, "|", info.st_dev, "|", info.st_ino, "|", info.st_size, "|",
                      info.st_mtim.tv_sec, "|", info.st_mtim.tv_nsec);
}

}  // namespace

absl::StatusOr<Set> Load(const Files& files, Side side, int64_t now) {
  if (files.cert.empty() != files.key.empty()) {
    return absl::InvalidArgumentError(
        "a TLS certificate and its key go together: give both, or neither");
  }
  Set set;
  absl::Status status;
  if (!files.cert.empty()) status = LoadOwn(files, side, now, set);
  if (status.ok() && !files.ca.empty()) status = LoadCa(files, now, set);
  if (!status.ok()) return status;
  return set;
}

absl::StatusOr<CertificateFacts> FactsOf(const std::string& pem) {
  const std::vector<X509Ptr> certificates = ParseCertificates(pem);
  if (certificates.empty()) return absl::InvalidArgumentError("no certificate in PEM");
  return FactsOf(certificates.front().get());
}

std::string StampOf(const std::vector<std::string>& files) {
  std::string stamp;
  for (const std::string& file : files) absl::StrAppend(&stamp, StampOfOne(file), "\n");
  return stamp;
}

absl::StatusOr<std::string> ReadSmallFile(const std::string& path) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  std::string text(kFileBytesMax + 1, '\0');
  if (file) file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (!file.is_open() || file.bad() || (file.fail() && !file.eof())) {
    return absl::InvalidArgumentError(
        absl::StrCat("cannot be read (", errno != 0 ? std::strerror(errno) : "error", ")"));
  }
  text.resize(static_cast<size_t>(file.gcount()));
  if (text.size() <= kFileBytesMax) return text;
  return absl::InvalidArgumentError("is larger than 1 MiB");
}

int64_t SecondsNow() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::seconds>(now).count();
}

std::string ShownTime(int64_t seconds) {
  return absl::FormatTime("%Y-%m-%d %H:%M:%S UTC", absl::FromUnixSeconds(seconds),
                          absl::UTCTimeZone());
}

int64_t WarnFrom(const CertificateFacts& facts) {
  const int64_t life = facts.not_after - facts.not_before;
  return facts.not_after - std::min(7 * kDay, life / 4);
}

}  // namespace tensorhub::tls
