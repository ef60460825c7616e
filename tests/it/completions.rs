//! `completions` in the shells themselves: commands, options and ids, and nothing else;
//! `stories/completions.md` has what the program offers.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::bench::terminal::dialogue;
use crate::bench::{Run, Sandbox, skipped};
use crate::help::commands;

fn shell(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path)
        .map(|dir| dir.join(name))
        .find(|program| program.is_file());
    if found.is_none() {
        skipped(&format!("no {name}"));
    }
    found
}

/// Runs a script in a shell that finds the program by its name.
fn run(sandbox: &Sandbox, shell: &Path, args: &[&str]) -> Run {
    let mut command = Command::new(shell);
    let dir = Sandbox::binary()
        .parent()
        .expect("a folder")
        .display()
        .to_string();
    let path = std::env::var("PATH").unwrap_or_default();
    command
        .args(args)
        .env_clear()
        .env("HOME", sandbox.home())
        .env("PATH", format!("{dir}:{path}"));
    command.env("TERM", "dumb").current_dir(sandbox.root());
    Run::of(command)
}

/// Completion candidates, requested as the scripts do. The last word is the one being completed.
fn candidates(sandbox: &Sandbox, words: &[&str]) -> Vec<String> {
    let mut command = sandbox.command(&[], &[&["--", "checkpoint"], words].concat());
    command.env("CHECKPOINT_COMPLETE", "fish");
    let run = Run::of(command).success();
    assert_eq!(run.stderr, "", "completion talks\n{run}");
    run.stdout.lines().map(str::to_owned).collect()
}

fn with_two() -> (Sandbox, [String; 2]) {
    let sandbox = Sandbox::new();
    sandbox.real_clock();
    let ids = ["pre-wave-1", "it's: a \"$(strange)\" `one` \\ \u{1b}[31m"].map(|reason| {
        sandbox
            .write("a", reason)
            .write("src/a b.rs", "a")
            .write("src/deep/c.rs", "c");
        sandbox.create(reason)
    });
    (sandbox, ids)
}

