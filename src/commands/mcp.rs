//! `mcp`: the server for agents that speak the Model Context Protocol.

use std::path::PathBuf;

use crate::commands::prelude::*;

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

impl RunAnywhere for McpArgs {
    fn run(self, cmd: &mut CommandContext<'_>, environment: Environment) -> Result<u8> {
        let serve = cmd.services.mcp.ok_or_else(|| Error::no_feature("mcp"))?;
        serve(cmd, environment, self.directory.as_deref(), &self.allow)
    }
}
