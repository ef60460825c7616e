//! `checkpoint completions` and `checkpoint man`.

use clap_complete::Shell;

/// Print the completion script for a shell
///
/// The script asks this program while a line is typed, so that ids complete
/// too, each with its reason. Put it where your shell starts:
///
///   bash  source <(checkpoint completions bash)      in ~/.bashrc
///   zsh   source <(checkpoint completions zsh)       in ~/.zshrc
///   fish  checkpoint completions fish | source       in config.fish
///
/// In zsh it comes after compinit.
#[derive(Clone, Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct CompletionsArgs {
    /// The shell
    #[arg(value_name = "SHELL")]
    pub shell: Shell,
    /// Only commands and options, in a script that asks nothing
    #[arg(long = "static")]
    pub is_static: bool,
}

/// Print the manual page
///
/// Read it with: checkpoint man | man -l -
#[derive(Clone, Debug, clap::Args)]
pub struct ManArgs {}
