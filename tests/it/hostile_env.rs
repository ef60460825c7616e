//! The environment, git configuration and attributes change no byte of the result, and no child
//! process is started.

use crate::bench::trace::trace;
use crate::bench::{Git, Sandbox, fixtures, skipped, strace, tree::Tree};

const GIT_VARIABLES: [&str; 22] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_NAMESPACE",
    "GIT_CONFIG",
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_SYSTEM",
    "GIT_CONFIG_COUNT",
    "GIT_CONFIG_PARAMETERS",
    "GIT_CEILING_DIRECTORIES",
    "GIT_DISCOVERY_ACROSS_FILESYSTEM",
    "GIT_TEMPLATE_DIR",
    "GIT_EXEC_PATH",
    "GIT_AUTHOR_DATE",
    "GIT_COMMITTER_DATE",
    "GIT_AUTHOR_NAME",
    "GIT_DEFAULT_HASH",
    "GIT_EXTERNAL_DIFF",
    "GIT_ATTR_SOURCE",
];

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
    for name in GIT_VARIABLES {
        sandbox.env(name, "/nonexistent/rubbish\u{7f}");
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
    for line in [
        "create -r one",
        "create -r two --contract",
        "create -r three --scope dir",
        "create -r four --scope dir --type file_backup --copies",
        "list --all",
        "show latest",
        "diff one",
        "cat one:dir/held",
        "find dir/held",
        "find --text 1",
        "restore one --yes",
        "undo --yes",
        "redo --yes",
        "guard --scope dir",
        "hold wave",
        "release wave",
        "pin two",
        "unpin two",
        "verify --full",
        "verify --repair",
        "status",
        "config",
        "completions bash",
        "man",
        "schema contract",
        "help recovery",
        "workflow init --id run --profile pipeline --phase a --phase b",
        "phase start",
        "phase progress half",
        "task add t",
        "task start t",
        "task done t",
        "phase done",
        "workflow status",
        "workflow show",
        "workflow resume --choose y",
        "workflow check",
        "workflow export",
        "phase start",
        "workflow rewind b --both --yes",
        "workflow end",
        "export -o x.bundle",
        "import x.bundle",
        "prune --keep 1 --yes",
        "prune --orphaned --yes",
        "delete --all --yes",
    ] {
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

#[cfg(unix)]
#[test]
fn hostile_text_never_reaches_the_terminal_raw() {
    let sandbox = Sandbox::new();
    let nasty = "\u{1b}]0;title\u{7}\u{1b}[2J\u{9b}31m\u{202e}\r\n";
    sandbox
        .write(nasty.replace('/', ""), "1")
        .write(format!("{nasty}.env"), "1")
        .write(".gitignore", "*.log\n");
    let id = sandbox
        .run(&["create", "-r", nasty, "-s", nasty])
        .success()
        .stdout
        .trim()
        .to_owned();
    sandbox.write(nasty, "2");
    for args in [
        &["list"][..],
        &["show", &id],
        &["status", "-v"],
        &["restore", &id, "--dry-run"],
        &["restore", &id, "--yes"],
    ] {
        let run = sandbox.run(args).success();
        let shown = format!("{}{}", run.stdout, run.stderr);
        assert!(
            !shown.contains(['\u{1b}', '\u{7}', '\r', '\u{9b}', '\u{202e}']),
            "{args:?}: {shown:?}"
        );
    }
}

#[test]
fn a_hostile_store_configuration_is_not_obeyed() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1");
    let id = sandbox.create("first");
    let trap = sandbox.top().join("trap");
    std::fs::create_dir(&trap).expect("a directory can be made");
    let config = format!(
        "[core]\n\tworktree = {}\n\tbare = false\n\thooksPath = /x\n[extensions]\n\tnope = 1\n",
        trap.display()
    );
    std::fs::write(sandbox.store().join("config"), config).expect("the config can be written");
    sandbox.watch(&trap).write("a", "2");
    sandbox.restore(&id).success();
    assert_eq!(sandbox.read("a"), "1");
    sandbox.create("second");
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
fn what_would_lead_a_store_elsewhere_is_refused_and_stays() {
    for name in [
        "commondir",
        "gitdir",
        "shallow",
        "info/grafts",
        "objects/info/alternates",
        "objects/info/http-alternates",
        "refs/replace",
    ] {
        let sandbox = Sandbox::new();
        sandbox.write("a", "1").create("first");
        std::fs::write(sandbox.store().join(name), "/elsewhere\n").expect("a file can be written");
        sandbox.watch(&sandbox.store()).watch(sandbox.root());
        for args in [
            &["create"][..],
            &["list"],
            &["restore", "first", "--yes"],
            &["prune"],
            &["verify", "--repair"],
        ] {
            let run = sandbox.run(&[args, &["--json"]].concat()).code(1);
            assert_eq!(run.error_code(), "hostile_store", "{name}");
            assert!(run.stdout.contains(name), "{run}");
        }
    }
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

#[cfg(unix)]
#[test]
fn a_store_that_others_may_write_is_closed_by_the_next_writer() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1").create("first");
    sandbox
        .chmod(sandbox.store(), 0o777)
        .write("a", "2")
        .create("second");
    assert_eq!(fixtures::mode_of(&sandbox.store()), 0o700);
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
fn a_zone_that_is_none_changes_nothing() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1").create("first");
    let listed = sandbox.ok("list").stdout;
    for zone in [
        "No/Such/Zone",
        ":/etc/passwd",
        "\u{7f}\u{1b}[2J",
        "<+99>99",
        "",
        "localtime",
    ] {
        sandbox.env("TZ", zone);
        sandbox.ok("list").stdout_is(&listed);
        sandbox.ok("status");
        sandbox.ok("show 2026-03-24T12:00:00Z");
        sandbox.write("a", zone).ok("create");
        sandbox.ok("delete latest --yes");
    }
}

#[cfg(unix)]
#[test]
fn a_zone_that_would_never_end_is_not_read() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1").create("first");
    let (pipe, endless) = (sandbox.top().join("pipe"), sandbox.top().join("endless"));
    fixtures::fifo(&pipe);
    std::fs::File::create(&endless)
        .and_then(|file| file.set_len(1 << 40))
        .expect("a file of holes can be made");
    for place in [pipe.display().to_string(), endless.display().to_string()] {
        for zone in [
            place.clone(),
            format!(":{place}"),
            format!("../../../../{place}"),
            format!(":../../../{place}"),
        ] {
            sandbox.env("TZ", &zone);
            let run = sandbox.run_under(&["/usr/bin/timeout", "20"], &["show", "2026-03-24T12:00"]);
            run.success().stdout_has("first");
        }
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

/// Writes a commit like this one whose tree has one file of this name, which git would refuse.
fn with_tree_of(git: &Git, commit: &str, name: &str) -> String {
    let blob = hex::decode(git.output(&["rev-parse", &format!("{commit}:a")])).expect("an id");
    let tree = [b"100644 ".as_slice(), name.as_bytes(), b"\0", &blob].concat();
    let write = |kind: &str, more: &[&str], bytes: &[u8]| {
        let args = [&["hash-object", "-t", kind, "-w", "--stdin"], more].concat();
        String::from_utf8(git.filter(&args, bytes))
            .expect("an id")
            .trim()
            .to_owned()
    };
    let tree = write("tree", &["--literally"], &tree);
    let text = git.output(&["cat-file", "commit", commit]);
    let text = text.replace(
        &git.output(&["rev-parse", &format!("{commit}^{{tree}}")]),
        &tree,
    );
    write(
        "commit",
        &[],
        format!("{}\n", text.replace("Sequence: 1", "Sequence: 2")).as_bytes(),
    )
}

#[test]
fn a_tree_with_a_name_that_leads_elsewhere_is_not_restored() {
    for name in ["..", ".", "", ".git", ".GIT", "git~1", "a/b", "/a"] {
        let sandbox = Sandbox::new();
        let Some(git) = Git::find(sandbox.root()) else {
            return;
        };
        let git = git.with("GIT_DIR", sandbox.store());
        sandbox.write("a", "1").create("first");
        let first = sandbox.shown("first")["id"]
            .as_str()
            .expect("an id")
            .to_owned();
        let made = with_tree_of(&git, &first, name);
        std::fs::write(
            sandbox.store().join("refs/checkpoints").join(&made),
            format!("{made}\n"),
        )
        .expect("a ref");
        sandbox.write("a", "2").watch(sandbox.root());
        let run = sandbox.restore(&made[..8]);
        assert!(matches!(run.code, 3 | 6), "{name:?}\n{run}");
        sandbox.fails(6, "verify").stdout_has(&made[..8]);
    }
}

/// Writes a commit like this one whose meta has this one line.
fn with_meta_of(git: &Git, commit: &str, line: &str) -> String {
    let meta = format!("checkpoint-meta 1\nusual 644 755 755\n{line}\n");
    let write = |kind: &str, text: &str| {
        let written = git.filter(
            &["hash-object", "-t", kind, "-w", "--stdin"],
            text.as_bytes(),
        );
        String::from_utf8(written).expect("an id").trim().to_owned()
    };
    let meta = format!("Meta: {}", write("blob", &meta));
    let text = git.output(&["cat-file", "commit", commit]);
    let text = text
        .replace("Meta: none", &meta)
        .replace("Sequence: 1", "Sequence: 2");
    assert!(text.contains(&meta), "{text}");
    write("commit", &format!("{text}\n"))
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
        let Some(git) = Git::find(sandbox.root()) else {
            return;
        };
        let git = git.with("GIT_DIR", sandbox.store());
        sandbox.write("a", "1").create("first");
        let first = sandbox.shown("first")["id"]
            .as_str()
            .expect("an id")
            .to_owned();
        let made = with_meta_of(&git, &first, line);
        std::fs::write(
            sandbox.store().join("refs/checkpoints").join(&made),
            format!("{made}\n"),
        )
        .expect("a ref");
        fixtures::decoy_git(&sandbox.path("d/.git"));
        sandbox.write("a", "2").watch(sandbox.root());
        let to = sandbox.top().join("copy").display().to_string();
        sandbox.restore(&made[..8]).code(6);
        sandbox.run(&["restore", &made[..8], "--to", &to]).code(6);
        assert!(!std::path::Path::new(&to).exists(), "{line}");
        sandbox.fails(6, "verify").stdout_has(&made[..8]);
    }
}
