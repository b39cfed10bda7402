# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""In place of vLLM, of which SGLang on a CPU wants the names of some operators and calls none."""
