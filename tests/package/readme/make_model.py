"""Writes a tiny random model with a byte tokenizer and a ChatML template: make_model.py FOLDER.

Its output matrix gives the end tokens the same scores as the letter A, which comes first: greedy replies never end early.
"""
import json
import random
import struct
import sys
from pathlib import Path

HIDDEN, HEADS, KV_HEADS, HEAD_DIM, LAYERS, INTERMEDIATE = 64, 4, 2, 16, 2, 128
SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
TEMPLATE = ("{% for message in messages %}{{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' "
            "+ '\n'}}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}")


def byte_characters():
    """The characters that byte-level BPE writes for the bytes 0 to 255: printable ones as they are, others from 256 on."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [b for b in range(256) if b not in printable]
    return [chr(b) for b in printable] + [chr(256 + i) for i in range(len(others))]


folder = Path(sys.argv[1])
folder.mkdir(parents=True, exist_ok=True)
tokens = byte_characters() + SPECIAL
vocabulary = {token: i for i, token in enumerate(tokens)}
end = vocabulary["<|im_end|>"]
rng = random.Random(1)


def matrix(rows, columns):
    return [[rng.gauss(0, columns ** -0.5) for _ in range(columns)] for _ in range(rows)]


def ones(n):
    return [[1.0] * n]


tensors = {"model.embed_tokens.weight": matrix(len(tokens), HIDDEN), "lm_head.weight": matrix(len(tokens), HIDDEN),
           "model.norm.weight": ones(HIDDEN)}
for token in SPECIAL:
    tensors["lm_head.weight"][vocabulary[token]] = tensors["lm_head.weight"][vocabulary["A"]]
for i in range(LAYERS):
    layer = f"model.layers.{i}."
    tensors |= {
        layer + "input_layernorm.weight": ones(HIDDEN),
        layer + "post_attention_layernorm.weight": ones(HIDDEN),
        layer + "self_attn.q_proj.weight": matrix(HEADS * HEAD_DIM, HIDDEN),
        layer + "self_attn.k_proj.weight": matrix(KV_HEADS * HEAD_DIM, HIDDEN),
        layer + "self_attn.v_proj.weight": matrix(KV_HEADS * HEAD_DIM, HIDDEN),
        layer + "self_attn.o_proj.weight": matrix(HIDDEN, HEADS * HEAD_DIM),
        layer + "mlp.gate_proj.weight": matrix(INTERMEDIATE, HIDDEN),
        layer + "mlp.up_proj.weight": matrix(INTERMEDIATE, HIDDEN),
        layer + "mlp.down_proj.weight": matrix(HIDDEN, INTERMEDIATE),
    }

header, data = {}, bytearray()
for name, rows in tensors.items():
    begin = len(data)
    for row in rows:
        data += struct.pack(f"<{len(row)}f", *row)
    shape = [len(rows[0])] if name.endswith("norm.weight") else [len(rows), len(rows[0])]
    header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [begin, len(data)]}
header = json.dumps(header).encode()
header += b" " * (-len(header) % 8)
(folder / "model.safetensors").write_bytes(struct.pack("<Q", len(header)) + header + bytes(data))

(folder / "config.json").write_text(json.dumps({
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_act": "silu", "torch_dtype": "float32",
    "hidden_size": HIDDEN, "intermediate_size": INTERMEDIATE, "num_hidden_layers": LAYERS, "num_attention_heads": HEADS,
    "num_key_value_heads": KV_HEADS, "head_dim": HEAD_DIM, "vocab_size": len(tokens), "max_position_embeddings": 128,
    "rms_norm_eps": 1e-5, "rope_theta": 10000.0, "tie_word_embeddings": False, "bos_token_id": 256, "eos_token_id": end}))
(folder / "tokenizer.json").write_text(json.dumps({
    "version": "1.0", "truncation": None, "padding": None, "normalizer": None, "post_processor": None,
    "added_tokens": [{"id": vocabulary[t], "content": t, "single_word": False, "lstrip": False, "rstrip": False,
                      "normalized": False, "special": True} for t in SPECIAL],
    "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True},
    "decoder": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True},
    "model": {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None,
              "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False,
              "vocab": {t: i for t, i in vocabulary.items() if t not in SPECIAL}, "merges": []}}))
(folder / "tokenizer_config.json").write_text(json.dumps({
    "bos_token": "<|endoftext|>", "eos_token": "<|im_end|>", "chat_template": TEMPLATE}))
