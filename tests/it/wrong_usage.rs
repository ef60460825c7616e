//! Wrong usages, each with its exit code: one line says what is wrong, which word it is about and
//! what to do next, on stderr and in JSON alike, and the next step works as it is printed.

use std::collections::BTreeSet;

use crate::bench::{Run, Sandbox};

/// Shell words after `checkpoint`, the exit code, and the word that the line must name.
type WrongUse = (&'static str, i32, &'static str);

/// Lines that the grammar refuses.
const GRAMMAR: &[WrongUse] = &[
    ("crate", 2, "crate"),
    ("frobnicate", 2, "frobnicate"),
    ("op log", 2, "'op'"),
    ("-C list lsit", 2, "did you mean 'list'"),
    ("verifi", 2, "verify"),
    ("creat", 2, "create"),
    ("lst", 2, "list"),
    ("workflow nope", 2, "nope"),
    ("phase nope", 2, "nope"),
    ("task nope", 2, "nope"),
    ("workflow", 2, "init"),
    ("phase", 2, "start"),
    ("task", 2, "list"),
    ("--bogus", 2, "--bogus"),
    ("--bogus list", 2, "--bogus"),
    ("list --bogus", 2, "--bogus"),
    ("-Z list", 2, "there is no option '-Z' here; see"),
    ("ls -r", 2, "did you mean '--recursive'?"),
    ("restore base -R", 2, "there is no option '-R' here; see"),
    ("workflow status -w w", 2, "WORKFLOW is typed as it is"),
    ("workflow export -w w", 2, "WORKFLOW is typed as it is"),
    ("workflow list --type t", 2, "list has the type of each run"),
    ("workflow init --actor me", 2, "from CHECKPOINT_SOURCE"),
    ("bundle", 2, "did you mean 'export' or 'import'?"),
    ("purge", 2, "did you mean 'prune'?"),
    ("label base", 2, "did you mean 'reword'?"),
    ("freeze", 2, "did you mean 'hold'?"),
    ("workflow abandon", 2, "did you mean 'end --abandon'?"),
    ("workflow delete one", 2, "did you mean 'end --delete'?"),
    (
        "workflow diff",
        2,
        "'checkpoint workflow show REVISION REVISION'",
    ),
    ("state", 2, "did you mean 'status'?"),
    (
        "create --keep-daily 3",
        2,
        "from your settings; 'checkpoint config set keep_daily 7' sets one",
    ),
    (
        "create --keep-within 3d",
        2,
        "from your settings; 'checkpoint config set keep_daily 7' sets one",
    ),
    ("create --resaon x", 2, "--reason"),
    ("create --reason", 2, "--reason"),
    ("create -r", 2, "--reason"),
    ("create --source", 2, "--source"),
    ("create --type bogus", 2, "bogus"),
    ("create --type", 2, "--type"),
    ("create --format json", 2, "--contract"),
    ("create --contract --format xml", 2, "xml"),
    ("create --keep 0", 2, "--keep"),
    ("create --keep many", 2, "many"),
    ("create --max-files many", 2, "many"),
    ("list -n abc", 2, "abc"),
    ("list -n 1.5", 2, "1.5"),
    ("list --limit", 2, "--limit"),
    ("list --kind nope", 2, "nope"),
    ("list --color sometimes", 2, "sometimes"),
    ("list --color", 2, "--color"),
    ("--lock-timeout soon list", 2, "soon"),
    ("list --lock-timeout -1", 2, "-1"),
    ("list --json=yes", 2, "yes"),
    ("unpin", 2, "SEL"),
    ("cat", 2, "SEL:PATH"),
    ("pin", 2, "SEL"),
    ("delete", 2, "SEL"),
    ("delete --all base", 2, "--all"),
    ("delete --force base", 2, "--force"),
    ("bisect base", 2, "BAD"),
    ("find --text x -n 0", 2, "--limit"),
    ("prune --keep 0", 2, "--keep"),
    ("prune --keep -3", 2, "-3"),
    ("prune --keep 99999999999", 2, "99999999999"),
    ("restore base --to out --overlay", 2, "--overlay"),
    ("restore --resume base", 2, "--resume"),
    ("restore base --check ''", 2, "--check"),
    ("restore base --dry-run --check true", 2, "--check"),
    ("undo --bogus", 2, "--bogus"),
    ("hold", 2, "NAME"),
    ("relink", 2, "OLD"),
    ("completions", 2, "SHELL"),
    ("completions tcsh", 2, "tcsh"),
    ("workflow init --profile nope", 2, "nope"),
    (
        "workflow rewind",
        2,
        "needs PHASE and one of --files, --state, --both; see",
    ),
    ("phase skip", 2, "PHASE"),
    ("verify base extra", 2, "extra"),
    ("create --include a", 2, "what --scope names"),
    ("create -a", 2, "what --scope names"),
    ("create --path a", 2, "what --scope names"),
    ("create --exclude a", 2, ".gitignore"),
    ("create -n", 2, "'checkpoint status'"),
    ("find --path a", 2, "PATTERN is typed"),
    ("create -f", 2, "did you mean '--force'"),
    (
        "create --keep-hourly 3",
        2,
        "'checkpoint config set keep_daily 7'",
    ),
    ("prune --keep-last 3", 2, "did you mean '--keep'"),
    ("phase --full", 2, "'checkpoint workflow status --json'"),
    (
        "phase done --full x",
        2,
        "'checkpoint workflow status --json'",
    ),
    (
        "task add --full x",
        2,
        "'checkpoint workflow status --json'",
    ),
    (
        "workflow mini-commit",
        2,
        "'checkpoint phase done --project-git'",
    ),
    ("workflow skeleton", 2, "'checkpoint help workflows'"),
    ("workflow shims .", 2, "'checkpoint help workflows'"),
    (
        "rollback",
        2,
        "did you mean 'undo', 'rewind' or 'restore'? see 'checkpoint undo",
    ),
    (
        "remote add",
        2,
        "checkpoint: remote add needs NAME and URL; see",
    ),
    ("phase skip", 2, "checkpoint: phase skip needs PHASE; see"),
    (
        "bisect",
        2,
        "checkpoint: bisect needs GOOD, BAD and CMD; see",
    ),
    ("list --restores", 2, "did you mean '--safety'"),
    (
        "prompt",
        2,
        "did you mean 'status --brief'? see 'checkpoint status --help'",
    ),
    (
        "plugin emit there",
        2,
        "did you mean 'setup --into DIR claude'? see 'checkpoint setup --help'",
    ),
    ("workflow next --id", 2, "next.phase_id with --json"),
    ("workflow show --id x", 2, "WORKFLOW is typed"),
    ("phase start a --id x", 2, "did you mean '--workflow'"),
    ("show --raw", 2, "--json"),
    ("workflow init --branch x", 2, "the branch of HEAD"),
    ("workflow note --branch x", 2, "--set branch=NAME"),
    ("list --type safety", 2, "did you mean '--kind'"),
    (
        "workflow export --type plan",
        2,
        "WORKFLOW is typed as it is",
    ),
    ("task add t --agent x", 2, "task start does"),
    ("restore base --keep 3", 2, "prune does"),
    ("undo --keep 3", 2, "prune does"),
    ("help zzz archive", 2, "neither a command"),
    ("restore base --force", 2, "--yes"),
    ("restore base -f", 2, "--yes"),
    ("delete base -f", 2, "--yes"),
    ("delete --force base", 2, "--yes"),
    ("prune --force", 2, "--yes"),
    ("prune -n", 2, "did you mean '--dry-run'"),
    ("restore base -n", 2, "did you mean '--dry-run'"),
    ("restore base --path a", 2, "PATH is typed"),
    ("diff --path a", 2, "PATH is typed"),
    ("find --path a", 2, "PATTERN is typed"),
    ("find --name a", 2, "PATTERN is typed"),
    ("guard --path a", 2, "did you mean '--scope'"),
    ("guard --file a", 2, "did you mean '--scope'"),
    ("create --file a", 2, "or what --scope names"),
    ("list --file a", 2, "did you mean '--path'"),
    ("diff --name a", 2, "did you mean '--name-only'"),
    ("restore --name a", 2, "--glob takes patterns"),
    ("ls --name a", 2, "--glob takes patterns"),
    ("ls --pattern a", 2, "--glob takes patterns"),
    (
        "version",
        2,
        "checkpoint prints it with --version; see 'checkpoint --help'",
    ),
    ("rewind --expect 1", 2, "'checkpoint workflow show'"),
    ("workflow rewind p --files --expect 1", 2, "--dry-run shows"),
    (
        "workflow cleanup --failed-max-age 3d",
        2,
        "'checkpoint workflow end RUN --purge'",
    ),
    ("workflow cleanup --keep-archives 2", 2, "the last five"),
    (
        "task list --phase p",
        2,
        "'checkpoint task list' has a column",
    ),
    ("phase start --phase p", 2, "PHASE is typed"),
    ("task done t --phase p", 2, "belongs to one phase"),
    ("task reset t --cut-off", 2, "'checkpoint workflow recover'"),
    (
        "task done t --output x",
        2,
        "'checkpoint task add TASK --output PATH'",
    ),
    ("phase done p --output x", 2, "--file of a phase"),
    (
        "completions bash --static",
        2,
        "'checkpoint completions SHELL'",
    ),
];

