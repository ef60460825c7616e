//! `mcp`: the commands as tools of the Model Context Protocol.
//!
//! `server` answers requests, which `stdio` reads and writes; `tools` is the table of the tools,
//! `arguments` checks what they are given, and `front` runs the commands behind them, in a
//! directory of `allowed_dirs`. `plans` are the restores that were shown, `paging` cuts what is too
//! long, `output_schema` says what answers look like, `prompts` is the other thing that a client may
//! ask for.

pub mod allowed_dirs;
pub mod arguments;
pub mod front;
pub mod output_schema;
pub mod paging;
pub mod plans;
pub mod prompts;
pub mod server;
pub mod stdio;
pub mod tools;
