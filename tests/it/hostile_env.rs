//! The environment, git configuration and attributes change no byte of the result, and no child
//! process is started.

use crate::bench::trace::trace;
use crate::bench::{Git, Sandbox, fixtures, skipped, strace, tree::Tree};

/// Without `GIT_` before them.
const GIT_VARIABLES: &str = "DIR WORK_TREE INDEX_FILE OBJECT_DIRECTORY ALTERNATE_OBJECT_DIRECTORIES COMMON_DIR \
    NAMESPACE CONFIG CONFIG_GLOBAL CONFIG_SYSTEM CONFIG_COUNT CONFIG_PARAMETERS \
    CEILING_DIRECTORIES DISCOVERY_ACROSS_FILESYSTEM TEMPLATE_DIR EXEC_PATH AUTHOR_DATE \
    COMMITTER_DATE AUTHOR_NAME DEFAULT_HASH EXTERNAL_DIFF ATTR_SOURCE";

fn fill(sandbox: &Sandbox) {
    sandbox
        .write("crlf.txt", "a\r\nb\r\n")
        .write("lone", [0u8, 13, 255, 254, 10, 13])
        .write("id.c", "/* $Id: x$ */\n");
    sandbox
        .write("big.bin", fixtures::noise(7, 4096))
        .write("utf16.txt", [0xff, 0xfe, 65, 0, 10, 0]);
    let attributes = "* text=auto eol=crlf\n*.c ident\n*.bin filter=lfs diff=lfs merge=lfs -text\n\
                      utf16.txt working-tree-encoding=UTF-16\n[attr]binary -diff\n";
    sandbox.write(".gitattributes", attributes).write(
        ".gitmodules",
        "[submodule \"x\"]\n\tpath = ../..\n\turl = -x\n",
    );
}

/// Sets up the hostile home: a configuration that would change all and cannot even be parsed.
fn poison(sandbox: &Sandbox) {
    for name in GIT_VARIABLES.split(' ') {
        sandbox.env(format!("GIT_{name}"), "/nonexistent/rubbish\u{7f}");
    }
    let config = "[core]\n\tautocrlf = true\n\texcludesFile = ~/all\n\thooksPath = /hooks\n\tfsmonitor = /bin/false\n\
                  [commit]\n\tgpgsign = true\n[gpg]\n\tprogram = /bin/false\n[filter \"lfs\"]\n\tclean = false\n\tsmudge = false\n\
                  \trequired = true\n[include]\n\tpath = ~/.gitconfig\n[broken\n";
    sandbox
        .write(sandbox.home().join(".gitconfig"), config)
        .write(sandbox.home().join("all"), "*\n");
    sandbox
        .write(sandbox.home().join(".config/git/config"), config)
        .write(sandbox.home().join(".config/git/ignore"), "*\n");
    sandbox
        .env("PATH", "")
        .env("LC_ALL", "tr_TR.UTF-8")
        .env("TMPDIR", "/nonexistent")
        .env("XDG_CONFIG_HOME", "relative");
}

/// Runs a round trip: the tree id, and the directory after a restore.
fn round(sandbox: &Sandbox) -> (String, Tree) {
    fill(sandbox);
    let id = sandbox.create("hostile");
    for name in ["crlf.txt", "lone", "id.c", "big.bin", "utf16.txt"] {
        sandbox.remove(name);
    }
    sandbox.restore(&id).success();
    (
        sandbox.shown(&id)["tree_id"]
            .as_str()
            .expect("a tree")
            .to_owned(),
        sandbox.tree(),
    )
}

#[test]
fn rubbish_in_environment_and_configuration_changes_no_byte() {
    let (calm, hostile) = (Sandbox::new(), Sandbox::new());
    poison(&hostile);
    let (calm_tree, calm_files) = round(&calm);
    let (hostile_tree, hostile_files) = round(&hostile);
    assert_eq!(calm_tree, hostile_tree);
    hostile_files.assert_is(&calm_files, "under the hostile environment");
    assert_eq!(
        hostile
            .path("crlf.txt")
            .metadata()
            .map(|meta| meta.len())
            .ok(),
        Some(6)
    );
}

