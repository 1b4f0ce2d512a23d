"""Turns every set into token windows and takes out of the encoder what they need: one file that training reads.

    tune_pack.py DATA.jsonl OUT.npz [--also SETS.jsonl]

The word table holds only the words that occur, so that the file is small; weights are rounded to 16 bits.
"""

import argparse
import json
import pathlib

import numpy as np

from encoder import WINDOW, Encoder

HERE = pathlib.Path(__file__).resolve().parent


def challenge():
    rows = []
    for line in (HERE / "challenge.txt").read_text().splitlines():
        if line[:2] in ("+ ", "- "):
            rows.append({"text": line[2:], "label": int(line[0] == "+"), "family": "challenge", "fold": -1})
    return rows


def lines(path):
    return [json.loads(line) for line in open(path)]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("data")
    parser.add_argument("out")
    parser.add_argument("--also", help="further texts to score: JSON lines with text, label, family")
    args = parser.parse_args()
    encoder = Encoder()
    sets = {"train": (lines(args.data), 1), "challenge": (challenge(), 64)}
    sets["documents"] = (lines(pathlib.Path(args.data).with_suffix(".documents.jsonl")), 64)
    if args.also:
        sets["also"] = (lines(args.also), 64)
    arrays, windows = {}, {}
    for name, (rows, most) in sets.items():
        # An attack must stand in the window that is learned as one.
        rows = [r for r in rows if name != "train" or not r["label"] or len(encoder.ids(r["text"])) <= WINDOW - 2]
        made = [(i, w) for i, row in enumerate(rows) for w in encoder.windows(row["text"], most=most)]
        windows[name] = [w for _, w in made]
        families = sorted({r["family"] for r in rows})
        arrays |= {
            f"{name}.text": np.array([i for i, _ in made], np.int32),
            f"{name}.label": np.array([r["label"] for r in rows], np.int8),
            f"{name}.fold": np.array([r.get("fold", -1) for r in rows], np.int8),
            f"{name}.family": np.array([families.index(r["family"]) for r in rows], np.int32),
            f"{name}.families": np.array(families),
        }
        pathlib.Path(args.out).with_suffix(f".{name}.json").write_text(json.dumps([r["text"] for r in rows], ensure_ascii=False))
    used = sorted({t for made in windows.values() for w in made for t in w} | {0})
    place = {token: at for at, token in enumerate(used)}
    for name, made in windows.items():
        ids = np.zeros((len(made), WINDOW), np.uint16)
        for row, w in zip(ids, made):
            row[: len(w)] = [place[t] for t in w]
        arrays[f"{name}.ids"] = ids
        arrays[f"{name}.length"] = np.array([len(w) for w in made], np.int16)
    for key, value in encoder.w.items():
        if key == "embeddings.word_embeddings.weight":
            value = value[used]
        elif key == "embeddings.position_embeddings.weight":
            value = value[:WINDOW]
        elif key.startswith("pooler") or key == "embeddings.position_ids":
            continue
        arrays[f"w.{key}"] = value.astype(np.float16)
    np.savez(args.out, **arrays)
    print({k: v.shape for k, v in arrays.items() if not k.startswith("w.")}, len(used))


if __name__ == "__main__":
    main()
