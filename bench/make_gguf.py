#!/usr/bin/env python3
"""Writes a GGUF file in the shape of a known model, with random weights and a made-up tokenizer, for measurements.

    bench/make_gguf.py llama-3.2-1b FILE.gguf [--dtype bf16|f16|f32] [--seed N]

Same arguments, same bytes. Needs numpy.
Format: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
"""
import argparse
import itertools
import os
import string
import struct
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np


@dataclass(frozen=True)
class Shape:
    hidden_size: int
    intermediate_size: int
    num_hidden_layers: int
    num_attention_heads: int
    num_key_value_heads: int
    head_dim: int
    vocab_size: int
    tied: bool
    max_position_embeddings: int
    rope_theta: float
    pre: str  # the name of the pre-tokenizer


SHAPES = {
    "tiny": Shape(64, 128, 2, 4, 2, 16, 512, True, 2048, 1e4, "llama-bpe"),
    "smollm2-135m": Shape(576, 1536, 30, 9, 3, 64, 49152, True, 8192, 1e5, "smollm"),
    "llama-3.2-1b": Shape(2048, 8192, 16, 32, 8, 64, 128256, True, 131072, 5e5, "llama-bpe"),
    "llama-3.1-8b": Shape(4096, 14336, 32, 32, 8, 128, 128256, False, 131072, 5e5, "llama-bpe"),
}
RMS_NORM_EPS = 1e-5
ALIGNMENT = 32
# Numbers in the file: of a tensor's type, and general.file_type.
TENSOR_TYPES = {"f32": 0, "f16": 1, "bf16": 30}
FILE_TYPES = {"f32": 0, "f16": 1, "bf16": 32}
# Special tokens, at the end of the vocabulary; the first begins a text, the second ends it.
SPECIAL_TOKENS = {
    "llama-bpe": ["<|begin_of_text|>", "<|end_of_text|>"],
    "smollm": ["<|im_start|>", "<|im_end|>", "<|endoftext|>"],
}
ELEMENTS = 4194301  # random numbers that all matrices share; a prime, so that no two rows are the same


# ---------------------------------------------------------------- metadata

class UInt32(int):
    pass


class Int32(int):
    pass


def text(value):
    raw = value.encode()
    return struct.pack("<Q", len(raw)) + raw


def typed(value):
    """A metadata value as (number of its type, bytes); the Python type chooses the type in the file."""
    if isinstance(value, bool):
        return 7, struct.pack("<?", value)
    if isinstance(value, UInt32):
        return 4, struct.pack("<I", value)
    if isinstance(value, Int32):
        return 5, struct.pack("<i", value)
    if isinstance(value, float):
        return 6, struct.pack("<f", value)
    if isinstance(value, str):
        return 8, text(value)
    elements = [typed(element) for element in value]
    return 9, struct.pack("<IQ", elements[0][0], len(elements)) + b"".join(raw for _, raw in elements)


def byte_alphabet():
    """The character that stands for each byte in byte-level BPE, by byte. Source: bytes_to_unicode of GPT-2."""
    itself = {*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)}
    others = itertools.count(256)
    return [chr(byte if byte in itself else next(others)) for byte in range(256)]


def made_up_tokenizer(vocab_size, pre):
    """Bytes, then what merges make of two, three and four letters, then special tokens: (tokens, types, merges)."""
    tokens = byte_alphabet()
    special = SPECIAL_TOKENS[pre]
    letters = string.ascii_lowercase
    pairs = [a + b for a in letters for b in letters]
    halves = itertools.chain(itertools.product(letters, letters), itertools.product(pairs, letters),
                             itertools.product(pairs, pairs))
    merges = list(itertools.islice(halves, vocab_size - len(tokens) - len(special)))
    tokens += [left + right for left, right in merges]
    normal = len(tokens)
    tokens += special
    assert len(tokens) == len(set(tokens)) == vocab_size
    return tokens, [Int32(1)] * normal + [Int32(3)] * len(special), [f"{left} {right}" for left, right in merges]


def metadata(name, shape, dtype):
    tokens, types, merges = made_up_tokenizer(shape.vocab_size, shape.pre)
    begin = shape.vocab_size - len(SPECIAL_TOKENS[shape.pre])
    return {
        "general.architecture": "llama",
        "general.type": "model",
        "general.name": f"{name}, random weights",
        "general.file_type": UInt32(FILE_TYPES[dtype]),
        "llama.context_length": UInt32(shape.max_position_embeddings),
        "llama.embedding_length": UInt32(shape.hidden_size),
        "llama.block_count": UInt32(shape.num_hidden_layers),
        "llama.feed_forward_length": UInt32(shape.intermediate_size),
        "llama.rope.dimension_count": UInt32(shape.head_dim),
        "llama.attention.head_count": UInt32(shape.num_attention_heads),
        "llama.attention.head_count_kv": UInt32(shape.num_key_value_heads),
        "llama.attention.layer_norm_rms_epsilon": RMS_NORM_EPS,
        "llama.rope.freq_base": shape.rope_theta,
        "llama.vocab_size": UInt32(shape.vocab_size),
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": shape.pre,
        "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.token_type": types,
        "tokenizer.ggml.merges": merges,
        "tokenizer.ggml.bos_token_id": UInt32(begin),
        "tokenizer.ggml.eos_token_id": UInt32(begin + 1),
        "tokenizer.ggml.add_bos_token": shape.pre == "llama-bpe",
    }


