#!/usr/bin/env python3
"""Golden logits of tiny random Llama models in float64, by NumPy alone: the referee of tests/model/golden.cpp.

    python3 tests/reference/golden.py > tests/reference/golden.json

Weights are not stored: both sides make them from the tensor's name.
  stream(text) = FNV-1a, 64 bits; element i (from 0) = mix(stream + (i + 1) * 0x9E3779B97F4A7C15), mix as in splitmix64;
  u = (element >> 40) * 2^-23 - 1, in [-1, 1);
  norms 1 + u/4; biases u/4; matrices u * gain / sqrt(columns), gain 2 for q and k, 4 for the output matrix (and the
  embedding if it is that), else 1.5; an untied embedding u; then rounded to the stored type, to nearest even.
"""
import json
import numpy as np

MASK = (1 << 64) - 1


def stream(text):
    h = 0xCBF29CE484222325
    for byte in text.encode():
        h = ((h ^ byte) * 0x100000001B3) & MASK
    return h


def raw(start, count):
    with np.errstate(over="ignore"):
        z = np.uint64(start) + np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))


def stored(values, dtype):
    """To the stored type and back to float64."""
    x = values.astype(np.float32)
    if dtype == "F16":
        x = x.astype(np.float16)
    elif dtype == "BF16":
        u = x.view(np.uint32)
        u = (u + np.uint32(0x7FFF) + ((u >> np.uint32(16)) & np.uint32(1))) & np.uint32(0xFFFF0000)
        x = u.view(np.float32)
    return x.astype(np.float64)


def weight(model, name, shape):
    tied = model["config"]["tie_word_embeddings"]
    u = (raw(stream(model["name"] + "/" + name), int(np.prod(shape))) >> np.uint64(40)).astype(np.float64) * 2.0**-23 - 1
    if "norm" in name:
        x = 1 + u / 4
    elif "bias" in name:
        x = u / 4
    elif "embed_tokens" in name and not tied:
        x = u
    else:
        gain = 2 if "q_proj" in name or "k_proj" in name else 4 if "lm_head" in name or "embed_tokens" in name else 1.5
        x = u * (gain / np.sqrt(np.float64(shape[-1])))
    return stored(x, model["dtype"]).reshape(shape)


def frequencies(config):
    dim, rope = config["head_dim"], config["rope_parameters"]
    f = 1.0 / rope["rope_theta"] ** (np.arange(0, dim, 2, dtype=np.float64) / dim)
    if rope["rope_type"] == "linear":
        return f / rope["factor"]
    if rope["rope_type"] == "llama3":
        low, high, old = rope["low_freq_factor"], rope["high_freq_factor"], rope["original_max_position_embeddings"]
        wavelength = 2 * np.pi / f
        smooth = (old / wavelength - low) / (high - low)
        between = (1 - smooth) * f / rope["factor"] + smooth * f
        return np.where(wavelength > old / low, f / rope["factor"], np.where(wavelength < old / high, f, between))
    assert rope["rope_type"] == "default"
    return f


def rms_norm(x, w, eps):
    return x / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + eps) * w


def rotate(x, angles):  # x [T, heads, dim], angles [T, dim / 2]
    half = x.shape[-1] // 2
    z = (x[..., :half] + 1j * x[..., half:]) * np.exp(1j * angles)[:, None, :]
    return np.concatenate([z.real, z.imag], axis=-1)


