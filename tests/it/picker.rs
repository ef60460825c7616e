//! `restore` without a checkpoint: choosing one from a list at a terminal.

use std::thread;
use std::time::{Duration, Instant};

use crate::bench::screen::{pictures, screen, screens};
use crate::bench::terminal::{dialogue, with_keyboard};
use crate::bench::{Run, Sandbox};

const NOON: &str = "2026-03-24T12:00:00Z";
const TITLE: &str = "Restore";

fn story() -> (Sandbox, [String; 3]) {
    let sandbox = Sandbox::new();
    sandbox.env("NO_COLOR", "1");
    sandbox.write("a", "1").write("gone", "1");
    sandbox.at("2026-03-24T10:00:00Z");
    let first = sandbox.create("draft");
    sandbox.write("a", "22").remove("gone");
    sandbox.at("2026-03-24T11:00:00Z");
    let second = sandbox.create("波形: 表の幅 🎈");
    sandbox.write("a", "333").write("new", "1");
    sandbox.at("2026-03-24T11:30:00Z");
    let third = sandbox.create("wave 2");
    sandbox.at(NOON);
    (sandbox, [first, second, third])
}

fn at_width(columns: usize, line: &str) -> String {
    format!("stty rows 12 cols {columns}; {line}")
}

/// Chooses at a terminal: each key is typed once its text is shown.
fn chosen(sandbox: &Sandbox, columns: usize, keys: &[(&str, &str)]) -> Option<Run> {
    dialogue(sandbox, &at_width(columns, "$checkpoint restore"), keys)
}

/// What the picker showed last, with names in the place of the ids of the story.
fn assert_shows(run: &Run, name: &str, ids: &[String; 3]) {
    let mut shown = screens(&run.stdout).other.join("\n");
    for (name, id) in ["id-first", "id-2nd-_", "id-third"].iter().zip(ids) {
        shown = shown.replace(id, name);
    }
    let mut pictures = pictures(include_str!("snapshots/picker.txt"));
    let picture = pictures.find(|(one, _)| *one == name).expect("a picture");
    assert_eq!(shown, picture.1, "{run}");
}

#[test]
fn what_was_typed_is_restored_by_a_key_and_its_plan_is_the_consent() {
    let (sandbox, ids) = story();
    let keys = [(TITLE, "DRAFT"), ("gone", "'; sleep 1; printf '\\r")];
    let Some(run) = chosen(&sandbox, 120, &keys) else {
        return;
    };
    assert_shows(&run, "wide", &ids);
    let shown = screens(&run.clone().success().stdout).usual.join("\n");
    assert!(!shown.contains("[y/N]"), "it was the consent\n{run}");
    assert_eq!(
        (sandbox.read("a"), sandbox.exists("new")),
        ("1".into(), false)
    );
}

/// The command that a dry run names, with the choice, works as printed.
#[test]
fn a_dry_run_names_the_checkpoint_that_was_chosen_in_the_command_of_its_plan() {
    let (sandbox, ids) = story();
    let line = at_width(120, "$checkpoint restore --dry-run");
    let Some(run) = dialogue(&sandbox, &line, &[(TITLE, "DRAFT"), ("gone", "\\r")]) else {
        return;
    };
    let shown = screens(&run.clone().success().stdout).usual.join(" ");
    let command = shown
        .split("to do exactly this: checkpoint restore ")
        .nth(1);
    let command = command
        .and_then(|rest| rest.split(" code 0").next())
        .expect("a command");
    let words: Vec<&str> = command.split_whitespace().collect();
    assert!(words[0].starts_with(&ids[0]), "{run}");
    sandbox.run(&[&["restore"], &words[..]].concat()).success();
    assert_eq!(sandbox.read("a"), "1");
}

#[test]
fn nothing_is_written_while_nothing_changes() {
    let (sandbox, _) = story();
    let typing = "wait_for() { until grep -q \"$1\" $typescript 2>/dev/null; do sleep 0.05; done; }\n\
                  wait_for which; printf DRAFT; wait_for gone; sleep 0.5; wc -c <$typescript >before; sleep 1\n\
                  wc -c <$typescript >after; printf '\\033'";
    let line = at_width(120, "$checkpoint restore");
    let Some(run) = with_keyboard(&sandbox, typing, &line) else {
        return;
    };
    assert_eq!(sandbox.read("before"), sandbox.read("after"), "{run}");
}

#[test]
fn on_a_narrow_screen_the_changes_stand_below_the_list() {
    let (sandbox, ids) = story();
    let keys = [
        (TITLE, "\\016\\016\\020"),
        ("which", "'; sleep 2; printf '\\033"),
    ];
    let Some(run) = chosen(&sandbox, 60, &keys) else {
        return;
    };
    assert_shows(&run, "narrow", &ids);
}

