//! `man`: manual pages of all commands, from their help. The door to `clap_mangen`.

use std::path::{Path, PathBuf};

use clap::Command;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};

use crate::cli::command_context::CommandContext;
use crate::cli::commands::completions::print;
use crate::cli::exit_code::{self, MEANINGS};
use crate::cli::grammar::examples;
use crate::cli::run::RunAnywhere;
use crate::config::environment::Environment;
use crate::config::variables::VARIABLES;
use crate::error::{Error, Result};
use crate::view::topics;

/// Print a manual page, or write all of them
///
/// Without an argument it is the page of checkpoint itself, which names the others.
#[derive(Clone, Debug, clap::Args)]
#[command(hide = true)]
pub struct ManArgs {
    /// Command such as restore or 'workflow init' [default: checkpoint itself]
    #[arg(value_name = "COMMAND", value_delimiter = ' ')]
    pub words: Vec<String>,
    /// Folder to write the pages of all commands to
    // `--dir` is the directory to act on, of every command.
    #[arg(long, value_name = "FOLDER", conflicts_with = "words")]
    pub into: Option<PathBuf>,
}

impl RunAnywhere for ManArgs {
    fn run(self, cmd: &CommandContext<'_>, _: Environment) -> Result<u8> {
        let whole = (cmd.grammar)();
        let text = match &self.into {
            Some(folder) => write_all(&whole, folder)?,
            None => page(&whole, &self.words)?,
        };
        print(cmd, "man", &text);
        Ok(exit_code::DONE)
    }
}

/// Name and version at the foot of each page.
const SOURCE: &str = concat!("checkpoint ", env!("CARGO_PKG_VERSION"));

const DESCRIPTION: [&str; 3] = [
    "checkpoint records a working directory in a shadow git repository of its own, and brings it back. \
     It never touches the project's own .git.",
    "A checkpoint is named by a selector (SEL): a unique prefix of its id of at least four digits; @, where the directory \
     stands, @~N; latest, latest~N; an exact reason, which means the newest with it; or a time such as '10m ago' or 2026-03-24T12:45, which means \
     the newest made by then: in this zone, by the end of that minute.",
    "Results go to standard output, everything else to standard error. With --json the result is one object.",
];

const FILES: [(&str, &str); 5] = [
    (
        "<base>/projects/<key>/checkpoints/<dir-hash>/",
        "the store of one directory: a bare git repository; \
      'checkpoint status' names it. The base is ~/.claude unless CHECKPOINT_HOME or CLAUDE_CONFIG_DIR names another",
    ),
    (
        "<store>/checkpoint-manifest.md",
        "the table of checkpoints, for people",
    ),
    (
        "<store>/.gitignore",
        "what is left out in this directory beside its own .gitignore files; to be edited",
    ),
    (
        "<user config>/checkpoint/config.toml",
        "settings of the user; 'checkpoint config' names the file and shows them",
    ),
    (
        ".checkpoint.toml",
        "settings of a project: what more to exclude, how many more to keep",
    ),
];

/// Writes the pages of all commands; returns their paths, one per line.
#[expect(
    clippy::disallowed_methods,
    reason = "the pages are no files of a store"
)]
fn write_all(whole: &Command, folder: &Path) -> Result<String> {
    std::fs::create_dir_all(folder).map_err(Error::io("create", folder))?;
    let mut written = String::new();
    let mut waiting = vec![Vec::new()];
    while let Some(words) = waiting.pop() {
        let path = folder.join(format!("{}.1", named(&words, "-")));
        std::fs::write(&path, page(whole, &words)?).map_err(Error::io("write", &path))?;
        written.push_str(&format!("{}\n", path.display()));
        let (command, _) = find(whole, &words)?;
        let below = command.get_subcommands().map(Command::get_name);
        waiting.extend(below.map(|name| [&words[..], &[name.to_owned()]].concat()));
    }
    Ok(written)
}

fn named(words: &[String], between: &str) -> String {
    [&["checkpoint".to_owned()], words].concat().join(between)
}

/// Returns a command and its own words, which are not aliases.
fn find<'c>(whole: &'c Command, words: &[String]) -> Result<(&'c Command, Vec<String>)> {
    let mut found = (whole, Vec::new());
    for word in words {
        let command = found.0.find_subcommand(word).ok_or_else(|| Error::Usage {
            what: format!("there is no command '{}'", words.join(" ")),
        })?;
        found.0 = command;
        found.1.push(command.get_name().to_owned());
    }
    Ok(found)
}

/// Returns the manual page of a command, or of the program, as roff.
///
/// # Errors
/// There is no such command, or the page could not be written.
fn page(whole: &Command, words: &[String]) -> Result<String> {
    let (found, words) = find(whole, words)?;
    let mut page = Vec::new();
    let written = if words.is_empty() {
        write_main(found, &mut page)
    } else {
        write_command(found, &words, &mut page)
    };
    let failed = |why: &dyn std::fmt::Display| Error::unexpected(format!("no manual page: {why}"));
    written.map_err(|e| failed(&e))?;
    let page = String::from_utf8(page).map_err(|e| failed(&e))?;
    Ok(page.chars().map(in_ascii).collect())
}

/// Writes a character in the way that every version of troff reads.
fn in_ascii(character: char) -> String {
    if character.is_ascii() {
        character.to_string()
    } else {
        format!("\\[u{:04X}]", u32::from(character))
    }
}

