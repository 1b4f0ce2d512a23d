"""Trains the head on token states of the frozen encoder, chooses nothing by the last fold, and writes the file that the crate holds.

    head.py STATES_FOLDER OUT_FOLDER [--epochs N]

Folds 0 to 3 are for choosing: each is held out in turn, with all its families. The last fold is scored once, by the head that is
shipped, which is trained on folds 0 to 3.
"""

import argparse
import json
import pathlib
import time

import jax
import jax.numpy as jnp
import numpy as np
import optax
from safetensors.numpy import save_file

from measure import measures, worst

WIDTH, NARROW, LAST, SEEN = 384, 64, 32, 5
SHORT = 36
SHAPES = {"narrow": (NARROW, WIDTH), "near": (NARROW, SEEN * NARROW), "far": (NARROW, SEEN * NARROW), "last": (LAST, 2 * NARROW), "number": (1, LAST)}


def fresh(seed):
    keys = jax.random.split(jax.random.key(seed), len(SHAPES))
    out = {}
    for key, (name, shape) in zip(keys, SHAPES.items()):
        scale = 0.3 if name in ("near", "far") else 1.0
        out[f"{name}.weight"] = jax.random.normal(key, shape) * scale / jnp.sqrt(shape[1])
        out[f"{name}.bias"] = jnp.zeros(shape[0])
    return out


def linear(p, name, x):
    return x @ p[f"{name}.weight"].T + p[f"{name}.bias"]


def gelu(x):
    return jax.nn.gelu(x, approximate=False)


