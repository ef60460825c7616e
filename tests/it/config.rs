//! `config`: shows every value with its origin, however broken the files are.

use serde_json::{Value, json};

use crate::bench::Sandbox;
use crate::source;

fn setting(data: &Value, name: &str) -> Value {
    let settings = data["settings"].as_array().expect("a list");
    settings
        .iter()
        .find(|one| one["name"] == name)
        .unwrap_or_else(|| panic!("no {name} in {data}"))
        .clone()
}

fn origins(data: &Value, name: &str) -> Vec<String> {
    let origins = setting(data, name)["origins"]
        .as_array()
        .expect("a list")
        .clone();
    origins
        .iter()
        .map(|one| one["layer"].as_str().unwrap_or_default().to_owned())
        .collect()
}

#[test]
fn each_value_is_shown_with_its_origin() {
    let sandbox = Sandbox::new();
    sandbox.user_config("keep = 20\nmax_store_size = '2 GiB'\nexclude = ['a']\n");
    sandbox
        .write(".checkpoint.toml", "keep = 30\nexclude = ['b']\n")
        .env("CHECKPOINT_SOURCE", "skill");
    let base = sandbox.top().join("elsewhere").display().to_string();
    let data = sandbox
        .run(&["config", "--json", "--base", &base, "--lock-timeout", "3"])
        .success()
        .data();
    assert_eq!(
        (&setting(&data, "keep")["value"], origins(&data, "keep")),
        (&json!(30), vec!["project_file".into()])
    );
    assert_eq!(setting(&data, "max_store_size")["value"], 2_u64 << 30);
    assert_eq!(origins(&data, "max_store_size"), ["user_file"]);
    assert_eq!(setting(&data, "exclude")["value"], json!(["a", "b"]));
    assert_eq!(origins(&data, "exclude"), ["user_file", "project_file"]);
    assert_eq!(
        (origins(&data, "max_files"), origins(&data, "source")),
        (vec!["default".into()], vec!["environment".into()])
    );
    assert_eq!(origins(&data, "lock_timeout"), ["flag"]);
    assert_eq!(
        (&data["base"], &data["base_origin"]["place"]),
        (&json!(base), &json!("--base"))
    );
    assert!(
        data["store"]
            .as_str()
            .is_some_and(|store| store.starts_with(&base)),
        "{data}"
    );
    assert!(
        data["files"]
            .as_array()
            .is_some_and(|files| files.iter().all(|file| file["found"] == true)),
        "{data}"
    );
}

#[test]
fn the_table_is_aligned_and_tells_the_places() {
    let sandbox = Sandbox::new();
    sandbox.user_config("keep = 20\nexclude = ['first', 'second']\n");
    let run = sandbox
        .run(&["config"])
        .success()
        .stdout_has("not there")
        .stdout_has("XDG_CONFIG_HOME");
    let run = run
        .stdout_has(&sandbox.store().display().to_string())
        .stdout_has("config.toml");
    let column = |name: &str| {
        let line = run
            .stdout
            .lines()
            .find(|line| line.trim_start().starts_with(name))
            .expect("a line");
        line[2 + name.len()..]
            .find(|c| c != ' ')
            .map(|at| at + 2 + name.len())
    };
    assert_eq!(column("keep"), column("auto_prune"), "{run}");
    for pair in [
        ["switches colours off", "the width of the help"],
        ["found", "not there"],
        ["first", "second"],
    ] {
        // The store is not there yet, in a table of its own.
        let mut lines = run
            .stdout
            .lines()
            .filter(|line| !line.contains("not there yet"));
        let [one, other] = pair.map(|words| lines.find_map(|line| line.find(words)));
        assert!(one.is_some() && one == other, "{pair:?}\n{run}");
    }
    assert!(!sandbox.base().exists(), "config made something");
}

