"""Drives real agent programs. `record` keeps the documents that their hooks
get; `rewind` tries `checkpoint` under them; `packages` names what npm installs."""

import json
import os
import pathlib
import sys
import tempfile

import record
import rewind
from model import Model
from programs import PROGRAMS
from session import Failed, Session

# Those under which the whole story is tried; the others are recorded only.
TRIED = ["claude", "codex", "gemini", "opencode", "copilot"]


def main(work, *words):
    if work == "packages":
        named = [PROGRAMS[name] for name in words or PROGRAMS]
        print(json.dumps({"private": True, "dependencies": {program.package: program.version for program in named}}))
        return 0
    given, programs, *names = words
    given = pathlib.Path(given).resolve()
    path = f"{programs}:/usr/local/bin:/usr/bin:/bin"
    failures = 0
    for name in names or (PROGRAMS if work == "record" else TRIED):
        with tempfile.TemporaryDirectory(prefix=f"{name}-", ignore_cleanup_errors=True) as root:
            session = Session(PROGRAMS[name], Model(), root, path)
            try:
                (record.run if work == "record" else rewind.run)(session, given)
            except (Failed, OSError, ValueError) as problem:
                failures += 1
                print(f"{name}: FAILED: {problem}", flush=True)
                if session.log.exists():
                    print(session.log.read_text(errors="replace")[-3000:], flush=True)
                keep_for_inspection(session)
    return int(failures > 0)


def keep_for_inspection(session):
    folder = os.environ.get("KEEP_FAILED")
    if folder:
        kept = pathlib.Path(folder) / session.root.name
        kept.parent.mkdir(parents=True, exist_ok=True)
        (session.root / "requests.json").write_text(json.dumps(session.model.requests))
        session.root.rename(kept)
        session.root.mkdir()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