def logits(model, ids):
    c = model["config"]
    H, F, V, D = c["hidden_size"], c["intermediate_size"], c["vocab_size"], c["head_dim"]
    Nq, Nkv, T = c["num_attention_heads"], c["num_key_value_heads"], len(ids)
    eps = np.float64(np.float32(c["rms_norm_eps"]))

    def linear(x, name, out, bias):
        y = x @ weight(model, name + ".weight", (out, x.shape[-1])).T
        return y + weight(model, name + ".bias", (out,)) if bias else y

    embedding = weight(model, "model.embed_tokens.weight", (V, H))
    x = embedding[ids]
    angles = np.arange(T, dtype=np.float64)[:, None] * frequencies(c)
    mask = np.triu(np.full((T, T), -np.inf), 1)
    for i in range(c["num_hidden_layers"]):
        p = f"model.layers.{i}."
        a = p + "self_attn."
        n = rms_norm(x, weight(model, p + "input_layernorm.weight", (H,)), eps)
        q = rotate(linear(n, a + "q_proj", Nq * D, c["attention_bias"]).reshape(T, Nq, D), angles)
        k = rotate(linear(n, a + "k_proj", Nkv * D, c["attention_bias"]).reshape(T, Nkv, D), angles)
        v = linear(n, a + "v_proj", Nkv * D, c["attention_bias"]).reshape(T, Nkv, D)
        k, v = np.repeat(k, Nq // Nkv, axis=1), np.repeat(v, Nq // Nkv, axis=1)
        scores = np.einsum("thd,shd->hts", q, k) / np.sqrt(np.float64(D)) + mask
        scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
        probabilities = scores / scores.sum(axis=-1, keepdims=True)
        attended = np.einsum("hts,shd->thd", probabilities, v).reshape(T, Nq * D)
        x = x + linear(attended, a + "o_proj", H, c["attention_bias"])
        n = rms_norm(x, weight(model, p + "post_attention_layernorm.weight", (H,)), eps)
        gate = linear(n, p + "mlp.gate_proj", F, c["mlp_bias"])
        up = linear(n, p + "mlp.up_proj", F, c["mlp_bias"])
        x = x + linear(gate / (1 + np.exp(-gate)) * up, p + "mlp.down_proj", H, c["mlp_bias"])
    n = rms_norm(x, weight(model, "model.norm.weight", (H,)), eps)
    return n @ (embedding if c["tie_word_embeddings"] else weight(model, "lm_head.weight", (V, H))).T


def config(**changes):
    c = dict(hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
             head_dim=16, vocab_size=256, max_position_embeddings=512, rms_norm_eps=1e-5, tie_word_embeddings=False,
             attention_bias=False, mlp_bias=False, rope_parameters=dict(rope_type="default", rope_theta=10000.0))
    assert set(changes) <= set(c)
    return c | changes


MODELS = [
    dict(name="golden-f32", dtype="F32", tokens=60, config=config()),
    dict(name="golden-bf16-tied", dtype="BF16", tokens=40, config=config(
        tie_word_embeddings=True, num_key_value_heads=1, num_hidden_layers=3, vocab_size=97)),
    dict(name="golden-f16-odd", dtype="F16", tokens=40, config=config(
        hidden_size=45, intermediate_size=71, num_attention_heads=3, num_key_value_heads=3, head_dim=14, vocab_size=83,
        rms_norm_eps=1e-6)),
    dict(name="golden-biases", dtype="F32", tokens=40, config=config(attention_bias=True, mlp_bias=True, vocab_size=80)),
    dict(name="golden-linear", dtype="BF16", tokens=100, config=config(
        vocab_size=72, rope_parameters=dict(rope_type="linear", rope_theta=10000.0, factor=4.0))),
    dict(name="golden-llama3", dtype="F32", tokens=300, config=config(
        head_dim=32, num_attention_heads=2, num_key_value_heads=1, vocab_size=64, rope_parameters=dict(
            rope_type="llama3", rope_theta=500000.0, factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0,
            original_max_position_embeddings=128))),
    dict(name="golden-long-rows", dtype="BF16", tokens=30, config=config(
        hidden_size=32, intermediate_size=2100, num_hidden_layers=1, vocab_size=64)),
]

if __name__ == "__main__":
    lines = []
    for model in MODELS:
        V, T = model["config"]["vocab_size"], model["tokens"]
        ids = (raw(stream(model["name"] + "/ids"), T) >> np.uint64(33)).astype(np.int64) % V
        all_logits = logits(model, ids)
        positions = [0, 1, T // 2, T - 1]
        columns = list(range(0, V, 4))
        model["max_abs_logit"] = float(np.abs(all_logits).max())
        model["positions"], model["columns"] = positions, columns
        model["logits"] = [[round(float(all_logits[p, v]), 12) for v in columns] for p in positions]
        lines.append(json.dumps(model))
    print("[\n" + ",\n".join(lines) + "\n]")