/// Lines that a command refuses, in a directory with checkpoints and a workflow.
const COMMANDS: &[WrongUse] = &[
    ("create --reason ''", 2, "reason"),
    ("create --reason ' '", 2, "reason"),
    ("create --source ''", 2, "source"),
    ("create --scope nope", 3, "nope"),
    ("create --scope ''", 2, "is empty"),
    ("create --scope ../x", 2, "../x"),
    ("create --scope .git", 4, ".git"),
    ("create --scope .env", 3, ".env"),
    ("create --type git_stash", 2, "git_stash"),
    ("create --type git_stash --scope a", 2, "file_backup"),
    ("create --type state_snapshot", 2, "--state"),
    ("create --type database_savepoint", 2, "--db"),
    ("create --state a=b", 2, "'a'"),
    ("create --state nokey", 2, "nokey"),
    ("create --state-file nope", 3, "nope"),
    ("create --db nope", 3, "nope"),
    ("create --copies", 2, "--copies"),
    (
        "create --scope @nope",
        3,
        "is relative to the current directory, not to -C\n",
    ),
    (
        "create --state-file nope",
        3,
        "is relative to the current directory, not to -C\n",
    ),
    ("restore @nope", 3, "is typed with ./ before it"),
    ("restore @1", 3, "@FILE reads paths from a file"),
    (
        "create --expires soon --type file_backup --scope a",
        2,
        "soon",
    ),
    ("create --base /dev/null/x", 1, "/dev/null"),
    ("list --since gestern", 2, "gestern"),
    ("list --since ''", 2, "--since"),
    ("-C /nope list", 3, "/nope"),
    ("-C /nope status", 3, "/nope"),
    ("-C /nope verify", 3, "/nope"),
    ("-C /nope prune", 3, "/nope"),
    ("-C /nope delete --all", 3, "/nope"),
    ("-C /nope create", 3, "/nope"),
    ("-C /nope restore base", 3, "/nope"),
    ("-C /nope undo", 3, "/nope"),
    ("-C /nope workflow list", 3, "/nope"),
    ("-C a list", 3, "a file"),
    ("show nope", 3, "nope"),
    ("show ''", 2, "selector"),
    ("show ffffffff", 3, "ffffffff"),
    ("show latest~99", 3, "latest~99"),
    ("diff nope", 3, "nope"),
    ("cat nope:a", 3, "nope"),
    ("cat base:nope", 3, "nope"),
    ("cat base:dir", 3, "dir"),
    ("restore nope", 3, "nope"),
    ("restore base nope", 3, "nope"),
    ("restore nope:dir/../a --yes", 2, "nope:dir/../a"),
    ("cat nope:dir/../a", 3, "nope"),
    ("restore base .env", 3, "secret"),
    ("restore base ../x", 2, "../x"),
    ("restore base /etc/passwd", 2, "/etc/passwd"),
    ("restore base .git/config", 4, ".git"),
    ("restore base", 4, "--yes"),
    ("restore base --no-input", 4, "--yes"),
    ("restore base --to dir", 4, "dir"),
    ("restore base --to .git/x", 4, ".git"),
    ("restore --resume", 3, "resume"),
    ("redo", 3, "redo"),
    ("delete nope", 3, "nope"),
    ("delete base", 4, "--yes"),
    ("delete kept --yes", 4, "unpin"),
    ("delete --all", 4, "--yes"),
    ("pin nope", 3, "nope"),
    ("unpin nope", 3, "nope"),
    ("bisect base nope -- true", 3, "nope"),
    ("bisect kept base -- true", 2, "older"),
    ("bisect base kept -- true", 2, "passes"),
    ("bisect base kept -- false", 2, "fails"),
    (
        "bisect base kept -- /no/such/program",
        1,
        "/no/such/program",
    ),
    ("find ''", 2, "is empty"),
    ("find no-such-file-anywhere", 3, "no-such-file-anywhere"),
    ("find --text ''", 2, "text"),
    (
        "find --text no-such-text-anywhere",
        3,
        "no-such-text-anywhere",
    ),
    ("guard --scope nope", 3, "nope"),
    ("guard --max-age soon", 2, "soon"),
    ("hold x --for soon", 2, "soon"),
    ("hold x --for 48h", 2, "24h"),
    ("hold ' x'", 2, "' x'"),
    ("release nope", 3, "nope"),
    ("relink /no/such/old --yes", 3, "/no/such/old"),
    ("relink . --yes", 4, "directory"),
    ("schema nope", 3, "nope"),
    ("help nope", 2, "nope"),
    ("workflow status nope", 3, "nope"),
    ("workflow init --id w --phase x", 4, "w"),
    ("workflow init --id 'a b' --phase x", 2, "'a b'"),
    ("workflow init --id other", 2, "--phase"),
    ("workflow init --id other --preset nope", 2, "nope"),
    ("workflow rewind one", 2, "--both"),
    ("phase start nope", 3, "nope"),
    ("phase start two", 4, "in progress"),
    ("phase done one", 4, "complete"),
    ("phase done three", 4, "not started"),
    ("task start nope", 3, "nope"),
];

