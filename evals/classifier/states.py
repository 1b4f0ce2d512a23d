"""Token states of every text after the layers that are used, as head.py reads them: one file a set.

    states.py DATA.jsonl OUT_FOLDER [--also TEXTS.jsonl]
"""

import argparse
import json
import pathlib

import numpy as np

from encoder import WIDTH, Encoder

LAYERS = 3
HERE = pathlib.Path(__file__).resolve().parent


def lines(path):
    return [json.loads(line) for line in open(path)]


def challenge():
    read = (HERE / "challenge.txt").read_text().splitlines()
    return [{"text": line[2:], "label": int(line[0] == "+"), "family": f"challenge/{n}"} for n, line in enumerate(read) if line[:2] in ("+ ", "- ")]


def encode(encoder, windows):
    """States of windows, one below the other; windows of one length go together."""
    lengths = np.array([len(w) for w in windows])
    start = np.concatenate([[0], np.cumsum(lengths)])
    out = np.zeros((start[-1], WIDTH), np.float16)
    for length in np.unique(lengths):
        rows = np.flatnonzero(lengths == length)
        for at in range(0, len(rows), 32):
            part = rows[at : at + 32]
            for states in encoder.layers([windows[i] for i in part], LAYERS):
                pass
            for i, state in zip(part, states):
                out[start[i] : start[i + 1]] = state
    return lengths, out


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("data")
    parser.add_argument("out")
    parser.add_argument("--also")
    args = parser.parse_args()
    out = pathlib.Path(args.out)
    out.mkdir(parents=True, exist_ok=True)
    encoder = Encoder()
    sets = {"challenge": (challenge(), 64), "train": (lines(args.data), 1)}
    if args.also:
        sets["also"] = (lines(args.also), 16)
    sets["documents"] = (lines(pathlib.Path(args.data).with_suffix(".documents.jsonl")), 64)
    for name, (rows, most) in sets.items():
        # An attack must stand in the window that is learned as one.
        rows = [r for r in rows if name != "train" or not r["label"] or len(encoder.ids(r["text"])) <= 62]
        made = [(i, w) for i, row in enumerate(rows) for w in encoder.windows(row["text"], most=most)]
        lengths, states = encode(encoder, [w for _, w in made])
        families = sorted({r["family"] for r in rows})
        np.savez(
            out / f"{name}.npz",
            S=states,
            lens=lengths,
            text=np.array([i for i, _ in made]),
            label=np.array([r["label"] for r in rows]),
            fold=np.array([r.get("fold", -1) for r in rows]),
            family=np.array([families.index(r["family"]) for r in rows]),
            families=np.array(families),
            lang=np.array([r.get("language", "en") for r in rows]),
        )
        (out / f"{name}.json").write_text(json.dumps([r["text"] for r in rows], ensure_ascii=False))
        print(name, len(rows), "texts", len(made), "windows", int(lengths.sum()), "tokens", flush=True)


if __name__ == "__main__":
    main()
