//! Answering with a contract: the call as it was typed, and the form that was asked for.

use std::path::PathBuf;

use crate::cli::args::contract::{ContractArgs, Format};
use crate::cli::environment;
use crate::cli::rim::Rim;
use crate::model::shell_word::shell_line;
use crate::ops::context::Context;
use crate::view::contract::{Call, Form};

/// The words of this call, to be named in a contract.
pub struct Words {
    command: String,
    program: String,
    base: Option<PathBuf>,
}

impl Words {
    pub fn of(context: &Context, rim: &Rim<'_>) -> Self {
        let usual = context.environment.home.as_ref().map(|home| home.join(".claude"));
        let program = environment::program(rim.words);
        let rest = rim.words.iter().skip(1).map(|word| word.as_encoded_bytes());
        let command = shell_line(std::iter::once(program.as_bytes()).chain(rest));
        let base = Some(context.base.clone()).filter(|base| Some(base) != usual.as_ref());
        Self { command, program, base }
    }

    pub fn call<'c>(&'c self, context: &'c Context) -> Call<'c> {
        let (program, root, base) = (self.program.as_str(), context.root.path(), self.base.as_deref());
        Call { command: self.command.clone(), program, root, base }
    }
}

impl From<ContractArgs> for Form {
    fn from(args: ContractArgs) -> Self {
        match args.format {
            None | Some(Format::Yaml) => Self::Yaml,
            Some(Format::Json) => Self::Json,
        }
    }
}