#[test]
fn a_bad_value_is_named_and_the_others_are_shown() {
    let sandbox = Sandbox::new();
    sandbox.user_config("keep = 'many'\nmax_files = 7\n");
    let run = sandbox
        .run(&["config"])
        .code(1)
        .stderr_has("keep")
        .stderr_has("config.toml");
    assert!(
        run.stdout
            .lines()
            .any(|line| line.contains("max_files") && line.contains('7')),
        "{run}"
    );
    let run = sandbox.run(&["config", "--json"]).code(1);
    assert_eq!(run.error_code(), "bad_config");
    assert_eq!(
        (
            &setting(&run.data(), "max_files")["value"],
            run.data()["problems"].as_array().map(Vec::len)
        ),
        (&json!(7), Some(1))
    );
    sandbox.user_config("keep = [\n");
    sandbox.write(".checkpoint.toml", "keep = 60\n");
    let run = sandbox.run(&["config", "--json"]).code(1);
    assert_eq!(
        setting(&run.data(), "keep")["value"],
        60,
        "one broken file hides the other"
    );
}

#[test]
fn an_unknown_key_is_a_warning() {
    let sandbox = Sandbox::new();
    sandbox
        .user_config("kepp = 3\n")
        .write(".checkpoint.toml", "max_store_size = 1\n");
    sandbox
        .run(&["config"])
        .success()
        .stderr_has("did you mean 'keep'")
        .stderr_has("user's own configuration");
    assert_eq!(
        sandbox.run(&["config", "--json"]).success().warning_codes(),
        ["config", "config"]
    );
}

#[cfg(unix)]
#[test]
fn places_are_escaped_for_people_and_not_in_json() {
    let sandbox = Sandbox::rooted_at("a\u{1b}[31m\\b");
    let data = sandbox.run(&["config", "--json"]).success().data();
    let root = sandbox.root().to_str().expect("UTF-8");
    assert_eq!(data["root"], root);
    let file = sandbox.path(".checkpoint.toml");
    let is_named = |one: &serde_json::Value| one["file"] == file.to_str().expect("UTF-8");
    assert!(
        data["files"]
            .as_array()
            .expect("a list")
            .iter()
            .any(is_named),
        "{data}"
    );
    let run = sandbox.run(&["config"]).success();
    assert!(
        !run.stdout.contains('\u{1b}') && run.stdout.contains("a\\x1b[31m\\b"),
        "{run}"
    );
}

#[cfg(unix)]
#[test]
fn without_a_base_to_be_had_everything_else_is_shown() {
    let sandbox = Sandbox::new();
    sandbox.unset_env("HOME");
    let run = sandbox.run(&["config", "--json"]).code(1);
    assert_eq!(run.error_code(), "no_base");
    assert!(run.data()["base"].is_null() && run.data()["store"].is_null());
    sandbox
        .run(&["config"])
        .code(1)
        .stdout_has("keep")
        .stderr_has("CHECKPOINT_HOME");
}

#[test]
fn a_session_id_is_not_shown() {
    let sandbox = Sandbox::new();
    sandbox.env("CLAUDE_CODE_SESSION_ID", "secret-of-the-session");
    for args in [&["config"][..], &["config", "--json"]] {
        let run = sandbox.run(args).success();
        assert!(!run.stdout.contains("secret-of"), "{run}");
    }
    let data = sandbox.run(&["config", "--json"]).success().data();
    let variables = data["environment"].as_array().expect("a list");
    let session = variables
        .iter()
        .find(|one| one["name"] == "CLAUDE_CODE_SESSION_ID")
        .expect("it is listed");
    assert_eq!(session["value"], "set");
}

#[test]
fn every_variable_that_the_source_reads_is_listed() {
    let sandbox = Sandbox::new();
    let data = sandbox.run(&["config", "--json"]).success().data();
    let listed: Vec<String> = data["environment"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|one| one["name"].to_string())
        .collect();
    let mut read = 0;
    for file in source::files()
        .iter()
        .filter(|file| file.name.starts_with("shell/"))
    {
        for head in ["path(\"", "text(\"", "var(\"", "var_os(\""] {
            for (at, _) in file.text.match_indices(head) {
                let name = file.text[at + head.len()..]
                    .split('"')
                    .next()
                    .unwrap_or_default();
                if name.bytes().all(|b| b.is_ascii_uppercase() || b == b'_') {
                    read += 1;
                    assert!(
                        listed.contains(&format!("\"{name}\"")),
                        "{}: {name} is not listed",
                        file.name
                    );
                }
            }
        }
    }
    assert!(read >= 9, "only {read} were found in the source");
}