#[test]
fn a_footer_that_is_too_long_for_the_screen_is_shown_whole_in_lines() {
    let (sandbox, _) = story();
    sandbox.ok("restore latest~1 --yes");
    let Some(run) = chosen(&sandbox, 50, &[("uld modify", "\\033")]) else {
        return;
    };
    let mut shown = screens(&run.stdout).other;
    for line in &mut shown {
        *line = line.replace("choose ", "restore");
    }
    let footer = [
        "enter: restore  esc: cancel  up, down: move",
        "right: diff  type: filter  tab: safety checkpoints",
    ];
    assert!(shown.ends_with(&footer.map(str::to_owned)), "{shown:#?}");
}

#[test]
fn on_a_screen_of_thirty_columns_the_counter_and_every_key_are_whole() {
    let (sandbox, ids) = story();
    let keys = [(TITLE, "\\016"), ("which", "'; sleep 2; printf '\\033")];
    let Some(run) = chosen(&sandbox, 30, &keys) else {
        return;
    };
    assert_shows(&run, "tiny", &ids);
}

/// No blank is drawn, and here what stood on the screen is not put aside.
#[test]
fn a_terminal_without_another_screen_shows_nothing_of_before_between_the_lines() {
    let (sandbox, _) = story();
    sandbox.env("PAGER", "cat");
    let line =
        "yes 'what stood here before, in every line of the screen' | head -30; $checkpoint restore";
    let keys = [
        ("cancel", "draft"),
        ("gone", "\\033[C"),
        ("any key: back", "x"),
        ("cancel", "\\033"),
    ];
    let Some(run) = dialogue(&sandbox, &at_width(120, line), &keys) else {
        return;
    };
    for (at, picker) in run.stdout.split("\x1b[?1049l").enumerate().take(2) {
        let (before, own) = picker.split_once("\x1b[?1049h").expect("a picker");
        let shown = screen(&format!("{before}{own}")).join("\n");
        assert!(
            shown.contains("wave 2") || shown.contains("draft_"),
            "{shown}"
        );
        assert!(!shown.contains("before"), "{at}: {shown}");
    }
}

#[test]
fn a_long_reason_is_shown_whole_beside_its_row() {
    let (sandbox, _) = story();
    let reason = "before the parser reads its rules from a table, and no longer from the code that \
                  a generator of 2019 wrote into the folder of the tests";
    sandbox.write("a", "4").create(reason);
    sandbox.write("a", "5").at(NOON);
    for columns in [80, 100, 40] {
        let keys = [(TITLE, "parser"), ("uld modify", "\\033")];
        let Some(run) = chosen(&sandbox, columns, &keys) else {
            return;
        };
        let shown = screens(&run.stdout).other;
        let pane = shown.iter().map(|line| line.split('│').next_back());
        let pane = pane.flatten().map(str::trim).collect::<Vec<_>>().join(" ");
        assert!(pane.contains(reason), "{columns}: {run}");
    }
}

#[test]
fn leaving_changes_nothing_and_gives_the_terminal_back() {
    let (sandbox, _) = story();
    let before = sandbox.listed_ids();
    for (key, code) in [("\\033", 4), ("\\004", 4), ("\\003", 130)] {
        let line = "stty -a >before; $checkpoint restore; code=$?; stty -a >after; \
                    cmp before after && rm before after && (exit $code)";
        let Some(run) = dialogue(&sandbox, line, &[(TITLE, key)]) else {
            return;
        };
        let run = run.code(code);
        assert!(run.stdout.contains("\x1b[?1049l"), "{run}");
        assert!(run.stdout.contains("\x1b[?25h"), "{run}");
        assert_eq!(sandbox.read("a"), "333", "{run}");
    }
    assert_eq!(sandbox.listed_ids(), before);
}

#[test]
fn a_signal_gives_the_terminal_back_too() {
    let (sandbox, _) = story();
    let typing = format!(
        "until grep -q '{TITLE}' $typescript 2>/dev/null; do sleep 0.05; done; \
         kill -TERM $(cat pid); sleep 0.5"
    );
    let line = "stty -a >before; sh -c 'echo $$ >pid; exec $checkpoint restore'; echo code $?; \
                stty -a >after; cmp before after && echo same";
    let Some(run) = with_keyboard(&sandbox, &typing, line) else {
        return;
    };
    let run = run.success().stdout_has("code 143").stdout_has("same");
    assert!(run.stdout.contains("\x1b[?1049l"), "{run}");
    assert_eq!(sandbox.read("a"), "333");
}

#[test]
fn it_ends_when_its_terminal_goes_away() {
    let typing = format!(
        "until grep -q '{TITLE}' $typescript 2>/dev/null; do sleep 0.05; done; \
         kill -KILL $(cat terminal)"
    );
    // The leader of the session gets a signal, a program of another session gets none.
    for session in ["exec", "setsid -w"] {
        let (sandbox, _) = story();
        let program = "sh -c 'echo $$ >pid; exec $checkpoint restore'";
        let line = format!("echo $PPID >terminal; {session} {program}");
        let Some(run) = with_keyboard(&sandbox, &typing, &line) else {
            return;
        };
        let status = format!("/proc/{}/stat", sandbox.read("pid").trim());
        let is_running =
            || std::fs::read_to_string(&status).is_ok_and(|stat| !stat.contains(") Z"));
        let deadline = Instant::now() + Duration::from_secs(20);
        while is_running() && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(50));
        }
        assert!(!is_running(), "it goes on for ever\n{run}");
    }
}