fn story() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox
        .write("a", "1")
        .write("dir/b", "2")
        .write(".env", "SECRET=1")
        .mkdir(".git");
    sandbox.create("base");
    sandbox.write("a", "2").write("new", "3");
    sandbox.create("kept");
    sandbox.ok("pin kept");
    let phases = ["--phase", "one", "--phase", "two::one", "--phase", "three"];
    sandbox
        .run(&[&["workflow", "init", "--id", "w"], &phases[..]].concat())
        .success();
    for words in [
        ["phase", "start", "one"],
        ["phase", "done", "one"],
        ["phase", "start", "two"],
    ] {
        sandbox.run(&words).success();
    }
    sandbox
}

/// Runs a printed command line as a user would paste it.
fn pasted(sandbox: &Sandbox, line: &str) -> Run {
    let dir = Sandbox::binary()
        .parent()
        .expect("a folder")
        .display()
        .to_string();
    sandbox.env("PATH", format!("{dir}:/usr/bin:/bin"));
    sandbox.run_under(&["/bin/sh", "-c", line, "sh"], &[])
}

/// The command lines of a message that can be run as they are: without a placeholder.
fn next_steps(line: &str) -> Vec<String> {
    let bare = line
        .split_once("; run: ")
        .map(|(_, command)| command.trim().to_owned());
    let quoted = line.split("'checkpoint ").skip(1);
    let quoted = quoted.filter_map(|rest| Some(format!("checkpoint {}", rest.split('\'').next()?)));
    let has_placeholder = |line: &String| {
        line.contains('…')
            || line
                .split(' ')
                .any(|word| word.len() > 1 && word.bytes().all(|byte| byte.is_ascii_uppercase()))
    };
    let found: Vec<String> = match bare {
        Some(bare) => vec![bare],
        None => quoted.collect(),
    };
    found
        .into_iter()
        .filter(|line| !has_placeholder(line))
        .collect()
}