/// Commands that work on a root with two checkpoints, one after the other.
const COMMANDS: [&[&str]; 25] = [
    &["list"],
    &["list", "--all"],
    &["show", "one"],
    &["diff", "one"],
    &["cat", "one:a"],
    &["find", "a"],
    &["status"],
    &["verify"],
    &["create", "-r", "three"],
    &["guard", "--scope", "a"],
    &["pin", "one"],
    &["unpin", "one"],
    &["hold", "deploy"],
    &["release", "deploy"],
    &["prune"],
    &["prune", "--dry-run"],
    &["restore", "one", "--dry-run"],
    &["restore", "one", "--yes"],
    &["undo", "--dry-run"],
    &["undo", "--yes"],
    &["redo", "--yes"],
    &["delete", "two", "--yes"],
    &["prune", "--orphaned", "--yes"],
    &["workflow", "list"],
    &["delete", "--all", "--yes"],
];

#[test]
fn a_broken_file_of_the_user_is_a_warning_of_every_command_and_ends_create_alone() {
    for broken in ["exclude = [", "exlude = ['b']", "keep = 'x'"] {
        let sandbox = Sandbox::new();
        sandbox.write("a", "1").create("one");
        sandbox.write("a", "2").create("two");
        sandbox.user_config(broken);
        for args in COMMANDS {
            let run = sandbox.run(args);
            let run = run.code(u8::from(args[0] == "create").into());
            let _ = run.stderr_has("config.toml");
        }
    }
}

#[test]
fn a_broken_file_of_the_project_is_a_warning_of_every_command_and_ends_create_alone() {
    for broken in ["exclude = [", "keep = 'x'\nexclude = 5"] {
        let sandbox = Sandbox::new();
        sandbox.write("a", "1").create("one");
        sandbox.write("a", "2").create("two");
        for args in COMMANDS {
            // A restore may have removed it.
            sandbox.write(".checkpoint.toml", broken);
            let run = sandbox.run(args);
            // What would capture more because of it is refused.
            let run = run.code(u8::from(args[0] == "create").into());
            let _ = run.stderr_has(".checkpoint.toml");
            if ["list", "show", "status", "cat"].contains(&args[0]) {
                let run = sandbox.run(&[args, &["--json"][..]].concat()).success();
                assert!(run.warning_codes().contains(&"config".to_owned()), "{run}");
            }
        }
        assert_eq!(
            sandbox.run(&["config", "--json"]).success().data()["problems"],
            json!([])
        );
        let failed = sandbox.run(&["show", "one"]).code(3);
        let _ = failed.stderr_has(".checkpoint.toml");
    }
}

#[test]
fn a_refused_create_tells_once_what_is_wrong_and_a_restore_does_not_deny_its_safety_checkpoint() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1").create("one");
    sandbox.write(".checkpoint.toml", "exclude = [");
    let run = sandbox.run(&["create"]).code(1);
    assert_eq!(run.stderr.matches(".checkpoint.toml").count(), 1, "{run}");
    let run = sandbox.run(&["create", "--json"]).code(1);
    assert_eq!(run.warning_codes(), [""; 0]);
    let run = sandbox.run(&["restore", "one", "--yes"]).success();
    run.stdout_has("Safety checkpoint created")
        .stderr_has("no checkpoint is made but for safety");
}

#[cfg(unix)]
#[test]
fn whatever_lies_at_the_place_of_the_projects_file_ends_no_way_back() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1").create("one");
    let put: [&dyn Fn(&str); 5] = [
        &|at| _ = sandbox.mkdir(at),
        &|at| _ = sandbox.fifo(at),
        &|at| _ = sandbox.symlink(at, at),
        &|at| _ = sandbox.write(at, [0xff, 0xfe, 0]),
        &|at| _ = sandbox.write(at, vec![b'#'; 2 << 20]),
    ];
    for put in put {
        put(".checkpoint.toml");
        sandbox.write("a", "2");
        sandbox
            .run(&["create", "-r", "two"])
            .code(1)
            .stderr_has(".checkpoint.toml");
        sandbox
            .run(&["restore", "one", "--yes", "a"])
            .success()
            .stderr_has(".checkpoint.toml");
        sandbox.remove(".checkpoint.toml");
    }
}

