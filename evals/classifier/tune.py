"""Trains the adapter and the head on what tune_pack.py made, chooses by cross-validation, and scores the held-out fold once.

    tune.py PACK.npz OUT_FOLDER [--quick]

Folds 0 to 3 are for choosing: each is held out once. The last fold is scored by the chosen model only, which is trained on folds 0 to 3.
A model is the first L layers of the encoder, the mean and the maximum of the token states, and a head of two layers. The encoder is
frozen (`frozen`), corrected by an adapter of low rank (`lora`), or trained whole (`whole`, as an upper bound that is not shipped).
"""

import argparse
import json
import math
import pathlib
import time

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

WIDTH, HEADS, HIDDEN = 384, 12, 96
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
PARTS = ["attention.self.query", "attention.self.key", "attention.self.value", "attention.output.dense", "intermediate.dense", "output.dense"]


class Model(nn.Module):
    def __init__(self, base, layers, kind, rank=16):
        super().__init__()
        self.base, self.layers, self.kind, self.rank = base, layers, kind, rank
        self.down, self.up, self.tuned = nn.ParameterDict(), nn.ParameterDict(), nn.ParameterDict()
        for layer in range(layers):
            for part in PARTS:
                name = f"encoder.layer.{layer}.{part}"
                out, width = base[f"{name}.weight"].shape
                key = name.replace(".", "/")
                if kind == "lora":
                    self.down[key] = nn.Parameter(torch.randn(rank, width) / math.sqrt(width))
                    self.up[key] = nn.Parameter(torch.zeros(out, rank))
                elif kind == "whole":
                    self.tuned[key] = nn.Parameter(base[f"{name}.weight"].clone())
        self.head = nn.Sequential(nn.Linear(2 * WIDTH, HIDDEN), nn.GELU(), nn.Dropout(0.2), nn.Linear(HIDDEN, 1))

    def weight(self, name):
        key = name.replace(".", "/")
        if self.kind == "whole":
            return self.tuned[key]
        if self.kind == "lora":
            return self.base[f"{name}.weight"] + self.up[key] @ self.down[key]
        return self.base[f"{name}.weight"]

    def linear(self, x, name):
        return F.linear(x, self.weight(name), self.base[f"{name}.bias"])

    def norm(self, x, name):
        return F.layer_norm(x, (WIDTH,), self.base[f"{name}.weight"], self.base[f"{name}.bias"], 1e-12)

    def pooled(self, ids, length):
        tokens = int(length.max())
        ids = ids[:, :tokens]
        mask = torch.arange(tokens, device=ids.device)[None] < length[:, None]
        x = self.base["embeddings.word_embeddings.weight"][ids] + self.base["embeddings.position_embeddings.weight"][:tokens]
        x = self.norm(x + self.base["embeddings.token_type_embeddings.weight"][0], "embeddings.LayerNorm")
        for layer in range(self.layers):
            at = f"encoder.layer.{layer}"
            q, k, v = (
                self.linear(x, f"{at}.attention.self.{n}").unflatten(-1, (HEADS, -1)).transpose(1, 2) for n in ("query", "key", "value")
            )
            mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=mask[:, None, None, :]).transpose(1, 2).flatten(2)
            x = self.norm(x + self.linear(mixed, f"{at}.attention.output.dense"), f"{at}.attention.output.LayerNorm")
            x = self.norm(x + self.linear(F.gelu(self.linear(x, f"{at}.intermediate.dense")), f"{at}.output.dense"), f"{at}.output.LayerNorm")
        mean = (x * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)
        highest = x.masked_fill(~mask[..., None], -1e4).amax(1)
        return torch.cat([mean, highest], -1)

    def forward(self, ids, length):
        return self.head(self.pooled(ids, length))[:, 0]


def batches(ids, length, size=512):
    order = np.argsort(length, kind="stable")
    for at in range(0, len(order), size):
        yield order[at : at + size]


@torch.no_grad()
def score(model, ids, length):
    model.eval()
    out = np.zeros(len(ids), np.float32)
    for rows in batches(ids, length):
        i = torch.tensor(ids[rows].astype(np.int64), device=DEVICE)
        out[rows] = model(i, torch.tensor(length[rows].astype(np.int64), device=DEVICE)).float().cpu().numpy()
    return out


