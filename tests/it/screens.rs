//! What `list` and `status` show on terminals of many widths, compared whole.

use crate::bench::screen::screen;
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

/// Writes the ids of a story into a picture of a screen, in which they are words like `id-first`.
fn with_ids(picture: &str, ids: &[String]) -> String {
    let names = ["id-first", "id-2nd-_", "id-third"];
    let mut picture = picture.trim_matches('\n').to_owned();
    for (name, id) in names.iter().zip(ids) {
        picture = picture.replace(name, id);
    }
    picture
}

#[test]
fn the_list_fits_every_width_and_leaves_restores_out() {
    let (sandbox, ids) = story();
    for (columns, picture) in LISTS {
        let Some(shown) = shown(&sandbox, columns, "$checkpoint list") else {
            return;
        };
        assert_eq!(shown, with_ids(picture, &ids), "at {columns} columns");
    }
}

const LISTS: [(usize, &str); 4] = [
    (
        60,
        "
  ID        TIME   AGE  REASON                        NOTE
Today
  id-third  11:00  1 h  wave 2
* id-2nd-_  10:00  2 h  波形: 表の幅 🎈               pinned
Yesterday
  id-first  09:00  1 d  first draft of the parser, …
3 checkpoints; 3 safety: 'checkpoint list --safety'
* you are here
",
    ),
    (
        80,
        "
  ID        TIME   AGE  REASON                                    SOURCE  NOTE
Today
  id-third  11:00  1 h  wave 2                                    test
* id-2nd-_  10:00  2 h  波形: 表の幅 🎈                           test    pinned
Yesterday
  id-first  09:00  1 d  first draft of the parser, with the tes…  test
3 checkpoints; 3 safety: 'checkpoint list --safety'
* you are here
",
    ),
    (
        120,
        "
  ID        TIME   AGE  FILES  SIZE  REASON                                                               SOURCE  NOTE
Today
  id-third  11:00  1 h      3   5 B  wave 2                                                               test
* id-2nd-_  10:00  2 h      3   4 B  波形: 表の幅 🎈                                                      test    pinned
Yesterday
  id-first  09:00  1 d      3   3 B  first draft of the parser, with the tests that Anna asked for last…  test
3 checkpoints; 3 safety: 'checkpoint list --safety'
* you are here
",
    ),
    (
        200,
        "
  ID        TIME   AGE  FILES  SIZE  REASON                                                                   SOURCE  NOTE
Today
  id-third  11:00  1 h      3   5 B  wave 2                                                                   test
* id-2nd-_  10:00  2 h      3   4 B  波形: 表の幅 🎈                                                          test    pinned
Yesterday
  id-first  09:00  1 d      3   3 B  first draft of the parser, with the tests that Anna asked for last week  test
3 checkpoints; 3 safety: 'checkpoint list --safety'
* you are here
",
    ),
];

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
fn changes_have_a_column_where_they_are_asked_for() {
    let (sandbox, ids) = story();
    for (columns, picture) in COUNTED {
        let Some(shown) = shown(&sandbox, columns, "$checkpoint list --stat") else {
            return;
        };
        assert_eq!(shown, with_ids(picture, &ids), "at {columns} columns");
    }
}

const COUNTED: [(usize, &str); 2] = [
    (
        60,
        "
  ID        TIME   AGE  CHANGES   REASON              NOTE
Today
  id-third  11:00  1 h  +0 ~1 -0  wave 2
* id-2nd-_  10:00  2 h  +1 ~1 -1  波形: 表の幅 🎈     pinned
Yesterday
  id-first  09:00  1 d  +3 ~0 -0  first draft of th…
3 checkpoints; 3 safety: 'checkpoint list --safety'
* you are here
",
    ),
    (
        120,
        "
  ID        TIME   AGE  CHANGES   FILES  SIZE  REASON                                                     SOURCE  NOTE
Today
  id-third  11:00  1 h  +0 ~1 -0      3   5 B  wave 2                                                     test
* id-2nd-_  10:00  2 h  +1 ~1 -1      3   4 B  波形: 表の幅 🎈                                            test    pinned
Yesterday
  id-first  09:00  1 d  +3 ~0 -0      3   3 B  first draft of the parser, with the tests that Anna aske…  test
3 checkpoints; 3 safety: 'checkpoint list --safety'
* you are here
",
    ),
];

#[test]
fn a_restore_is_told_as_what_it_was() {
    let (sandbox, ids) = story();
    let safeties: Vec<String> = sandbox.listed_ids()[..3].to_vec();
    for (columns, picture) in TOLD {
        let Some(shown) = shown(&sandbox, columns, "$checkpoint list --safety") else {
            return;
        };
        let mut expected = with_ids(picture, &ids);
        for (name, id) in ["id-again", "id-undo-", "id-once-"].iter().zip(&safeties) {
            expected = expected.replace(name, id);
        }
        assert_eq!(shown, expected, "at {columns} columns");
    }
}