#[test]
fn the_ways_back_work_without_the_users_own_configuration_and_nothing_is_dropped() {
    let sandbox = Sandbox::new();
    sandbox.user_config("keep = 100\n");
    for number in 0..60 {
        sandbox
            .write("a", number.to_string())
            .create(&format!("step {number}"));
    }
    sandbox.user_config("keep = [\n");
    let ways_back: [&[&str]; 5] = [
        &["restore", "step 3", "--yes"],
        &["undo", "--yes"],
        &["redo", "--yes"],
        &["cat", "step 3:a"],
        &["list"],
    ];
    for args in ways_back {
        sandbox
            .run(args)
            .success()
            .stderr_has("config.toml")
            .stderr_has("goes on without it");
    }
    let steps = sandbox
        .run(&["list", "--reason", "step *", "--json"])
        .success()
        .data();
    assert_eq!(steps["checkpoints"].as_array().map(Vec::len), Some(60));
    let prune = sandbox.run(&["prune"]).success();
    prune.stdout_has("Pruned: 0 checkpoints");
}

#[test]
fn a_relative_home_is_told_from_none() {
    let sandbox = Sandbox::new();
    sandbox
        .env("HOME", "here")
        .run(&["create"])
        .code(1)
        .stderr_has("which is not an absolute path");
}

#[test]
fn a_slip_in_the_file_of_the_project_drops_nothing_that_it_kept() {
    let sandbox = Sandbox::new();
    sandbox.write(".checkpoint.toml", "keep = 60\n");
    for number in 0..55 {
        sandbox
            .write("f", number.to_string())
            .create(&format!("w{number}"));
    }
    for slip in [
        "keep = 60,\n",
        "keep = 60\nexclude = [\n",
        "keep = 'many'\n",
    ] {
        sandbox.write(".checkpoint.toml", slip);
        let is_readable = slip.contains("many");
        let code = u8::from(!is_readable).into();
        sandbox.run(&["create", "-r", slip.trim()]).code(code);
        sandbox
            .run(&["prune"])
            .success()
            .stderr_has("nothing is evicted");
    }
    assert_eq!(sandbox.listed().len(), 56);
}

#[test]
fn a_line_that_cannot_be_read_is_named_by_its_number() {
    for (text, line) in [("keep = 5\n\nkeep_auto\n", 3), ("keep = 5\nkeep = 6\n", 2)] {
        let sandbox = Sandbox::new();
        sandbox.write("a", "1").user_config(text);
        let failed = sandbox.run(&["create"]).code(1);
        failed.stderr_has(&format!("line {line}: "));
    }
}

/// Files of a user who forgot quotes, misspelt a key or a word, or let a link lead nowhere.
const SLIPS: [&str; 9] = [
    "exclude = [\"private/\"]\nmax_file_size = \"1 KiB\"\nkeep = 30 days\n",
    "exclude = [\"private/\"]\nmax_file_size = \"1 KiB\"\nauto = \"Off\"\n",
    "exclude = [\"private/\", build/]\n",
    "exlude = [\"private/\"]\n",
    "exclude = [\"./private\"]\n",
    "[checkpoint]\nexclude = [\"private/\"]\n",
    "exclude = [\"/usr/bin/env\"]\n",
    "exclude = [\"# private\"]\n",
    "exclude = [\"private//\"]\n",
];

