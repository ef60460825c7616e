//! `mcp`: the commands as tools of the Model Context Protocol.
//!
//! `server` answers requests; `tools` is the table of the tools, and
//! `front` runs the commands behind them, in a directory of `allowed_dirs`. `plans` are the restores
//! that were shown, `paging` cuts what is too long, `prompts` is the other thing that a client may
//! ask for.

pub mod allowed_dirs;
pub mod front;
pub mod paging;
pub mod plans;
pub mod prompts;
pub mod server;
pub mod tools;
