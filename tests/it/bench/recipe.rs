//! The shell recipe that this program replaces, carried out with real git: how such stores were
//! made by hand.

use std::path::PathBuf;

use super::{Git, Sandbox};

/// A store kept by hand with the commands of the recipe, word for word.
pub struct Recipe {
    git: Git,
    store: PathBuf,
    /// Time of the next commit, in seconds since 1970.
    clock: std::cell::Cell<i64>,
    pub with_manifest: bool,
}

/// A commit made by hand.
#[derive(Clone, Debug)]
pub struct Made {
    pub id: String,
    pub reason: String,
}

impl Recipe {
    /// Sets up a store; `None`, with a printed line, where there is no git.
    pub fn find(sandbox: &Sandbox) -> Option<Self> {
        let store = sandbox.store();
        let git = Git::find(sandbox.root())?
            .with("GIT_DIR", &store)
            .with("GIT_WORK_TREE", sandbox.root());
        Some(Self {
            git,
            store,
            clock: std::cell::Cell::new(1_774_000_000),
            with_manifest: true,
        })
    }

    pub fn manifest(&self) -> PathBuf {
        self.store.join("checkpoint-manifest.md")
    }

    pub fn init(&self, branch: &str) -> &Self {
        std::fs::create_dir_all(&self.store).expect("the store's folder can be made");
        self.git
            .run(&["-c", &format!("init.defaultBranch={branch}"), "init", "-q"])
            .success();
        let list = "node_modules/\n.env\n.env.*\n__pycache__/\n.git/\nvenv/\n.venv/\ndist/\nbuild/\n.next/\n*.pyc\n.DS_Store\n";
        std::fs::write(self.store.join(".gitignore"), list).expect("the list can be written");
        self
    }

    /// Stages all, commits, appends a row.
    pub fn checkpoint(&self, reason: &str) -> Made {
        let at = self.clock.get();
        self.clock.set(at + 10);
        self.git.run(&["add", "-A"]).success();
        let message = format!("{reason} | 2026-03-20 10:00:00 | build");
        let date = format!("{at} +0000");
        let mut commit = self.git.command(&[
            "commit",
            "-q",
            "-m",
            &message,
            "--allow-empty",
            "--allow-empty-message",
        ]);
        commit
            .env("GIT_AUTHOR_DATE", &date)
            .env("GIT_COMMITTER_DATE", &date);
        super::Run::of(commit).success();
        let id = self.git.output(&["rev-parse", "HEAD"]);
        if self.with_manifest {
            let mut text = std::fs::read_to_string(self.manifest()).unwrap_or_default();
            text.push_str(&format!(
                "| {} | 2026-03-20 10:00:00 | {reason} | build |\n",
                &id[..8]
            ));
            std::fs::write(self.manifest(), text).expect("the manifest can be written");
        }
        Made {
            id,
            reason: reason.to_owned(),
        }
    }

    /// Removes the oldest rows until `keep` are left.
    pub fn evict(&self, keep: usize) {
        let text = std::fs::read_to_string(self.manifest()).expect("a manifest");
        let (rows, head): (Vec<&str>, Vec<&str>) = text
            .lines()
            .partition(|line| line[2..].starts_with(|c: char| c.is_ascii_hexdigit()));
        let rows = &rows[rows.len().saturating_sub(keep)..];
        let lines: String = head
            .iter()
            .chain(rows)
            .map(|line| format!("{line}\n"))
            .collect();
        std::fs::write(self.manifest(), lines).expect("the manifest can be written");
    }

    pub fn restore(&self, id: &str, path: &str) {
        self.git.run(&["checkout", "-q", id, "--", path]).success();
    }

    pub fn gc(&self) {
        self.git.run(&["gc", "-q", "--prune=now"]).success();
    }

    /// The findings of `git fsck`.
    pub fn fsck(&self) -> Vec<String> {
        let run = self.git.run(&["fsck", "--full", "--strict"]);
        let quiet = |line: &&str| {
            line.is_empty() || line.starts_with("dangling") || line.starts_with("notice")
        };
        let mut lines: Vec<String> = run
            .stderr
            .lines()
            .chain(run.stdout.lines())
            .filter(|l| !quiet(l))
            .map(str::to_owned)
            .collect();
        if run.code != 0 {
            lines.push(format!("exit {}", run.code));
        }
        lines
    }

    pub fn git(&self) -> &Git {
        &self.git
    }
}
