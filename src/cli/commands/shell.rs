//! `completions` and `man`: what a shell and a reader of manuals need. Neither looks at a store.

use crate::cli::args::shell::{CompletionsArgs, ManArgs};
use crate::cli::rim::Rim;
use crate::cli::{completion, exit_code, manual};
use crate::error::Result;
use crate::view::json;

pub fn completions(rim: &Rim<'_>, args: &CompletionsArgs, program: &str) -> Result<u8> {
    let script = if args.is_static {
        completion::static_script(args.shell)
    } else {
        completion::dynamic_script(&args.shell.to_string(), program)?
    };
    print(rim, "completions", "script", &script);
    Ok(exit_code::DONE)
}

pub fn man(rim: &Rim<'_>, _args: &ManArgs) -> Result<u8> {
    print(rim, "man", "page", &manual::page()?);
    Ok(exit_code::DONE)
}

fn print(rim: &Rim<'_>, command: &str, field: &str, text: &str) {
    if rim.printer.json {
        rim.printer.result(&json::shell::text(command, field, text));
    } else {
        rim.printer.data(text);
    }
}
