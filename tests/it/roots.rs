//! Whose a directory is: command line, hooks, status line, server and `doctor` give one answer.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::bench::mcp_client::McpClient;
use crate::bench::{Sandbox, limit, os, place};
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

    /// Directories below home that have a store, in order.
    fn stores(&self) -> Vec<String> {
        let listed = self.0.json("list --all");
        let stores = listed["stores"].as_array().expect("a list").iter();
        let home = os::canonical(self.0.home());
        let mut roots: Vec<String> = stores
            .map(|store| Path::new(store["root"].as_str().expect("a path")).to_owned())
            .map(|root| root.strip_prefix(&home).expect("below home").to_owned())
            .map(|root| root.to_string_lossy().replace('\\', "/"))
            .collect();
        roots.sort();
        roots
    }

    fn count(&self, dir: &str) -> u64 {
        let words = [
            "-C",
            &self.path(dir).display().to_string(),
            "list",
            "--json",
        ];
        let listed = self.0.run(&words).success().data();
        listed["checkpoints"].as_array().map_or(0, Vec::len) as u64
    }

    /// Tells an event, after a change in each of some directories.
    fn event(&self, agent: &str, name: &str, fields: &Value) {
        let mut document = json!({ "session_id": "one", "hook_event_name": name, "prompt": name });
        for (key, value) in fields.as_object().expect("an object") {
            document[key] = value.clone();
        }
        hook(
            &self.0,
            &["--agent", agent],
            document.to_string().as_bytes(),
        )
        .success();
    }

    fn change(&self, dirs: &[&str]) {
        for dir in dirs {
            let file = self.path(dir).join("changed");
            let before = fs::read_to_string(&file).unwrap_or_default();
            fs::write(file, before + "more\n").expect("a file");
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
            world.event("codex", "UserPromptSubmit", &json!({ "cwd": current }));
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
        return;
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

/// Names of an event, with which checkpoints are made.
const EVENTS: [&str; 3] = ["UserPromptSubmit", "Stop", "PreCompact"];
const AGENTS: [&str; 6] = ["claude", "codex", "gemini", "cursor", "copilot", "opencode"];

#[test]
fn an_event_belongs_to_the_root_in_which_its_session_began() {
    for agent in AGENTS {
        let world = World::new(&["src/app/pkg", "src/other", "Downloads"]);
        let app = world.path("src/app");
        world.begin_store("src/app/pkg");
        world.event(
            agent,
            "SessionStart",
            &json!({ "cwd": app, "source": "startup" }),
        );
        assert_eq!(
            world.stores(),
            ["src/app/pkg"],
            "{agent}: nothing began yet"
        );
        for current in [
            "Downloads",
            "src/app/pkg",
            "src/other",
            "src",
            ".",
            "gone",
            "src/app",
        ] {
            for name in EVENTS {
                world.change(&["src/app"]);
                let before = world.count("src/app");
                world.event(agent, name, &json!({ "cwd": world.path(current) }));
                let case = format!("{agent} {name} in {current}");
                assert_eq!(world.count("src/app"), before + 1, "{case}");
            }
        }
        let compacted = json!({ "cwd": world.path("Downloads"), "source": "compact" });
        world.event(agent, "SessionStart", &compacted);
        world.change(&["src/app"]);
        world.event(agent, "Stop", &json!({ "cwd": world.path("Downloads") }));
        assert_eq!(world.stores(), ["src/app", "src/app/pkg"], "{agent}");
        assert_eq!(world.count("src/app/pkg"), 1, "{agent}");
        // The session is taken up again elsewhere.
        let resumed = json!({ "cwd": world.path("src/other"), "source": "resume" });
        world.event(agent, "SessionStart", &resumed);
        world.change(&["src/other"]);
        world.event(agent, "UserPromptSubmit", &json!({ "cwd": app }));
        assert_eq!(
            world.stores(),
            ["src/app", "src/app/pkg", "src/other"],
            "{agent}"
        );
    }
}

#[test]
fn an_event_belongs_to_the_project_that_it_or_its_environment_names() {
    let dirs = ["app/sub", "second", "Downloads"];
    for agent in ["claude", "gemini", "cursor", "copilot"] {
        let world = World::new(&dirs);
        world.0.env("CLAUDE_PROJECT_DIR", world.path("app"));
        for current in ["Downloads", "app/sub", "gone"] {
            world.change(&["app"]);
            let event = json!({ "cwd": world.path(current), "prompt": current });
            world.event(agent, "UserPromptSubmit", &event);
        }
        assert_eq!(
            (world.stores(), world.count("app")),
            (vec!["app".to_owned()], 3),
            "{agent}"
        );
    }
    // What another agent around it left in its environment is not its own.
    let world = World::new(&dirs);
    world.0.env("CLAUDE_PROJECT_DIR", world.path("app"));
    world.event("codex", "Stop", &json!({ "cwd": world.path("second") }));
    assert_eq!(world.stores(), ["second"]);
    for agent in ["cursor", "cline"] {
        let world = World::new(&dirs);
        let roots = json!([world.path("app"), world.path("second")]);
        let event = json!({ "workspace_roots": roots, "cwd": world.path("app/sub") });
        world.event(agent, "UserPromptSubmit", &event);
        assert_eq!(world.stores(), ["app"], "{agent}");
        world.change(&["app"]);
        let event = json!({ "workspace_roots": roots, "cwd": world.path("Downloads") });
        world.event(agent, "UserPromptSubmit", &event);
        assert_eq!(world.stores(), ["app", "second"], "{agent}");
    }
}

#[test]
fn a_directory_that_is_gone_gets_nothing_unless_a_store_above_holds_it() {
    for agent in AGENTS {
        for name in [
            "SessionStart",
            "UserPromptSubmit",
            "PreToolUse",
            "Stop",
            "SessionEnd",
        ] {
            let world = World::new(&["src/two"]);
            let gone = json!({ "cwd": world.path("src/one/deep"), "tool_name": "Bash",
                "tool_input": { "command": "ls" } });
            world.event(agent, name, &gone);
            assert!(!world.0.base().exists(), "{agent} {name}");
        }
        let world = World::new(&["src/app"]);
        world.begin_store("src/app");
        world.change(&["src/app"]);
        world.event(
            agent,
            "Stop",
            &json!({ "cwd": world.path("src/app/one/deep") }),
        );
        assert_eq!(
            (world.stores(), world.count("src/app")),
            (vec!["src/app".to_owned()], 2)
        );
        // Its own store, which is gone with it, takes nothing either.
        world.begin_store("src/app");
        let world = World::new(&["src/app"]);
        world.begin_store("src/app");
        fs::remove_dir_all(world.path("src/app")).expect("it goes");
        world.event(agent, "Stop", &json!({ "cwd": world.path("src/app") }));
        assert!(!world.path("src/app").exists() && world.count("src/app") == 1);
    }
}

#[test]
fn a_linked_worktree_below_a_project_is_recorded_beside_it() {
    for (agent, names_project) in [("claude", true), ("codex", false)] {
        let world = World::new(&["app/worktree/src"]);
        world.begin_repository("app");
        world.begin_repository("app/worktree");
        world.begin_store("app");
        if names_project {
            world.0.env("CLAUDE_PROJECT_DIR", world.path("app"));
        }
        world.event(agent, "SessionStart", &json!({ "cwd": world.path("app") }));
        // The user edits the project while the agent's shell stands in the worktree.
        world.change(&["app", "app/worktree"]);
        let event = json!({ "cwd": world.path("app/worktree/src") });
        world.event(agent, "UserPromptSubmit", &event);
        assert_eq!(world.stores(), ["app", "app/worktree"], "{agent}");
        assert_eq!(world.count("app"), 2, "{agent}");
    }
}

#[test]
fn a_scope_in_a_linked_worktree_names_the_root_that_it_belongs_to() {
    let world = World::new(&["app/worktree"]);
    world.begin_repository("app");
    world.begin_repository("app/worktree");
    world.begin_store("app");
    world.change(&["app", "app/worktree"]);
    let inside = std::fs::read_dir(world.path("app/worktree")).expect("it can be listed");
    let names = inside.map(|entry| entry.expect("it").file_name().display().to_string());
    let name = names
        .into_iter()
        .find(|name| name != ".git")
        .expect("a file");
    let scope = format!("worktree/{name}");
    world
        .0
        .run_in(&world.path("app"), &["create", "--scope", &scope])
        .code(3)
        .stderr_has("is in the linked worktree worktree, which has its own checkpoints");
}

#[test]
fn a_linked_worktree_beside_a_project_is_recorded_too() {
    for name in EVENTS {
        let world = World::new(&["app/src", "app-worktree/src", "other"]);
        world.begin_repository("app");
        world.begin_repository("app-worktree");
        world.begin_repository("other");
        world.begin_store("app");
        world.0.env("CLAUDE_PROJECT_DIR", world.path("app"));
        world.change(&["app", "app-worktree"]);
        let event = json!({ "cwd": world.path("app-worktree/src") });
        world.event("claude", name, &event);
        assert_eq!(world.stores(), ["app", "app-worktree"], "{name}");
        assert_eq!(
            (world.count("app"), world.count("app-worktree")),
            (2, 1),
            "{name}"
        );
        // One of no repository of ours is passed through.
        world.change(&["app"]);
        world.event(
            "claude",
            name,
            &json!({ "cwd": world.path("other"), "prompt": "two" }),
        );
        assert_eq!(world.stores(), ["app", "app-worktree"], "{name}");
    }
}

#[test]
fn a_worktree_of_another_repository_belongs_to_the_project_around_it() {
    let world = World::new(&["all/app/.git/worktrees/w", "all/tree/src"]);
    let link = world.path("all/app/.git/worktrees/w");
    fs::write(world.path("all/app/.git/HEAD"), "ref: refs/heads/main\n").expect("a file");
    fs::write(
        world.path("all/tree/.git"),
        format!("gitdir: {}\n", link.display()),
    )
    .expect("a file");
    world.0.env("CLAUDE_PROJECT_DIR", world.path("all"));
    let event = json!({ "cwd": world.path("all/tree/src") });
    world.event("claude", "UserPromptSubmit", &event);
    assert_eq!(world.stores(), ["all"]);
    // One of the project's own repository may name it by a relative path.
    world.0.env("CLAUDE_PROJECT_DIR", world.path("all/app"));
    fs::create_dir_all(world.path("all/app/inner")).expect("a directory");
    fs::write(
        world.path("all/app/inner/.git"),
        "gitdir: ../.git/worktrees/w\n",
    )
    .expect("a file");
    let event = json!({ "cwd": world.path("all/app/inner"), "prompt": "two" });
    world.event("claude", "UserPromptSubmit", &event);
    assert_eq!(world.stores(), ["all", "all/app", "all/app/inner"]);
}

/// A root with a checkpoint, and a directory in it.
fn nested() -> (Sandbox, PathBuf) {
    let sandbox = Sandbox::new();
    sandbox
        .write("src/a", "1")
        .write("src/deep/b.rs", "1")
        .write("top.rs", "1")
        .create("of the root");
    let src = sandbox.path("src");
    (sandbox, src)
}

#[test]
fn paths_and_patterns_begin_at_the_current_directory() {
    let (sandbox, src) = nested();
    let run = |args: &[&str]| sandbox.run_in(&src, args);
    for (path, file) in [
        ("a", "src/a"),
        ("./a", "src/a"),
        ("../top.rs", "top.rs"),
        ("deep", "src/deep/b.rs"),
    ] {
        sandbox.write(file, "2");
        run(&["diff", "--exit-code", "--", path]).code(1);
        run(&["restore", "of the root", path, "--yes"])
            .success()
            .stderr_has("(in ..)");
        assert_eq!(sandbox.read(file), "1", "{path}");
    }
    run(&["cat", "of the root:a"]).success().stdout_is("1");
    run(&["cat", "of the root:../top.rs"])
        .success()
        .stdout_is("1");
    run(&["ls", "of the root", "."])
        .success()
        .stdout_is("a\ndeep/\n");
    run(&["list", "--path", "deep/b.rs"])
        .success()
        .stdout_has("of the root");
    run(&["find", "a"]).success();
    run(&["find", "top.rs"]).code(3);
    run(&["find", "*.rs"]).success().stdout_has("deep/b.rs: ");
    run(&["find", "../*.rs"])
        .success()
        .stdout_has("../top.rs: ");
    let found = run(&["find", "of the root:deep/b.rs", "--json"]).code(3);
    assert_eq!(
        found.json()["error"]["command"],
        json!(["checkpoint", "find", "deep/b.rs"])
    );
    sandbox.write("top.rs", "2").write("src/deep/b.rs", "2");
    run(&["restore", "of the root", "--glob", "*.rs", "--yes"]).success();
    assert_eq!(
        (sandbox.read("top.rs"), sandbox.read("src/deep/b.rs")),
        ("2".into(), "1".into())
    );
    run(&["restore", "of the root", "../.."])
        .code(2)
        .stderr_has("leads out of the root");
    run(&["restore", "of the root", "deep/../a", "--yes"]).success();
    let told = run(&[
        "create",
        "--scope",
        "deep",
        "--scope",
        "*.rs",
        "--contract",
        "--format",
        "json",
    ]);
    let contract: Value = serde_json::from_str(&told.success().stdout).expect("a contract");
    assert!(
        contract["checkpoint"]["scope"]
            .to_string()
            .contains("src/deep"),
        "{contract}"
    );
    run(&["guard", "--scope", "deep"]).success();
    sandbox.ok("guard --scope src/deep");
    run(&["guard", "--scope", "../top.rs", "--exact"])
        .code(4)
        .stderr_has("'../top.rs'")
        .stderr_has("create --scope top.rs");
    sandbox.write("src/a", "3");
    let told = run(&["guard", "--scope", "a", "--exact"]).code(4);
    assert!(
        told.stderr.contains("'a'") && !told.stderr.contains("'src/a'"),
        "{told}"
    );
}

#[test]
fn ls_without_a_path_lists_the_current_directory() {
    let (sandbox, src) = nested();
    let top = sandbox.ok("ls").stdout;
    let below = sandbox.ok("ls src -R").stdout;
    let ls = |words: &[&str]| {
        let run = sandbox.run_in(&src, &[&["ls"], words].concat());
        run.success().stdout
    };
    let here = ls(&["."]);
    assert!(!here.is_empty() && !here.contains(".."), "{here}");
    assert_eq!((ls(&[]), ls(&["@"])), (here.clone(), here));
    assert_eq!(ls(&["-R"]), below.replace("src/", ""));
    // What is named is listed, wherever it is.
    assert_eq!(ls(&[".."]).lines().count(), top.lines().count());
    assert_eq!(ls(&["--glob", "../top.rs"]), "../top.rs\n");
    let new = sandbox.path("new");
    std::fs::create_dir(&new).unwrap();
    sandbox
        .run_in(&new, &["ls"])
        .success()
        .stdout_is("")
        .stderr_has("nothing there");
}

#[test]
fn where_the_root_is_not_the_current_directory_it_is_said() {
    let (sandbox, src) = nested();
    let deep = src.join("deep");
    let told = sandbox.run_in(&deep, &["list"]).success();
    assert_eq!(told.stderr, "(in ../..)\n");
    assert_eq!(sandbox.run_in(&deep, &["list", "-q"]).success().stderr, "");
    assert_eq!(
        sandbox.run_in(&deep, &["list", "--json"]).success().stderr,
        ""
    );
    assert_eq!(sandbox.ok("list").stderr, "");
    let brief = sandbox.run_in(&deep, &["status", "--brief"]).success();
    assert!(
        !brief.stdout.is_empty() && brief.stderr.is_empty(),
        "{brief}"
    );
    // What is printed holds where the user stands.
    sandbox.write("src/a", "2");
    sandbox
        .run_in(&deep, &["restore", "of the root", "--yes"])
        .success();
    assert_eq!(sandbox.read("src/a"), "1");
    sandbox.run_in(&deep, &["undo"]).success();
    assert_eq!(sandbox.read("src/a"), "2");
}

#[test]
fn a_nested_repository_without_a_store_leads_to_the_one_that_holds_its_files() {
    let (sandbox, src) = nested();
    sandbox.mkdir("src/.git");
    let deep = src.join("deep");
    let above = format!("'checkpoint -C {} list'", sandbox.root().display());
    for command in ["status", "list"] {
        let run = sandbox.run_in(&deep, &[command]).success();
        run.stderr_has(&above).stderr_has("above this directory");
    }
    sandbox.run_in(&deep, &["diff"]).code(3).stderr_has(&above);
}

#[test]
fn a_named_directory_is_meant_exactly() {
    let (sandbox, src) = nested();
    let root = sandbox.root().display().to_string();
    let named = src.display().to_string();
    for words in [&["-C", &named][..], &["--here"]] {
        let list = [words, &["list"]].concat();
        let above = format!("'checkpoint -C {root} list'");
        sandbox
            .run_in(&src, &list)
            .success()
            .stderr_has(&above)
            .stderr_has("above this directory");
        let show = [words, &["show", "@", "--json"]].concat();
        let run = sandbox.run_in(&src, &show).code(3);
        assert_eq!(
            run.json()["error"]["command"],
            json!(["checkpoint", "-C", root, "list"])
        );
    }
    sandbox
        .run_in(&src, &["create", "--here", "-r", "own"])
        .success();
    // From now on it is a root without any word.
    let status = sandbox
        .run_in(&src.join("deep"), &["status", "--json"])
        .success();
    assert_eq!(status.data()["root"], json!(src));
}

#[test]
fn a_first_checkpoint_below_a_repositorys_top_names_the_top() {
    let sandbox = Sandbox::new();
    let src = sandbox.write("src/a", "1").path("src");
    let made = sandbox.run_in(&src, &["create", "--json"]).success();
    assert_eq!(made.warning_codes(), ["below_top"]);
    let other = sandbox.write("other/a", "1").path("other");
    let top = format!("'checkpoint -C {} create'", sandbox.root().display());
    let made = sandbox.run_in(&other, &["create"]).success();
    made.stderr_has(&top).stderr_has("only");
    assert_eq!(
        sandbox
            .run_in(&other, &["create", "-r", "b", "--json"])
            .success()
            .warning_codes(),
        [""; 0]
    );
    let third = sandbox.write("third/a", "1").path("third");
    let named = sandbox
        .run_in(&third, &["create", "--here", "--json"])
        .success();
    assert_eq!(named.warning_codes(), [""; 0]);
}

#[test]
fn a_first_checkpoint_below_another_root_names_that_and_what_undoes_it() {
    let (sandbox, src) = nested();
    let (root, src_path) = (sandbox.root().display(), src.display());
    let deep = src.join("deep");
    let made = sandbox.ok("-C src create");
    made.stderr_has(&format!("no longer those of {root}"))
        .stderr_has(&format!(
            "'checkpoint -C {src_path} delete --all' undoes this"
        ))
        .stderr_has(&format!("'checkpoint -C {root} create' adds to those"));
    let again = sandbox.cmd("-C src create -r b --json");
    assert_eq!(again.success().warning_codes(), [""; 0]);
    // A repository of its own is its own root without any word.
    sandbox.mkdir("src/deep/.git");
    let made = sandbox.run_in(&deep, &["create", "--json"]).success();
    assert_eq!(made.warning_codes(), ["below_root"]);
    // So does what comes in.
    sandbox.write("other/a", "1");
    sandbox.ok("export -o bundle");
    let taken = sandbox.cmd("-C other import bundle --json");
    assert_eq!(taken.success().warning_codes(), ["below_root"]);
}

#[test]
fn a_server_finds_the_root_of_the_directory_that_a_call_names() {
    let (sandbox, src) = nested();
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

#[test]
fn a_base_is_not_made_out_of_nothing() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1");
    let gone = sandbox.top().join("typo/base");
    let run = sandbox
        .run(&["--base", &gone.display().to_string(), "create"])
        .code(1);
    run.stderr_has("typo does not exist")
        .stderr_has("nothing was made");
    sandbox.env("HOME", sandbox.top().join("nonexist"));
    sandbox
        .fails(1, "create")
        .stderr_has("nonexist does not exist");
    assert!(!sandbox.top().join("typo").exists() && !sandbox.top().join("nonexist").exists());
}

#[test]
fn the_folder_of_all_projects_is_refused() {
    let (sandbox, _) = nested();
    let projects = sandbox.base().join("projects");
    let run = sandbox
        .run(&["-C", &projects.display().to_string(), "create", "--json"])
        .code(4);
    assert_eq!(run.error_code(), "unsafe_root");
}

#[test]
fn what_lies_in_a_repositorys_own_data_belongs_to_the_directory_around_it() {
    let world = World::new(&["app/.git/hooks", "app/.git/worktrees/w"]);
    world.change(&["app", "app/.git/hooks"]);
    for dir in ["app/.git", "app/.git/hooks", "app/.git/worktrees/w"] {
        world.event(
            "claude",
            "UserPromptSubmit",
            &json!({ "cwd": world.path(dir) }),
        );
        let create = ["create", "-r", "by hand"];
        world.0.run_in(&world.path(dir), &create).success();
        assert_eq!(world.stores(), ["app"], "{dir}");
        let named = world.path(dir).display().to_string();
        let exact = ["-C", &named, "create", "--force", "--json"];
        let run = world.0.run(&exact).code(4);
        assert_eq!(run.error_code(), "dot_git_path", "{dir}");
    }
    let app = world.path("app").display().to_string();
    let held = world.0.run(&["-C", &app, "ls", "-R"]).success();
    assert!(!held.stdout.contains(".git"), "{held}");
}

#[test]
fn a_variable_with_a_relative_path_names_no_place_for_stores() {
    let (sandbox, _) = nested();
    for variable in ["CHECKPOINT_HOME", "CLAUDE_CONFIG_DIR"] {
        let run = sandbox.env(variable, "st").fails(2, "create");
        run.stderr_has(variable).stderr_has("not an absolute path");
        sandbox.env(variable, "");
    }
}

#[test]
fn what_is_of_a_whole_repository_is_not_brought_into_a_part_of_it() {
    let world = World::new(&["old", "app/src/deep"]);
    world.begin_store("old");
    let bundle = world.path("b.bundle").display().to_string();
    let old = world.path("old").display().to_string();
    world
        .0
        .run(&["-C", &old, "export", "-o", &bundle])
        .success();
    world.begin_repository("app");
    let deep = world.path("app/src/deep");
    for command in [
        &["import", bundle.as_str()][..],
        &["relink", old.as_str(), "--yes"],
        &["remote", "add", "origin", old.as_str()],
    ] {
        let run = world.0.run_in(&deep, command).code(2);
        run.stderr_has("is a part of the repository")
            .stderr_has(command[0]);
    }
    assert_eq!(world.stores(), ["old"]);
    world
        .0
        .run_in(&deep, &["--here", "import", &bundle])
        .success();
}

#[test]
fn in_a_git_directory_paths_begin_there() {
    let world = World::new(&["app/.git/hooks"]);
    world.begin_store("app");
    let hooks = world.path("app/.git/hooks");
    fs::write(world.path("app/i"), "1").expect("a file");
    let run = |args: &[&str]| world.0.run_in(&hooks, args);
    run(&["create", "with i"])
        .success()
        .stderr_has("(in ../..)");
    run(&["cat", "../../i"]).success().stdout_is("1");
    run(&["restore", "../../i", "--yes"]).success();
    let refused = run(&["restore", "i", "--yes", "--json"]).code(4);
    assert_eq!(refused.error_code(), "dot_git_path");
}

#[test]
fn a_path_that_begins_at_the_root_is_answered_with_the_one_from_here() {
    let (sandbox, src) = nested();
    for (args, path) in [
        (&["restore", "src/a"][..], "a"),
        (&["restore", "@", "src/a"], "a"),
        (&["restore", "@:top.rs"], "../top.rs"),
        (&["cat", "src/a"], "a"),
        (&["cat", "@:src/a"], "a"),
        (&["ls", "src/deep"], "deep"),
        (&["ls", "@", "src/deep"], "deep"),
        (&["diff", "top.rs"], "../top.rs"),
        (&["diff", "--", "top.rs"], "../top.rs"),
        (&["create", "--scope", "src/a"], "a"),
    ] {
        sandbox
            .run_in(&src, args)
            .code(3)
            .stderr_has(&format!("did you mean '{path}'?"));
    }
}

#[test]
fn a_list_by_a_path_that_begins_at_the_root_says_where_paths_begin() {
    let (sandbox, src) = nested();
    let lead = "no checkpoint matches; PATHs count from the current directory; 'checkpoint list'";
    let list = |dir, args: &[&str]| sandbox.run_in(dir, &[&["list"], args].concat()).success();
    list(&src, &["--path", "src/a"]).stderr_has(lead);
    for other in [
        list(&src, &["--grep", "nothing"]),
        list(sandbox.root(), &["--path", "none"]),
    ] {
        assert!(!other.stderr.contains("PATHs count"), "{other}");
    }
}

#[test]
fn a_text_is_looked_for_below_the_current_directory_as_a_name_is() {
    let (sandbox, src) = nested();
    sandbox
        .write("top.rs", "-x everywhere")
        .write("src/a", "-x y");
    sandbox.create("with a text");
    let find = |text: &str| sandbox.run_in(&src, &["find", text]);
    let found = find("--text=-x").success().stdout_has("a: in");
    assert!(!found.stdout.contains("top.rs"), "{found}");
    find("--text=-x every")
        .code(3)
        .stderr_has("no checkpoint has '-x every' in a file below src");
    sandbox
        .run_in(&src, &["find", "--text=-x", "../top.rs"])
        .success()
        .stdout_has("top.rs: in");
}

#[test]
fn a_search_below_the_root_names_the_one_of_the_whole() {
    let (sandbox, src) = nested();
    let root = sandbox.root().display().to_string();
    let find = format!("'checkpoint -C {root} find top.rs' searches the whole");
    sandbox
        .run_in(&src, &["find", "top.rs"])
        .code(3)
        .stderr_has(&find);
    sandbox
        .run(&["-C", &root, "find", "top.rs"])
        .success()
        .stdout_has("top.rs");
}

#[test]
fn below_a_moved_repository_its_former_place_is_named() {
    let sandbox = Sandbox::new();
    let [old, new] = ["old", "new"].map(|name| sandbox.path(name));
    // A directory younger than its checkpoints is not theirs.
    sandbox.at("2100-01-01T00:00:00Z");
    sandbox.write("old/src/a", "1").mkdir("old/.git");
    sandbox.run_in(&old, &["create", "one"]).success();
    fs::rename(&old, &new).expect("the directory moves");
    let command = format!("'checkpoint -C {} relink {}'", new.display(), old.display());
    for args in [&["status"][..], &["list"]] {
        let run = sandbox.run_in(&new.join("src"), args).success();
        run.stderr_has("1 checkpoint").stderr_has(&command);
    }
    sandbox
        .run_in(&new.join("src"), &["restore", "a"])
        .code(3)
        .stderr_has(&command);
}

#[test]
fn an_event_behind_the_end_of_a_session_stays_in_its_root() {
    let world = World::new(&["app", "other"]);
    let [app, other] = ["app", "other"].map(|dir| world.path(dir));
    world.change(&["app", "other"]);
    let at = |name: &str, dir: &Path| world.event("codex", name, &json!({ "cwd": dir }));
    at("SessionStart", &app);
    at("UserPromptSubmit", &app);
    at("SessionEnd", &app);
    world.change(&["app", "other"]);
    at("Stop", &other);
    assert_eq!(world.stores(), ["app"]);
}

#[test]
fn a_hint_for_another_directory_keeps_the_base() {
    let sandbox = Sandbox::new();
    let src = sandbox.write("src/a", "1").path("src");
    let (base, top) = (sandbox.top().join("b"), sandbox.root().display());
    let base = base.to_string_lossy();
    let made = sandbox.run_in(&src, &["--base", &base, "create"]).success();
    made.stderr_has(&format!("'checkpoint --base {base} -C {top} create'"));
}

#[cfg(target_os = "linux")]
#[test]
fn a_session_that_began_in_a_root_without_utf_8_stays_there() {
    use std::os::unix::ffi::OsStrExt as _;
    let world = World::new(&["other"]);
    let root = world.path("").join(std::ffi::OsStr::from_bytes(b"n\xff"));
    fs::create_dir(&root).expect("a directory");
    fs::write(root.join("a"), "1").expect("a file");
    for (name, dir) in [
        ("SessionStart", None),
        ("UserPromptSubmit", None),
        ("Stop", Some(world.path("other"))),
    ] {
        let event =
            json!({ "session_id": "s", "hook_event_name": name, "prompt": "x", "cwd": dir });
        let mut command = world.0.command(&[], &["hook", "--agent", "codex"]);
        command.current_dir(&root);
        let event = event.to_string();
        crate::bench::limit::output_fed(&mut command, event.as_bytes()).expect("it is started");
    }
    let listed = world.0.json("list --all");
    let stores = listed["stores"].as_array().expect("a list");
    let root = root.to_string_lossy();
    let roots: Vec<_> = stores.iter().map(|store| &store["root"]).collect();
    assert_eq!(roots, [&json!(root)]);
}

#[test]
fn a_store_in_which_nothing_was_recorded_takes_over_nothing() {
    let world = World::new(&["big/sub"]);
    world.0.user_config("max_files = 2\n");
    for name in ["1", "2", "3"] {
        fs::write(world.path("big").join(name), name).expect("a file");
    }
    fs::write(world.path("big/sub/s"), "s").expect("a file");
    for dir in ["big", "big/sub"] {
        let place = json!({ "cwd": world.path(dir), "session_id": dir });
        world.event("codex", "UserPromptSubmit", &place);
    }
    assert_eq!(world.count("big/sub"), 1);
    assert!(world.stores().contains(&"big/sub".to_owned()));
}

#[test]
fn an_event_of_a_directory_that_is_gone_goes_to_the_store_above_it() {
    for had_store in [false, true] {
        let world = World::new(&["app/sub"]);
        world.begin_store("app");
        if had_store {
            world.begin_store("app/sub");
        }
        fs::remove_dir_all(world.path("app/sub")).expect("it is removed");
        world.change(&["app"]);
        let gone = json!({ "cwd": world.path("app/sub") });
        world.event("codex", "UserPromptSubmit", &gone);
        assert_eq!(world.count("app"), 2, "{had_store}");
    }
}

#[cfg(unix)]
#[test]
fn no_store_is_begun_in_settings_below_a_home_that_is_a_link() {
    let world = World::new(&[".config/foo"]);
    let home = world.0.top().join("linked");
    os::symlink(world.0.home(), &home).expect("a link");
    world.0.env("HOME", &home);
    world.change(&[".config/foo"]);
    let place = json!({ "cwd": home.join(".config/foo") });
    world.event("codex", "UserPromptSubmit", &place);
    world.0.env("HOME", world.0.home());
    assert!(world.stores().is_empty());
}

#[test]
fn settings_of_a_project_are_those_of_its_root() {
    let sandbox = Sandbox::bare();
    sandbox.write("src/a", "1").mkdir(".git");
    sandbox.create("first");
    for dir in ["src", ".git"] {
        let args = ["setup", "claude", "--project", "--yes"];
        sandbox.run_in(&sandbox.path(dir), &args).success();
        assert!(sandbox.exists(".claude"));
        assert!(!sandbox.exists(format!("{dir}/.claude")));
        sandbox.remove(".claude");
    }
}
