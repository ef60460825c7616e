//! What `list` and `status` show on terminals of many widths, compared whole.

use crate::bench::screen::{pictures, screen};
use crate::bench::terminal::{at_a_terminal, dialogue};
use crate::bench::{Run, Sandbox};

const NOON: &str = "2026-03-24T12:00:00Z";

/// Three checkpoints of two days, one with wide characters and pinned, and three restores: to the
/// second, undone, and to the second again.
fn story() -> (Sandbox, [String; 3]) {
    let sandbox = Sandbox::new();
    sandbox.env("NO_COLOR", "1");
    for file in ["README.md", "src/a", "src/b"] {
        sandbox.write(file, "1");
    }
    sandbox.at("2026-03-23T09:00:00Z");
    let long = "first draft of the parser, with the tests that Anna asked for last week";
    let first = sandbox.create(long);
    sandbox
        .write("src/a", "22")
        .write("src/c", "1")
        .remove("src/b");
    sandbox.at("2026-03-24T10:00:00Z");
    let second = sandbox.create("波形: 表の幅 🎈");
    sandbox.ok(format!("pin {second}"));
    sandbox.write("src/a", "333");
    sandbox.at("2026-03-24T11:00:00Z");
    let third = sandbox.create("wave 2");
    sandbox.at("2026-03-24T11:30:00Z");
    sandbox.restore(&second).success();
    sandbox.undo().success();
    sandbox.restore(&second).success();
    (sandbox, [first, second, third])
}

/// What commands show at noon on a terminal of this width; `None` where there is no terminal.
fn shown(sandbox: &Sandbox, columns: usize, line: &str) -> Option<String> {
    let run = at_noon(sandbox, columns, line)?.success();
    let lines = screen(&run.stdout);
    let widest = lines.iter().map(|line| unicode_width(line)).max();
    assert!(widest.unwrap_or_default() <= columns, "a line wraps\n{run}");
    Some(lines.join("\n"))
}

fn at_noon(sandbox: &Sandbox, columns: usize, line: &str) -> Option<Run> {
    sandbox.at(NOON);
    at_a_terminal(sandbox, &format!("stty rows 24 cols {columns}; {line}"))
}

fn unicode_width(line: &str) -> usize {
    unicode_width::UnicodeWidthStr::width(line)
}

/// The pictures have words like `id-first` in the place of ids.
#[test]
fn the_lists_fit_every_width_and_tell_restores_where_they_are_asked_for() {
    let (sandbox, ids) = story();
    let names = [
        "id-again", "id-undo-", "id-once-", "id-first", "id-2nd-_", "id-third",
    ];
    let ids: Vec<String> = sandbox.listed_ids()[..3]
        .iter()
        .chain(&ids)
        .cloned()
        .collect();
    for (name, picture) in pictures(include_str!("snapshots/screens.txt")) {
        let (columns, line) = name.split_once(' ').expect("a width");
        let columns = columns.parse().expect("a width");
        let Some(mut shown) = shown(&sandbox, columns, &format!("$checkpoint {line}")) else {
            return;
        };
        for (name, id) in names.iter().zip(&ids) {
            shown = shown.replace(id, name);
        }
        assert_eq!(shown, picture, "{name}");
    }
}

#[test]
fn a_column_is_dropped_only_if_it_does_not_fit() {
    let sandbox = Sandbox::new();
    sandbox.env("NO_COLOR", "1").write("a", "1");
    sandbox.at("2026-03-24T10:00:00Z");
    let id = sandbox.create("wave 1");
    for (columns, titles) in [
        (57, "TIME   AGE  FILES  SIZE  REASON  SOURCE"),
        (47, "TIME   AGE  FILES  REASON  SOURCE"),
        (41, "TIME   AGE  REASON  SOURCE"),
    ] {
        let Some(shown) = shown(&sandbox, columns, "$checkpoint list") else {
            return;
        };
        let lines: Vec<&str> = shown.lines().collect();
        assert_eq!(lines[0], format!("  ID        {titles}"), "{columns}");
        assert!(lines[2].contains(&id) && lines[2].contains("wave 1"));
    }
}

#[test]
fn status_tells_position_changes_work_under_way_and_the_store_in_this_order() {
    let (sandbox, ids) = story();
    sandbox
        .write("new", "1")
        .write("src/a", "4")
        .remove("src/c");
    sandbox
        .write(".gitignore", "build/\n")
        .write("build/x", "1");
    sandbox.at("2026-03-24T11:40:00Z");
    sandbox.ok("workflow init --id w --phase one --phase two");
    sandbox.ok("hold wave --for 1h");
    let Some(shown) = shown(&sandbox, 120, "$checkpoint status") else {
        return;
    };
    let lines: Vec<&str> = shown.lines().collect();
    let expected = [
        format!("at           {} 波形: 表の幅 🎈 (test), restored", ids[1]),
        format!("newest       {} wave 2 (test), 1 h ago", ids[2]),
        "changed      2 added, 1 modified, 1 deleted".to_owned(),
        "  + .gitignore".to_owned(),
        "  + new".to_owned(),
        "  ~ src/a".to_owned(),
        "  - src/c".to_owned(),
    ];
    assert_eq!(lines[..expected.len()], expected);
    let labels: Vec<&str> = lines[expected.len()..]
        .iter()
        .map(|line| line.split([' ', ':']).next().unwrap_or_default())
        .collect();
    assert_eq!(
        labels,
        ["workflow", "held", "left", "checkpoints", "root", "store"],
        "{shown}"
    );
    assert!(shown.contains("B in ~/.claude/projects/"), "{shown}");
}

