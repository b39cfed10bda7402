# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""Which recorded copies are slices of published tensors, and which are not."""

import itertools

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed in this environment")

from tensorhub.integrations._boxes import boxes_of  # noqa: E402
from tensorhub.integrations._plan import record  # noqa: E402


def plan_of(shape, take, target):
    """Of a loader that copies ``take(tensor)`` into the target."""

    def load(weights):
        for _, tensor in weights:
            target.copy_(take(tensor))

    return record([("w", torch.float32, shape)], {"t": target}, load)


VIEWS = {
    "whole": lambda w: w,
    "rows": lambda w: w[1:3],
    "columns": lambda w: w[..., 2:5],
    "both": lambda w: w.narrow(0, 2, 1)[..., 1:3],
    "one of a stack": lambda w: w[2],
    "rows of one of a stack": lambda w: w[2, 1:3],
    "flat": lambda w: w.reshape(-1),
    "flat behind": lambda w: w[1:].flatten(0, 1),
    "with more axes": lambda w: w[1:2].unsqueeze(1),
}


@pytest.mark.parametrize("take", VIEWS.values(), ids=VIEWS)
@pytest.mark.parametrize("shape", [(4, 6, 5), (4, 3, 1, 6)])
def test_a_box_is_what_the_view_takes(shape, take):
    whole = torch.arange(float(torch.Size(shape).numel())).reshape(shape)
    wanted = take(whole)
    boxes, refused = boxes_of(plan_of(shape, take, torch.zeros(wanted.shape)), {"w": shape})
    assert not refused
    (box,) = boxes
    assert torch.equal(whole[box.slices()].flatten(), wanted.flatten())
    assert box.covers(shape) == (wanted.numel() == whole.numel())


@pytest.mark.parametrize(
    ("take", "said"),
    [
        (lambda w: w.t(), "transposed, or no box"),
        (lambda w: w[::2], "transposed, or no box"),
        (lambda w: w[:, 1:].as_strided((2, 7), (6, 1), 0), "transposed, or no box"),
        (lambda w: w.to(torch.float64), "its values are changed by"),
        (lambda w: w[1:] + 1, "its values are changed by aten.add.Tensor"),
    ],
    ids=["transposed", "every second", "over the edge", "cast", "added"],
)
def test_what_is_no_box_is_refused(take, said):
    shape = (4, 6)
    target = torch.zeros(take(torch.zeros(shape)).shape)
    boxes, refused = boxes_of(plan_of(shape, take, target), {"w": shape})
    assert not boxes
    assert said in refused["w"]


def test_targets_of_another_dtype_or_apart_are_refused():
    for target, said in (
        (torch.zeros(4, 6, dtype=torch.bfloat16), "its dtype is another one"),
        (torch.zeros(6, 4).t(), "it does not lie densely"),
    ):
        boxes, refused = boxes_of(plan_of((4, 6), lambda w: w, target), {"w": (4, 6)})
        assert (boxes, said in refused["w"]) == ([], True)


def test_several_boxes_of_a_name_may_not_overlap():
    target = torch.zeros(4, 6)

    def load_of(*rows):
        def load(weights):
            for at, begin in enumerate(rows):
                target[2 * at : 2 * at + 2].copy_(weights[0][1][begin : begin + 2])

        return record([("w", torch.float32, (8, 6))], {"t": target}, load)

    boxes, refused = boxes_of(load_of(2, 6), {"w": (8, 6)})
    assert [box.offset for box in boxes] == [(2, 0), (6, 0)]
    assert not refused
    boxes, refused = boxes_of(load_of(2, 3), {"w": (8, 6)})
    assert (boxes, refused) == ([], {"w": "the engine keeps elements of it in two places"})


def test_a_name_of_which_nothing_is_taken_is_in_neither():
    target = torch.zeros(0, 6)
    assert boxes_of(plan_of((4, 6), lambda w: w[4:], target), {"w": (4, 6)}) == ([], {})


def test_all_ranges_of_three_axes():
    shape = (2, 3, 4)
    ranges = [[(b, e) for b in range(n) for e in range(b + 1, n + 1)] for n in shape]
    for wanted in itertools.product(*ranges):
        cut = tuple(slice(*pair) for pair in wanted)
        target = torch.zeros(torch.zeros(shape)[cut].shape)
        (box,), refused = boxes_of(plan_of(shape, lambda w, cut=cut: w[cut], target), {"w": shape})
        assert (box.slices(), refused) == (cut, {})
