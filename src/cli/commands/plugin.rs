//! `plugin`: the plugin for Claude Code, for those who pass it on.

use std::path::{Path, PathBuf};

use crate::agent::setup::act;
use crate::agent::setup::command_line::is_our_name;
use crate::cli::command_context::{CommandContext, answer};
use crate::cli::commands::setup;
use crate::cli::environment;
use crate::cli::run::RunAnywhere;
use crate::config::environment::Environment;
use crate::error::{Error, Result};
use crate::view::setup as setup_view;

/// Write the plugin for Claude Code into a folder
///
/// For marketplaces and images. On your own machine 'checkpoint setup claude' does it.
#[derive(Clone, Debug, clap::Args)]
pub struct PluginArgs {
    #[command(subcommand)]
    pub command: PluginCommand,
}

#[derive(Clone, Debug, clap::Subcommand)]
pub enum PluginCommand {
    Emit(EmitArgs),
}

/// Write the plugin into a new or empty folder
#[derive(Clone, Debug, clap::Args)]
pub struct EmitArgs {
    /// Folder to write it into
    #[arg(value_name = "FOLDER")]
    pub folder: PathBuf,
    /// Program that it calls: a path, or checkpoint to find it by PATH [default: this one's path]
    #[arg(long, value_name = "PROGRAM")]
    pub program: Option<String>,
}

impl RunAnywhere for PluginArgs {
    fn run(self, cmd: &CommandContext<'_>, _: Environment) -> Result<u8> {
        let PluginCommand::Emit(args) = self.command;
        let program = match args.program {
            Some(program) => named_program(&program)?,
            None => setup::program(cmd)?,
        };
        let files = act::emit_plugin(&environment::absolute(&args.folder)?, &program)?;
        answer(
            cmd,
            || setup_view::emitted_json(&files),
            || setup_view::emitted(&files),
            &[],
        )
    }
}

/// Returns the program as it is written into the plugin: a path as an absolute one, as the plugin is
/// called from everywhere; a bare name as it is, as `PATH` may find it on another machine.
fn named_program(typed: &str) -> Result<String> {
    let is_bare = Path::new(typed).components().count() == 1;
    let path = if is_bare {
        Some(typed.to_owned())
    } else {
        let path: PathBuf = environment::absolute(Path::new(typed))?
            .components()
            .collect();
        path.to_str().map(str::to_owned)
    };
    let is_plain = |path: &String| is_our_name(path) && !path.contains(char::is_control);
    path.filter(is_plain).ok_or_else(|| Error::Usage {
        what: format!("--program must end in checkpoint, and '{typed}' does not"),
    })
}
