# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""Two vLLMs follow while they answer prompts; one is killed on the way, and another one starts."""

import crowd


def test_no_prompt_fails_and_each_token_is_of_the_version_that_is_said(expected):
    found = crowd.run(2, 12, 6, [made[0] for made in expected["plain"]])
    assert not found["errors"]
    assert found["whole answers of one version"] > 12