fn write_main(whole: &Command, page: &mut Vec<u8>) -> std::io::Result<()> {
    let man = Man::new(
        whole
            .clone()
            .override_usage("checkpoint [COMMAND] [OPTIONS]"),
    );
    let man = man.manual("checkpoint").source(SOURCE);
    man.render_title(page)?;
    man.render_name_section(page)?;
    man.render_synopsis_section(page)?;
    let mut text = Roff::new();
    text.control("SH", ["DESCRIPTION"]);
    for paragraph in DESCRIPTION {
        text.control("PP", []).text([roman(paragraph)]);
    }
    text.control("SH", ["COMMANDS"]);
    list(whole, &[], &mut text);
    page.extend(body(&text.render()));
    let mut options = Vec::new();
    man.render_options_section(&mut options)?;
    page.extend(body(&String::from_utf8_lossy(&options)));
    let mut text = Roff::new();
    table(&mut text, "EXIT STATUS", MEANINGS.iter().copied());
    let variables = VARIABLES.iter().map(|one| (one.name, one.purpose));
    table(&mut text, "ENVIRONMENT", variables);
    table(&mut text, "FILES", FILES.iter().copied());
    text.control("SH", ["SETTINGS"]);
    text.text([roman("config.toml, with the defaults where there are any:")]);
    verbatim(&mut text, settings());
    text.control("SH", ["EXAMPLES"]);
    verbatim(&mut text, examples("checkpoint"));
    see_also(whole, &[], &mut text);
    page.extend(body(&text.render()));
    Ok(())
}

/// Writes the page of a command: synopsis, description, options, examples and its neighbours.
fn write_command(command: &Command, words: &[String], page: &mut Vec<u8>) -> std::io::Result<()> {
    let mut command = command
        .clone()
        .bin_name(named(words, " "))
        .display_name(named(words, "-"))
        .disable_help_flag(true);
    let usage = command.render_usage().to_string();
    let command = command.override_usage(usage.trim_start_matches("Usage: ").to_owned());
    let mut text = Roff::new();
    if command.has_subcommands() {
        text.control("SH", ["COMMANDS"]);
        list(&command, words, &mut text);
    }
    text.control("SH", ["EXAMPLES"]);
    verbatim(&mut text, examples(&words.join(" ")));
    text.control("SH", ["EXIT STATUS"]);
    text.text([roman("0 if done, 2 for wrong usage; checkpoint(1) has all codes, and the options of every command.")]);
    see_also(&command, words, &mut text);
    let man = Man::new(command).manual("checkpoint").source(SOURCE);
    man.render_title(page)?;
    let mut parts = Vec::new();
    man.render_name_section(&mut parts)?;
    man.render_synopsis_section(&mut parts)?;
    man.render_description_section(&mut parts)?;
    man.render_options_section(&mut parts)?;
    page.extend(body(&String::from_utf8_lossy(&parts)));
    page.extend(body(&text.render()));
    Ok(())
}

/// Lists the subcommands of a command, each with its page.
fn list(command: &Command, words: &[String], text: &mut Roff) {
    for one in command.get_subcommands() {
        let words = [words, &[one.get_name().to_owned()]].concat();
        let about = one.get_about().map(ToString::to_string).unwrap_or_default();
        text.control("TP", [])
            .text([bold(format!("{}(1)", named(&words, "-")))])
            .text([roman(about)]);
    }
}

fn table<'t>(text: &mut Roff, title: &str, rows: impl Iterator<Item = (&'t str, &'t str)>) {
    text.control("SH", [title]);
    for (name, meaning) in rows {
        text.control("TP", [])
            .text([bold(name)])
            .text([roman(meaning)]);
    }
}

fn verbatim<'t>(text: &mut Roff, lines: impl Iterator<Item = &'t str>) {
    text.control("nf", []);
    for line in lines {
        text.text([roman(line)]);
    }
    text.control("fi", []);
}

/// Returns the lines of the user's configuration, as the page about it shows them.
fn settings() -> impl Iterator<Item = &'static str> {
    let page = topics::page("configuration").unwrap_or_default();
    let block = page.split("```toml\n").nth(1).unwrap_or_default();
    let block = block.split("```").next().unwrap_or_default();
    block.lines()
}

fn see_also(command: &Command, words: &[String], text: &mut Roff) {
    text.control("SH", ["SEE ALSO"]);
    let above = (0..words.len()).map(|end| named(&words[..end], "-"));
    let below = command
        .get_subcommands()
        .map(|one| named(&[words, &[one.get_name().to_owned()]].concat(), "-"));
    let pages = above.chain(below).map(|name| format!("{name}(1)"));
    let topics = topics::names().into_iter();
    let topics = topics.map(|name| format!("'checkpoint help {name}'"));
    let named: Vec<String> = if words.is_empty() {
        pages.chain(topics).collect()
    } else {
        pages
            .chain(["'checkpoint help topics'".to_owned()])
            .collect()
    };
    text.text([roman(named.join(", "))]);
}

/// Removes lines that belong only at the beginning of a page.
fn body(text: &str) -> Vec<u8> {
    let is_preamble = |line: &&str| line.starts_with(".ie ") || line.starts_with(".el ");
    text.split_inclusive('\n')
        .filter(|line| !is_preamble(line))
        .flat_map(str::bytes)
        .collect()
}