#[test]
fn restores_are_chosen_among_only_when_asked_for() {
    let (sandbox, ids) = story();
    sandbox.restore(&ids[0]).success();
    sandbox.at(NOON);
    let keys = [
        (TITLE, "state before"),
        ("matches", "\\t"),
        ("modif", "'; sleep 1; printf '\\r"),
    ];
    let Some(run) = dialogue(&sandbox, "stty rows 13 cols 30; $checkpoint restore", &keys) else {
        return;
    };
    run.success();
    assert_eq!(
        (sandbox.read("a"), sandbox.exists("new")),
        ("333".into(), true)
    );
}

#[test]
fn without_a_terminal_it_is_wrong_usage() {
    let (sandbox, _) = story();
    for args in [
        &["restore"][..],
        &["restore", "--yes"],
        &["restore", "--json"],
    ] {
        let run = sandbox.run(args).code(2);
        assert!(
            format!("{}{}", run.stdout, run.stderr).contains("'checkpoint list' shows them"),
            "{run}"
        );
    }
    for line in [
        "$checkpoint restore --json",
        "$checkpoint restore --no-input",
        "$checkpoint restore </dev/null",
        "TERM=dumb $checkpoint restore",
    ] {
        let Some(run) = dialogue(&sandbox, line, &[]) else {
            return;
        };
        run.code(2);
    }
}

#[test]
fn nothing_that_is_chosen_from_has_power_over_the_terminal() {
    let (sandbox, _) = story();
    sandbox.write("a\x1b]0;owned\x07\n", "1");
    sandbox.create("r\x1b[2J\x1b]0;owned\x07\u{9b}2J\u{202e}\nforged");
    sandbox.remove("a\x1b]0;owned\x07\n").at(NOON);
    let keys = [(TITLE, "f"), ("owned", "\\025"), ("2J", "\\033")];
    let Some(run) = chosen(&sandbox, 120, &keys) else {
        return;
    };
    let shown = screens(&run.clone().code(4).stdout).other.join("\n");
    assert!(shown.contains(r"r\x1b[2J\x1b]0;owned\x07"), "{run}");
    assert!(
        !run.stdout.contains("\x1b]0;") && !run.stdout.contains('\u{202e}'),
        "{run}"
    );
}

#[test]
fn another_directory_is_written_without_a_look_at_this_one() {
    let (sandbox, _) = story();
    let out = sandbox.top().join("out");
    let line = at_width(80, &format!("$checkpoint restore --to {}", out.display()));
    let keys = [(TITLE, "draft"), ("t_", "\\r")];
    let Some(run) = dialogue(&sandbox, &line, &keys) else {
        return;
    };
    run.success();
    assert_eq!(sandbox.read(out.join("gone")), "1");
    assert_eq!(sandbox.read("a"), "333");
}

#[test]
fn a_key_shows_the_lines_of_the_change_and_comes_back() {
    let (sandbox, _) = story();
    sandbox.env("PAGER", "cat");
    let keys = [
        ("cancel", "draft"),
        ("gone", "\\033[C"),
        ("any key: back", "x"),
        ("cancel", "\\033"),
    ];
    let Some(run) = chosen(&sandbox, 120, &keys) else {
        return;
    };
    let run = run.code(4);
    assert!(
        run.stdout.contains("-1") && run.stdout.contains("+333"),
        "{run}"
    );
    let usual = screens(&run.stdout).usual.join("\n");
    assert!(!usual.contains("any key: back"), "{usual}");
    let shown = screens(&run.stdout).other.join("\n");
    assert!(
        shown.contains("draft_") && shown.contains("right: diff"),
        "{shown}"
    );
}

#[test]
fn a_plan_for_which_the_screen_has_no_room_is_no_consent() {
    let (sandbox, [_, second, _]) = story();
    sandbox.ok(format!("reword {second} second"));
    for (rows, is_asked) in [(8, true), (9, true), (12, false)] {
        let line = format!("stty rows {rows} cols 60; $checkpoint restore");
        // The screen has the word in its list, and beside it once it is selected. Only what changes
        // is written: a longer text of the screen may come in pieces.
        let shown = if is_asked { "second" } else { "delete" };
        let mut keys = vec![(TITLE, "\\033[B"), ("second", "")];
        keys.push((shown, "'; sleep 2; printf '\\r"));
        keys.extend(is_asked.then_some(("[y/N]", "n\\r")));
        let Some(run) = dialogue(&sandbox, &line, &keys) else {
            return;
        };
        assert_eq!(run.stdout.contains("[y/N]"), is_asked, "{run}");
        assert_eq!(sandbox.exists("new"), is_asked, "{run}");
    }
}
