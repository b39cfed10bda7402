// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Who may do what, as the file of --access says. A line of it:
//
//   # who                          right    models           and
//   uri:spiffe://example/trainer/* publish  qwen3-8b/*
//   dns:*.rollout.example          read     qwen3-8b/*,public/*
//   cn:ops                         admin    *
//   token:dashboard                read     *                sha256=HEX until=2027-01-31
//   anonymous                      read     public/*
//
// `*`, `?` and `[...]` are those of fnmatch, and a `*` goes beyond a `/`. publish holds read, and
// admin holds both. What several lines give adds up. Of a token only the SHA-256 is in the file.
//
// Thread contract: immutable once it is parsed.

#ifndef TENSORHUB_SERVER_RPC_ACCESS_RULES_H_
#define TENSORHUB_SERVER_RPC_ACCESS_RULES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace tensorhub::rpc {

// Each holds those before it.
enum class Right { kRead, kPublish, kAdmin };
std::string ToString(Right right);

// What is known of a caller before the rules were asked.
struct Caller {
  std::vector<std::string> names;    // of its certificate: "uri:…", "dns:…", "cn:…"
  std::optional<std::string> token;  // as it came
  int64_t certificate_ends = 0;      // seconds since 1970; 0: it has none, or it was not looked at
};

// What one caller may do.
struct Grant {
  struct Part {
    Right right = Right::kRead;
    std::vector<std::string> models;
  };
  // "token:dashboard", or the certificate's first name, or "anonymous": who it is does not change
  // with the rules.
  std::string principal;
  std::vector<Part> parts;
  int64_t ends = 0;  // seconds since 1970: when the caller has to show something newer. 0: never

  // The right on any model: an empty name.
  bool Allows(Right right, const std::string& model) const;
};

class AccessRules {
 public:
  // INVALID_ARGUMENT names the line.
  static absl::StatusOr<AccessRules> Parse(std::string_view text);

  // UNAUTHENTICATED: it has shown nothing, or a token that is not known or has ended.
  // PERMISSION_DENIED: no line is about it.
  absl::StatusOr<Grant> Judge(const Caller& caller, int64_t now) const;

 private:
  struct Line {
    std::string who;  // "cn:ops", "token:dashboard", "anonymous"
    Grant::Part part;
    std::string sha256;  // 32 bytes; of a token
    int64_t until = 0;   // of a token; 0: for good
  };

  static absl::StatusOr<Line> ParseLine(const std::vector<std::string_view>& words);
  absl::Status AddOfToken(const std::string& token, int64_t now, Grant& grant) const;
  void AddOfNames(const Caller& caller, Grant& grant) const;

  std::vector<Line> lines_;
};

}  // namespace tensorhub::rpc

#endif  // TENSORHUB_SERVER_RPC_ACCESS_RULES_H_
