//! `mcp`: the commands as tools of the Model Context Protocol.
//!
//! `server` answers requests; `tools` is the table of the tools, and `front` runs the commands behind
//! them. `plans` are the restores that were shown, `paging` cuts what is too long.

pub mod front;
pub mod paging;
pub mod plans;
pub mod server;
pub mod tools;

use std::path::{Path, PathBuf};

use crate::config::Environment;
use crate::config::environment::base;
use crate::error::Result;
use crate::mcp::front::{AllowedDirs, Front};
use crate::mcp::plans::Plans;
use crate::ops::{Place, RootSearch};
use crate::shell::CommandContext;
use crate::shell::environment::{absolute, directory};

/// Serves until the client is gone. Unless the command line names a directory, nothing below the one
/// to act on is allowed if it is no project, such as the home directory in which a program is
/// started.
///
/// # Errors
/// No directory is there, or the place of the stores is not known.
pub fn serve(
    cmd: &CommandContext<'_>,
    environment: Environment,
    dir: Option<&Path>,
    allow: &[PathBuf],
) -> Result<u8> {
    let named = dir.or(cmd.global.dir.as_deref());
    let project = environment.folders.get("CLAUDE_PROJECT_DIR");
    let dir = directory(named.or(project.map(PathBuf::as_path)), &environment)?;
    let given = cmd.global.base.as_deref();
    let base = absolute(&base(given, &environment)?)?;
    let home = environment.home.as_deref();
    let search = RootSearch { base: &base, home };
    let is_exact = named.is_some() || cmd.global.here;
    let place = Place { dir, is_exact };
    let root = search.find(&place)?;
    let is_project = root.danger(&base, home).is_none();
    let others = allow.iter().map(|dir| absolute(dir));
    let others = others.collect::<Result<Vec<PathBuf>>>()?;
    server::serve(Front {
        dirs: AllowedDirs::new(root.path(), &place.dir, is_exact || is_project, &others)?,
        base: given.map(absolute).transpose()?,
        lock_timeout: cmd.global.lock_timeout,
        environment,
        plans: Plans::default(),
    })
}
