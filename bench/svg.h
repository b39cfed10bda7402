// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The few SVG elements that the pictures are made of. Coordinates are pixels, y grows downwards.

#ifndef TENSORHUB_BENCH_SVG_H_
#define TENSORHUB_BENCH_SVG_H_

#include <cstddef>
#include <string>

#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"

namespace tensorhub::bench {

inline std::string Escaped(const std::string& text) {
  return absl::StrReplaceAll(text, {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}});
}

// The color of a reader, the same in every part of the picture.
inline std::string SeriesColor(size_t index) {
  return absl::StrFormat("hsl(%d,65%%,42%%)", index * 137 % 360);
}

// `more`: further attributes.
inline std::string Text(double x, double y, const std::string& text, const std::string& more = "") {
  return absl::StrFormat("<text x=\"%.1f\" y=\"%.1f\" %s>%s</text>\n", x, y, more, Escaped(text));
}

inline std::string Segment(double x1, double y1, double x2, double y2, const std::string& color,
                           double width) {
  return absl::StrFormat(
      "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"%s\" "
      "stroke-width=\"%.1f\"/>\n",
      x1, y1, x2, y2, color, width);
}

// `commands`: as in SVG's attribute `d`.
inline std::string Path(const std::string& commands, const std::string& color, double width,
                        const std::string& more = "") {
  return absl::StrFormat("<path d=\"%s\" fill=\"none\" stroke=\"%s\" stroke-width=\"%.1f\" %s/>\n",
                         commands, color, width, more);
}

}  // namespace tensorhub::bench

#endif  // TENSORHUB_BENCH_SVG_H_
