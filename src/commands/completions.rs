//! `completions`: prints the completion script of a shell. No store is opened.

use clap_complete::Shell;
use clap_complete::env::Shells;

use crate::base::shell_word::shell_word;
use crate::commands::prelude::*;
use crate::shell::environment::COMPLETE_VARIABLE;

/// Print the completion script for a shell
///
/// The script calls this program while you type, so that ids complete too,
/// each with its reason. Add it to the startup file of your shell:
///
///   bash  source <(checkpoint completions bash)      in ~/.bashrc
///   zsh   source <(checkpoint completions zsh)       in ~/.zshrc
///   fish  checkpoint completions fish | source       in config.fish
///
/// In zsh, after compinit.
#[derive(Clone, Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct CompletionsArgs {
    /// Shell to print it for
    #[arg(value_name = "SHELL")]
    pub shell: Shell,
}

impl RunAnywhere for CompletionsArgs {
    fn run(self, cmd: &mut CommandContext<'_>, _: Environment) -> Result<u8> {
        let script = script(&self.shell.to_string(), &environment::program(cmd.words))?;
        cmd.print_text(&script);
        Ok(exit_code::DONE)
    }
}

/// Name of the program in shells.
pub const NAME: &str = "checkpoint";

/// Puts the words together that bash cuts at colons and the like, and takes off the candidates what
/// stands before the cut.
const BASH_SCRIPT: &str = include_str!("completions.bash");

/// Adds no space behind a directory or a colon.
const ZSH_SCRIPT: &str = include_str!("completions.zsh");

/// Returns a script that asks `program` for candidates.
///
/// # Errors
/// The shell does not support it.
fn script(shell: &str, program: &str) -> Result<String> {
    let own = match shell {
        "bash" => Some(BASH_SCRIPT),
        "zsh" => Some(ZSH_SCRIPT),
        _ => None,
    };
    if let Some(script) = own {
        let program = shell_word(program.as_bytes());
        let asking = format!("{COMPLETE_VARIABLE}={shell} {program}");
        return Ok(script.replace("ASKING", &asking));
    }
    let (shells, mut script) = (Shells::builtins(), Vec::new());
    let written = shells.completer(shell).map(|asking| {
        asking.write_registration(COMPLETE_VARIABLE, NAME, NAME, program, &mut script)
    });
    match written {
        Some(Ok(())) => Ok(String::from_utf8_lossy(&script).into_owned()),
        _ => Err(Error::unexpected(format!("no script for {shell}"))),
    }
}
