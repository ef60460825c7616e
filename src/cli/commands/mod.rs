//! The commands: one file each, with arguments and implementation. This list is the only one.

use clap::{Args, Command as Grammar, Subcommand};

use crate::cli::command_context::CommandContext;
use crate::cli::run::{Properties, RunAnywhere, RunCommand};
use crate::config::environment::Environment;
use crate::error::Result;
use crate::ops::context::Context;

pub mod bisect;
pub mod cat;
pub mod clone;
pub mod completions;
pub mod config;
pub mod create;
pub mod delete;
pub mod diff;
pub mod doctor;
pub mod export;
pub mod fetch;
pub mod find;
pub mod guard;
pub mod help;
pub mod hold;
pub mod hook;
pub mod import;
pub mod list;
pub mod lists;
pub mod ls;
pub mod man;
pub mod mcp;
pub mod pin;
pub mod prune;
pub mod push;
pub mod relink;
pub mod remote;
pub mod restore;
pub mod rewind;
pub mod reword;
pub mod schema;
pub mod select_args;
pub mod setup;
pub mod show;
pub mod status;
pub mod statusline;
pub mod stores;
pub mod undo;
pub mod verify;
pub mod workflow;

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
                Self::InDirectory(DirCommand::Status(status::StatusArgs::default()))
            }
        }

        impl AnyCommand {
            /// Returns the name in the JSON schema.
            pub fn name(&self) -> &'static str {
                match self {
                    $(Self::InDirectory(DirCommand::$Command(args)) => args.properties().name.unwrap_or($name),)*
                    $(Self::Anywhere(OtherCommand::$Other(_)) => $other_name,)*
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
            pub fn run(self, cmd: &CommandContext<'_>, environment: Environment) -> Result<u8> {
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
        "create" ["save"] Create(create::CreateArgs),
        "list" ["log"] List(list::ListArgs),
        "show" Show(show::ShowArgs),
        "diff" Diff(diff::DiffArgs),
        "ls" Ls(ls::LsArgs),
        "cat" Cat(cat::CatArgs),
        "find" Find(find::FindArgs),
        "restore" Restore(restore::RestoreArgs),
        "undo" Undo(undo::UndoArgs),
        "redo" Redo(undo::RedoArgs),
        "rewind" Rewind(rewind::PromptRewindArgs),
        "bisect" Bisect(bisect::BisectArgs),
        "guard" Guard(guard::GuardArgs),
        "hold" Hold(hold::HoldArgs),
        "release" Release(hold::ReleaseArgs),
        "delete" ["rm"] Delete(delete::DeleteArgs),
        "pin" Pin(pin::PinArgs),
        "unpin" Unpin(pin::UnpinArgs),
        "reword" Reword(reword::RewordArgs),
        "prune" ["gc"] Prune(prune::PruneArgs),
        "verify" Verify(verify::VerifyArgs),
        "relink" Relink(relink::RelinkArgs),
        "export" Export(export::ExportBundleArgs),
        "import" Import(import::ImportBundleArgs),
        "remote" Remote(remote::RemoteArgs),
        "push" Push(push::PushArgs),
        "fetch" Fetch(fetch::FetchArgs),
        "status" Status(status::StatusArgs),
        "doctor" Doctor(doctor::DoctorArgs),
        "workflow" Workflow(workflow::WorkflowArgs),
        "phase" Phase(workflow::PhaseArgs),
        "task" Task(workflow::TaskArgs),
    }
    anywhere {
        "clone" Clone(clone::CloneArgs),
        "hook" Hook(hook::HookArgs),
        "setup" Setup(setup::SetupArgs),
        "mcp" Mcp(mcp::McpArgs),
        "statusline" Statusline(statusline::StatuslineArgs),
        "config" Config(config::ConfigArgs),
        "completions" Completions(completions::CompletionsArgs),
        "man" Man(man::ManArgs),
        "schema" Schema(schema::SchemaArgs),
        "help" Help(help::HelpArgs),
    }
}
