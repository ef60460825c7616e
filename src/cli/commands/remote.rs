//! `remote`: names the places to which checkpoints are pushed.

use std::path::Path;
use std::time::Duration;

use clap::Subcommand;

use crate::cli::command_context::{CommandContext, answer};
use crate::cli::environment;
use crate::cli::run::{Properties, RunCommand};
use crate::error::Result;
use crate::ops::context::Context;
use crate::ops::transfer::drop_line;
use crate::ops::transfer::remote as remote_op;
use crate::ops::transfer::remote_git::GitLimits;
use crate::view::remote as remote_view;

/// Time in seconds that git may take.
const TIMEOUT_SECONDS: u64 = 600;

/// Name the git servers to which checkpoints are pushed
///
/// A remote belongs to this store, not to the project: its own remotes are neither read nor used.
/// Any URL that git takes will do; ssh keys and passwords are those of your git.
#[derive(Clone, Debug, clap::Args)]
pub struct RemoteArgs {
    #[command(subcommand)]
    pub command: Option<RemoteCommand>,
}

#[derive(Clone, Debug, Subcommand, strum::IntoStaticStr)]
#[strum(const_into_str, prefix = "remote.", serialize_all = "snake_case")]
pub enum RemoteCommand {
    /// Name a remote
    Add {
        #[arg(value_name = "NAME")]
        name: String,
        /// An empty repository: a URL of git, host:path or a path
        #[arg(value_name = "URL", allow_hyphen_values = true)]
        url: String,
    },
    /// List the remotes
    List,
    /// Forget a remote and what was fetched from it
    Remove {
        #[arg(value_name = "NAME")]
        name: String,
    },
    /// Remove one machine's checkpoints from a remote
    ///
    /// What was fetched of it stays here. A store that wrote it and is in use writes it anew at its
    /// next push. 'git ls-remote URL' shows all lines.
    Drop {
        #[arg(value_name = "NAME")]
        name: String,
        /// The ref, as errors name it: refs/lines/DIRECTORY/DEVICE
        #[arg(value_name = "LINE")]
        line: String,
        #[command(flatten)]
        git: GitArgs,
    },
}

impl RunCommand for RemoteArgs {
    fn properties(&self) -> Properties {
        let name = self
            .command
            .as_ref()
            .map_or("remote.list", RemoteCommand::into_str);
        Properties {
            name: Some(name),
            may_take_long: true,
            ..Properties::USUAL
        }
    }

    fn run(self, context: &Context, cmd: &CommandContext<'_>) -> Result<u8> {
        let command = self.command.unwrap_or(RemoteCommand::List);
        let name = command.into_str();
        let outcome = match &command {
            RemoteCommand::Add { name, url } => {
                let here = environment::absolute(Path::new("."))?;
                remote_op::add(context, name, url, &here)?
            }
            RemoteCommand::List => remote_op::list(context)?,
            RemoteCommand::Remove { name } => remote_op::remove(context, name)?,
            RemoteCommand::Drop { name, line, git } => {
                return drop_at_remote(context, cmd, (name, line), git.limits(cmd));
            }
        };
        answer(
            cmd,
            || remote_view::json(name, &outcome),
            || remote_view::human(name, &outcome),
            &outcome.warnings,
        )
    }
}

fn drop_at_remote(
    context: &Context,
    cmd: &CommandContext<'_>,
    (name, line): (&str, &str),
    limits: GitLimits,
) -> Result<u8> {
    let mut ask = |remote: &str, line: &str| {
        if cmd.global.yes {
            return Ok(());
        }
        let (what, question) = remote_view::drop_question(remote, line);
        cmd.prompt.ask(&context.interrupt, what, &question)
    };
    let outcome = drop_line::drop_line(context, name, line, limits, &mut ask)?;
    answer(
        cmd,
        || remote_view::dropped_json(&outcome),
        || remote_view::dropped(&outcome),
        &[],
    )
}

/// Options of the commands that run git.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct GitArgs {
    /// Time that git may take, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = TIMEOUT_SECONDS, value_parser = clap::value_parser!(u64).range(1..))]
    pub timeout: u64,
}

impl GitArgs {
    pub fn limits(self, cmd: &CommandContext<'_>) -> GitLimits {
        GitLimits {
            limit: Duration::from_secs(self.timeout),
            may_ask: !cmd.global.json && !cmd.global.no_input,
        }
    }
}
