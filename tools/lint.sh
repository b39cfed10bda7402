#!/bin/bash
# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
#
# What can be said of the sources without running them.
#
#   tools/lint.sh format          clang-format 14 on what git tracks (changes nothing)
#   tools/lint.sh fix             the same, and changes it
#   tools/lint.sh shell           shellcheck on all scripts
#   tools/lint.sh rules           the house rules (tests/house_rules)
#   tools/lint.sh tidy [FILE…]    clang-tidy of these files, or of all, every finding an error; it needs
#                                 build/asan-ubsan, of which at least the generated headers are built
#
# Without an argument: format, shell and rules. The packages come with tools/test.sh.

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
jobs="${TENSORHUB_JOBS:-$(nproc)}"

# Tracked files that are still there.
tracked() {
  git -c safe.directory='*' ls-files --deduplicate -- "$@" | while read -r file; do
    if [[ -f "$file" ]]; then echo "$file"; fi
  done
}

check_format() {
  if ! command -v clang-format-14 >/dev/null; then
    echo "skipped: format: clang-format 14 is not here, and others format otherwise"
    return
  fi
  tracked '*.cc' '*.h' | xargs -r -P "$jobs" -n 40 clang-format-14 --dry-run -Werror
}

fix_format() {
  tracked '*.cc' '*.h' | xargs -r -P "$jobs" -n 40 clang-format-14 -i
}

check_shell() {
  {
    tracked '*.sh'
    # Scripts without a suffix.
    tracked '.ci/*' 'tools/*' | while read -r file; do
      if [[ "$file" != *.* || "$file" == .ci/* ]] &&
        head -c 64 "$file" | grep -aqE '^#!.*sh\b'; then
        echo "$file"
      fi
    done
  } | sort -u | xargs -r shellcheck --external-sources --severity=warning
}

# And a proof that they catch what they are for; that planted bugs fit their sources; and that each
# sentence of a rule is covered.
check_rules() {
  local covers
  python3 -B tests/house_rules/check.py .
  python3 -B tests/house_rules/self_test.py
  python3 -B tests/sim/planted/self_test.py
  covers="$(python3 -B tests/house_rules/coverage_rules.py .)" || { printf '%s\n' "$covers"; return 1; }
  tail -1 <<< "$covers"
}

# One clang-tidy per batch keeps both cores busy to the end; what it prints comes out in one piece. The
# sources of a batch are included by it, so they are named as headers are.
tidy_one() {
  local output
  if ! output="$(clang-tidy-14 --quiet -p "$1" --config-file=.clang-tidy \
    --header-filter='/(bench|common|protocol|server|worker_agent|libros|tools)/.*\.(h|cc)$' "$2" 2>/dev/null)"; then
    printf '%s\n' "$output"
    return 1
  fi
}
export -f tidy_one

check_tidy() {
  local build="${TENSORHUB_BUILD_ROOT:-build}/asan-ubsan"
  if [[ ! -f "$build/compile_commands.json" ]]; then
    echo "tools/lint.sh: $build is not configured; run: cmake --preset asan-ubsan" >&2
    return 2
  fi
  python3 -B tools/testing/tidy.py "$build" "$@" | xargs -r -P "$jobs" -I '{}' bash -c "tidy_one '$build/tidy' '{}'"
}

case "${1:-}" in
  format) check_format ;;
  fix) fix_format ;;
  shell) check_shell ;;
  rules) check_rules ;;
  tidy) check_tidy "${@:2}" ;;
  -h | --help) sed -n '5,14s/^# \{0,1\}//p' tools/lint.sh ;;
  "") check_format && check_shell && check_rules ;;
  *)
    echo "tools/lint.sh: no such check: $1; one of format, fix, shell, rules, tidy" >&2
    exit 2
    ;;
esac
