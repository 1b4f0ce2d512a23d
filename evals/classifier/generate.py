"""Makes the data set: texts from the grammars, wrapped and mixed, and ordinary text of installed packages.

    generate.py OUT.jsonl [--seed N] [--corpus]

Every text has a class, a family, a language and a fold. All texts of a family are in one fold, and so are the values of the slot
`do` (what an attack wants) that it uses, so that neither the build nor the wish of a held-out text was seen. Fold 4 is the test.
"""

import argparse
import hashlib
import json
import pathlib
import os
import random
import re

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
FOLDS = 5
PER_ATTACK = 7
PER_BENIGN = 5
CORPUS_TEXTS = 1800
DOCUMENTS = 40


def fold_of(name):
    return int(hashlib.sha256(name.encode()).hexdigest(), 16) % FOLDS


def read_families(path, label):
    families, current = [], None
    for line in path.read_text().splitlines():
        if line.startswith("== "):
            name, language = line[3:].split()
            current = {"name": f"{'attack' if label else 'benign'}/{name}", "language": language, "lines": []}
            families.append(current)
        elif line and not (line.startswith("#") and current is None):
            current["lines"].append(line.replace("\\n", "\n"))
    return families


def read_slots(path):
    slots, current = {}, None
    for line in path.read_text().splitlines():
        if line.startswith("[") and line.endswith("]"):
            current = slots.setdefault(line[1:-1], [])
        elif line and current is not None:
            current.append(line)
    return slots


class Maker:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.slots = read_slots(HERE / "grammar/slots.txt")

    def fill(self, template, fold):
        def value(match):
            name = match.group(1)
            if name not in self.slots:
                return match.group(0)
            values = self.slots[name]
            if name == "do":
                values = [v for i, v in enumerate(values) if i % FOLDS == fold]
            return self.fill(self.random.choice(values), fold)

        return re.sub(r"\{([a-z]+)\}", value, template)

    def wrap(self, text, carrier, fold):
        """The same dress for both classes, so that the dress says nothing."""
        pick = self.random.random()
        one_line = text.replace("\n", " ")
        if pick < 0.34:
            out = text
        elif pick < 0.50:
            out = f"{carrier()} {text}"
        elif pick < 0.62:
            out = f"{text} {carrier()}"
        elif pick < 0.67:
            out = f"{carrier()}\n\n{text}\n\n{carrier()}"
        elif pick < 0.72:
            out = self.fill("From: {addr}\nSubject: {topic}\n\n", fold) + text
        elif pick < 0.76:
            out = f"<p>{one_line}</p>"
        elif pick < 0.79:
            out = f"<!-- {one_line} -->"
        elif pick < 0.81:
            out = f'<span style="display:none">{one_line}</span>'
        elif pick < 0.85:
            out = json.dumps({self.random.choice(["body", "text", "note", "description"]): text}, ensure_ascii=False)
        elif pick < 0.88:
            out = f"{self.random.choice(['#', '//', '--'])} {one_line}"
        elif pick < 0.91:
            out = f"> {one_line}"
        elif pick < 0.94:
            out = f"- {one_line}\n- {carrier()}"
        elif pick < 0.97:
            out = f"{self.random.choice(['Note:', 'IMPORTANT:', 'Hinweis:', 'PS:', 'Comment:', 'Update:', 'Warning:'])} {text}"
        else:
            out = f"| {self.fill('{num}', fold)} | {one_line} | {self.fill('{name}', fold)} |"
        return out


def plain(path):
    return path.read_text(errors="replace")


