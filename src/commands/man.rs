//! `man`: manual pages of all commands, from their help. The door to `clap_mangen`.

use std::path::{Path, PathBuf};

use clap::Command;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};

use crate::commands::help::page_of;
use crate::commands::prelude::*;
use crate::shell::grammar;

/// Description of the program in its page.
const ABOUT: &str = "checkpoint records a working directory in a shadow git repository of its own, \
    and brings it back. It never touches the project's own .git.\n\n\
    A checkpoint is named by a selector (SEL): a unique prefix of its id of at least four digits; \
    @, where the directory stands; latest, latest~N; an exact reason, which means the newest with \
    it; or a time such as '10m ago' or 2026-03-24T12:45, which means the newest made by then.\n\n\
    Results go to standard output, everything else to standard error. With --json the result is \
    one object.";

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
    fn run(self, cmd: &mut CommandContext<'_>, _: Environment) -> Result<u8> {
        let mut whole = grammar::with_help((cmd.grammar)());
        whole.build();
        // They are hidden in the pages of the commands only.
        let whole = whole.mut_args(|arg| arg.hide(false));
        let whole = whole.mut_subcommand("phase", |command| command.hide(false));
        let whole = whole.mut_subcommand("task", |command| command.hide(false));
        let whole = whole.long_about(ABOUT).after_long_help(more());
        let text = if let Some(folder) = &self.into {
            let mut written = String::new();
            write_all(&whole, folder, &mut written)?;
            written
        } else {
            let below = |at: &'_ Command, word: &String| at.find_subcommand(word).cloned();
            let mut words = self.words.iter();
            let found = words.try_fold(whole, |at, word| below(&at, word));
            page(found.ok_or_else(|| {
                Error::usage(format!("there is no command '{}'", self.words.join(" ")))
            })?)?
        };
        cmd.print_text(&text);
        Ok(exit_code::DONE)
    }
}

/// What the page of the program has beside its help, in blocks as those of other commands.
fn more() -> String {
    let variables = include_str!("../shell/variables.txt").replace("\n*", "\n ");
    let page = page_of("configuration").unwrap_or_default();
    // The first block of it is a file with each key.
    let settings = page.split("```").nth(1).unwrap_or_default();
    let settings = settings.replace("toml\n", "");
    let settings = settings.trim_end().replace('\n', "\n  ");
    let files = include_str!("man.txt");
    let json = page_of("json").unwrap_or_default();
    let codes = json.split("|---|---|\n").nth(1).unwrap_or_default();
    let code = |row: &str| row.trim_matches(['|', ' ']).replace(" | ", "  ") + "\n";
    let codes = codes.lines().take_while(|row| !row.is_empty());
    let codes: String = codes.map(code).collect();
    format!("{files}\nExit status:\n{codes}\nEnvironment:\n{variables}\nSettings:\n  {settings}")
}

/// Writes the page of a command and those below it; adds their paths, one per line.
#[expect(clippy::disallowed_methods, reason = "no files of a store")]
fn write_all(command: &Command, folder: &Path, written: &mut String) -> Result<()> {
    std::fs::create_dir_all(folder).map_err(Error::io("create", folder))?;
    let path = folder.join(Man::new(command.clone()).get_filename());
    std::fs::write(&path, page(command.clone())?).map_err(Error::io("write", &path))?;
    written.push_str(&format!("{}\n", path.display()));
    let mut below = command.get_subcommands();
    below.try_for_each(|one| write_all(one, folder, written))
}

/// Returns a manual page in ASCII, which every version of troff reads.
fn page(mut command: Command) -> Result<String> {
    let mut page = Vec::new();
    // Its own synopsis lists every option, and does not say which words repeat.
    let usage = command.render_usage().to_string();
    let usage = usage.trim_start_matches("Usage: ").to_owned();
    let extra = command.get_after_long_help().map(ToString::to_string);
    let plain = command.override_usage(usage).after_help(None::<&str>);
    let man = Man::new(plain.after_long_help(None::<&str>)).manual("checkpoint");
    let man = man.source(concat!("checkpoint ", env!("CARGO_PKG_VERSION")));
    let extra = sections(&extra.unwrap_or_default());
    let written = man.render(&mut page);
    let written = written.and_then(|()| extra.to_writer(&mut page));
    written.map_err(|why| Error::unexpected(format!("no manual page: {why}")))?;
    let in_ascii = |character: char| match character {
        '\0'..='\x7f' => character.to_string(),
        _ => format!("\\[u{:04X}]", u32::from(character)),
    };
    let page = String::from_utf8_lossy(&page);
    Ok(page.chars().map(in_ascii).collect())
}

/// Makes sections of the blocks below a help: a list of terms of each that has a name, but examples
/// and settings stay as they are, to be copied.
fn sections(help: &str) -> Roff {
    let mut sections = Roff::new();
    for block in help.split("\n\n") {
        let (name, text) = block.split_once(":\n").unwrap_or(("See also", block));
        sections.control("SH", [&*name.to_uppercase()]);
        if let "Examples" | "Settings" = name {
            sections
                .control("nf", [])
                .text([roman(text)])
                .control("fi", []);
            continue;
        }
        for line in text.lines() {
            match line.trim_start().split_once("  ") {
                Some((term, what)) => sections
                    .control("TP", [])
                    .text([bold(term)])
                    .text([roman(what.trim_start())]),
                None => sections.text([roman(line)]),
            };
        }
    }
    sections
}
