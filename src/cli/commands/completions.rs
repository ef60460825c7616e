//! `completions`: prints the completion script of a shell. No store is opened.

use clap::Command as Grammar;
use clap_complete::Shell;
use clap_complete::env::Shells;

use crate::base::shell_word::shell_word;
use crate::cli::command_context::CommandContext;
use crate::cli::global::COMPLETE_VARIABLE;
use crate::cli::run::RunAnywhere;
use crate::cli::{environment, exit_code};
use crate::config::environment::Environment;
use crate::error::{Error, Result};
use crate::view::envelope as envelope_view;

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
    /// Print a script of commands and options alone, without ids
    #[arg(long = "static")]
    pub is_static: bool,
}

impl RunAnywhere for CompletionsArgs {
    fn run(self, cmd: &CommandContext<'_>, _: Environment) -> Result<u8> {
        let script = if self.is_static {
            static_script(self.shell, &mut (cmd.grammar)())
        } else {
            dynamic_script(&self.shell.to_string(), &environment::program(cmd.words))?
        };
        print(cmd, "completions", &script);
        Ok(exit_code::DONE)
    }
}

pub fn print(cmd: &CommandContext<'_>, command: &str, text: &str) {
    if cmd.printer.json {
        cmd.printer
            .result(&envelope_view::text_answer(command, text));
    } else {
        cmd.printer.data(text);
    }
}

/// Returns a script with the commands and options themselves.
fn static_script(shell: Shell, whole: &mut Grammar) -> String {
    let mut script = Vec::new();
    clap_complete::generate(shell, whole, "checkpoint", &mut script);
    String::from_utf8_lossy(&script).into_owned()
}

/// Puts the words together that bash cuts at colons and the like, and takes off the candidates what
/// stands before the cut.
const BASH_SCRIPT: &str = include_str!("completions.bash");

/// Adds no space behind a directory or a colon.
const ZSH_SCRIPT: &str = include_str!("completions.zsh");

/// Returns a script that asks `program` for candidates.
///
/// # Errors
/// The shell does not support it.
fn dynamic_script(shell: &str, program: &str) -> Result<String> {
    let own = match shell {
        "bash" => Some(BASH_SCRIPT),
        "zsh" => Some(ZSH_SCRIPT),
        _ => None,
    };
    if let Some(script) = own {
        let asking = format!(
            "{COMPLETE_VARIABLE}={shell} {}",
            shell_word(program.as_bytes())
        );
        return Ok(script.replace("ASKING", &asking));
    }
    let shells = Shells::builtins();
    let found = shells.completer(shell);
    let asking = found.ok_or_else(|| {
        Error::unexpected(format!("{shell} cannot ask for candidates; add --static"))
    })?;
    let mut script = Vec::new();
    let written = asking.write_registration(
        COMPLETE_VARIABLE,
        "checkpoint",
        "checkpoint",
        program,
        &mut script,
    );
    written.map_err(|e| Error::unexpected(format!("no script for {shell}: {e}")))?;
    Ok(String::from_utf8_lossy(&script).into_owned())
}
