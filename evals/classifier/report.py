"""Writes the measured part of docs/classifier.md: the held-out fold, the texts of other origin, the rules beside it.

    report.py STATES_FOLDER HEAD_FOLDER ORDERS_PROGRAM THRESHOLD

ORDERS_PROGRAM is the example `orders` of countersign-inspect: what the rules alone find.
"""

import json
import pathlib
import subprocess
import sys

import numpy as np

from head import Set
from measure import auroc, interval, recall, worst


def rules(program, texts):
    lines = "".join(json.dumps(text) + "\n" for text in texts)
    found = subprocess.run([program], input=lines, capture_output=True, text=True, check=True).stdout.split()
    return np.array([word == "true" for word in found])


def wilson(hits, n, z=1.96):
    if n == 0:
        return "–"
    p = hits / n
    middle, half = (p + z * z / (2 * n)) / (1 + z * z / n), z * np.sqrt(p * (1 - p) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    return f"{100 * p:.1f} % ({100 * max(0, middle - half):.1f}–{100 * min(1, middle + half):.1f})"


def share(name, label, hit):
    for value, what in ((1, "attacks found"), (0, "ordinary texts doubted")):
        print(f"  {name}, {what}: {wilson(int(hit[label == value].sum()), int((label == value).sum()))} of {int((label == value).sum())}")


def main():
    states, out, program, threshold = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3], float(sys.argv[4])
    scores = np.load(out / "scores.npz")
    for name in ("train", "challenge", "also", "documents"):
        if name not in scores.files:
            continue
        data = Set(states / f"{name}.npz")
        texts = json.loads((states / f"{name}.json").read_text())
        value, label, family = worst(data, scores[name]), data.label, data.family
        if name == "train":
            keep = data.fold == data.fold.max()
            value, label, family, language = value[keep], label[keep], family[keep], data.language[keep]
            texts = [t for t, k in zip(texts, keep) if k]
        value = 1 / (1 + np.exp(-value.astype(float)))
        hit, said = value >= threshold, rules(program, texts)
        print(f"{name}: {int((label == 1).sum())} attacks, {int((label == 0).sum())} ordinary texts")
        for what, of in (
            ("AUROC", auroc),
            ("recall at 1 % false positives", lambda l, v: recall(l, v, 0.01)),
            ("recall at 0.1 %", lambda l, v: recall(l, v, 0.001)),
        ):
            print(f"  {what}: {of(label, value):.3f}, 95 % {interval(label, value, family, of)}")
        share(f"classifier at {threshold}", label, hit)
        share("rules alone", label, said)
        share("both", label, hit | said)
        if name == "train":
            bins = np.clip((value * 10).astype(int), 0, 9)
            rows = [(value[bins == b].mean(), label[bins == b].mean(), int((bins == b).sum())) for b in range(10) if (bins == b).any()]
            print("  expected calibration error:", round(sum(n * abs(a - b) for a, b, n in rows) / len(value), 3))
            for f in np.unique(family):
                names = str(data.families[f])
                if not names.startswith("corpus"):
                    m = family == f
                    print(f"  {names}: classifier {hit[m].mean():.2f}, rules {said[m].mean():.2f} of {m.sum()}")
            m = np.array([str(data.families[f]).startswith("corpus") for f in family])
            print(f"  corpus: classifier {hit[m].mean():.4f}, rules {said[m].mean():.4f} of {m.sum()}")
            for l in np.unique(language):
                m = language == l
                print(f"  {l}: AUROC {auroc(label[m], value[m]):.3f} of {m.sum()}")


if __name__ == "__main__":
    main()
