//! `man`: one complete page that man renders without complaint.

use std::path::Path;
use std::process::Command;

use crate::bench::{Run, Sandbox, skipped};

#[test]
fn the_page_has_every_command_code_variable_and_file() {
    let sandbox = Sandbox::new();
    let page = sandbox.run(&["man"]).success().stdout.replace("\\-", "-");
    let help = sandbox.run(&["--help"]).success().stdout;
    let commands = help
        .lines()
        .skip_while(|line| *line != "Commands:")
        .skip(1)
        .take_while(|line| !line.is_empty());
    let mut seen = 0;
    for name in commands
        .filter(|line| !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
    {
        assert!(
            page.contains(&format!(".SS \"checkpoint {name}\"")),
            "{name} is not in the page"
        );
        seen += 1;
    }
    assert!(seen >= 20, "only {seen} commands were looked for");
    for text in [
        "EXIT STATUS",
        "CHECKPOINT_HOME",
        "COLUMNS",
        "config.toml",
        "143",
        "--lock-timeout",
    ] {
        assert!(page.contains(text), "{text} is not in the page");
    }
}

#[test]
fn man_renders_the_page_without_a_warning() {
    let sandbox = Sandbox::new();
    let groff = Path::new("/usr/bin/groff");
    if !groff.is_file() {
        skipped("no groff");
        return;
    }
    let file = sandbox.top().join("checkpoint.1");
    std::fs::write(&file, sandbox.run(&["man"]).success().stdout).expect("a file can be written");
    let mut command = Command::new(groff);
    command
        .args(["-man", "-Tutf8", "-ww", "-rLL=80n"])
        .arg(&file)
        .env_clear()
        .env("PATH", "/usr/bin:/bin");
    let run = Run::of(command)
        .success()
        .stdout_has("shadow git repository");
    assert_eq!(run.stderr, "", "groff complains");
}
