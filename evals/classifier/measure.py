"""Measures of a score, with intervals: families are drawn anew, not texts, because texts of a family are alike."""

import numpy as np


def worst(texts, values):
    """The score of a text is that of its worst window."""
    out = np.full(len(texts.label), -1e9, np.float32)
    np.maximum.at(out, texts.text, values)
    return out


def auroc(label, value):
    _, place, count = np.unique(value, return_inverse=True, return_counts=True)
    rank = (np.cumsum(count) - (count - 1) / 2)[place]
    ones = label == 1
    n, m = ones.sum(), (~ones).sum()
    return float((rank[ones].sum() - n * (n + 1) / 2) / (n * m)) if n and m else float("nan")


def recall(label, value, rate):
    if not (label == 0).any() or not (label == 1).any():
        return float("nan")
    return float((value[label == 1] > np.quantile(value[label == 0], 1 - rate)).mean())


def measures(label, value):
    label = np.asarray(label)
    return {"auroc": round(auroc(label, value), 4), "recall_1": round(recall(label, value, 0.01), 4), "recall_01": round(recall(label, value, 0.001), 4)}


def interval(label, value, family, what, rounds=1000, seed=0):
    """95 % of the values that `what` takes over samples of families, drawn with replacement within each class."""
    random = np.random.default_rng(seed)
    groups = {c: [np.flatnonzero((family == f) & (label == c)) for f in np.unique(family[label == c])] for c in (0, 1)}
    found = []
    for _ in range(rounds):
        rows = np.concatenate([g[i] for g in groups.values() for i in random.integers(0, len(g), len(g))])
        found.append(what(label[rows], value[rows]))
    return tuple(round(float(x), 3) for x in np.nanpercentile(found, [2.5, 97.5]))
