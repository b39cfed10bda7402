// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// What `tensorhubctl doctor` says: one line per thing it looked at, with what to do about it where
// something is wrong. Judges are pure functions of facts, so that each verdict can be tested on a
// machine where it does not apply.

#ifndef TENSORHUB_TOOLS_CTL_DOCTOR_FINDING_H_
#define TENSORHUB_TOOLS_CTL_DOCTOR_FINDING_H_

#include <string>
#include <string_view>

namespace tensorhub::ctl {

enum class Verdict {
  kOk,
  kWarning,  // works, but not as well as it could, or not for everything
  kFailed,   // does not work
  kSkipped,  // does not apply here
};

inline std::string_view ToString(Verdict verdict) {
  switch (verdict) {
    case Verdict::kOk:
      return "ok";
    case Verdict::kWarning:
      return "warning";
    case Verdict::kFailed:
      return "FAILED";
    case Verdict::kSkipped:
      return "skipped";
  }
  return "";
}

struct Finding {
  std::string check;
  Verdict verdict = Verdict::kOk;
  std::string detail;
  std::string remedy = {};  // of warnings and failures
};

}  // namespace tensorhub::ctl

#endif  // TENSORHUB_TOOLS_CTL_DOCTOR_FINDING_H_
