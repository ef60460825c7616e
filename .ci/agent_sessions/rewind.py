"""Tries `checkpoint` under a real agent: setup, the story, rewind, undo, removal."""

import json
import os
import re

from session import BACK, PROMPTS, TOOL, WAVE, Failed, tree

BY_TOOL = "made by a tool"


def run(session, checkpoint):
    def call(*words):
        done = session.capture([checkpoint, *words])
        if done.returncode != 0:
            raise Failed(f"checkpoint {' '.join(words)} ended with {done.returncode}: {done.stdout}{done.stderr}")
        return done.stdout

    name = session.program.name
    home = tree(session.home)
    call("setup", name, "--yes")
    written = {path: home.get(path) for path, now in tree(session.home).items() if home.get(path) != now}
    words, wanted = session.program.validation(session.home)
    if words:
        done = session.capture(words)
        expect(f"{words} says {wanted}: {done.stdout}{done.stderr}", wanted in done.stdout + done.stderr, True)
    expect("setup wrote", bool(written), True)
    session.launcher = [str(checkpoint), *os.environ["LAUNCHER"].split()] if "LAUNCHER" in os.environ else []
    before_second = session.three_prompts()
    session.subagent()
    # Without a person to answer, the program must come to an end all the same.
    session.run(session.program.next(BACK), [session.program.shell(f"'{checkpoint}' restore latest --yes")])
    # The model calls our server; the answer reaches it.
    session.run(session.program.next(TOOL), session.program.served("checkpoint_create", {"reason": BY_TOOL}))
    expect("the answer of the tool", 'requested_reason' in json.dumps(session.model.requests[-1]).replace("\\", ""), True)
    at_the_end = tree(session.project)
    # Codex says so of an answer that it does not understand.
    expect("failed hooks", re.findall(r"hook: \w+ Failed", session.log.read_text(errors="replace")), [])

    prompts = json.loads(call("rewind", "--json"))["data"]
    expect("the session is of", prompts["agent_name"], name)
    expect("the prompts are", [prompt["line"].strip('"') for prompt in reversed(prompts["prompts"])],
           PROMPTS + [WAVE] * bool(session.program.subagent()) + [BACK, TOOL])
    listed = json.loads(call("list", "--json"))["data"]["checkpoints"]
    first, *others = [row["reason"].replace('"', "") for row in reversed(listed)]
    # A launcher records some before the hooks do.
    if not session.launcher:
        expect("the first checkpoint", first in ("session start", f"before: {PROMPTS[0]}"), True)
        # The turn ends on the state that the tool has recorded already.
        expect("the others are", others, session.program.reasons() + [BY_TOOL])

    call("rewind", "2", "--yes")
    expect("after rewind 2 the tree is", tree(session.project), before_second)
    call("undo", "--yes")
    expect("after undo the tree is", tree(session.project), at_the_end)
    call("verify", "--full")

    call("setup", name, "--remove", "--yes")
    after = tree(session.home)
    expect("setup --remove leaves", {path: after.get(path) for path in written}, written)
    print(f"{name} {session.program.version}: {len(listed)} checkpoints, rewind, undo and removal are exact", flush=True)


def expect(what, found, wanted):
    if found != wanted:
        raise Failed(f"{what}\n  {found}\ninstead of\n  {wanted}")
