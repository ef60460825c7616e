"""Keeps the documents that the hooks of an agent program get."""

import json
import pathlib
import shutil
import time

HERE = pathlib.Path(__file__).resolve().parent


def run(session, folder):
    program = session.program
    recorder = session.root / "recorder"
    shutil.copy(HERE / "recorder", recorder)
    program.install(session.home, recorder)
    session.three_prompts()
    session.subagent()
    for words, steps in further_prompts(program):
        session.run(words, steps, expect_success=False)
    # The last hook may outlive its program.
    time.sleep(1)
    documents = []
    for path in sorted((session.root / "recorded").glob("*.json")):
        # A program that ends at once may leave its hook without a document.
        if text := path.read_text():
            document = scrubbed(session, text)
            documents.append((document.get("hook_event_name") or path.name.split("-")[1], document))
    print(f"{program.name} {program.version}:", " ".join(name for name, _ in documents), flush=True)
    keep(folder / program.name, documents)


def further_prompts(program):
    """Prompts beyond the story: a compaction, a failure."""
    if program.compact():
        yield program.compact(), []
    if program.compacting():
        yield program.next("A long one"), program.compacting()
    yield program.next("This one fails"), [program.failure()]


def scrubbed(session, text):
    """Returns a document with the paths of a home where people have theirs."""
    text = text.replace(str(session.project), "/home/user/project").replace(str(session.home), "/home/user")
    dashed = str(session.project).replace("/", "-")
    return json.loads(text.replace(dashed, "-home-user-project"))


def keep(folder, documents):
    """Writes the first document of each event, and of each tool, source and the like within it."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name, document in documents:
        parts = [name, document.get("tool_name") or document.get("toolName"), document.get("source"), document.get("trigger")]
        if "ubagent" not in name and ("agent_id" in document or "agentId" in document):
            parts.append("in-subagent")
        prompt = document.get("prompt")
        if prompt == "":
            parts.append("empty")
        if prompt and "a word to the session" in prompt:
            parts.append("with-context")
        path = folder / ("-".join(part for part in parts if part) + ".json")
        if not path.exists():
            path.write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n")