#[test]
fn a_setting_that_cannot_be_read_never_means_less_protection() {
    for (slip, of_project) in SLIPS.iter().map(|slip| (slip, false)).chain(
        // A project may set fewer keys.
        [0, 2, 3, 4, 5, 6, 7, 8].map(|at| (&SLIPS[at], true)),
    ) {
        let sandbox = Sandbox::new();
        sandbox.write("a", "1").create("good");
        sandbox.write("a", "2").write("private/x", "p");
        if of_project {
            sandbox.write(".checkpoint.toml", slip);
        } else {
            sandbox.user_config(slip);
        }
        sandbox.run(&["create"]).code(1).stderr_has(".toml");
        let agent = crate::hook::claude(&sandbox);
        agent.prompt("go").stdout_has("nothing was recorded");
        agent.prompt("go on").stdout_is("");
        assert_eq!(sandbox.listed().len(), 1, "{slip}");
        sandbox.run(&["restore", "good", "--yes"]).success();
        assert_eq!(sandbox.read("a"), "1", "{slip}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_list_of_the_store_that_cannot_be_read_never_means_less_protection() {
    use crate::bench::strace;
    if !strace::available() {
        return;
    }
    let sandbox = Sandbox::new();
    sandbox.write("a", "1").create("good");
    let list = sandbox.store().join(".gitignore");
    sandbox.write("a", "2");
    let unreadable =
        |args: &[&str]| strace::failing_at_path(&sandbox, &list, "openat,read", "EIO", "1+", args);
    let run = unreadable(&["create"]).code(1);
    run.stderr_has(".gitignore");
    unreadable(&["restore", "good", "--yes"]).success();
    assert_eq!(sandbox.read("a"), "1");
    assert_eq!(sandbox.listed().len(), 2);
}

#[cfg(unix)]
#[test]
fn a_list_of_the_store_that_is_no_plain_file_is_not_replaced_by_a_create() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1").create("good");
    let list = sandbox.store().join(".gitignore");
    std::fs::remove_file(&list).expect("it goes");
    sandbox.write("mine", "private\n").write("private", "p");
    sandbox.symlink(&list, sandbox.root().join("mine"));
    let run = sandbox.run(&["create"]);
    assert_ne!(run.code, 0, "{run}");
    run.stderr_has(".gitignore");
    assert_eq!(
        list.read_link().expect("a link"),
        sandbox.root().join("mine")
    );
}

#[cfg(unix)]
#[test]
fn a_folder_of_settings_that_is_a_link_to_nothing_is_not_none() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1");
    sandbox.symlink(sandbox.home().join(".config"), "dotfiles/gone");
    let run = sandbox.run(&["create"]);
    assert_ne!(run.code, 0, "{run}");
    run.stderr_has("a link to nothing");
}

#[test]
fn the_readable_part_of_the_excludes_holds_for_a_restore() {
    let sandbox = Sandbox::new();
    sandbox.user_config("exclude = [\"private/\"]\n");
    sandbox
        .write("a", "1")
        .write("private/x", "p")
        .create("good");
    sandbox.user_config(SLIPS[0]).write("a", "2");
    sandbox.run(&["restore", "good", "--yes"]).success();
    let held = sandbox.run(&["ls", "latest~0", "-r"]);
    assert!(!held.stdout.contains("private/x"), "{held}");
    assert_eq!(sandbox.read("private/x"), "p");
}

#[cfg(unix)]
#[test]
fn a_link_to_nothing_in_place_of_a_configuration_is_not_none() {
    let sandbox = Sandbox::new();
    sandbox
        .write("a", "1")
        .symlink(".checkpoint.toml", "dotfiles/gone");
    sandbox
        .run(&["create"])
        .code(1)
        .stderr_has("a link to nothing");
    sandbox.remove(".checkpoint.toml").create("good");
}

#[test]
fn a_switch_is_on_whatever_word_says_so() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1");
    for word in ["true", "yes", "on", "TRUE"] {
        sandbox.env("CHECKPOINT_DISABLE", word);
        sandbox.run(&["create"]).success().stdout_is("");
    }
    sandbox.env("CHECKPOINT_DISABLE", "false").create("made");
}

