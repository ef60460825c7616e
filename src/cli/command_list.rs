//! The list of all commands.

use clap::{Args, Command as Grammar, Subcommand};

use crate::cli::schema;
use crate::commands;
use crate::config::Environment;
use crate::error::Result;
use crate::ops::Context;
use crate::shell::run::RunCommand;
use crate::shell::{CommandContext, Properties, RunAnywhere};

/// Makes the enums of the commands, their grammar and their dispatch from one list.
macro_rules! commands {
    (
        in_a_directory { $($name:literal $([$alias:literal])? $Command:ident($($args:ident)::+),)* }
        anywhere { $($other_name:literal $Other:ident($($other_args:ident)::+),)* }
    ) => {
        /// Commands that act on a directory.
        #[derive(Debug, Subcommand)]
        pub enum DirCommand {
            $(#[command(name = $name $(, visible_alias = $alias)?)] $Command($($args)::+),)*
        }

        /// Commands that need neither a directory nor a store.
        #[derive(Debug, Subcommand)]
        pub enum OtherCommand {
            $(#[command(name = $other_name)] $Other($($other_args)::+),)*
        }

        #[derive(Debug, Subcommand)]
        #[expect(clippy::large_enum_variant, reason = "there is one of it in each run")]
        pub enum AnyCommand {
            #[command(flatten)]
            InDirectory(DirCommand),
            #[command(flatten)]
            Anywhere(OtherCommand),
        }

        impl Default for AnyCommand {
            fn default() -> Self {
                Self::InDirectory(DirCommand::Status(commands::status::StatusArgs::default()))
            }
        }

        impl AnyCommand {
            /// Returns the name in the JSON schema.
            pub fn name(&self) -> &'static str {
                match self {
                    $(Self::InDirectory(DirCommand::$Command(args)) => args.properties().name.unwrap_or($name),)*
                    $(Self::Anywhere(OtherCommand::$Other(args)) => args.name().unwrap_or($other_name),)*
                }
            }
        }

        impl DirCommand {
            pub fn properties(&self) -> Properties {
                match self { $(Self::$Command(args) => args.properties(),)* }
            }

            pub fn run(self, context: &Context, cmd: &CommandContext<'_>) -> Result<u8> {
                match self { $(Self::$Command(args) => args.run(context, cmd),)* }
            }
        }

        impl OtherCommand {
            pub fn run(self, cmd: &mut CommandContext<'_>, environment: Environment) -> Result<u8> {
                match self { $(Self::$Other(args) => args.run(cmd, environment),)* }
            }
        }

        /// The names of all commands.
        pub const NAMES: &[&str] = &[$($name,)* $($other_name,)*];

        /// Returns the grammar of a command, with its short name hidden; `None` if there is no such
        /// command.
        pub fn grammar(name: &str) -> Option<Grammar> {
            match name {
                $($name $(| $alias)? => Some($($args)::+::augment_args(Grammar::new($name)$(.alias($alias))?)),)*
                $($other_name => Some($($other_args)::+::augment_args(Grammar::new($other_name))),)*
                _ => None,
            }
        }
    };
}

commands! {
    in_a_directory {
        "create" ["save"] Create(commands::create::CreateArgs),
        "run" Run(commands::run::RunArgs),
        "list" ["log"] List(commands::list::ListArgs),
        "show" Show(commands::show::ShowArgs),
        "diff" Diff(commands::diff::DiffArgs),
        "ls" Ls(commands::ls::LsArgs),
        "cat" Cat(commands::cat::CatArgs),
        "find" Find(commands::find::FindArgs),
        "restore" Restore(commands::restore::RestoreArgs),
        "undo" Undo(commands::undo::UndoArgs),
        "redo" Redo(commands::undo::RedoArgs),
        "rewind" Rewind(commands::rewind::PromptRewindArgs),
        "bisect" Bisect(commands::bisect::BisectArgs),
        "watch" Watch(commands::watch::WatchArgs),
        "guard" Guard(commands::guard::GuardArgs),
        "hold" Hold(commands::hold::HoldArgs),
        "release" Release(commands::hold::ReleaseArgs),
        "delete" ["rm"] Delete(commands::delete::DeleteArgs),
        "pin" Pin(commands::pin::PinArgs),
        "unpin" Unpin(commands::pin::UnpinArgs),
        "reword" Reword(commands::reword::RewordArgs),
        "prune" ["gc"] Prune(commands::prune::PruneArgs),
        "verify" Verify(commands::verify::VerifyArgs),
        "relink" Relink(commands::relink::RelinkArgs),
        "report" Report(commands::report::ReportArgs),
        "export" Export(commands::export::ExportBundleArgs),
        "import" Import(commands::import::ImportBundleArgs),
        "remote" Remote(commands::remote::RemoteArgs),
        "push" Push(commands::push::PushArgs),
        "fetch" Fetch(commands::fetch::FetchArgs),
        "status" Status(commands::status::StatusArgs),
        "doctor" Doctor(commands::doctor::DoctorArgs),
        "workflow" Workflow(commands::workflow::WorkflowArgs),
        "phase" Phase(commands::workflow::PhaseArgs),
        "task" Task(commands::workflow::TaskArgs),
    }
    anywhere {
        "clone" Clone(commands::clone::CloneArgs),
        "hook" Hook(commands::hook::HookArgs),
        "setup" Setup(commands::setup::SetupArgs),
        "mcp" Mcp(commands::mcp::McpArgs),
        "ui" Ui(commands::ui::UiArgs),
        "statusline" Statusline(commands::statusline::StatuslineArgs),
        "config" Config(commands::config::ConfigArgs),
        "completions" Completions(commands::completions::CompletionsArgs),
        "man" Man(commands::man::ManArgs),
        "schema" Schema(schema::SchemaArgs),
        "help" Help(commands::help::HelpArgs),
    }
}