const TOLD: [(usize, &str); 2] = [
    (
        80,
        "
  ID        TIME      AGE  REASON                                 SOURCE  NOTE
Today
  id-again  11:30  29 min  restored to id-2nd-_ (波形: 表の幅 …
  id-undo-  11:30  29 min  undid the restore to id-2nd-_ (波形:…
  id-once-  11:30  30 min  restored to id-2nd-_ (波形: 表の幅 …           undone
  id-third  11:00     1 h  wave 2                                 test
* id-2nd-_  10:00     2 h  波形: 表の幅 🎈                        test    pinned
Yesterday
  id-first  09:00     1 d  first draft of the parser, with the …  test
3 checkpoints, 3 safety checkpoints
* you are here
",
    ),
    (
        120,
        "
  ID        TIME      AGE  FILES  SIZE  REASON                                                            SOURCE  NOTE
Today
  id-again  11:30  29 min      3   5 B  restored to id-2nd-_ (波形: 表の幅 🎈)
  id-undo-  11:30  29 min      3   4 B  undid the restore to id-2nd-_ (波形: 表の幅 🎈)
  id-once-  11:30  30 min      3   5 B  restored to id-2nd-_ (波形: 表の幅 🎈)                                    undone
  id-third  11:00     1 h      3   5 B  wave 2                                                            test
* id-2nd-_  10:00     2 h      3   4 B  波形: 表の幅 🎈                                                   test    pinned
Yesterday
  id-first  09:00     1 d      3   3 B  first draft of the parser, with the tests that Anna asked for l…  test
3 checkpoints, 3 safety checkpoints
* you are here
",
    ),
];

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
fn status_names_ten_changed_files_and_the_command_for_the_others() {
    let (sandbox, _) = story();
    for number in 10..23 {
        sandbox.write(format!("new-{number}"), "1");
    }
    let run = sandbox.ok("status");
    assert_eq!(run.stdout.matches("\n  + new-").count(), 10, "{run}");
    let hint = "diff --name-status -v";
    let run = run.stdout_has(&format!("  and 3 more: 'checkpoint {hint}'\n"));
    let words: Vec<&str> = hint.split(' ').collect();
    let all = sandbox.run(&words).success();
    assert_eq!(all.stdout.lines().count(), 13, "{run}\n{all}");
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
fn filters_choose_by_words_and_by_what_changed_and_say_when_nothing_matches() {
    let (sandbox, ids) = story();
    let ids_of = |args: &[&str]| -> Vec<String> {
        let run = sandbox.run(&[&["list"], args].concat()).success();
        let rows = run.stdout.lines().skip(2);
        rows.filter_map(|row| Some(row.get(2..10)?.to_owned()))
            .collect()
    };
    assert_eq!(ids_of(&["--grep", "WAVE"]), [ids[2].clone()]);
    let kind = ["--kind", "checkpoint"];
    let of_path = |path: &str| ids_of(&[&["--path", path][..], &kind].concat());
    assert_eq!(of_path("src/c"), [ids[1].clone()]);
    assert_eq!(of_path("src/b"), [ids[1].clone(), ids[0].clone()]);
    assert_eq!(
        of_path("src"),
        [ids[2].clone(), ids[1].clone(), ids[0].clone()]
    );
    assert_eq!(of_path("README.md"), [ids[0].clone()]);
    assert_eq!(
        ids_of(&["--path", "src/b", "-n", "1", "--kind", "checkpoint"]),
        [ids[1].clone()]
    );
    let run = sandbox.ok("list --grep zzz");
    assert_eq!(run.stdout.lines().count(), 2, "header and rule stay\n{run}");
    run.stderr_has("no checkpoint matches; 'checkpoint list' shows all 3");
    sandbox.fails(2, "list --path ../x");
    let Some(shown) = shown(&sandbox, 80, "$checkpoint list --grep safety") else {
        return;
    };
    let expected = "no checkpoint matches; 3 safety checkpoints do: 'checkpoint list --safety'";
    assert_eq!(shown, expected);
}

#[test]
fn changes_are_counted_against_what_the_directory_was_set_to() {
    let (sandbox, ids) = story();
    sandbox.write("only", "1");
    let fourth = sandbox.create("fourth");
    let run = sandbox.ok("list --stat --kind checkpoint");
    let rows: Vec<(String, String)> = run
        .stdout
        .lines()
        .skip(2)
        .map(|row| {
            let cells: Vec<&str> = row.split(" | ").collect();
            let changes = cells.last().expect("a cell").trim_end_matches(" |");
            (row[2..10].to_owned(), changes.to_owned())
        })
        .collect();
    let expected = [
        (&fourth, "+1 ~0 -0"),
        (&ids[2], "+0 ~1 -0"),
        (&ids[1], "+1 ~1 -1"),
        (&ids[0], "+3 ~0 -0"),
    ];
    assert_eq!(
        rows,
        expected.map(|(id, counts)| (id.clone(), counts.to_owned()))
    );
    let listed = sandbox.ok("list --stat --json -n 1");
    assert_eq!(
        listed.data()["checkpoints"][0]["counts"],
        serde_json::json!({"added": 1, "modified": 0, "deleted": 0})
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
