// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tests/sim/scene.h"

#include "tests/sim/process.h"

namespace tensorhub::fault {

Scene::Scene(uint64_t seed) : dice(Random(seed).Next()), plan(FaultPlan::Draw(seed)) {}
Scene::~Scene() = default;

}  // namespace tensorhub::fault
