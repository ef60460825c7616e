"""One session of a real agent program with a scripted model, in a home and a
project of its own."""

import os
import pathlib
import signal
import subprocess
import time

LIMIT = 120
# Of the story below, the third one is broken off.
PROMPTS = ["Write a greeting", "Say uno for one, then build", "Rewrite everything", "Say goodbye"]
WAVE = "Let another write"
BACK = "Go back"
TOOL = "Keep this by a tool"


class Failed(Exception):
    pass


class Session:
    """Runs prompts of one program, each a process of its own that takes up the session."""

    def __init__(self, program, model, root, path):
        self.program, self.model, self.root = program, model, pathlib.Path(root)
        self.home, self.project = self.root / "home", self.root / "project"
        self.home.mkdir(parents=True)
        self.project.mkdir()
        (self.project / "notes.txt").write_text("one\ntwo\n")
        (self.project / "build.sh").write_text("mkdir -p out && cat notes.txt notes.txt > out/double.txt\n")
        self.variables = {"HOME": str(self.home), "PATH": path, "TERM": "dumb", "LANG": "C.UTF-8", "SHELL": "/bin/bash"}
        self.variables |= program.environment(model)
        program.configure(self.home, model)
        self.log = self.root / "log"
        # What each prompt is started by, such as `checkpoint run --`.
        self.launcher = []

    def start(self, words):
        with open(self.log, "ab") as log:
            log.write(f"\n$ {words}\n".encode())
            log.flush()
            return subprocess.Popen([*self.launcher, *words], cwd=self.project, env=self.variables, stdin=subprocess.DEVNULL,
                                    stdout=log, stderr=log, start_new_session=True)

    def finish(self, process, limit=LIMIT):
        try:
            return process.wait(limit)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            raise Failed(f"{self.program.name} did not end within {limit} s") from None

    def capture(self, words):
        """Runs a command to its end, and returns what it said."""
        return subprocess.run(words, cwd=self.project, env=self.variables, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=LIMIT)

    def run(self, words, steps=(), expect_success=True):
        self.model.play([*steps, {"text": "done"}])
        status = self.finish(self.start(words))
        if status != 0 and expect_success:
            raise Failed(f"{words} ended with {status}")

    def interrupt(self, words, steps):
        """Runs a prompt, and breaks it off where the model keeps it waiting."""
        self.model.play([*steps, {"hang": True}])
        process = self.start(words)
        if not self.model.hanging.wait(LIMIT):
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            raise Failed(f"{words} never reached the model")
        time.sleep(0.5)
        # Who sees that nothing happens presses Ctrl-C again.
        for _ in range(3):
            os.killpg(process.pid, signal.SIGINT)
            try:
                return process.wait(15)
            except subprocess.TimeoutExpired:
                continue
        # Then the window is closed; what was recorded must be the same.
        print(f"{self.program.name} went on after three times Ctrl-C, and was killed")
        os.killpg(process.pid, signal.SIGKILL)
        return process.wait()

    def subagent(self):
        """Lets a subagent edit, where the program has such."""
        if self.program.subagent():
            self.run(self.program.next(WAVE), self.program.subagent())
            content = tree(self.project).get("wave.txt", (0, None))[1]
            if content != b"one\ntwo\n":
                raise Failed(f"the subagent left {content}")

    def three_prompts(self):
        """The story: edits by a tool, by `sed`, by a build; a prompt broken off; the session taken up again.
        Returns the tree as it was before the second prompt."""
        program, project = self.program, self.project
        self.run(program.first(PROMPTS[0]), [program.write(project / "greeting.txt", "hello\n")])
        before_second = tree(project)
        self.run(program.next(PROMPTS[1]),
                 [*program.sed("s/one/uno/", project / "notes.txt"), program.shell("sh build.sh")])
        self.interrupt(program.next(PROMPTS[2]), [program.shell("echo half > half.txt")])
        self.run(program.next(PROMPTS[3]), [program.write(project / "farewell.txt", "bye\n")])
        wanted = {"notes.txt": b"uno\ntwo\n", "out/double.txt": b"uno\ntwo\nuno\ntwo\n", "greeting.txt": b"hello\n",
                  "half.txt": b"half\n", "farewell.txt": b"bye\n"}
        now = tree(project)
        wrong = {path: now.get(path) for path, content in wanted.items() if now.get(path, (0, b""))[1] != content}
        if wrong:
            raise Failed(f"the session left {wrong}")
        return before_second


def tree(folder):
    """Returns mode and content of each file."""
    files = {}
    for path in sorted(folder.rglob("*")):
        if path.is_symlink():
            files[str(path.relative_to(folder))] = (0, os.readlink(path).encode())
        elif path.is_file():
            files[str(path.relative_to(folder))] = (path.stat().st_mode, path.read_bytes())
    return files
