//! `remote`: names the places to which checkpoints are pushed.

use std::path::Path;
use std::time::Duration;

use clap::Subcommand;

use crate::commands::prelude::*;
use crate::ops::transfer::remote;
use crate::ops::transfer::remove_line::remove_line;
use crate::ops::{GitLimits, RemoteChange, RemoteOutcome};

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
    /// Forget a remote and what was fetched from it, or remove one machine's line there
    ///
    /// With --line, what that machine pushed is removed on the server, and what was fetched of it
    /// stays here. A store that wrote it and is in use writes it anew at its next push.
    /// 'git ls-remote URL' shows all lines.
    Remove {
        #[arg(value_name = "NAME")]
        name: String,
        /// The ref, as errors name it: refs/lines/DIRECTORY/DEVICE
        #[arg(long, value_name = "LINE")]
        line: Option<String>,
        #[command(flatten)]
        git: GitArgs,
    },
}

impl Command for RemoteArgs {
    type Answer = RemoteOutcome;

    fn properties(&self) -> Properties {
        let command = self.command.as_ref();
        let name = command.map_or("remote.list", RemoteCommand::into_str);
        Properties {
            name: Some(name),
            ..Properties::LONG
        }
    }

    fn run(self, context: &Context, cmd: &CommandContext<'_>) -> Result<Done<Self::Answer>> {
        Ok(match self.command.unwrap_or(RemoteCommand::List) {
            RemoteCommand::Add { name, url } => {
                let here = environment::absolute(Path::new("."))?;
                remote::add(context, &name, &url, &here)?.into()
            }
            RemoteCommand::List => {
                let remarks = context.settings.remarks.iter();
                Done::new(remote::list(context)?, remarks.map(Warning::from).collect())
            }
            RemoteCommand::Remove { name, line, git } => {
                let Some(line) = line else {
                    return Ok(remote::remove(context, &name)?.into());
                };
                let consent = |line: &str| {
                    if cmd.global.yes {
                        return Ok(());
                    }
                    let summary = format!("remove {line} at {name}");
                    let question = format!(
                        "This removes {line} at {name}, with what only it has.\nRemove it?"
                    );
                    cmd.ask(context, &summary, &question)
                };
                let outcome = remove_line(context, &name, &line, git.limits(cmd), consent)?;
                Done::new(outcome, Vec::new())
            }
        })
    }
}

impl Text for RemoteOutcome {
    fn write(&self, out: &mut Out<'_>) {
        if self.remotes.is_empty() {
            talkln!(
                out,
                "no remotes; 'checkpoint remote add NAME URL' names one"
            );
        }
        for row in &self.remotes {
            let (name, url) = (&row.name, escape(&row.url));
            match (self.change, &self.line) {
                (Some(RemoteChange::Added), _) => outln!(out, "Remote {name} is {url}"),
                (Some(RemoteChange::Removed), Some(line)) => {
                    outln!(out, "Removed {line} at {name}");
                }
                (Some(RemoteChange::Removed), None) => outln!(
                    out,
                    "Removed {name} ({url}) from this store; nothing was deleted on the server"
                ),
                (None, _) if row.fetched_lines > 0 => {
                    let fetched = count(row.fetched_lines, "line", "lines");
                    outln!(out, "{name}  {url}  ({fetched} fetched)");
                }
                (None, _) => outln!(out, "{name}  {url}"),
            }
        }
    }
}

/// Ends a transfer: partial if one of several checkpoints or lines was left behind.
pub fn transferred<A>((answer, warnings): (A, Vec<Warning>)) -> Done<A> {
    let is_partial = warnings.iter().any(Warning::leaves_something);
    Done::new(answer, warnings).exit_if(is_partial, exit_code::PARTIAL)
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
