// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// UCX compares its settings' values by strcasecmp and reads numbers by sscanf, in the locale of the
// program: in Turkish "diag" is no "DIAG", and in German 0.5 is 0. What reads settings does so in
// the C locale.

#ifndef TENSORHUB_WORKER_AGENT_UCX_C_LOCALE_H_
#define TENSORHUB_WORKER_AGENT_UCX_C_LOCALE_H_

#include <locale.h>

namespace tensorhub::agent {

// This thread has it as long as this lives.
class CLocale {
 public:
  CLocale() : before_(uselocale(Get())) {}
  ~CLocale() { uselocale(before_); }
  CLocale(const CLocale&) = delete;
  CLocale& operator=(const CLocale&) = delete;

 private:
  // The C locale needs no file, and is made once.
  static locale_t Get() {
    static const locale_t c = newlocale(LC_ALL_MASK, "C", locale_t{});
    return c;
  }

  const locale_t before_;
};

}  // namespace tensorhub::agent

#endif  // TENSORHUB_WORKER_AGENT_UCX_C_LOCALE_H_
