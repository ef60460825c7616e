//! `man`: prints one manual page for all commands, from their help. The door to `clap_mangen`.

use clap::Command;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};

use crate::cli::command_context::CommandContext;
use crate::cli::commands::completions::print;
use crate::cli::exit_code::{self, MEANINGS};
use crate::cli::run::RunAnywhere;
use crate::config::environment::Environment;
use crate::config::variables::VARIABLES;
use crate::error::{Error, Result};

/// Print the manual page
///
/// Read it with: checkpoint man | man -l -
#[derive(Clone, Debug, clap::Args)]
pub struct ManArgs {}

impl RunAnywhere for ManArgs {
    fn run(self, cmd: &CommandContext<'_>, _: Environment) -> Result<u8> {
        print(cmd, "man", "page", &page(&(cmd.grammar)())?);
        Ok(exit_code::DONE)
    }
}

const DESCRIPTION: [&str; 3] = [
    "checkpoint records a working directory in a shadow git repository of its own, and brings it back. \
     It never touches the project's own .git.",
    "A checkpoint is named by a selector (SEL): a unique prefix of its id of at least four digits; latest, latest~N, @, \
     @~N; an exact reason, which means the newest with it; or a time such as '10m ago' or 2026-03-24T12:45, which means \
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

/// Returns the manual page as roff.
///
/// # Errors
/// The page could not be written.
fn page(command: &Command) -> Result<String> {
    let mut page = Vec::new();
    write(command, &mut page).map_err(|e| Error::unexpected(format!("no manual page: {e}")))?;
    String::from_utf8(page).map_err(|e| Error::unexpected(format!("no manual page: {e}")))
}

fn write(command: &Command, page: &mut Vec<u8>) -> std::io::Result<()> {
    let man = Man::new(command.clone()).manual("checkpoint");
    man.render_title(page)?;
    man.render_name_section(page)?;
    man.render_synopsis_section(page)?;
    let mut text = Roff::new();
    text.control("SH", ["DESCRIPTION"]);
    for paragraph in DESCRIPTION {
        text.control("PP", []).text([roman(paragraph)]);
    }
    text.control("SH", ["COMMANDS"]);
    page.extend(body(&text.render()));
    for subcommand in command.get_subcommands() {
        page.extend(section(subcommand)?);
    }
    let mut options = Vec::new();
    man.render_options_section(&mut options)?;
    page.extend(body(&String::from_utf8_lossy(&options)));
    page.extend(body(&tables().render()));
    Ok(())
}

/// Writes the section of one command: usage as the heading, then description and options.
fn section(command: &Command) -> std::io::Result<Vec<u8>> {
    let name = format!("checkpoint {}", command.get_name());
    let command = command
        .clone()
        .bin_name(&name)
        .display_name(&name)
        .disable_help_flag(true);
    let mut heading = Roff::new();
    heading.control("SS", [name.as_str()]);
    let mut section = body(&heading.render());
    let man = Man::new(command);
    let mut parts = Vec::new();
    man.render_synopsis_section(&mut parts)?;
    parts.extend(b".PP\n");
    man.render_description_section(&mut parts)?;
    man.render_options_section(&mut parts)?;
    let parts = String::from_utf8_lossy(&parts);
    section.extend(
        body(&parts)
            .split_inclusive(|b| *b == b'\n')
            .filter(|line| !line.starts_with(b".SH"))
            .flatten(),
    );
    Ok(section)
}

fn tables() -> Roff {
    let mut text = Roff::new();
    text.control("SH", ["EXIT STATUS"]);
    for (code, meaning) in MEANINGS {
        text.control("TP", [])
            .text([bold(code)])
            .text([roman(meaning)]);
    }
    text.control("SH", ["ENVIRONMENT"]);
    for variable in VARIABLES {
        text.control("TP", [])
            .text([bold(variable.name)])
            .text([roman(variable.purpose)]);
    }
    text.control("SH", ["FILES"]);
    for (path, meaning) in FILES {
        text.control("TP", [])
            .text([bold(path)])
            .text([roman(meaning)]);
    }
    text
}

/// Removes lines that belong only at the beginning of a page.
fn body(text: &str) -> Vec<u8> {
    let is_preamble = |line: &&str| line.starts_with(".ie ") || line.starts_with(".el ");
    text.split_inclusive('\n')
        .filter(|line| !is_preamble(line))
        .flat_map(str::bytes)
        .collect()
}
