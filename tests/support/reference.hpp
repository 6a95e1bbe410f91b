#pragma once
// The references that operations are tested against: double precision (reference::linear, ...), and the bits that the
// numerics contract demands (reference::contract::dot, ...).
#include "reference/contract.hpp"
#include "reference/matrix.hpp"
#include "reference/ops.hpp"
