//! `completions` and `man`: what a shell and a reader of manuals need. Neither looks at a store.

use crate::cli::args::shell::{CompletionsArgs, ManArgs};
use crate::cli::command_context::CommandContext;
use crate::cli::{completion, exit_code, manual};
use crate::error::Result;
use crate::view::json;

pub fn completions(cmd: &CommandContext<'_>, args: &CompletionsArgs, program: &str) -> Result<u8> {
    let script = if args.is_static {
        completion::static_script(args.shell)
    } else {
        completion::dynamic_script(&args.shell.to_string(), program)?
    };
    print(cmd, "completions", "script", &script);
    Ok(exit_code::DONE)
}

pub fn man(cmd: &CommandContext<'_>, _args: &ManArgs) -> Result<u8> {
    print(cmd, "man", "page", &manual::page()?);
    Ok(exit_code::DONE)
}

fn print(cmd: &CommandContext<'_>, command: &str, field: &str, text: &str) {
    if cmd.printer.json {
        cmd.printer.result(&json::shell::text(command, field, text));
    } else {
        cmd.printer.data(text);
    }
}