#[test]
fn no_command_starts_a_child() {
    let sandbox = Sandbox::new();
    if !strace::available() {
        return;
    }
    poison(&sandbox);
    fill(&sandbox);
    sandbox.write("dir/held", "1");
    let lines = "create -r one;create -r two --contract;create -r three --scope dir; \
        create -r four --scope dir --type file_backup --copies;list --all;show latest;diff one; \
        cat one:dir/held;find dir/held;find --text 1;restore one --yes;undo --yes;redo --yes; \
        guard --scope dir;hold wave;release wave;pin two;unpin two;verify --full; \
        verify --repair;status;config;completions bash;man;schema contract;help recovery; \
        workflow init --id run --profile pipeline --phase a --phase b;phase start; \
        phase progress half;task add t;task start t;task done t;phase done;workflow status; \
        workflow show;workflow resume --choose y;workflow check;workflow export;phase start; \
        workflow rewind b --both --yes;workflow end;export -o x.bundle;import x.bundle; \
        prune --keep 1 --yes;prune --orphaned --yes;delete --all --yes";
    for line in lines.split(';').map(str::trim) {
        if line == "restore one --yes" {
            sandbox.write("dir/held", "an edit");
        }
        let args: Vec<&str> = line.split(' ').collect();
        let (run, calls) = strace::reaching_out(&sandbox, &args);
        run.success();
        assert_eq!(calls.len(), 1, "{line}: {calls:#?}");
        assert!(calls[0].contains("execve("), "{line}: {calls:#?}");
    }
}

#[test]
fn planted_links_and_alternates_in_a_store_are_refused_or_worked_around() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1");
    sandbox.create("first");
    let outside = sandbox.top().join("outside");
    std::fs::create_dir(&outside).expect("a directory can be made");
    let pack = sandbox.store().join("objects/pack");
    std::fs::rename(&pack, outside.join("pack")).expect("a rename");
    crate::bench::os::symlink(outside.join("pack"), &pack).expect("a link can be made");
    sandbox.watch(&outside).write("a", "2");
    let run = sandbox.cmd("create");
    assert_ne!(run.code, 101, "{run}");
    assert_eq!(sandbox.read("a"), "2");
}

#[test]
fn a_store_of_another_user_is_refused() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1").create("first");
    if crate::bench::os::chown(sandbox.store(), Some(54_321), None).is_err() {
        return skipped("needs the right to give files away");
    }
    sandbox.watch(&sandbox.store()).watch(sandbox.root());
    for args in [
        &["create"][..],
        &["list"],
        &["restore", "first", "--yes"],
        &["prune"],
        &["verify", "--repair"],
    ] {
        let run = sandbox.run(&[args, &["--json"]].concat()).code(1);
        assert_eq!(run.error_code(), "hostile_store", "{run}");
        assert!(run.stdout.contains("user 54321"), "{run}");
    }
}

#[test]
fn no_command_opens_a_socket() {
    let sandbox = Sandbox::new();
    fill(&sandbox);
    for args in [
        &["create", "-r", "one"][..],
        &["list"],
        &["status"],
        &["diff"],
        &["restore", "one", "--yes"],
        &["prune"],
        &["export", "-o", "x.bundle"],
        &["import", "x.bundle"],
    ] {
        let Some(trace) = trace(&sandbox, args) else {
            return;
        };
        let names: Vec<&str> = trace
            .named(&["socket", "connect", "bind"])
            .map(|call| call.name.as_str())
            .collect();
        assert!(
            names.is_empty() && trace.run.code == 0,
            "{names:?}\n{}",
            trace.run
        );
    }
}

