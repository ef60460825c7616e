//! The picture of the README shows, word for word, the output of its commands on a terminal.

use std::fmt::Write as _;

use crate::bench::Sandbox;
use crate::bench::terminal::dialogue;
use crate::source;

/// Sets up the directory before the first command.
const BEFORE: &str = r"mkdir src
printf 'def total(cart):\n    return sum(i.price for i in cart)\n' > src/cart.py
printf 'def user(id):\n    return db.get(id)\n' > src/user.py
checkpoint create -q -r first-draft
echo '# Shop' > README.md";
/// 2026-03-24T12:00:00Z in milliseconds; each command runs ten minutes after the one before.
const BEGIN_MS: u64 = 1_774_353_600_000;
const STEP_MS: u64 = 600_000;

fn picture() -> String {
    let path = source::package().join(".github/terminal.svg");
    std::fs::read_to_string(path).expect("the picture can be read")
}

/// The lines of text in the picture.
fn shown() -> Vec<String> {
    let picture = picture();
    let texts = picture.lines().filter_map(|line| {
        line.strip_prefix("<text ")?
            .split_once('>')?
            .1
            .strip_suffix("</text>")
    });
    texts.map(without_tags).collect()
}

fn without_tags(text: &str) -> String {
    let pieces = text.split('<').enumerate();
    let plain: String = pieces
        .filter_map(|(at, piece)| {
            if at == 0 {
                Some(piece)
            } else {
                piece.split_once('>').map(|p| p.1)
            }
        })
        .collect();
    plain
        .replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&amp;", "&")
}

/// A script of the picture's commands, each printed as its own line and run at its own moment.
fn script(lines: &[String]) -> String {
    let mut script = format!(
        "checkpoint() {{ \"$checkpoint\" \"$@\"; }}\nexport CHECKPOINT_NOW={BEGIN_MS}\n{{ {BEFORE}\n}} >/dev/null 2>&1\n"
    );
    let commands = lines.iter().filter(|line| line.starts_with("$ "));
    for (at, line) in (1..).zip(commands) {
        let (now, quoted) = (BEGIN_MS + at * STEP_MS, line.replace('\'', "'\\''"));
        writeln!(
            script,
            "CHECKPOINT_NOW={now}\nprintf '%s\\n' '{quoted}'\n{}",
            &line[2..]
        )
        .expect("a string takes all");
    }
    script
}

#[test]
fn the_picture_shows_what_a_terminal_shows() {
    let (sandbox, picture) = (Sandbox::bare(), shown());
    sandbox.env("PAGER", "cat");
    let asked: Vec<(&str, &str)> = picture
        .iter()
        .filter(|line| line.ends_with("[y/N] y"))
        .map(|_| ("[y/N]", "y\\n"))
        .collect();
    assert!(
        asked.len() == 1 && picture.len() > 20,
        "the picture shows too little:\n{}",
        picture.join("\n")
    );
    let Some(run) = dialogue(&sandbox, script(&picture).trim_end(), &asked) else {
        return;
    };
    let run = run.success();
    let (terminal, _) = run
        .stdout
        .split_once("code 0")
        .expect("the exit code was asked for");
    assert_eq!(
        sandbox.normalized(terminal.trim_end()),
        sandbox.normalized(&picture.join("\n")),
        "{run}"
    );
}

#[test]
fn the_picture_needs_no_script_and_nothing_from_elsewhere() {
    let addresses = picture().replace("xmlns=\"http://www.w3.org/2000/svg\"", "");
    let barred = "<script <image <use @import @font-face url( http: https:";
    for word in barred.split(' ') {
        assert!(!addresses.contains(word), "{word} in the picture");
    }
}
