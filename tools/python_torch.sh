#!/bin/bash
# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Puts a torch that runs on the CPU into an environment (build/python), for the tests of modules: PyPI's
# own, without the gigabytes of NVIDIA's libraries that it links. Those are replaced by empty
# ones (tools/torch_stubs.py), so it is for tests only. A minute, and 1.4 GB.
#
#   tools/python_torch.sh [VERSION [ENVIRONMENT]]     (default: 2.15.0 build/python)

set -euo pipefail
# shellcheck source=tools/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

if [[ ${1:-} == -h || ${1:-} == --help ]]; then
  sed -n '5,9s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
  exit 0
fi
version=${1:-2.15.0}
env=${2:-$(tensorhub_python_env)}
pip=("$env/bin/pip" install --quiet --disable-pip-version-check)
"${pip[@]}" --no-deps "torch==$version" nvidia-cuda-runtime nvidia-cuda-cupti
site=$("$env/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
"$env/bin/python" -B "$TENSORHUB_ROOT/tools/torch_stubs.py" "$site/torch/lib"
# What is replaced is not to be asked for by what is installed later.
sed -i -E '/^Requires-Dist: (nvidia|cuda|triton)/d' "$site"/torch-*.dist-info/METADATA
"${pip[@]}" "torch==$version"
"$env/bin/python" -c 'import torch; print("torch", torch.__version__, torch.ones(2).sum().item())'