#[test]
fn a_key_is_set_in_the_users_own_file_and_the_rest_of_it_stays() {
    let sandbox = Sandbox::new();
    sandbox.user_config("# mine\nkeep = 20 # few\n");
    let config = sandbox.home().join(".config/checkpoint/config.toml");
    let read = || std::fs::read_to_string(&config).expect("a file");
    sandbox
        .run(&["config", "set", "keep", "100"])
        .success()
        .stdout_is("")
        .stderr_has("config.toml: keep = 100");
    assert_eq!(read(), "# mine\nkeep = 100 # few\n");
    sandbox
        .run(&["config", "set", "exclude", "private/"])
        .success();
    assert_eq!(read(), "# mine\nkeep = 100 # few\nexclude = \"private/\"\n");
    for (key, value) in [("kepp", "3"), ("auto", "Off"), ("keep", "0")] {
        sandbox.run(&["config", "set", key, value]).code(2);
    }
    assert_eq!(
        setting(&sandbox.run(&["config", "--json"]).success().data(), "keep")["value"],
        100
    );
}

#[test]
fn a_key_that_is_unset_has_its_default_again() {
    let sandbox = Sandbox::new();
    sandbox.user_config("# mine\nkeep = 20 # few\naudit = true\n");
    let unset = |key: &str| sandbox.run(&["config", "unset", key]);
    for _ in 0..2 {
        unset("keep")
            .success()
            .stdout_is("")
            .stderr_has("config.toml: keep is not set");
        let config = sandbox.home().join(".config/checkpoint/config.toml");
        assert_eq!(sandbox.read(config), "# mine\naudit = true\n");
    }
    let data = sandbox.json("config unset audit");
    assert_eq!(setting(&data, "keep")["value"], 50);
    assert_eq!(setting(&data, "audit")["value"], false);
    unset("kep").code(2).stderr_has("did you mean 'keep'?");
    unset("database").code(2);
}

#[cfg(unix)]
#[test]
fn a_linked_configuration_is_written_through_its_link() {
    let sandbox = Sandbox::new();
    sandbox.user_config("");
    let config = sandbox.home().join(".config/checkpoint/config.toml");
    std::fs::remove_file(&config).unwrap();
    sandbox.write(sandbox.home().join("dotfiles/cp.toml"), "keep = 3\n");
    std::os::unix::fs::symlink("../../dotfiles/cp.toml", &config).unwrap();
    sandbox.run(&["config", "set", "keep", "9"]).success();
    assert!(config.is_symlink());
    assert_eq!(
        sandbox.read(sandbox.home().join("dotfiles/cp.toml")),
        "keep = 9\n"
    );
}

#[test]
fn every_variable_is_shown_whole_set_or_not() {
    let sandbox = Sandbox::new();
    let long = format!("/usr/bin:{}", "/a/long/folder:".repeat(20));
    sandbox.env("PATH", &long);
    let run = sandbox.run(&["config"]).success();
    let (_, shown) = run.stdout.split_once("\nEnvironment\n").expect("a section");
    assert!(shown.contains(&long) && !shown.contains("_CLAP_"), "{run}");
    let home = format!(
        "\n  HOME                    {}  the home directory",
        sandbox.home().display()
    );
    assert!(shown.contains(&home), "{run}");
    assert!(
        shown.contains("\n  NO_COLOR                not set  switches colours off"),
        "{run}"
    );
    let data = sandbox.json("config");
    let named = data["environment"].as_array().expect("a list").iter();
    for name in named.filter_map(|one| one["name"].as_str()) {
        let is_shown = shown
            .lines()
            .any(|line| line.starts_with(&format!("  {name} ")));
        assert_eq!(is_shown, !name.starts_with("_CLAP_"), "{name}\n{run}");
    }
}

#[test]
fn what_is_no_key_of_a_file_stands_apart() {
    let sandbox = Sandbox::new();
    let run = sandbox.run(&["config"]).success();
    let (keys, rest) = run
        .stdout
        .split_once("\nOptions and variables\n")
        .expect("a section");
    let (others, _) = rest.split_once("\n\n").expect("a section");
    let names = |text: &str| -> Vec<String> {
        let words = text.lines().filter_map(|line| line.strip_prefix("  "));
        let words = words.filter_map(|line| line.split(' ').next());
        words
            .filter(|name| !name.is_empty())
            .map(str::to_owned)
            .collect()
    };
    assert_eq!(
        names(others),
        ["source", "disabled", "color", "lock_timeout"]
    );
    for key in names(keys) {
        let run = sandbox.run(&["config", "set", &key, "nonsense"]);
        assert!(!run.stderr.contains("is no key of a file"), "{key}\n{run}");
    }
}

