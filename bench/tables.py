#!/usr/bin/env python3
"""Writes docs/performance.md from bench/results/*.json, which bench/record made.

    bench/tables.py > docs/performance.md
"""
import json
import sys
from pathlib import Path

RESULTS = Path(__file__).resolve().parent / "results"
SHAPES = {"smollm2-135m": "SmolLM2-135M", "llama-3.2-1b": "Llama 3.2 1B", "llama-3.1-8b": "Llama 3.1 8B"}


def load(name):
    path = RESULTS / f"{name}.json"
    return json.loads(path.read_text()) if path.exists() else None


def command(name):
    """The first line of what was printed: the command."""
    path = RESULTS / f"{name}.txt"
    return path.read_text().splitlines()[0].removeprefix("$ ").split(" --json")[0] if path.exists() else ""


def table(head, rows):
    print("| " + " | ".join(head) + " |")
    print("|" + "---|" * len(head))
    for row in rows:
        print("| " + " | ".join(str(cell) for cell in row) + " |")
    print()


def runs(*names):
    rows, commands = [], []
    for name in names:
        report = load(name)
        if report is None:
            continue
        commands.append(command(name))
        for r in report["runs"]:
            rows.append([SHAPES.get(r["shape"], r["shape"]), r["dtype"], r["phase"], r["tokens"], r["context"], r["threads"],
                         f'{r["tok_per_s"]:.1f}', f'{r["gb_per_s"]:.1f}' if r["phase"] == "decode" else f'{r["gflop_per_s"]:.0f}',
                         f'**{r["percent_of_limit"]:.0f}**', f'{r["spread_percent"]:.0f}'])
    table(["model", "dtype", "phase", "tokens", "context", "threads", "tok/s", "GB/s or GFLOP/s", "% of limit", "spread %"], rows)
    print("\n".join(f"`{c}`  " for c in commands), end="\n\n")


def main():
    first = load("smollm2-135m")
    if first is None:
        sys.exit("bench/results has no smollm2-135m.json: run bench/record")
    machine = first["machine"]
    print("# Performance\n")
    print("Measured by `bench/record` and written by `bench/tables.py`; the raw figures are in `bench/results`. The ratios "
          "are what counts: each\nwas measured next to its limit, in one process. Percentages are of the bandwidth of reading "
          "memory (decode) or of the peak of\nmultiply-adds (prompts); the spread is (largest - smallest) / median of the "
          "repeats.\n")
    table(["machine", ""], [["processor", f'{machine["cpu"]}, {machine["threads"]} cores'], ["instructions", machine["isa"]],
                            ["compiler", f'{machine["compiler"]}, -O3 -march=native'], ["date", machine.get("date", "")]])
    table(["threads", "streaming GB/s", "FMA GFLOP/s", "bf16 GFLOP/s"],
          [[l["threads"], f'{l["stream_gb_per_s"]:.1f}', f'{l["fma_gflop_per_s"]:.0f}',
            f'{l["bf16_gflop_per_s"]:.0f}' if l["bf16_gflop_per_s"] else "-"] for l in first["limits"]])
    print("## Prompt and decode\n")
    runs("smollm2-135m", "smollm2-135m-f32", "llama-3.2-1b", "llama-3.2-1b-f32")
    print("## As the context grows\n")
    runs("contexts")
    for name, title in ("peers", "SmolLM2-135M"), ("peers-1b", "Llama 3.2 1B"):
        report = load(name)
        if report:
            print(f"## Beside llama.cpp: {title}\n")
            print("```")
            print("\n".join((RESULTS / f"{name}.txt").read_text().splitlines()[1:]))
            print("```\n")
            print(f"`{command(name)}`\n")
    edit = (load("edit") or {}).get("edit")
    if edit:
        print("## An edit in the middle\n")
        print(f'`{command("edit")}`\n')
        print("```\n" + json.dumps(edit, indent=4) + "\n```\n")
    prices = (load("exactness") or {}).get("exactness")
    if prices:
        print("## The price of exactness\n")
        print("The canonical order of sums against a free one, time over time: 1 is no price. For many tokens the other has "
              "its weights\npacked beforehand, which l3 does as it goes.\n")
        keys = [k for k in prices[0]]
        table(keys, [[f"{p[k]:.2f}" if isinstance(p[k], float) else p[k] for k in keys] for p in prices])
        print(f'`{command("exactness")}`\n')
    disturbed = RESULTS / "disturbed.txt"
    if disturbed.exists():
        print("## When another process takes a core\n")
        print("```\n" + disturbed.read_text().strip() + "\n```\n")
    for op in "linear", "attention", "rest":
        report = load(f"ops-{op}")
        if report:
            print(f"## bench-{op}\n")
            rows = [[b["name"].removesuffix("/real_time"), f'{b["real_time"]:.1f} {b["time_unit"]}',
                     f'{b["GB/s"]:.1f}' if "GB/s" in b else "", f'{b["%_of_stream"]:.0f}' if "%_of_stream" in b else "",
                     f'{b["GFLOP/s"]:.0f}' if "GFLOP/s" in b else "", f'{b["%_of_peak"]:.0f}' if "%_of_peak" in b else ""]
                    for b in report["benchmarks"] if not b.get("error_occurred")]
            table(["", "time", "GB/s", "% of streaming", "GFLOP/s", "% of peak"], rows)
            print(f'`{command(f"ops-{op}")}`\n')


main()