#[test]
fn the_list_says_when_a_checkpoint_expires() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1").env("NO_COLOR", "1");
    for (when, told) in [("24h", "expires in 23 h"), ("never", "never expires")] {
        sandbox.at("2026-03-24T10:00:00Z");
        let made = ["create", "-m", when, "--expires", when];
        sandbox.run(&made).success();
        sandbox.at("2026-03-24T10:30:00Z");
        let Some(run) = dialogue(&sandbox, "$checkpoint list", &[]) else {
            return;
        };
        assert!(run.stdout.contains(told), "{run}");
    }
    sandbox.at("2026-03-25T11:00:00Z");
    let run = dialogue(&sandbox, "$checkpoint list", &[]).expect("a terminal");
    assert!(run.stdout.contains("expired"), "{run}");
}

#[test]
fn status_tells_a_position_that_only_a_restore_recorded() {
    let (sandbox, ids) = story();
    sandbox.write("src/a", "work");
    sandbox.restore("wave 2").success();
    sandbox.undo().success();
    let safety = &sandbox.listed_ids()[1];
    sandbox.ok("status").stdout_has(&format!(
        "at           {safety} the state before the restore to {} (wave 2)\n",
        ids[2]
    ));
    let Some(shown) = shown(&sandbox, 80, "$checkpoint list") else {
        return;
    };
    assert!(
        shown.ends_with(&format!(
            "\nyou are at {safety}, a safety checkpoint ('checkpoint list --safety')"
        )),
        "{shown}"
    );
}

#[test]
fn colours_mark_ids_days_and_restores_and_may_be_switched_off() {
    let (sandbox, ids) = story();
    let Some(plain) = at_noon(&sandbox, 80, "$checkpoint list --safety 2>/dev/null") else {
        return;
    };
    assert!(!plain.stdout.contains('\x1b'), "{plain}");
    sandbox.unset_env("NO_COLOR");
    let line = "$checkpoint list --safety 2>/dev/null";
    let run = at_noon(&sandbox, 80, line).expect("a terminal").success();
    assert_eq!(screen(&run.stdout), screen(&plain.stdout));
    let run = run
        .stdout_has("\x1b[1mToday\x1b[0m\n")
        .stdout_has(&format!("\n* \x1b[33m{}\x1b[0m  10:00", ids[1]));
    let faint = run
        .stdout
        .lines()
        .filter(|line| line.starts_with("\x1b[2m"));
    assert_eq!(faint.count(), 1 + 3, "the head and three restores\n{run}");
}

#[test]
fn what_the_list_leaves_out_is_told_within_every_width() {
    let (sandbox, _) = story();
    for columns in [30, 40, 50] {
        let Some(shown) = shown(&sandbox, columns, "$checkpoint list") else {
            return;
        };
        let told = "3 checkpoints; 3 safety:\n'checkpoint list --safety'\n* you are here";
        assert!(shown.ends_with(told), "at {columns} columns:\n{shown}");
    }
}

#[test]
fn the_settings_fit_every_width_but_for_paths_which_stay_whole_behind_what_is_said_of_them() {
    let sandbox = Sandbox::new();
    sandbox.env("NO_COLOR", "1");
    sandbox.user_config("exclude = ['private/', 'a-folder-with-a-long-name/and-another/']\n");
    for columns in [30, 60, 80, 100] {
        let Some(run) = at_noon(&sandbox, columns, "$checkpoint config") else {
            return;
        };
        let lines = screen(&run.success().stdout);
        let line = |start: &str| lines.iter().find(|line| line.starts_with(start));
        let place = sandbox.store().display().to_string();
        assert!(lines.contains(&format!("  store  not there yet  {place}")));
        let is_path = |line: &&String| {
            ["root", "base", "store", "file"]
                .contains(&line[2..].split(' ').next().unwrap_or_default())
        };
        let others = lines.iter().filter(|line| line.len() > 2 && !is_path(line));
        let widest = others.map(|line| unicode_width(line)).max();
        assert!(widest.is_some_and(|widest| widest <= columns), "{lines:?}");
        let home = line("  NO_COLOR ").expect("a line");
        assert!(
            columns < 80 || home.ends_with("switches colours off"),
            "{home}"
        );
    }
    let piped = sandbox.ok("config").stdout;
    assert!(
        piped.contains(&sandbox.store().display().to_string()),
        "{piped}"
    );
}

#[test]
fn a_filter_that_only_safety_checkpoints_match_says_so() {
    let (sandbox, _) = story();
    let said = "no checkpoint matches; 3 safety checkpoints do: 'checkpoint list --safety'";
    let shown = shown(&sandbox, 80, "$checkpoint list --grep safety");
    assert!(shown.is_none_or(|shown| shown == said));
}
