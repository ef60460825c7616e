//! Whose a directory is: command line, hooks, status line, server and `doctor` give one answer;
//! `stories/roots.md` and `stories/session_roots.md` have the rest.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::bench::mcp_client::McpClient;
use crate::bench::{Sandbox, limit, os, place, skipped};
use crate::hook::hook;

/// A home with directories below it.
struct World(Sandbox);

impl World {
    fn new(dirs: &[&str]) -> Self {
        let world = Self(Sandbox::rooted_at("home/elsewhere"));
        for dir in dirs {
            fs::create_dir_all(world.path(dir)).expect("a directory");
        }
        world.0.env("TMPDIR", world.0.home());
        world
    }

    fn path(&self, dir: &str) -> PathBuf {
        self.0.home().join(dir)
    }

    fn begin_store(&self, dir: &str) {
        fs::write(self.path(dir).join("f"), dir).expect("a file");
        let words = ["create", "--here", "--force", "-r", "older"];
        self.0.run_in(&self.path(dir), &words).success();
    }

    /// Makes a repository, or a linked worktree of one at `app`.
    fn begin_repository(&self, dir: &str) {
        let dot_git = self.path(dir).join(".git");
        if dir.ends_with("worktree") {
            let main = self.path("app/.git/worktrees/w");
            fs::write(dot_git, format!("gitdir: {}\n", main.display())).expect("a file");
        } else {
            fs::create_dir(&dot_git).expect("a directory");
            fs::write(dot_git.join("HEAD"), "ref: refs/heads/main\n").expect("a file");
        }
    }
}

/// Directories with a store, repositories, where the user stands, and the root.
type Case = (
    &'static [&'static str],
    &'static [&'static str],
    &'static str,
    &'static str,
);

const CASES: [Case; 12] = [
    (&[], &[], "app/src/deep", "app/src/deep"),
    (&["app"], &[], "app", "app"),
    (&["app"], &[], "app/src/deep", "app"),
    (&["app", "app/src"], &[], "app/src/deep", "app/src"),
    (&["app"], &["app"], "app/src/deep", "app"),
    (&[], &["app"], "app/src/deep", "app/src/deep"),
    // A nested repository or worktree is its own root.
    (&["app"], &["app/src"], "app/src/deep", "app/src"),
    (
        &["app"],
        &["app", "app/worktree"],
        "app/worktree/deep",
        "app/worktree",
    ),
    (&["app", "app/src"], &["app/src"], "app/src/deep", "app/src"),
    // The home directory takes over nothing below it, nor does what is above it.
    (&[""], &[], "app/src", "app/src"),
    (&[".."], &[], "app/src", "app/src"),
    (&[""], &[], "", ""),
];

