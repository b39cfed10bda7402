# Copyright 2026 The TensorHub Authors.
# SPDX-License-Identifier: Apache-2.0
"""Where tensors belong: Megatron's degrees, meshes, fused weights, pieces of one name."""

from types import SimpleNamespace

import numpy as np
import pytest
import tensorhub
from tensorhub.placing import box_of, described, given, megatron, piece_of, whole


class Parameter(np.ndarray):
    """With the attributes that Megatron gives its parameters."""


def parameter(array, **attributes):
    made = array.view(Parameter)
    vars(made).update(attributes)
    return made


def cut(array, dimension, stride=1):
    attributes = {"tensor_model_parallel": True, "partition_dim": dimension}
    return parameter(array, **attributes, partition_stride=stride)


def boxes(pairs):
    return [(name, piece.offset, piece.array.shape, piece.global_shape) for name, piece in pairs]


def test_megatron_cuts_along_the_partition_dimension():
    place = megatron(tp=(1, 4))
    rows, columns = cut(np.zeros((8, 6)), 0), cut(np.zeros((8, 6)), 1)
    assert boxes(place("a.weight", rows)) == [("a.weight", (8, 0), (8, 6), (32, 6))]
    assert boxes(place("b.weight", columns)) == [("b.weight", (0, 6), (8, 6), (8, 24))]
    assert boxes(place("norm", np.zeros(6))) == [("norm", (0,), (6,), (6,))]


def test_megatron_cuts_by_patterns_of_names():
    place = megatron(
        tp=(1, 2), dimensions={"*.o_proj.weight": 1, "*.router.*": None, "*.weight": 0}
    )
    assert boxes(place("l.o_proj.weight", np.zeros((4, 3))))[0][1:] == ((0, 3), (4, 3), (4, 6))
    assert boxes(place("l.router.weight", np.zeros((4, 3))))[0][1:] == ((0, 0), (4, 3), (4, 3))
    assert boxes(place("l.q_proj.weight", np.zeros((4, 3))))[0][1:] == ((4, 0), (4, 3), (8, 3))


def test_a_gated_weight_is_two_pieces_of_one_name():
    fused = cut(np.arange(8.0).reshape(4, 2), 0, stride=2)  # gate over up
    (_, gate), (_, up) = megatron(tp=(1, 2))("fc1.weight", fused)
    assert (gate.offset, up.offset) == ((2, 0), (6, 0))
    assert gate.global_shape == up.global_shape == (8, 2)
    assert up.array.base is not None
    assert np.array_equal(up.array, fused[2:])
    with pytest.raises(ValueError, match="3 equal parts"):
        piece_of(fused, 0, 0, 2, parts=3)


def test_stages_and_experts_count_on():
    place = megatron(pp=(2, 4), layers=12, ep=(1, 2), experts=8)
    local = [
        "decoder.layers.1.mlp.experts.local_experts.3.w", "decoder.layers.0.norm.weight",
        "model.layers.2.mlp.experts.0.w", "embedding.weight",
    ]  # fmt: skip
    names = [place(name, np.zeros(2))[0][0] for name in local]
    assert names == [
        "decoder.layers.7.mlp.experts.local_experts.7.w", "decoder.layers.6.norm.weight",
        "model.layers.8.mlp.experts.4.w", "embedding.weight",
    ]  # fmt: skip
    assert megatron(pp=(1, 2), first_layer=5)("layers.0.w", np.zeros(1))[0][0] == "layers.5.w"
    expert = cut(np.zeros((2, 2)), 0)
    place = megatron(tp=(3, 4), expert_tp=(0, 1))
    assert boxes(place("layers.0.experts.0.w", expert))[0][3] == (2, 2)
    assert boxes(place("layers.0.shared.w", expert))[0][3] == (8, 2)


@pytest.mark.parametrize(
    "degrees",
    [{"tp": (2, 2)}, {"pp": (0, 2)}, {"pp": (0, 2), "layers": 5}, {"ep": (0, 2)}],
)
def test_degrees_that_do_not_fit_are_refused(degrees):
    with pytest.raises(ValueError, match="size"):
        megatron(**degrees)


GROUPED = "decoder.layers.0.mlp.experts.linear_fc{}.weight{}"


def test_grouped_experts_of_all_ranks_arrive(connect):
    """Each rank has two of four, and counts them from 0."""
    wholes = {GROUPED.format(fc, expert): np.full((4, 3), 10 * fc + expert, np.float32)
              for fc in (1, 2) for expert in range(4)}  # fmt: skip
    for rank in range(2):
        place = megatron(ep=(rank, 2), experts=4)
        local = {GROUPED.format(fc, here): wholes[GROUPED.format(fc, 2 * rank + here)]
                 for fc in (1, 2) for here in range(2)}  # fmt: skip
        pairs = [pair for name, array in local.items() for pair in place(name, array)]
        client = connect("trainer", rank=rank, world_size=2)
        client.register(given(pairs))
        client.publish(1)
    found = {name: np.zeros((4, 3), np.float32) for name in wholes}
    reader = connect("reader")
    reader.register(found)
    reader.fetch(tensorhub.latest())
    assert all(np.array_equal(found[name], wholes[name]) for name in wholes)