# ---------------------------------------------------------------- tensors

def tensor_shapes(shape):
    """(name, rows, columns), in the order of the file; norms have no rows."""
    hidden, intermediate = shape.hidden_size, shape.intermediate_size
    q, kv = shape.num_attention_heads * shape.head_dim, shape.num_key_value_heads * shape.head_dim
    yield "token_embd.weight", shape.vocab_size, hidden
    for i in range(shape.num_hidden_layers):
        yield f"blk.{i}.attn_norm.weight", None, hidden
        yield f"blk.{i}.attn_q.weight", q, hidden
        yield f"blk.{i}.attn_k.weight", kv, hidden
        yield f"blk.{i}.attn_v.weight", kv, hidden
        yield f"blk.{i}.attn_output.weight", hidden, q
        yield f"blk.{i}.ffn_norm.weight", None, hidden
        yield f"blk.{i}.ffn_gate.weight", intermediate, hidden
        yield f"blk.{i}.ffn_up.weight", intermediate, hidden
        yield f"blk.{i}.ffn_down.weight", hidden, intermediate
    yield "output_norm.weight", None, hidden
    if not shape.tied:
        yield "output.weight", shape.vocab_size, hidden


def as_bf16(values):
    """The upper halves of these finite f32, rounded to nearest, ties to even."""
    bits = np.ascontiguousarray(values, dtype="<f4").view("<u4")
    return ((bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))) >> np.uint32(16)).astype("<u2")


ENCODE = {"f32": lambda values: values.astype("<f4"), "f16": lambda values: values.astype("<f2"), "bf16": as_bf16}


class RandomMatrices:
    """Numbers of the size that training leaves: normal, with the deviation 1 / sqrt(columns)."""

    def __init__(self, dtype, seed):
        self.random = np.random.Generator(np.random.PCG64(seed))
        self.normal = self.random.standard_normal(ELEMENTS, dtype=np.float32)
        self.encode = ENCODE[dtype]
        self.scaled = {}  # by the number of columns

    def write(self, out, rows, columns):
        if columns not in self.scaled:
            self.scaled[columns] = memoryview(self.encode(self.normal / np.float32(np.sqrt(columns))))
        numbers = self.scaled[columns]
        begin, left = int(self.random.integers(ELEMENTS)), rows * columns
        while left > 0:
            n = min(left, ELEMENTS - begin)
            out.write(numbers[begin:begin + n])
            begin, left = 0, left - n


def write_gguf(path, name, dtype="bf16", seed=0):
    """Writes the file, whole or not at all; returns its size. Memory does not grow with the model."""
    shape = SHAPES[name]
    tensors = list(tensor_shapes(shape))
    values = metadata(name, shape, dtype)
    header = [b"GGUF", struct.pack("<IQQ", 3, len(tensors), len(values))]
    for key, value in values.items():
        kind, raw = typed(value)
        header += [text(key), struct.pack("<I", kind), raw]
    offset = 0
    for tensor, rows, columns in tensors:
        dims = [columns] if rows is None else [columns, rows]  # innermost first
        kind = "f32" if rows is None else dtype
        header += [text(tensor), struct.pack(f"<I{len(dims)}QIQ", len(dims), *dims, TENSOR_TYPES[kind], offset)]
        size = (rows or 1) * columns * (4 if kind == "f32" else 2)
        offset += -(-size // ALIGNMENT) * ALIGNMENT

    matrices = RandomMatrices(dtype, seed)
    unfinished = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        with open(unfinished, "wb", buffering=1 << 20) as out:
            def pad():
                out.write(bytes(-out.tell() % ALIGNMENT))

            out.write(b"".join(header))
            pad()
            for _, rows, columns in tensors:
                if rows is None:
                    out.write(np.ones(columns, "<f4").tobytes())
                else:
                    matrices.write(out, rows, columns)
                pad()
        os.replace(unfinished, path)
    finally:
        unfinished.unlink(missing_ok=True)
    return path.stat().st_size


def main():
    parser = argparse.ArgumentParser(prog="make_gguf.py", description=__doc__.split("\n", 1)[0])
    parser.add_argument("shape", choices=SHAPES, metavar="SHAPE", help=", ".join(SHAPES))
    parser.add_argument("file", type=Path, metavar="FILE.gguf")
    parser.add_argument("--dtype", choices=TENSOR_TYPES, type=str.lower, default="bf16",
                        help="of the matrices; norms are f32 (default: bf16)")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of the random numbers (default: 0)")
    options = parser.parse_args()
    try:
        size = write_gguf(options.file, options.shape, options.dtype, options.seed)
    except OSError as error:
        sys.exit(f"make_gguf.py: error: {error}")
    print(f"{options.file}: {options.shape}, {options.dtype}, {size / 1e6:.0f} MB", file=sys.stderr)


if __name__ == "__main__":
    main()
