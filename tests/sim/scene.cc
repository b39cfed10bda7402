// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tests/sim/scene.h"

#include "tests/sim/process.h"

namespace tensorhub::fault {

Scene::Scene(uint64_t seed) : dice(Random(seed).Next()), plan(FaultPlan::Draw(seed)) {}
Scene::~Scene() = default;

bool Scene::Damage(Cells& cells) {
  if (cells.empty() || !Happens(plan.damaged)) return false;
  ++counts.damaged;
  const uint64_t cell = dice.Below(cells.size());
  cells[cell] = Garbage(dice.Next() >> 24);
  return true;
}

}  // namespace tensorhub::fault
