#pragma once
// The rooms of the operations on the CPU.
#include "argmax.hpp"
#include "attention.hpp"
#include "embed.hpp"
#include "linear.hpp"
#include "linear_add.hpp"
#include "norm_gate_up.hpp"
#include "norm_logits.hpp"
#include "norm_qkv.hpp"
#include "rms_norm.hpp"
#include "rope.hpp"
#include "silu_mul.hpp"
