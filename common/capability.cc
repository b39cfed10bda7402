// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "common/capability.h"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/params.h>

#include <algorithm>

#include "common/bytes.h"
#include "common/check.h"

namespace tensorhub {
namespace {

// Told apart from whatever else may be signed by such a key one day. With it the fields fit into
// one block of SHA-256.
constexpr std::string_view kWhat = "THread1";
constexpr size_t kFieldsBytes = 48;

std::string FieldsOf(const ReadRight& right) {
  std::string fields;
  fields.reserve(kFieldsBytes);
  ByteWriter writer(fields);
  writer.PutBytes(kWhat);
  writer.Put(static_cast<uint8_t>(right.use));
  for (const uint64_t value :
       {right.reader, right.source, right.publication.hi, right.publication.lo, right.generation}) {
    writer.Put(value);
  }
  TH_CHECK(fields.size() == kFieldsBytes);
  return fields;
}

// Precondition: there are as many bytes.
Capability Read(std::string_view bytes) {
  ByteReader reader(bytes);
  const auto hi = reader.Take<uint64_t>();
  return {hi, reader.Take<uint64_t>()};
}

// OpenSSL's, which costs more to make than to use.
class Signer {
 public:
  Signer()
      : mac_(EVP_MAC_fetch(nullptr, OSSL_MAC_NAME_HMAC, nullptr)),
        context_(mac_ == nullptr ? nullptr : EVP_MAC_CTX_new(mac_)) {
    TH_CHECK(context_ != nullptr);
    char digest[] = "SHA256";
    const OSSL_PARAM params[] = {OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest, 0),
                                 OSSL_PARAM_construct_end()};
    TH_CHECK(EVP_MAC_CTX_set_params(context_, params) == 1);
  }
  ~Signer() {
    EVP_MAC_CTX_free(context_);
    EVP_MAC_free(mac_);
  }
  Signer(const Signer&) = delete;
  Signer& operator=(const Signer&) = delete;

  Capability Sign(const CapabilityKey& key, const std::string& fields) {
    std::array<unsigned char, 32> code;
    size_t bytes = 0;
    const auto* text = reinterpret_cast<const unsigned char*>(fields.data());
    TH_CHECK(EVP_MAC_init(context_, key.bytes.data(), key.bytes.size(), nullptr) == 1);
    TH_CHECK(EVP_MAC_update(context_, text, fields.size()) == 1);
    TH_CHECK(EVP_MAC_final(context_, code.data(), &bytes, code.size()) == 1);
    TH_CHECK(bytes == code.size());
    return Read({reinterpret_cast<const char*>(code.data()), kCapabilityBytes});
  }

 private:
  EVP_MAC* mac_;
  EVP_MAC_CTX* context_;
};

}  // namespace

CapabilityKey CapabilityKey::Guessable(uint64_t number) {
  CapabilityKey key;
  key.bytes[0] = 1;
  std::string digits;
  ByteWriter(digits).Put(number);
  std::copy(digits.begin(), digits.end(), key.bytes.begin() + 1);
  return key;
}

bool IsReadUse(uint8_t value) {
  return value >= static_cast<uint8_t>(ReadUse::kChunks) &&
         value <= static_cast<uint8_t>(ReadUse::kDigests);
}

Capability Sign(const CapabilityKey& key, const ReadRight& right) {
  TH_CHECK(key);
  thread_local Signer signer;
  return signer.Sign(key, FieldsOf(right));
}

bool Allows(const Capability& shown, const CapabilityKey& key, const ReadRight& right) {
  const Capability sound = Sign(key, right);
  return CRYPTO_memcmp(&shown, &sound, sizeof sound) == 0;
}

std::string ToBytes(const CapabilityKey& key) {
  return key ? std::string(key.bytes.begin(), key.bytes.end()) : std::string();
}

std::string ToBytes(const Capability& capability) {
  if (!capability) return {};
  std::string bytes;
  ByteWriter writer(bytes);
  writer.Put(capability.hi);
  writer.Put(capability.lo);
  return bytes;
}

std::optional<CapabilityKey> CapabilityKeyFromBytes(std::string_view bytes) {
  CapabilityKey key;
  if (bytes.empty()) return key;
  if (bytes.size() != key.bytes.size()) return std::nullopt;
  std::copy(bytes.begin(), bytes.end(), key.bytes.begin());
  return key;
}

std::optional<Capability> CapabilityFromBytes(std::string_view bytes) {
  if (bytes.empty()) return Capability{};
  if (bytes.size() != kCapabilityBytes) return std::nullopt;
  return Read(bytes);
}

}  // namespace tensorhub