#[test]
fn bash_completes_commands_options_and_ids() {
    let (sandbox, ids) = with_two();
    sandbox.ok("hold wave-3");
    let Some(bash) = shell("bash") else { return };
    let script = r#"
        source <(checkpoint completions bash)
        ask() {
            COMP_LINE="checkpoint $*"; COMP_POINT=${#COMP_LINE}; COMP_TYPE=9; COMPREPLY=()
            # As bash cuts a line: at blanks, and at these signs.
            local cut=$COMP_LINE sign
            for sign in : = @; do cut=${cut//$sign/ $sign }; done
            read -r -a COMP_WORDS <<< "$cut"
            [[ $COMP_LINE == *" " ]] && COMP_WORDS+=("")
            COMP_CWORD=$(( ${#COMP_WORDS[@]} - 1 ))
            _checkpoint_complete checkpoint
            echo "${COMPREPLY[@]}"
        }
        complete -p checkpoint > /dev/null || exit 9
        ask "restore "
        ask "unp"
        ask "prune --orph"
        ask "show pre-w"
        ask "restore pre-wave-1 s"
        ask "restore @ src/"
        ask "cat @:s"
        ask "cat pre-wave-1:src/"
        ask "diff pre-wave-1:src/"
        ask "config set max_f"
        ask "man unp"
        ask "release w"
    "#;
    let run = run(&sandbox, &bash, &["--norc", "--noprofile", "-c", script]).success();
    assert_eq!(run.stderr, "", "{run}");
    let lines: Vec<&str> = run.stdout.lines().collect();
    assert_eq!(lines[0], format!("{} {} latest", ids[1], ids[0]), "{run}");
    let paths = [
        "src/",
        r"src/a\ b.rs src/deep/",
        "src/",
        r"src/a\ b.rs src/deep/",
        r"src/a\ b.rs src/deep/",
        "max_file_size max_files",
        "unpin",
        "wave-3",
    ];
    assert_eq!(
        lines[1..],
        [&["unpin", "--orphaned", "pre-wave-1"][..], &paths].concat(),
        "{run}"
    );
}

/// A checkpoint of files whose names need quotes.
fn with_odd_names() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox
        .write("sp ace dir/it's \"q\".txt", "1")
        .write("sp ace dir/plain.txt", "2")
        .write("sp ace dir/back\\slash.txt", "2")
        .write("sp ace dir/sub dir/x $y.txt", "3");
    sandbox.create("before refactor");
    sandbox
}

#[cfg(unix)]
#[test]
fn bash_completes_names_with_blanks_so_that_the_words_come_out_right() {
    let sandbox = with_odd_names();
    if shell("bash").is_none() {
        return;
    }
    let path = std::env::var("PATH").unwrap_or_default();
    sandbox.env("PATH", path).env("INPUTRC", "/dev/null");
    sandbox.env("PS1", "READY> ");
    let cases = [
        (r"cat @:sp\\ ace\\ dir/it\t", r#"@:sp ace dir/it's "q".txt"#),
        (
            r"cat before\\ refactor:sp\\ ace\\ dir/p\t",
            "before refactor:sp ace dir/plain.txt",
        ),
        (r"cat @:sp\\ ace\\ dir/ba\t", r"@:sp ace dir/back\slash.txt"),
        (
            r"cat @:sp\\ ace\\ dir/back\\\\sl\t",
            r"@:sp ace dir/back\slash.txt",
        ),
        (r"restore bef\t", "before refactor"),
        (r"list --reason=bef\t", "--reason=before refactor"),
        (r#"restore "before ref\t"#, "before refactor"),
        (r#"cat @ "sp ace dir/pl\t"#, "sp ace dir/plain.txt"),
        (r#"restore @ "sp\tp\t"#, "sp ace dir/plain.txt"),
        (
            r#"restore @ "sp ace dir/it\t"#,
            r#"sp ace dir/it's "q".txt"#,
        ),
        ("restore @ 'sp ace dir/it\\t", r#"sp ace dir/it's "q".txt"#),
        ("restore @ 'sp ace dir/ba\\t", r"sp ace dir/back\slash.txt"),
        (r#"cat @:"sp ace dir/p\t"#, "@:sp ace dir/plain.txt"),
    ];
    let typed: Vec<String> = cases
        .iter()
        .map(|(line, _)| format!(r"checkpoint {}\n", line.replace('\'', r"\047")))
        .collect();
    let start = r#"source <("$checkpoint" completions bash); checkpoint() { printf "told<%%s>\\n" "${@: -1}"; }; PS1="G""O> "\n"#;
    let mut answers = vec![("READY>", start)];
    answers.extend(typed.iter().map(|line| ("GO>", line.as_str())));
    answers.push(("GO>", "exit\\n"));
    let Some(run) = dialogue(&sandbox, "bash --norc --noprofile -i", &answers) else {
        return;
    };
    let told: Vec<&str> = run
        .stdout
        .lines()
        .filter_map(|line| line.rsplit_once("told<")?.1.strip_suffix('>'))
        .collect();
    assert_eq!(told, cases.map(|(_, word)| word), "{run}");
}

#[test]
fn zsh_completes_ids_with_their_reasons() {
    let (sandbox, ids) = with_two();
    let Some(zsh) = shell("zsh") else { return };
    let script = r#"
        zmodload zsh/zpty || exit 0
        zpty -b z "zsh -f -i"
        zpty -w z 'PS1=; autoload -Uz compinit; compinit -u -D; source <(checkpoint completions zsh); print REA''DY'
        wait_for() {
            local out= chunk
            local -i n=0
            while (( n++ < 400 )); do
                if zpty -r -t z chunk; then out+=$chunk; [[ $out == *$1* ]] && break; else sleep 0.05; fi
            done
            print -r -- "$out"
        }
        wait_for READY > /dev/null
        zpty -n -w z $'checkpoint restore \t'
        wait_for newest
        zpty -n -w z $'\C-ucheckpoint cat @:src/d\t'
        wait_for 'src/deep/'
        zpty -d z
    "#;
    let run = run(&sandbox, &zsh, &["-f", "-c", script]).success();
    let line = |id: &str| {
        run.stdout
            .lines()
            .find(|line| line.starts_with(id))
            .unwrap_or_else(|| panic!("{run}"))
    };
    assert!(line(&ids[0]).contains("pre-wave-1"), "{run}");
    assert!(
        line(&ids[1]).contains("it's: a \"$(strange)\" `one`"),
        "{run}"
    );
    assert!(run.stdout.contains("latest"), "{run}");
    assert!(!run.stdout.contains("--base"), "options come first\n{run}");
    assert!(run.stdout.contains("cat @:src/deep/"), "{run}");
}

#[test]
fn fish_completes_ids_with_their_reasons() {
    let (sandbox, ids) = with_two();
    let Some(fish) = shell("fish") else { return };
    let script = "checkpoint completions fish | source
        complete -C 'checkpoint restore '
        complete -C 'checkpoint unp'
        complete -C 'checkpoint prune --orph'
        complete -C 'checkpoint restore @ src/'
        complete -C 'checkpoint cat pre-wave-1:src/d'";
    let run = run(&sandbox, &fish, &["--no-config", "-c", script]).success();
    let lines: Vec<&str> = run.stdout.lines().collect();
    assert!(
        lines[0].starts_with(&format!("{}\tit's: a \"$(strange)\" `one`", ids[1])),
        "{run}"
    );
    assert!(
        lines[1].starts_with(&format!("{}\tpre-wave-1 (", ids[0])),
        "{run}"
    );
    assert!(
        lines.iter().any(|line| line.starts_with("unpin\t")),
        "{run}"
    );
    assert!(
        lines.iter().any(|line| line.starts_with("--orphaned\t")),
        "{run}"
    );
    for path in ["src/a b.rs", "src/deep/", "pre-wave-1:src/deep/"] {
        assert!(lines.contains(&path), "{path}: {run}");
    }
}

#[cfg(unix)]
#[test]
fn fish_completes_words_with_blanks() {
    let sandbox = with_odd_names();
    let Some(fish) = shell("fish") else { return };
    let cases = [
        (r"cat @:sp\ ace\ dir/p", "@:sp ace dir/plain.txt"),
        (r"cat @:sp\ ace\ dir/it\'s", r#"@:sp ace dir/it's "q".txt"#),
        (r"cat before\ refactor:sp", "before refactor:sp ace dir/"),
        (
            r"cat @:sp\ ace\ dir/back\\s",
            r"@:sp ace dir/back\slash.txt",
        ),
        (r"restore before\ re", "before refactor"),
    ];
    let asked = cases.map(|(line, _)| {
        let line = line.replace('\\', r"\\").replace('\'', r"\'");
        format!("complete -C 'checkpoint {line}'\n")
    });
    let script = format!("checkpoint completions fish | source\n{}", asked.concat());
    let run = run(&sandbox, &fish, &["--no-config", "-c", &script]).success();
    let told: Vec<&str> = run
        .stdout
        .lines()
        .map(|line| line.split('\t').next().unwrap_or_default())
        .collect();
    assert_eq!(told, cases.map(|(_, word)| word), "{run}");
}

#[test]
fn every_command_is_offered_by_its_own_name() {
    let sandbox = Sandbox::new();
    let names = |words: &[&str]| -> Vec<String> {
        let told = candidates(&sandbox, words).into_iter();
        let name = |line: String| line.split('\t').next().unwrap_or_default().to_owned();
        told.map(name).collect()
    };
    for group in [&[][..], &["workflow"], &["phase"], &["task"]] {
        let offered = names(&[group, &[""]].concat());
        let is_below = |words: &&Vec<String>| {
            words.len() == group.len() + 1 && words.starts_with(&owned(group))
        };
        for words in commands().iter().filter(is_below) {
            let name = &words[group.len()];
            assert!(offered.contains(name), "{name}: {offered:?}");
        }
        assert!(!offered.contains(&"gc".to_owned()), "{offered:?}");
    }
    // A short name completes what follows it.
    assert_eq!(names(&["gc", "--orph"]), ["--orphaned"]);
}

fn owned(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

#[test]
fn completion_waits_for_no_lock() {
    let (sandbox, ids) = with_two();
    let healthy = candidates(&sandbox, &["show", ""]);
    assert!(healthy[0].starts_with(&ids[1]), "{healthy:?}");
    let lock = std::fs::File::open(sandbox.store().join("checkpoint/lock")).expect("the lock file");
    lock.lock().expect("the lock is free");
    let begun = std::time::Instant::now();
    assert_eq!(candidates(&sandbox, &["show", ""]).len(), healthy.len());
    assert!(begun.elapsed().as_secs() < 5, "completion waits for a lock");
}
