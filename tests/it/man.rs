//! `man`: a page for each command that man renders without complaint.

use std::path::Path;
use std::process::Command;

use crate::bench::{Run, Sandbox, skipped};
use crate::help::commands;

#[test]
fn the_main_page_names_every_command_and_where_more_is() {
    let sandbox = Sandbox::new();
    let page = sandbox.ok("man").stdout.replace("\\-", "-");
    for words in commands().iter().filter(|words| words.len() == 1) {
        let is_hidden = ["man", "schema"].contains(&&*words[0]);
        let name = format!("checkpoint-{}(1)", words[0]);
        assert!(
            page.contains(&name) || is_hidden,
            "{name} is not in the page"
        );
    }
    for text in ["--lock-timeout", "--version", "checkpoint help topics"] {
        assert!(page.contains(text), "{text} is not in the page");
    }
}

#[test]
fn the_main_page_has_the_variables_the_files_and_the_settings() {
    let sandbox = Sandbox::new();
    let page = sandbox.ok("man").stdout.replace("\\-", "-");
    let section = |name: &str| {
        let quoted = page.split_once(&format!(".SH \"{name}\""));
        let (_, rest) = quoted
            .or(page.split_once(&format!(".SH {name}")))
            .expect(name);
        rest.split(".SH").next().expect("text").to_owned()
    };
    let config = sandbox.json("config");
    let named = |list: &str| {
        let rows = config[list].as_array().expect("a list").iter();
        let names = rows.map(|row| row["name"].as_str().expect("a name").to_owned());
        names.collect::<Vec<_>>()
    };
    let environment = section("ENVIRONMENT");
    for name in named("environment") {
        assert!(
            environment.contains(&format!(".TP\n\\fB{name}\\fR\n")),
            "{page}"
        );
    }
    let settings = section("SETTINGS");
    let keys = settings.matches(" = ").count();
    assert!(keys > 15 && settings.contains("\n  keep = 50 "), "{page}");
    assert!(settings.contains("\n.nf\n"), "they can be copied: {page}");
    let codes = section("EXIT STATUS");
    for code in ["0", "6", "130, 143"] {
        assert!(codes.contains(&format!(".TP\n\\fB{code}\\fR\n")), "{page}");
    }
    let files = section("FILES");
    for name in ["checkpoint-manifest.md", ".checkpoint.toml", "config.toml"] {
        assert!(files.contains(name), "{page}");
    }
}

#[test]
fn every_command_has_a_page_with_examples_that_man_renders_without_a_warning() {
    let sandbox = Sandbox::new();
    let folder = sandbox.top().join("man/man1");
    let run = sandbox
        .run(&["man", "--into", folder.to_str().expect("UTF-8")])
        .success();
    let mut names = vec!["checkpoint".to_owned()];
    for words in commands() {
        let name = format!("checkpoint-{}", words.join("-"));
        let page = std::fs::read_to_string(folder.join(format!("{name}.1"))).expect("a page");
        let line: Vec<&str> = words.iter().map(String::as_str).collect();
        sandbox
            .run(&[&["man"], &line[..]].concat())
            .success()
            .stdout_is(&page);
        for section in ["NAME", "SYNOPSIS", "DESCRIPTION", "EXAMPLES"] {
            let is_there = page.contains(&format!(".SH {section}\n"))
                || page.contains(&format!(".SH \"{section}\"\n"));
            assert!(is_there, "{name} has no {section}\n{page}");
        }
        assert!(page.contains("\n.nf\n  "), "{page}");
        names.push(name);
    }
    assert_eq!(run.stdout.lines().count(), names.len());
    let groff = Path::new("/usr/bin/groff");
    if !groff.is_file() {
        skipped("no groff");
        return;
    }
    for name in names {
        let mut command = Command::new(groff);
        command
            .args(["-man", "-Tutf8", "-ww", "-rLL=80n"])
            .arg(folder.join(format!("{name}.1")))
            .env_clear()
            .env("PATH", "/usr/bin:/bin");
        let run = Run::of(command).success().stdout_has("checkpoint");
        assert_eq!(run.stderr, "", "groff complains of {name}");
    }
}

#[test]
fn a_synopsis_is_the_usage_that_help_shows() {
    let sandbox = Sandbox::new();
    for words in commands() {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let help = sandbox
            .run(&[&["help"], &words[..]].concat())
            .success()
            .stdout;
        let (_, usage) = help.split_once("Usage: ").expect("a usage");
        let usage = usage.lines().take_while(|line| !line.is_empty());
        let usage: Vec<&str> = usage.map(str::trim).collect();
        let page = sandbox
            .run(&[&["man"], &words[..]].concat())
            .success()
            .stdout;
        let (_, page) = page.split_once(".SH SYNOPSIS\n").expect("a synopsis");
        let (synopsis, _) = page.split_once(".SH").expect("more");
        let plain = ["\\fB", "\\fR", "\\fI", ".br\n"].iter();
        let synopsis = plain.fold(synopsis.replace("\\-", "-"), |text, mark| {
            text.replace(mark, "")
        });
        assert_eq!(synopsis.trim(), usage.join("\n"), "{words:?}");
    }
}