def test_grouped_experts_are_cut_as_experts_are():
    place = megatron(tp=(3, 4), expert_tp=(1, 2), ep=(1, 2), experts=4)
    ((name, piece),) = place(GROUPED.format(1, 1), cut(np.zeros((2, 2)), 0))
    assert (name, piece.offset, piece.global_shape) == (GROUPED.format(1, 3), (2, 0), (4, 2))


@pytest.mark.parametrize(
    ("degrees", "name"),
    [
        ({"pp": (1, 2), "layers": 4}, "mtp.layers.0.transformer_layer.norm.weight"),
        ({"pp": (1, 2), "layers": 4}, "decoder.final_layernorm.weight"),
        ({"ep": (1, 2), "experts": 4}, "layers.0.mlp.shared_experts.linear_fc1.weight"),
        ({"ep": (1, 2), "experts": 4}, "layers.0.mlp.shared_expert_gate.weight"),
        ({"ep": (1, 2), "experts": 4}, "layers.0.mlp.router.expert_bias"),
        ({"tp": (1, 2), "dimensions": {"*": None}}, "some.matrix"),
    ],
)
def test_what_every_rank_has_keeps_its_name(degrees, name):
    ((published, piece),) = megatron(**degrees)(name, np.zeros((3, 2)))
    assert (published, piece.global_shape, piece.offset) == (name, (3, 2), (0, 0))


@pytest.mark.parametrize(
    ("degrees", "name", "said"),
    [
        ({"pp": (0, 2), "layers": 4}, "vision_model.decoder.layers.0.w", "which of .* layers"),
        ({"pp": (1, 2), "layers": 4}, "blocks.1.w", "which of .* layers"),
        ({"pp": (1, 2), "first_layer": 2}, "h.1.attn.weight", "which of .* layers"),
        ({"pp": (1, 2), "layers": 4}, "decoder.layers.2.w", "number 2, and a rank has 2 layers"),
        ({"ep": (0, 2), "experts": 4}, "layers.0.mlp.experts.weight1", "which of .* experts"),
        ({"ep": (0, 2), "experts": 4}, "layers.0.experts.w13_weight", "which of .* experts"),
        ({"ep": (0, 2), "experts": 4}, "layers.0.mlp.experts", "which of .* experts"),
        ({"ep": (1, 2), "experts": 4}, "layers.0.experts.2.w", "number 2, and a rank has 2"),
        ({"ep": (1, 2), "experts": 4}, GROUPED.format(1, 2), "number 2, and a rank has 2"),
        ({"tp": (0, 2), "expert_tp": (0, 1)}, "layers.0.experts.w1", "which of .* experts"),
        ({"tp": (0, 2)}, "layers.0.mlp.up.weight", "nothing says how its 2 ranks cut it"),
        ({"tp": (0, 2), "dimensions": {"*.q.weight": 0}}, "layers.0.k.weight", "nothing says"),
    ],
)
def test_what_is_not_understood_is_refused(degrees, name, said):
    with pytest.raises(tensorhub.InvalidArgumentError, match=said) as caught:
        list(megatron(**degrees)(name, np.zeros((4, 2))))
    assert repr(name) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_what_megatron_calls_a_part_of_the_experts_is_one():
    here = parameter(np.zeros((4, 2)), allreduce=False)
    with pytest.raises(tensorhub.InvalidArgumentError, match="which of the model's experts"):
        megatron(ep=(0, 2), experts=4)("layers.0.moe.w1", here)
    assert megatron(ep=(0, 1))("layers.0.moe.w1", here)[0][0] == "layers.0.moe.w1"


def shard(dim):
    return SimpleNamespace(dim=dim)


REPLICATE = SimpleNamespace()


def test_boxes_on_a_mesh():
    assert box_of((8, 6), (2, 3), (shard(0), shard(1)), (1, 2)) == ((4, 4), (4, 2))
    assert box_of((8, 6), (2, 3), (REPLICATE, shard(0)), (1, 2)) == ((6, 0), (2, 6))
    assert box_of((7,), (2, 2), (shard(0), shard(0)), (1, 1)) == ((6,), (1,))
    assert box_of((5,), (4,), (shard(0),), (3,)) == ((5,), (0,))  # the last one is empty
    with pytest.raises(ValueError, match="placements"):
        box_of((5,), (4,), (), (3,))
    with pytest.raises(ValueError, match="no box"):
        box_of((5,), (4,), (SimpleNamespace(dim=0, split_factor=2),), (3,))