def train(base, layers, kind, data, rows, seed, epochs, noise=0.08):
    torch.manual_seed(seed)
    random = np.random.default_rng(seed)
    model = Model(base, layers, kind).to(DEVICE)
    inner = [p for n, p in model.named_parameters() if not n.startswith("head")]
    groups = [{"params": model.head.parameters(), "lr": 1e-3}]
    if inner:
        groups.append({"params": inner, "lr": 5e-4 if kind == "lora" else 4e-5})
    optimiser = torch.optim.AdamW(groups, weight_decay=0.02)
    ids, length, label = data["ids"], data["length"], data["label"]
    # Both classes weigh the same, and within a class every family: none wins by its number of lines.
    weight = np.zeros(len(label), np.float64)
    group = np.array([f"{l}{f if kind_of == 'grammar' else 'corpus'}" for l, f, kind_of in zip(label, data["family"], data["origin"])])
    for value in np.unique(group[rows]):
        members = rows[group[rows] == value]
        weight[members] = 1 / math.sqrt(len(members))
    for value in (0, 1):
        members = rows[label[rows] == value]
        weight[members] /= weight[members].sum()
    size = 128
    steps = epochs * len(rows) // size
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, [g["lr"] for g in groups], total_steps=steps + 1, pct_start=0.1)
    chance = weight[rows] / weight[rows].sum()
    unknown = data["unknown"]
    model.train()
    for _ in range(steps):
        pick = random.choice(rows, size, p=chance)
        batch = ids[pick].astype(np.int64)
        lost = (random.random(batch.shape) < noise * random.random((size, 1)) * 2) & (np.arange(64) > 0)
        batch[lost] = unknown
        i, n = torch.tensor(batch, device=DEVICE), torch.tensor(length[pick].astype(np.int64), device=DEVICE)
        y = torch.tensor(label[pick].astype(np.float32), device=DEVICE)
        with torch.autocast(DEVICE, torch.bfloat16, enabled=DEVICE == "cuda"):
            out = model(i, n)
        loss = F.binary_cross_entropy_with_logits(out.float(), y * 0.96 + 0.02)
        optimiser.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        schedule.step()
    return model


def auroc(label, value):
    order = np.argsort(value, kind="stable")
    rank = np.empty(len(value))
    rank[order] = np.arange(1, len(value) + 1)
    for v in np.unique(value):
        rank[value == v] = rank[value == v].mean()
    ones = label == 1
    return (rank[ones].sum() - ones.sum() * (ones.sum() + 1) / 2) / (ones.sum() * (~ones).sum())


def recall(label, value, rate):
    return float((value[label == 1] > np.quantile(value[label == 0], 1 - rate)).mean())


def measures(label, value):
    return {"auroc": auroc(label, value), "recall_1": recall(label, value, 0.01), "recall_01": recall(label, value, 0.001)}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("pack")
    parser.add_argument("out")
    parser.add_argument("--quick", action="store_true", help="the shipped kind alone, for one epoch: does the road hold?")
    args = parser.parse_args()
    out = pathlib.Path(args.out)
    out.mkdir(parents=True, exist_ok=True)
    pack = np.load(args.pack)
    base = {k[2:]: torch.tensor(pack[k].astype(np.float32), device=DEVICE) for k in pack.files if k.startswith("w.")}
    sets = {}
    for name in ("train", "challenge", "documents", "also"):
        if f"{name}.ids" in pack.files:
            sets[name] = {k: pack[f"{name}.{k}"] for k in ("ids", "length", "text", "label", "fold", "family", "families")}
    data = sets["train"]
    data["origin"] = np.array(["corpus" if str(data["families"][f]).startswith("corpus") else "grammar" for f in data["family"]])
    # The place of [UNK] in the small word table: nothing of the data is [PAD].
    data["unknown"] = 0
    last = int(data["fold"].max())
    choosing = np.flatnonzero(data["fold"] < last)
    kinds = [("lora", 3), ("lora", 4), ("frozen", 3), ("frozen", 4), ("whole", 4)]
    epochs = 8
    if args.quick:
        kinds, epochs = [("lora", 3)], 1
    results = {"device": DEVICE, "cross_validation": {}, "seconds": {}}
    for kind, layers in kinds:
        begun = time.time()
        value = np.zeros(len(data["label"]), np.float32)
        for fold in range(2 * last):
            # Halves of folds, whole families: less is missing from what is learned.
            part = (data["fold"] == fold // 2) & (data["family"] % 2 == fold % 2)
            rows = choosing[~part[choosing]]
            held = np.flatnonzero(part)
            model = train(base, layers, kind, data, rows, seed=fold, epochs=epochs)
            value[held] = score(model, data["ids"][held], data["length"][held])
        found = measures(data["label"][choosing], value[choosing])
        np.savez(out / f"cv-{kind}-{layers}.npz", value=value.astype(np.float16))
        results["cross_validation"][f"{kind}-{layers}"] = found
        results["seconds"][f"{kind}-{layers}"] = round(time.time() - begun, 1)
        print(kind, layers, found, round(time.time() - begun, 1), flush=True)
    finals = [("lora", 3)] if args.quick else [("frozen", 4), ("lora", 3), ("lora", 4)]
    for kind, layers in finals:
        model = train(base, layers, kind, data, choosing, seed=7, epochs=epochs)
        arrays = {}
        for name, texts in sets.items():
            arrays[name] = score(model, texts["ids"], texts["length"])
        held = data["fold"] == last
        results[f"final-{kind}-{layers}"] = {"test": measures(data["label"][held], arrays["train"][held])}
        for name in ("challenge", "documents", "also"):
            if name in sets:
                texts = sets[name]
                whole = np.full(len(texts["label"]), -1e9, np.float32)
                np.maximum.at(whole, texts["text"], arrays[name])
                results[f"final-{kind}-{layers}"][name] = measures(texts["label"], whole)
        weights = {k: v.detach().cpu().numpy() for k, v in model.state_dict().items() if k.startswith(("head", "up", "down"))}
        np.savez(out / f"final-{kind}-{layers}.npz", **{f"score.{k}": v for k, v in arrays.items()}, **weights)
        print("final", kind, layers, results[f"final-{kind}-{layers}"], flush=True)
    (out / "results.json").write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