def corpus(maker):
    """Windows of ordinary text that comes with packages: crates that Cargo.lock pins, and the standard library of Python."""
    sources = []
    lock = (ROOT / "Cargo.lock").read_text()
    pinned = set(re.findall(r'name = "([^"]+)"\nversion = "([^"]+)"\nsource', lock))
    home = pathlib.Path(maker_home()) / "registry/src"
    for name, version in sorted(pinned):
        for folder in sorted(home.glob(f"*/{name}-{version}")):
            manifest = (folder / "Cargo.toml").read_text(errors="replace")
            licence = re.search(r'^license = "([^"]+)"', manifest, re.M)
            texts = [p for p in sorted(folder.glob("*.md")) if p.stat().st_size < 400_000]
            sources.append((f"crate/{name}", licence.group(1) if licence else "see the package", texts))
    library = pathlib.Path(os.__file__).parent
    for module in sorted(library.glob("*.py")) + sorted(library.glob("*/__init__.py")):
        if "site-packages" not in module.parts and module.stat().st_size > 2000:
            sources.append((f"python/{module.relative_to(library)}", "PSF-2.0", [module]))
    used, out = {}, []
    maker.random.shuffle(sources)
    for name, licence, paths in sources:
        for path in paths:
            words = plain(path).split(" ")
            at = 0
            taken = 0
            while at < len(words) and taken < 14:
                length = maker.random.randint(8, 36)
                text = " ".join(words[at : at + length]).strip()[:400]
                at += length + maker.random.randint(0, 400)
                if len(text) < 40 or sum(c.isalpha() for c in text) < len(text) * 0.5:
                    continue
                out.append({"text": text, "label": 0, "family": f"corpus/{name}", "language": "en", "fold": fold_of(name)})
                used[name] = licence
                taken += 1
    maker.random.shuffle(out)
    return out[:CORPUS_TEXTS], used, sources


def documents(maker, sources, attacks):
    """Long ordinary documents of the test fold, as they are and with one attack of the test fold put into them."""
    out = []
    for name, _, paths in sources:
        for path in paths:
            if fold_of(name) != FOLDS - 1 or len(out) >= 2 * DOCUMENTS:
                continue
            text = plain(path)[:6000]
            if len(text) < 1500:
                continue
            lines = text.split("\n")
            at = maker.random.randrange(len(lines))
            attack = maker.random.choice(attacks)
            out.append({"text": text, "label": 0, "family": name})
            out.append({"text": "\n".join([*lines[:at], attack["text"], *lines[at:]]), "label": 1, "family": attack["family"]})
    return out


def maker_home():
    return os.environ.get("CARGO_HOME", pathlib.Path.home() / ".cargo")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("out")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--corpus", action="store_true")
    args = parser.parse_args()
    maker = Maker(args.seed)
    attack = read_families(HERE / "grammar/attack.txt", 1)
    benign = read_families(HERE / "grammar/benign.txt", 0)
    out = []
    ordinary, sources = [], []
    if args.corpus:
        ordinary, used, sources = corpus(maker)
        pathlib.Path(args.out).with_suffix(".sources.json").write_text(json.dumps(used, indent=0, sort_keys=True))
        out += ordinary
    carriers = {}
    for fold in range(FOLDS):
        lines = [line for f in benign if fold_of(f["name"]) == fold and f["language"] == "en" for line in f["lines"]]
        carriers[fold] = [line for line in lines if len(line) < 160]
    texts = {fold: [x["text"] for x in ordinary if x["fold"] == fold and len(x["text"]) < 200] for fold in range(FOLDS)}
    seen = set()
    for label, families, each in ((1, attack, PER_ATTACK), (0, benign, PER_BENIGN)):
        for family in families:
            fold = fold_of(family["name"])

            def carrier(fold=fold):
                if texts[fold] and maker.random.random() < 0.35:
                    return maker.random.choice(texts[fold])
                return maker.fill(maker.random.choice(carriers[fold]), fold)

            for line in family["lines"]:
                for n in range(each):
                    text = maker.fill(line, fold)
                    text = text if n == 0 else maker.wrap(text, carrier, fold)
                    if text not in seen:
                        seen.add(text)
                        out.append({"text": text, "label": label, "family": family["name"], "language": family["language"], "fold": fold})
    with open(args.out, "w") as file:
        for row in out:
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
    attacks = [row for row in out if row["label"] and row["fold"] == FOLDS - 1 and len(row["text"]) < 200]
    with open(pathlib.Path(args.out).with_suffix(".documents.jsonl"), "w") as file:
        for row in documents(maker, sources, attacks):
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
    for label in (1, 0):
        for fold in range(FOLDS):
            rows = [r for r in out if r["label"] == label and r["fold"] == fold]
            names = sorted({r["family"] for r in rows if not r["family"].startswith("corpus")})
            print(label, fold, len(rows), len(names), " ".join(n.split("/")[1] for n in names))


if __name__ == "__main__":
    main()
