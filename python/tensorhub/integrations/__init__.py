# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""Plug-ins for the engines that generate: ``tensorhub.integrations.vllm``. See docs/engines.md."""