def beside(x, apart):
    reach = apart * (SEEN // 2)
    padded = jnp.pad(x, ((0, 0), (reach, reach), (0, 0)))
    return jnp.concatenate([padded[:, step * apart : step * apart + x.shape[1]] for step in range(SEEN)], -1)


def logits(p, x, mask, key=None):
    """x: (batch, tokens, WIDTH) with zeros where mask is 0."""
    m = mask[..., None]
    if key is not None:
        one, two = jax.random.split(key)
        m = m * jax.random.bernoulli(one, 0.92, m.shape)
        x = x * jax.random.bernoulli(two, 0.9, (x.shape[0], 1, WIDTH)) / 0.9
    x = gelu(linear(p, "narrow", x)) * m
    for name, apart in (("near", 1), ("far", 4)):
        x = (x + gelu(linear(p, name, beside(x, apart)))) * m
    mean = x.sum(1) / m.sum(1)
    highest = jnp.where(m > 0, x, -1e9).max(1)
    pooled = jnp.concatenate([mean, highest], -1)
    if key is not None:
        pooled = pooled * jax.random.bernoulli(key, 0.85, pooled.shape) / 0.85
    return linear(p, "number", gelu(linear(p, "last", pooled)))[:, 0]


score_batch = jax.jit(logits)


class Set:
    def __init__(self, path):
        data = np.load(path)
        self.states, self.length = data["S"], data["lens"]
        self.start = np.concatenate([[0], np.cumsum(self.length)])
        self.text, self.label, self.fold = data["text"], data["label"], data["fold"]
        self.family, self.families, self.language = data["family"], data["families"], data["lang"]

    def batch(self, rows, tokens=64):
        x = np.zeros((len(rows), tokens, WIDTH), np.float32)
        mask = np.zeros((len(rows), tokens), np.float32)
        for at, row in enumerate(rows):
            n = self.length[row]
            x[at, :n] = self.states[self.start[row] : self.start[row + 1]]
            mask[at, :n] = 1
        return x, mask

    def score(self, p, rows=None, size=128):
        rows = np.arange(len(self.length)) if rows is None else rows
        out = np.zeros(len(rows), np.float32)
        short = self.length[rows] <= SHORT
        for tokens, places in ((SHORT, np.flatnonzero(short)), (64, np.flatnonzero(~short))):
            for at in range(0, len(places), size):
                part = places[at : at + size]
                padded = np.concatenate([part, np.repeat(part[:1], size - len(part))])
                out[part] = np.asarray(score_batch(p, *self.batch(rows[padded], tokens)))[: len(part)]
        return out


# The rate is given at each step, so that one compiled step serves every training.
OPTIMISER = optax.chain(optax.clip_by_global_norm(1.0), optax.scale_by_adam(), optax.add_decayed_weights(0.05))


@jax.jit
def step(p, state, x, mask, y, key, rate):
    def loss(p):
        return optax.sigmoid_binary_cross_entropy(logits(p, x, mask, key), y * 0.98 + 0.01).mean()

    change, state = OPTIMISER.update(jax.grad(loss)(p), state, p)
    return jax.tree.map(lambda value, by: value - rate * by, p, change), state


def train(data, rows, seed, epochs, size=96):
    random = np.random.default_rng(seed)
    # Both classes weigh the same; within a class a family weighs as the root of its size: none wins by its number of lines.
    corpus = np.array([str(f).startswith("corpus") for f in data.families])[data.family]
    group = np.where(corpus, -1, data.family)
    weight = np.zeros(len(data.label))
    for value in np.unique(group[rows]):
        members = rows[group[rows] == value]
        weight[members] = (3 if value == -1 else 1) / np.sqrt(len(members))
    for value in (0, 1):
        members = rows[data.label[rows] == value]
        weight[members] /= weight[members].sum()
    chance = weight[rows] / weight[rows].sum()
    steps = epochs * len(rows) // size
    p = fresh(seed)
    state = OPTIMISER.init(p)
    rate = optax.cosine_onecycle_schedule(steps, 2e-3, 0.1)

    key = jax.random.key(seed)
    # Short texts and long ones in batches of their own, as often as they would come up.
    kinds = []
    for tokens, members in ((SHORT, data.length[rows] <= SHORT), (64, data.length[rows] > SHORT)):
        kinds.append((tokens, rows[members], chance[members] / chance[members].sum(), chance[members].sum()))
    for number in range(steps):
        key, one = jax.random.split(key)
        tokens, members, p_of, _ = kinds[0] if random.random() < kinds[0][3] else kinds[1]
        pick = random.choice(members, size, p=p_of)
        p, state = step(p, state, *data.batch(pick, tokens), data.label[pick].astype(np.float32), one, rate(number))
    return p


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("states")
    parser.add_argument("out")
    parser.add_argument("--epochs", type=int, default=4)
    args = parser.parse_args()
    folder, out = pathlib.Path(args.states), pathlib.Path(args.out)
    out.mkdir(parents=True, exist_ok=True)
    data = Set(folder / "train.npz")
    last = int(data.fold.max())
    choosing = np.flatnonzero(data.fold < last)
    begun = time.time()
    p = train(data, choosing, 7, args.epochs)
    save_file({name: np.ascontiguousarray(value, np.float32) for name, value in p.items()}, out / "head.safetensors")
    scores = {name: Set(folder / f"{name}.npz").score(p) for name in ("train", "challenge", "also", "documents") if (folder / f"{name}.npz").exists()}
    np.savez(out / "scores.npz", **scores)
    held = data.fold == last
    print("test", measures(data.label[held], scores["train"][held]), round(time.time() - begun), flush=True)
    for name in scores:
        if name != "train":
            texts = Set(folder / f"{name}.npz")
            print(name, measures(texts.label, worst(texts, scores[name])), flush=True)
    value = np.zeros(len(data.label), np.float32)
    for part in range(last):
        held = data.fold == part
        p = train(data, choosing[~held[choosing]], part, args.epochs)
        value[held] = data.score(p, np.flatnonzero(held))
        print("held out", part, measures(data.label[held], value[held]), round(time.time() - begun), flush=True)
    np.savez(out / "cross.npz", value=value)
    print("cross-validation", measures(data.label[choosing], value[choosing]), flush=True)


if __name__ == "__main__":
    main()
