// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The page at /: one document, without anything from elsewhere. Its files are in server/http/page,
// and put together when the server is built.

#ifndef TENSORHUB_SERVER_HTTP_PAGE_H_
#define TENSORHUB_SERVER_HTTP_PAGE_H_

#include <string>

namespace tensorhub::http {

inline constexpr char kPageType[] = "text/html; charset=utf-8";

struct Document {
  std::string html;
  std::string policy;  // Content-Security-Policy: its own script and style, and this server
};
Document MakePage();

}  // namespace tensorhub::http

#endif  // TENSORHUB_SERVER_HTTP_PAGE_H_
