// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "server/rpc/access_rules.h"

#include <fnmatch.h>
#include <openssl/sha.h>

#include <algorithm>
#include <array>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "common/text.h"

namespace tensorhub::rpc {
namespace {

constexpr char kAnonymous[] = "anonymous";
constexpr char kTokenPrefix[] = "token:";
constexpr std::array<std::string_view, 3> kRights{"read", "publish", "admin"};
constexpr std::array<std::string_view, 4> kNamed{"uri:", "dns:", "cn:", kTokenPrefix};

absl::Status Bad(const std::string& what) { return absl::InvalidArgumentError(what); }

bool Matches(const std::string& pattern, const std::string& name) {
  return fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
}

std::string Sha256(const std::string& text) {
  std::string hash(SHA256_DIGEST_LENGTH, '\0');
  SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(),
         reinterpret_cast<unsigned char*>(hash.data()));
  return hash;
}

absl::Status CheckWho(const std::string& who) {
  const bool named = std::any_of(kNamed.begin(), kNamed.end(), [&](std::string_view prefix) {
    return who.size() > prefix.size() && absl::StartsWith(who, std::string(prefix));
  });
  if (named || who == kAnonymous) return absl::OkStatus();
  return Bad(
      absl::StrCat(Shown(who), " is nobody: write uri:…, dns:…, cn:…, token:NAME or anonymous"));
}

absl::StatusOr<Right> ParseRight(std::string_view word) {
  const auto found = std::find(kRights.begin(), kRights.end(), word);
  if (found == kRights.end()) {
    return Bad(absl::StrCat(Shown(word), " is no right: write read, publish or admin"));
  }
  return static_cast<Right>(found - kRights.begin());
}

absl::StatusOr<std::string> ParseHash(const std::string& hex) {
  const bool whole = hex.size() == 2 * SHA256_DIGEST_LENGTH &&
                     std::all_of(hex.begin(), hex.end(), absl::ascii_isxdigit);
  if (!whole) return Bad("sha256: write 64 hexadecimal digits, of the token's SHA-256");
  return absl::HexStringToBytes(hex);
}

// A day, whose end is meant, or a time.
absl::StatusOr<int64_t> ParseUntil(const std::string& text) {
  absl::Time time;
  std::string error;
  if (absl::ParseTime("%Y-%m-%d", text, &time, &error)) {
    return absl::ToUnixSeconds(time + absl::Hours(24));
  }
  if (absl::ParseTime(absl::RFC3339_sec, text, &time, &error)) return absl::ToUnixSeconds(time);
  return Bad(absl::StrCat("until: ", Shown(text),
                          " is no day (2027-01-31) and no time (2027-01-31T12:00:00Z)"));
}

}  // namespace

std::string ToString(Right right) { return std::string(kRights[static_cast<size_t>(right)]); }

bool Grant::Allows(Right right, const std::string& model) const {
  return std::any_of(parts.begin(), parts.end(), [&](const Part& part) {
    return part.right >= right &&
           (model.empty() ||
            std::any_of(part.models.begin(), part.models.end(),
                        [&](const std::string& pattern) { return Matches(pattern, model); }));
  });
}

absl::StatusOr<AccessRules::Line> AccessRules::ParseLine(
    const std::vector<std::string_view>& words) {
  if (words.size() < 3) return Bad("write WHO RIGHT MODELS");
  Line line;
  line.who = std::string(words[0]);
  if (absl::Status status = CheckWho(line.who); !status.ok()) return status;
  const absl::StatusOr<Right> right = ParseRight(words[1]);
  if (!right.ok()) return right.status();
  line.part.right = *right;
  line.part.models = absl::StrSplit(std::string(words[2]), ',', absl::SkipEmpty());
  for (size_t i = 3; i < words.size(); ++i) {
    const std::pair<std::string, std::string> option =
        absl::StrSplit(std::string(words[i]), absl::MaxSplits('=', 1));
    absl::Status status;
    if (option.first == "sha256") {
      absl::StatusOr<std::string> hash = ParseHash(option.second);
      status = hash.status();
      if (hash.ok()) line.sha256 = *std::move(hash);
    } else if (option.first == "until") {
      const absl::StatusOr<int64_t> until = ParseUntil(option.second);
      status = until.status();
      if (until.ok()) line.until = *until;
    } else {
      status = Bad(absl::StrCat(Shown(words[i]), ": write sha256=HEX or until=DAY"));
    }
    if (!status.ok()) return status;
  }
  const bool token = absl::StartsWith(line.who, kTokenPrefix);
  if (token && line.sha256.empty()) return Bad("a token needs sha256=HEX");
  if (!token && words.size() > 3) return Bad("sha256 and until are for token:NAME");
  return line;
}

