// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "server/http/page.h"

#include <openssl/sha.h>

#include <string_view>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "page_files.h"

namespace tensorhub::http {
namespace {

// As a policy names what may be inside of a document.
std::string SourceOf(std::string_view text) {
  unsigned char digest[SHA256_DIGEST_LENGTH];
  SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest);
  const std::string bytes(reinterpret_cast<const char*>(digest), sizeof(digest));
  return absl::StrCat("'sha256-", absl::Base64Escape(bytes), "'");
}

}  // namespace

Document MakePage() {
  Document page;
  page.html = absl::StrCat(kPageHead, "<style>", kPageStyle, "</style>", kPageBody, "<script>",
                           kPageScript, "</script>\n</body>\n</html>\n");
  page.policy =
      absl::StrCat("default-src 'none'; script-src ", SourceOf(kPageScript), "; style-src ",
                   SourceOf(kPageStyle),
                   "; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; "
                   "frame-ancestors 'none'");
  return page;
}

}  // namespace tensorhub::http
