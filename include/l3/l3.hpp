#pragma once
// l3: Llama-family language models, on the CPU. A table of contents: each line is a page to read, from what a program
// uses first to what it rests on. Any of them compiles alone; to run on the CPU, a program also includes ops/cpu/ops.hpp.

// Conversations: Chat(model).reply("Hello") is text, piece by piece.
#include "chat/chat.hpp"

// Ids in, logits out: what is evaluated is kept; sampling; generation.
#include "session/generate.hpp"
#include "session/sampler.hpp"
#include "session/session.hpp"

// Models: configuration, weights, KV cache, and forward(), the page that is the model.
#include "model/any_model.hpp"
#include "model/llama.hpp"
#include "model/model.hpp"

// Text to ids and back; the formats of chats.
#include "tokenizer/chat_template.hpp"
#include "tokenizer/text_stream.hpp"
#include "tokenizer/tokenizer.hpp"

// Model files.
#include "io/gguf.hpp"
#include "io/llama2c.hpp"
#include "io/safetensors.hpp"

// Operations: pages for every device, and the rooms of the CPU.
#include "ops/ops.hpp"
#include "ops/cpu/ops.hpp"

// Tensors: shapes, views, memory.
#include "tensor/copy.hpp"
#include "tensor/tensor.hpp"
#include "tensor/view.hpp"

// Devices and dtypes: CPU, bf16, f32.
#include "device/cpu/context.hpp"
#include "device/device.hpp"
#include "dtype/dtype.hpp"

// Errors, and the version.
#include "core/error.hpp"
#include "core/version.hpp"