#[test]
fn a_user_without_a_name_can_do_everything() {
    let sandbox = Sandbox::bare();
    sandbox.write("a", "1").write("d/b", "1");
    for entry in walkdir::WalkDir::new(sandbox.top()) {
        let entry = entry.expect("the sandbox can be walked");
        if crate::bench::os::lchown(entry.path(), Some(54_321), Some(54_321)).is_err() {
            return skipped("needs the right to give files away");
        }
    }
    let nameless = [
        "/usr/bin/setpriv",
        "--reuid=54321",
        "--regid=54321",
        "--clear-groups",
    ];
    if sandbox.run_under(&nameless, &["--version"]).code != 0 {
        return skipped("needs a program that every user may start");
    }
    let run = |args: &[&str]| sandbox.run_under(&nameless, args).success();
    run(&["create", "-r", "one"]);
    sandbox.write("a", "2");
    run(&["restore", "one", "--yes"]);
    assert_eq!(sandbox.read("a"), "1");
    run(&["undo", "--yes"]);
    assert_eq!(sandbox.read("a"), "2");
    run(&["list"]).stdout_has("one");
    run(&["prune", "--keep", "1", "--yes"]);
}

/// Plants a commit like the first one into the store, with another tree or meta.
fn planted(sandbox: &Sandbox, change: &dyn Fn(&Git, &str) -> String) -> Option<String> {
    let git = Git::find(sandbox.root())?.with("GIT_DIR", sandbox.store());
    sandbox.write("a", "1").create("first");
    let text = git.output(&["cat-file", "commit", "main"]);
    let text = change(&git, &text).replace("Sequence: 1", "Sequence: 2");
    let made = git.put("commit", format!("{text}\n").as_bytes());
    let at = sandbox.store().join("refs/checkpoints").join(&made);
    std::fs::write(at, format!("{made}\n")).expect("a ref");
    Some(made[..8].to_owned())
}

#[test]
fn a_tree_with_a_name_that_leads_elsewhere_is_not_restored() {
    for name in ["..", ".", "", ".git", ".GIT", "git~1", "a/b", "/a"] {
        let sandbox = Sandbox::new();
        // Its tree has one file of this name, which git would refuse.
        let made = planted(&sandbox, &|git, text| {
            let blob = hex::decode(git.output(&["rev-parse", "main:a"])).expect("an id");
            let tree = [b"100644 ".as_slice(), name.as_bytes(), b"\0", &blob].concat();
            let args = ["hash-object", "-t", "tree", "-w", "--stdin", "--literally"];
            let tree = String::from_utf8(git.filter(&args, &tree)).expect("an id");
            text.replace(&git.output(&["rev-parse", "main^{tree}"]), tree.trim())
        });
        let Some(made) = made else { return };
        sandbox.write("a", "2").watch(sandbox.root());
        let run = sandbox.restore(&made);
        assert!(matches!(run.code, 3 | 6), "{name:?}\n{run}");
        sandbox.fails(6, "verify").stdout_has(&made);
    }
}

#[test]
fn a_meta_with_a_path_into_a_dot_git_or_below_a_file_is_not_restored() {
    for line in [
        "empty .git/planted",
        "empty .git/hooks/planted",
        "empty .GIT/planted",
        "empty d/.git/planted",
        "empty git~1",
        "mode 777 .git",
        "mode 777 .git/config",
        "uncaptured fifo f - .git/planted/fifo",
        "empty a/planted",
        "uncaptured mount d - a/planted/below",
    ] {
        let sandbox = Sandbox::new();
        let made = planted(&sandbox, &|git, text| {
            let meta = format!("checkpoint-meta 1\nusual 644 755 755\n{line}\n");
            assert!(text.contains("Meta: none"), "{text}");
            text.replace(
                "Meta: none",
                &format!("Meta: {}", git.put("blob", meta.as_bytes())),
            )
        });
        let Some(made) = made else { return };
        fixtures::decoy_git(&sandbox.path("d/.git"));
        sandbox.write("a", "2").watch(sandbox.root());
        let to = sandbox.top().join("copy");
        sandbox.restore(&made).code(6);
        sandbox.fails(6, format!("restore {made} --to {}", to.display()));
        assert!(!to.exists(), "{line}");
        sandbox.fails(6, "verify").stdout_has(&made);
    }
}
