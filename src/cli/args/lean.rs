//! The command line as far as one call needs it: building all commands takes longer than most of them take to run.

use std::ffi::OsString;

use clap::{Args, Command as Grammar, FromArgMatches as _};

use super::{
    Cli, GlobalArgs, bisect, cat, config, create, delete, diff, find, guard, help, hold, list, phase, pin, prune,
    relink, restore, schema, shell, status, verify, workflow,
};

/// Reads a call that is right in every word. `None` for any other, and for help: the whole command line knows what to
/// say to that.
pub fn parse(args: &[OsString]) -> Option<Cli> {
    let command = args.iter().skip(1).filter_map(|word| word.to_str()).find_map(command)?;
    let whole = Grammar::new("checkpoint").disable_help_subcommand(true).args_override_self(true);
    let mut whole = GlobalArgs::augment_args(whole).subcommand(command);
    let matches = whole.try_get_matches_from_mut(args);
    // The process ends soon: taking the description apart is lost time.
    std::mem::forget(whole);
    Cli::from_arg_matches_mut(&mut matches.ok()?).ok()
}

fn command(name: &str) -> Option<Grammar> {
    Some(match name {
        "create" => of::<create::CreateArgs>("create"),
        "list" => of::<list::ListArgs>("list"),
        "show" => of::<list::ShowArgs>("show"),
        "diff" => of::<diff::DiffArgs>("diff"),
        "cat" => of::<cat::CatArgs>("cat"),
        "find" => of::<find::FindArgs>("find"),
        "restore" => of::<restore::RestoreArgs>("restore"),
        "undo" => of::<restore::UndoArgs>("undo"),
        "redo" => of::<restore::RedoArgs>("redo"),
        "bisect" => of::<bisect::BisectArgs>("bisect"),
        "guard" => of::<guard::GuardArgs>("guard"),
        "hold" => of::<hold::HoldArgs>("hold"),
        "release" => of::<hold::ReleaseArgs>("release"),
        "delete" => of::<delete::DeleteArgs>("delete"),
        "pin" => of::<pin::PinArgs>("pin"),
        "unpin" => of::<pin::UnpinArgs>("unpin"),
        "prune" => of::<prune::PruneArgs>("prune"),
        "verify" => of::<verify::VerifyArgs>("verify"),
        "relink" => of::<relink::RelinkArgs>("relink"),
        "status" => of::<status::StatusArgs>("status"),
        "workflow" => of::<workflow::WorkflowArgs>("workflow"),
        "phase" => of::<phase::PhaseArgs>("phase"),
        "task" => of::<phase::TaskArgs>("task"),
        "config" => of::<config::ConfigArgs>("config"),
        "completions" => of::<shell::CompletionsArgs>("completions"),
        "man" => of::<shell::ManArgs>("man"),
        "schema" => of::<schema::SchemaArgs>("schema"),
        "help" => of::<help::HelpArgs>("help"),
        _ => return None,
    })
}

fn of<A: Args>(name: &'static str) -> Grammar {
    A::augment_args(Grammar::new(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser as _;

    fn words(line: &str) -> Vec<OsString> {
        line.split(' ').map(OsString::from).collect()
    }

    #[test]
    fn every_command_is_known_here_with_the_same_options() {
        for whole in super::super::command().get_subcommands() {
            let name = whole.get_name();
            let lean = command(name).expect(name);
            let names = |command: &Grammar| -> Vec<String> {
                command.get_arguments().map(|argument| format!("{argument:?}")).collect()
            };
            assert_eq!(names(&lean), names(whole), "{name}");
            assert_eq!(lean.get_groups().count(), whole.get_groups().count(), "{name}");
        }
    }

    #[test]
    fn a_call_means_the_same_either_way() {
        for line in [
            "checkpoint list -n 3 --json",
            "checkpoint -C list create -r list",
            "checkpoint -q create --reason create -s build --keep 7",
            "checkpoint --json status --brief",
            "checkpoint restore latest~2 a b --yes --color never",
            "checkpoint diff latest -- list",
            "checkpoint --lock-timeout 3 prune --dry-run --lock-timeout 4",
            "checkpoint config",
            "checkpoint phase done one --file list --json",
            "checkpoint workflow list --all",
        ] {
            let whole = Cli::try_parse_from(words(line)).expect(line);
            let either = super::super::parse(&words(line)).ok().expect(line);
            assert_eq!(format!("{either:?}"), format!("{whole:?}"));
            let is_lean = parse(&words(line)).is_some();
            // Where a value is the name of a command, the whole command line decides.
            assert_eq!(is_lean, !line.contains("-C list"), "{line}");
        }
        for line in
            ["checkpoint", "checkpoint list --help", "checkpoint create stray", "checkpoint lsit", "checkpoint -h"]
        {
            assert!(parse(&words(line)).is_none(), "{line}");
        }
    }
}