absl::StatusOr<AccessRules> AccessRules::Parse(std::string_view text) {
  AccessRules rules;
  int number = 0;
  for (const auto& each : absl::StrSplit(std::string(text), '\n')) {
    ++number;
    const std::string line(each.substr(0, each.find('#')));
    std::vector<std::string_view> words;
    for (size_t at = 0; at < line.size();) {
      const size_t begin = line.find_first_not_of(" \t\r", at);
      if (begin == std::string::npos) break;
      const size_t end = std::min(line.find_first_of(" \t\r", begin), line.size());
      words.push_back(std::string_view(line).substr(begin, end - begin));
      at = end;
    }
    if (words.empty()) continue;
    absl::StatusOr<Line> parsed = ParseLine(words);
    if (!parsed.ok()) {
      return Bad(absl::StrCat("line ", number, ": ", std::string(parsed.status().message())));
    }
    rules.lines_.push_back(*std::move(parsed));
  }
  if (rules.lines_.empty()) return Bad("it has no line, and would let nobody in");
  return rules;
}

absl::Status AccessRules::AddOfToken(const std::string& token, int64_t now, Grant& grant) const {
  const std::string hash = Sha256(token);
  std::string ended;
  for (const Line& line : lines_) {
    if (line.sha256.empty() || line.sha256 != hash) continue;
    if (line.until != 0 && now >= line.until) {
      ended = line.who;
      continue;
    }
    grant.principal = line.who;
    grant.parts.push_back(line.part);
    if (line.until != 0 && (grant.ends == 0 || line.until < grant.ends)) grant.ends = line.until;
  }
  if (!grant.principal.empty()) return absl::OkStatus();
  return absl::UnauthenticatedError(
      ended.empty() ? "the token is not known to this server; ask its operator for one"
                    : absl::StrCat(ended, " has ended; ask the server's operator for a new token"));
}

void AccessRules::AddOfNames(const Caller& caller, Grant& grant) const {
  for (const Line& line : lines_) {
    const auto fits = [&](const std::string& name) { return Matches(line.who, name); };
    if (std::any_of(caller.names.begin(), caller.names.end(), fits)) {
      grant.parts.push_back(line.part);
    }
  }
}

absl::StatusOr<Grant> AccessRules::Judge(const Caller& caller, int64_t now) const {
  Grant grant;
  if (caller.token) {
    if (absl::Status status = AddOfToken(*caller.token, now, grant); !status.ok()) return status;
  }
  AddOfNames(caller, grant);
  for (const Line& line : lines_) {
    if (line.who == kAnonymous) grant.parts.push_back(line.part);
  }
  if (grant.principal.empty()) {
    grant.principal = caller.names.empty() ? kAnonymous : caller.names.front();
  }
  if (caller.certificate_ends != 0 && (grant.ends == 0 || caller.certificate_ends < grant.ends)) {
    grant.ends = caller.certificate_ends;
  }
  if (!grant.parts.empty()) return grant;
  if (caller.names.empty()) {
    return absl::UnauthenticatedError(
        "this server wants to know who calls: show a certificate, or a token (token_file)");
  }
  return absl::PermissionDeniedError(absl::StrCat(
      grant.principal, " has no rights on this server; ask its operator for a line in --access"));
}

}  // namespace tensorhub::rpc