#[test]
fn a_wrong_key_or_value_is_told_with_what_is_meant() {
    let sandbox = Sandbox::new();
    let set = |key: &str, value: &str| sandbox.run(&["config", "set", key, value]).code(2);
    set("kep", "3").stderr_has("'kep' is no key of a file; did you mean 'keep'?");
    set("keep", "abc").stderr_has("expected a number from 1 on; for example: keep = 50;");
    set("audit", "yes").stderr_has("expected true or false; for example: audit = false;");
    set("max_files", "x")
        .stderr_has("expected a number from 0 on, or 'off'; for example: max_files = ");
    set("prompts", "3").stderr_has("expected a word; for example: prompts = \"line\";");
    set("auto", "x").stderr_has(
        "auto must be one of \"all\", \"prompts\", \"off\"; for example: auto = \"all\";",
    );
    set("keep_within", "soon").stderr_has("keep_within: 'soon' is not a duration such as '7d';");
    sandbox.write(".checkpoint.toml", "exclude = 5\n");
    sandbox
        .run(&["create"])
        .code(1)
        .stderr_has("'5' is no pattern");
    set("max_store_size", "x").stderr_has("; for example: max_store_size = \"5 GiB\";");
}

#[test]
fn a_limit_is_set_and_taken_off_by_one_word() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1");
    for key in ["max_file_size", "max_files", "max_store_size"] {
        for off in ["off", "0"] {
            sandbox.run(&["config", "set", key, "100"]).success();
            sandbox.run(&["config", "set", key, off]).success();
            let data = sandbox.run(&["config", "--json"]).success().data();
            assert_eq!(setting(&data, key)["value"], json!(null), "{key}");
        }
        sandbox.run(&["config", "set", key, "no limit"]).code(2);
    }
    sandbox.run(&["create"]).success();
    sandbox.run(&["cat", "latest:a"]).success().stdout_is("1");
}

#[cfg(unix)]
#[test]
fn what_was_set_is_set_whatever_else_is_wrong_and_a_link_to_nothing_is_named() {
    let sandbox = Sandbox::new();
    sandbox.user_config("[database.a]\ndump = \"x\"\n");
    sandbox
        .run(&["config", "set", "keep", "6"])
        .code(5)
        .stderr_has("keep = 6")
        .stderr_has("a: missing field `restore`");
    let file = sandbox.home().join(".config/checkpoint/config.toml");
    std::fs::remove_file(&file).expect("it is there");
    std::os::unix::fs::symlink("nowhere", &file).expect("a link");
    sandbox
        .run(&["config", "set", "keep", "7"])
        .code(1)
        .stderr_has("config.toml is a link to nothing");
}

/// It may have been meant to keep more.
#[test]
fn a_misspelt_key_of_what_is_kept_says_that_nothing_is_evicted() {
    let sandbox = Sandbox::new();
    sandbox.write(".checkpoint.toml", "kep = 3\nexlude = [\"x\"]\n");
    let said = "unknown key 'kep'; did you mean 'keep'?; until this is fixed, nothing is evicted";
    sandbox.run(&["prune", "--dry-run"]).stderr_has(said);
    std::fs::remove_file(sandbox.path(".checkpoint.toml")).expect("it is there");
    sandbox.user_config("kep = 3\n");
    let run = sandbox.run(&["config"]).stderr_has(said);
    let keep = run.stdout.lines().find(|line| line.starts_with("  keep "));
    assert!(keep.is_some_and(|line| line.contains(" off ")), "{keep:?}");
    let data = sandbox.run(&["config", "--json"]).data();
    assert!(setting(&data, "keep")["value"].is_null(), "{data}");
}
