//! `mcp`: the server for agents that speak the Model Context Protocol.

use std::path::PathBuf;

use crate::cli::command_context::CommandContext;
use crate::cli::run::RunAnywhere;
use crate::config::environment::Environment;
use crate::error::Result;

/// Serve the commands as tools, over the Model Context Protocol
///
/// Agents start it, and speak with it on standard input and output; 'checkpoint help agents' says
/// what to paste into their settings. A restore needs a plan that was shown before. No tool deletes
/// or prunes.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct McpArgs {
    /// Directory to act on [default: `CLAUDE_PROJECT_DIR`, or where the server was started]
    #[arg(long, value_name = "DIR")]
    pub directory: Option<PathBuf>,
    /// Another directory that a tool may name, with all below it; may be repeated
    #[arg(long, value_name = "DIR")]
    pub allow: Vec<PathBuf>,
}

#[cfg(not(feature = "mcp"))]
impl RunAnywhere for McpArgs {
    fn run(self, _cmd: &CommandContext<'_>, _environment: Environment) -> Result<u8> {
        let what = "this program was built without the feature mcp";
        Err(crate::error::Error::unexpected(what))
    }
}

#[cfg(feature = "mcp")]
impl RunAnywhere for McpArgs {
    fn run(self, cmd: &CommandContext<'_>, environment: Environment) -> Result<u8> {
        use crate::cli::mcp::{front::Front, plans::Plans, server};
        let front = Front {
            dirs: self.dirs(cmd, &environment)?,
            base: cmd
                .global
                .base
                .as_deref()
                .map(crate::cli::environment::absolute)
                .transpose()?,
            environment,
            plans: Plans::default(),
        };
        server::serve(front)
    }
}

#[cfg(feature = "mcp")]
impl McpArgs {
    /// Finds the directory to act on. Unless the command line names it, nothing below it is allowed
    /// if it is no project, such as the home directory in which a program is started.
    fn dirs(
        &self,
        cmd: &CommandContext<'_>,
        environment: &Environment,
    ) -> Result<crate::cli::mcp::allowed_dirs::AllowedDirs> {
        use crate::cli::environment::{absolute, directory};
        use crate::cli::mcp::allowed_dirs::AllowedDirs;
        use crate::config::environment::base;
        use crate::ops::find_root::{Place, RootSearch};

        let named = self.directory.as_ref().or(cmd.global.dir.as_ref());
        let usual = named.or(environment.folders.get("CLAUDE_PROJECT_DIR"));
        let dir = directory(usual.map(PathBuf::as_path), environment)?;
        let base = absolute(&base(cmd.global.base.as_deref(), environment)?)?;
        let home = environment.home.as_deref();
        let search = RootSearch { base: &base, home };
        let is_exact = named.is_some() || cmd.global.here;
        let root = search.find(&Place { dir, is_exact })?;
        let is_project = root.danger(&base, home).is_none();
        let others = self.allow.iter().map(|dir| absolute(dir));
        let others = others.collect::<Result<Vec<PathBuf>>>()?;
        AllowedDirs::new(root.path(), is_exact || is_project, &others)
    }
}
