"""Gives goals to the whole agent with a local model behind it, each a case of its own in a throwaway folder, and prints what its turns came to.

usage: goal.py PROGRAMS PORT CONTEXT SECONDS [GOAL...]

Without a goal there are two that spell out a turn, which a base model can copy: one that the gate allows, and one that it refuses by a rule, so
that the model is told why and drafts again.
"""

import json
import os
import pathlib
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time


def main():
    programs, port, context, seconds, *goals = sys.argv[1:]
    goals = goals or [f"Read notes.txt by this turn: {turn('notes.txt')}",
                      f"Read old.txt by this turn: {turn('old.txt')}"]
    # Whoever ends this ends what it started.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    # Not below a temporary folder: a plan may write there, as it may in its workspace.
    work = pathlib.Path(tempfile.mkdtemp(prefix=".countersign-local-model.", dir=pathlib.Path.home()))
    try:
        house = House(pathlib.Path(programs) / "countersign", work, port, context)
        rows = []
        for goal in goals:
            rows += house.pursue(goal, float(seconds))
        summary(rows)
    finally:
        house.countersign("down")
        shutil.rmtree(work, ignore_errors=True)


def turn(path):
    """What a model answers that reads this file by a plan."""
    step = {"id": "s1", "action": "read_file", "args": json.dumps({"path": path}), "reason": "the goal",
            "expect": [], "rollback": None, "needs": [], "change_request": None}
    return json.dumps({"thought": "Read the file", "turn": {"propose": {"plan": {"steps": [step]}}}})


class House:
    """A workspace with one file that may be read and one that may not, and a monitor of its own."""

    def __init__(self, program, work, port, context):
        self.program = program
        self.desk = work / "desk"
        config = work / "config"
        for folder in (self.desk, config):
            folder.mkdir(mode=0o700)
        (self.desk / "notes.txt").write_text("The meeting is on Tuesday at ten.\n")
        (self.desk / "old.txt").write_text("The meeting is on Monday at nine.\n")
        (config / "countersign.yaml").write_text("schema: countersign.deployment/v1\npolicy: policy.yaml\n")
        (config / "policy.yaml").write_text(
            "schema: countersign.policy/v1\n"
            "deny: [{name: read_notes_txt_instead, action_types: ['*'], paths: ['**/old.txt']}]\n"
        )
        (config / "broker.yaml").write_text(
            "schema: countersign.broker/v1\n"
            "providers:\n"
            f"  gemma: {{kind: openai, url: 'http://127.0.0.1:{port}/v1', model: gemma-3-270m, private: true,\n"
            f"    clearance: restricted, structured: tool, max_context: {context},\n"
            "    patience: {first_byte_ms: 300000, idle_ms: 120000, total_ms: 600000}}\n"
        )
        self.environment = dict(
            os.environ,
            COUNTERSIGN_CONFIG_DIR=str(config),
            COUNTERSIGN_STATE_DIR=str(work / "state"),
            COUNTERSIGN_RUNTIME_DIR=str(work / "run"),
        )

    def countersign(self, *words):
        run = subprocess.run([self.program, *words], cwd=self.desk, env=self.environment, stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
        return run.returncode, run.stdout.decode("utf-8", "replace")

    def pursue(self, goal, seconds):
        """Follows a goal to its end, or halts it when its time is up; one row for each turn."""
        timer = threading.Timer(seconds, lambda: self.countersign("halt", "--all", "--reason", "its time is up"))
        timer.start()
        begun = time.monotonic()
        code, out = self.countersign("run", "--json", "--goal", goal)
        took = time.monotonic() - begun
        timer.cancel()
        told = json.loads(out)
        if "pending" in told:
            self.countersign("halt", "--all", "--reason", "nobody approves anything here")
        turns = rows(told.get("events", []))
        end = told.get("stage", "pending")
        print(f"\n### “{goal}”: exit {code}, {end}, {took:.0f} s\n")
        print("| turn | tokens asked | tokens answered | ms | what came of it |\n|---|---|---|---|---|")
        for number, turn in enumerate(turns, 1):
            print(f"| {number} | {turn['asked']} | {turn['answered']} | {turn['ms']} | {turn['what']} |")
        sys.stdout.flush()
        return turns


def rows(events):
    turns = []
    for event in events:
        if event.get("event") == "ended" and turns:
            report = event.get("report") or {}
            if "gave up" not in turns[-1]["what"]:
                turns[-1]["what"] += f"; the end: {short(report.get('detail') or event['stage'])}"
        if event.get("event") != "planner":
            continue
        kind = event["planner"]
        if kind == "inferred":
            account = event["account"]
            usage = account.get("usage", {})
            turns.append({"asked": usage.get("input_tokens", 0), "answered": usage.get("output_tokens", 0), "ms": account.get("millis", 0),
                          "outcome": account.get("outcome"), "what": "could not be used: told what is wrong and asked again", "repair": True})
        elif turns:
            what = {
                "loaded": lambda: f"loaded {', '.join(event['groups'])} ({event['tools']} tools)",
                "read": lambda: f"read by `{event['action']}`: {short(event['outcome'])}",
                "judged": lambda: judged(event["verdict"]),
                "answering": lambda: "goes on to the answer",
                "answered": lambda: f"answered: “{short(event['text'])}”",
            }.get(kind)
            if kind == "gave_up":
                # Whatever the last turn was, the planner ends here: a question that nobody answered is no repair.
                turns[-1]["what"] += f"; gave up: {short(event['reason'])}"
            elif kind == "answering" and turns[-1]["what"].startswith("a draft"):
                turns[-1]["what"] += "; carried out, goes on to the answer"
            elif what:
                turns[-1]["what"], turns[-1]["repair"] = what(), kind == "judged" and event["verdict"]["decision"] == "block"
    return turns


def judged(verdict):
    reason = (verdict.get("reasons") or [{}])[0]
    return f"a draft, `{verdict['decision']}`: {reason.get('code', '')} {short(reason.get('message', ''))}"


def short(text):
    text = " ".join(str(text).split()).replace("|", "\\|")
    return text[:160] + ("…" if len(text) > 160 else "")


def summary(turns):
    times = [turn["ms"] for turn in turns if turn["outcome"] == "answer"]
    if not times:
        sys.exit("no answer came: nothing was measured")
    repairs = sum(turn["repair"] for turn in turns)
    print(f"\n{len(turns)} turns, {len(times)} answered, {repairs} of them mended or asked again; "
          f"milliseconds a turn: least {min(times)}, median {statistics.median(times):.0f}, most {max(times)}")


if __name__ == "__main__":
    main()