#[test]
fn everyone_gives_the_same_answer() {
    for (stores, repositories, current, root) in CASES {
        let case = format!("{stores:?} {repositories:?} {current}");
        let world = World::new(&["app/src/deep", "app/worktree/deep"]);
        for dir in stores {
            world.begin_store(dir);
        }
        for dir in repositories {
            world.begin_repository(dir);
        }
        let sandbox = &world.0;
        let (current, root) = (world.path(current), world.path(root));
        let root = os::canonical(&root);
        let status = sandbox.run_in(&current, &["status", "--json"]).success();
        assert_eq!(status.data()["root"], json!(root), "status: {case}");
        let config = sandbox.run_in(&current, &["config", "--json"]).success();
        assert_eq!(config.data()["root"], json!(root), "config: {case}");
        let doctor = sandbox.run_in(&current, &["doctor", "--json"]).data();
        let told = doctor["checks"][0]["message"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        assert!(
            told.trim_start_matches("refusing ")
                .starts_with(&root.display().to_string()),
            "doctor: {case}: {doctor}"
        );
        sandbox.env("CLAUDE_PROJECT_DIR", &current);
        let mut client = McpClient::of(sandbox, &[], "2025-06-18", false);
        let served = client.data("checkpoint_status", json!({}));
        assert_eq!(served["root"], json!(root), "mcp: {case}");
        sandbox.unset_env("CLAUDE_PROJECT_DIR");
        let has_store = place::store(&sandbox.base(), &root).is_dir();
        let document = json!({ "workspace": { "current_dir": current } }).to_string();
        let mut command = sandbox.command(&[], &["statusline"]);
        let line = limit::output_fed(&mut command, document.as_bytes()).expect("it starts");
        assert_eq!(!line.stdout.is_empty(), has_store, "statusline: {case}");
        let brief = sandbox.run_in(&current, &["status", "--brief"]);
        assert_eq!(!brief.stdout.is_empty(), has_store, "brief: {case}");
        if root != *sandbox.home() {
            fs::write(root.join("new"), "1").expect("a file");
            let event = json!({ "session_id": "one", "hook_event_name": "UserPromptSubmit",
                "prompt": "UserPromptSubmit", "cwd": current });
            hook(sandbox, &["--agent", "codex"], event.to_string().as_bytes()).success();
            let newest = sandbox
                .run_in(&current, &["list", "--json"])
                .success()
                .data();
            let reason = &newest["checkpoints"][0]["reason"];
            assert_eq!(reason, "before: UserPromptSubmit", "hook: {case}");
            assert!(
                place::store(&sandbox.base(), &root).is_dir(),
                "hook: {case}"
            );
        }
    }
}

#[cfg(unix)]
#[test]
fn a_search_ends_at_the_border_of_a_file_system() {
    use crate::bench::os::MetadataExt as _;

    let inside = Path::new("/proc/sys/kernel");
    if !inside.is_dir() {
        return skipped("needs /proc");
    }
    let world = World::new(&[]);
    let store = place::store(&world.0.base(), Path::new("/"));
    fs::create_dir_all(&store).expect("a directory");
    fs::write(store.join("checkpoint-manifest.md"), "").expect("a file");
    let found = world.0.run_in(inside, &["config", "--json"]).success();
    assert_eq!(found.data()["root"], json!(inside));
    let found = world.0.run_in(Path::new("/usr/bin"), &["config", "--json"]);
    let device = |dir: &str| fs::metadata(dir).expect("it is there").dev();
    let is_one_system = device("/usr/bin") == device("/");
    assert_eq!(found.success().data()["root"] == "/", is_one_system);
}

#[test]
fn a_server_finds_the_root_of_the_directory_that_a_call_names() {
    let sandbox = Sandbox::new();
    for name in ["src/a", "src/deep/b.rs", "top.rs"] {
        sandbox.write(name, "1");
    }
    sandbox.create("of the root");
    let src = sandbox.path("src");
    let root = sandbox.root().to_path_buf();
    let mut client = McpClient::of(&sandbox, &[], "2025-06-18", false);
    let status = client.data("checkpoint_status", json!({ "directory": src }));
    assert_eq!(status["root"], json!(root));
    // A root above what is allowed is not reached.
    let named = src.display().to_string();
    let mut client = McpClient::of(&sandbox, &["--directory", &named], "2025-06-18", false);
    let status = client.data("checkpoint_status", json!({}));
    assert_eq!(status["root"], json!(src));
    let deep = json!({ "directory": src.join("deep") });
    assert_eq!(client.refusal("checkpoint_status", deep), "dir_not_allowed");
    // Paths count from where it was started, as on the command line.
    sandbox.write("deep/b.rs", "1").create("two of a name");
    sandbox.write("deep/b.rs", "2").write("src/deep/b.rs", "2");
    sandbox.env("CLAUDE_PROJECT_DIR", &src);
    let mut client = McpClient::of(&sandbox, &[], "2025-06-18", false);
    for named in [json!({}), json!({ "directory": "." })] {
        let mut call = json!({ "checkpoint": "latest", "paths": ["deep/b.rs"] });
        call.as_object_mut()
            .expect("an object")
            .extend(named.as_object().expect("it").clone());
        let plan = client.data("checkpoint_plan_restore", call);
        assert_eq!(plan["changes"][0]["path"], "src/deep/b.rs", "{plan}");
        assert_eq!(plan["changes"].as_array().expect("a list").len(), 1);
    }
}