def test_the_ranks_of_a_mesh_cover_a_tensor_once():
    shape, mesh = (7, 9), (3, 4)
    count = np.zeros(shape, int)
    for i in range(3):
        for j in range(4):
            offset, extent = box_of(shape, mesh, (shard(1), shard(0)), (i, j))
            count[tuple(slice(o, o + e) for o, e in zip(offset, extent, strict=True))] += 1
    assert (count == 1).all()


def test_descriptions_like_those_of_vllm():
    meta = SimpleNamespace(
        name="w", shape=(8, 6), owners=[4, 5, 6, 7], mesh_shape=(2, 2),
        placements=(shard(0), REPLICATE),
    )  # fmt: skip
    ((_, piece),) = described([meta], rank=6)("w", np.zeros((4, 6)))
    assert (piece.offset, piece.global_shape) == ((4, 0), (8, 6))
    everywhere = SimpleNamespace(
        name="n", shape=(6,), owners=None, mesh_shape=None, placements=None
    )
    ((_, piece),) = described([everywhere], rank=3)("n", np.zeros(6))
    assert (piece.offset, piece.global_shape) == ((0,), (6,))
    for place, name, shape, said in [
        (described([meta], 6), "v", (4, 6), "'v' is not described"),
        (described([meta], 3), "w", (4, 6), "this is rank 3"),
        (described([meta], 6), "w", (8, 6), r"makes it \[4, 6\]"),
    ]:
        with pytest.raises(tensorhub.InvalidArgumentError, match=said):
            place(name, np.zeros(shape))


def test_pieces_of_one_name_come_together():
    one, other = whole(np.zeros(2)), tensorhub.sliced(np.zeros(1), (3,), (2,))
    assert given([("a", one), ("b", np.ones(1)), ("a", other)])["a"] == [one, other]
    with pytest.raises(tensorhub.InvalidArgumentError, match="'a' is there twice"):
        given([("a", one), ("a", np.zeros(2))])


# --- registered -----------------------------------------------------------------------------------


def qkv(rank, array):
    """Phi-3's fused weight in TP 2: the rows of q, k and v of one rank, in one parameter."""
    places = [(0, 4, 4 * rank), (4, 2, 8 + 2 * rank), (6, 2, 12 + 2 * rank)]
    return [
        tensorhub.sliced(array[begin : begin + rows], (16, 3), (at, 0))
        for begin, rows, at in places
    ]


def test_several_pieces_of_one_name_arrive(connect):
    theirs = np.arange(24, dtype=np.float32).reshape(8, 3)
    other, ours = np.zeros((4, 3), np.float32), np.zeros((4, 3), np.float32)
    trainer, rollout = connect("trainer"), connect("rollout")
    trainer.register({"qkv": qkv(1, theirs), "z": np.ones(2, np.int8)})
    # The same pieces, in two parameters.
    pieces = [(4, 0), (10, 0), (14, 0)]
    arrays = [other, ours[:2], ours[2:]]
    rollout.register(
        {
            "z": np.zeros(2, np.int8),
            "qkv": [
                tensorhub.sliced(array, (16, 3), at)
                for array, at in zip(reversed(arrays), reversed(pieces), strict=True)
            ],
        }
    )
    trainer.publish(1)
    rollout.fetch(tensorhub.latest())
    assert np.array_equal(np.concatenate([other, ours]), theirs)


def test_equal_and_overlapping_pieces_are_refused(connect):
    def said(*pieces):
        arrays = [tensorhub.sliced(np.zeros(n, np.int8), (8,), (at,)) for at, n in pieces]
        with pytest.raises(tensorhub.InvalidArgumentError) as refused:
            connect(f"g{len(pieces)}{pieces[-1][0]}").register({"w": arrays})
        assert "\n" not in str(refused.value)
        return str(refused.value)

    assert 'tensor "w" is there twice with the same slice [0:2]' in said((0, 2), (4, 2), (0, 2))
    assert "slices that overlap, [0:2] and [1:3]" in said((0, 2), (1, 2))


def test_pieces_that_differ_are_named(connect):
    trainer, rollout = connect("trainer"), connect("rollout")
    trainer.register({"qkv": qkv(0, np.zeros((8, 3), np.float32))})
    rollout.register({"qkv": qkv(1, np.zeros((8, 3), np.float32))})
    trainer.publish(1)
    with pytest.raises(tensorhub.FailedPreconditionError, match=r"held by nobody in \[4:8, 0:3\]"):
        rollout.fetch(tensorhub.latest())