/// Words with which a line tells what to do without naming a command.
const ADVICE: &[&str] = &[
    "captures them",
    "looks at",
    "matched exactly",
    "cannot start",
    "cannot create",
    "add ",
    "active",
    "choose",
    "did you mean",
    "fix",
    "give ",
    "is older",
    "it has",
    "its phases",
    "move ",
    "name ",
    "needs ",
    "never ",
    "nothing was",
    "one of",
    "print",
    "see '",
    "takes ",
    "the oldest",
    "use ",
    "write",
    "is active",
];

fn check(rows: &[WrongUse]) {
    let sandbox = story();
    let before = sandbox.tree();
    let (mut wrong, mut steps) = (Vec::new(), BTreeSet::new());
    for (line, code, which) in rows {
        let run = pasted(&sandbox, &format!("checkpoint {line}"));
        let said = run.stderr.clone();
        let shown = said.clone();
        let mut complain = |why: &str| {
            wrong.push(format!(
                "{why}: checkpoint {line}\n  [{}] {shown}",
                run.code
            ));
        };
        if run.code != *code {
            complain(&format!("not {code}"));
        }
        // A bisection reports each test that it made.
        let said: String = said
            .lines()
            .filter(|line| !line.starts_with("testing "))
            .map(|line| format!("{line}\n"))
            .collect();
        if !said.starts_with("checkpoint: ") || said.lines().count() != 1 {
            complain("no single line");
        }
        if !said.contains(which) {
            complain(&format!("'{which}' is not named"));
        }
        let found = next_steps(&said);
        if found.is_empty() && !ADVICE.iter().any(|word| said.contains(word)) {
            complain("no next step");
        }
        for jargon in [
            "invalid digit",
            "non-zero type",
            "were not provided",
            "nobody",
            "os error",
            ") (",
        ] {
            if said.contains(jargon) {
                complain(jargon);
            }
        }
        steps.extend(found);
        // Shell words before `--` are ours; a command of the user's may follow.
        let (ours, theirs) = line
            .split_once(" --\u{20}")
            .map_or((*line, String::new()), |(ours, theirs)| {
                (ours, format!(" -- {theirs}"))
            });
        let with_json = pasted(&sandbox, &format!("checkpoint {ours} --json{theirs}"));
        if line.contains("--json") || line.ends_with("--color") || with_json.code != run.code {
            continue;
        }
        let error = with_json.json()["error"].clone();
        let (message, hint) = (
            error["message"].as_str().unwrap_or_default(),
            error["hint"].as_str().unwrap_or_default(),
        );
        if !said.contains(message) || !said.contains(hint) {
            complain(&format!("JSON says other words: {message}; {hint}"));
        }
    }
    sandbox.tree().assert_is(&before, "after the refusals");
    for step in steps {
        // Without --yes a restore or deletion is refused for lack of a terminal, which is no usage
        // error; a command may have nothing to do.
        let run = pasted(&story(), &step);
        let has_nothing_to_do = [" undo", "--resume", " cat "];
        if !matches!(run.code, 0 | 4) && !has_nothing_to_do.iter().any(|word| step.contains(word)) {
            wrong.push(format!(
                "the next step fails: {step}\n  [{}] {}",
                run.code, run.stderr
            ));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {}:\n{}",
        wrong.len(),
        rows.len(),
        wrong.join("\n")
    );
}

#[cfg(unix)]
#[test]
fn what_the_grammar_refuses_says_what_which_and_what_next() {
    check(GRAMMAR);
}

#[cfg(unix)]
#[test]
fn what_a_command_refuses_says_what_which_and_what_next() {
    check(COMMANDS);
}
