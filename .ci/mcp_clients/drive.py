"""Plays the story against `checkpoint mcp` with each official client, in each
version of the protocol that it speaks.

Usage: drive.py PROGRAM NODE PYTHON

A step may have "expect", a part of the line that the client prints for it."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
VERSIONS = ["2025-06-18", "2025-11-25", "2026-07-28", "auto"]
LIMIT = 60


def contains(actual, expected):
    """Whether all that is expected is there; more is allowed in objects and lists."""
    if isinstance(expected, dict):
        return isinstance(actual, dict) and all(key in actual and contains(actual[key], value) for key, value in expected.items())
    if isinstance(expected, list):
        return isinstance(actual, list) and all(any(contains(item, wanted) for item in actual) for wanted in expected)
    return actual == expected and type(actual) is type(expected)


def play(client, version, program):
    """Returns the number of steps, or None if the client does not speak the version, and what went wrong."""
    story = json.loads((HERE / "story.json").read_text())
    with tempfile.TemporaryDirectory() as top:
        home, project = pathlib.Path(top, "home"), pathlib.Path(top, "project")
        home.mkdir()
        project.mkdir()
        (project / "f1").write_text("one\n")
        environment = {"HOME": str(home), "PATH": os.environ["PATH"], "NODE_PATH": os.environ.get("NODE_PATH", "")}
        subprocess.run([program, "workflow", "init", "--id", "wf-1", "--phase", "build"], cwd=project, env=environment,
                       check=True, capture_output=True, timeout=LIMIT)
        child = subprocess.run([*client, program, "mcp", "--directory", str(project)], cwd=project, env=environment,
                               input=json.dumps({**story, "era": version}), capture_output=True, text=True, timeout=LIMIT)
    lines = [json.loads(line) for line in child.stdout.splitlines()]
    if any("skipped" in line for line in lines):
        return None, []
    wrong = [line for line in lines if "step" not in line and "error" in line]
    done = {line["step"]: line for line in lines if "step" in line}
    for number, step in enumerate(story["steps"]):
        if not contains(done.get(number), step["expect"]):
            wrong.append({"step": step, "instead": done.get(number)})
    if child.returncode != 0 or not lines or lines[-1]["op"] != "close":
        wrong.append({"ended": child.returncode, "said": child.stderr[-1000:]})
    return len(done), wrong


def main(program, node, python):
    clients = {
        "TypeScript 1.x": [node, str(HERE / "client_v1.mjs")],
        "TypeScript 2.x": [node, str(HERE / "client_v2.mjs")],
        "Python": [python, str(HERE / "client.py")],
    }
    failed = False
    for name, client in clients.items():
        for version in VERSIONS:
            steps, wrong = play(client, version, program)
            for line in wrong:
                print(f"{name}, {version}: FAILED: {json.dumps(line)[:2000]}", flush=True)
            failed = failed or bool(wrong)
            if steps is not None and not wrong:
                print(f"{name}, {version}: {steps} steps as expected", flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
