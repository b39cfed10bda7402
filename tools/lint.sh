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
#   tools/lint.sh tidy [FOLDER]   clang-tidy, all findings errors; FOLDER is a configured build
#                                 (build/asan-ubsan by default) whose generated headers exist
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

check_rules() {
  python3 -B tests/house_rules/check.py .
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

# tidy_batches BUILD: what the build compiles of the product (tests have the compilers' warnings), long
# ones first, so that none is left to the end. How it does goes to BUILD/tidy, less the precompiled
# headers: clang-tidy looks at headers that it reads.
tidy_batches() {
  python3 -B - "$1" "$PWD" <<'END'
import json, os, re, sys

build, root = sys.argv[1:]
with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as file:
    entries = json.load(file)
os.makedirs(os.path.join(build, "tidy"), exist_ok=True)
for entry in entries:
    entry["command"] = re.sub(r"-Xclang -include-pch -Xclang \S+", "", entry["command"])
with open(os.path.join(build, "tidy/compile_commands.json"), "w", encoding="utf-8") as file:
    json.dump(entries, file)
sizes = {}
for entry in entries:
    file = entry["file"]
    sources = [file]
    if "/Unity/unity_" in file:
        sources = re.findall('^#include "(.*)"', open(file, encoding="utf-8").read(), re.MULTILINE)
    ours = [os.path.relpath(source, root) for source in sources]
    if re.match("(bench|common|protocol|server|worker_agent|libros|tools)/", ours[0]):
        sizes[file] = sum(os.path.getsize(source) for source in sources)
print("\n".join(sorted(sizes, key=sizes.get, reverse=True)))
END
}

check_tidy() {
  local build="${1:-${TENSORHUB_BUILD_ROOT:-build}/asan-ubsan}"
  if [[ ! -f "$build/compile_commands.json" ]]; then
    echo "tools/lint.sh: $build is not configured; run: cmake --preset asan-ubsan" >&2
    return 2
  fi
  tidy_batches "$build" | xargs -r -P "$jobs" -I '{}' bash -c "tidy_one '$build/tidy' '{}'"
}

case "${1:-}" in
  format) check_format ;;
  fix) fix_format ;;
  shell) check_shell ;;
  rules) check_rules ;;
  tidy) check_tidy "${2:-}" ;;
  -h | --help) sed -n '5,14s/^# \{0,1\}//p' tools/lint.sh ;;
  "") check_format && check_shell && check_rules ;;
  *)
    echo "tools/lint.sh: no such check: $1; one of format, fix, shell, rules, tidy" >&2
    exit 2
    ;;
esac
