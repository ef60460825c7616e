//! `create`: the id alone on stdout, or the contract; everything else on stderr.

use std::cell::Cell;
use std::ffi::{OsStr, OsString};
use std::path::{Component, Path, PathBuf};
use std::time::{Duration, Instant};

use clap::ValueEnum;
use clap::builder::PossibleValue;
use strum::VariantArray as _;

use crate::base::shell_word::shell_word;
use crate::cli::command_context::CommandContext;
use crate::cli::commands::lists;
use crate::cli::contract::{ContractArgs, Words};
use crate::cli::exit_code;
use crate::cli::run::{Properties, RunCommand};
use crate::cli::terminal::printer;
use crate::error::sentence::{CommandWords, Sentence};
use crate::error::{Code, Error, Result};
use crate::model::checkpoint::keep_policy::PolicyChange;
use crate::model::checkpoint::terms::CheckpointType;
use crate::ops::context::Context;
use crate::ops::contract::audit::{self, AuditEnd};
use crate::ops::contract::create_contract as contract_op;
use crate::ops::create::apply_retention::KeepOptions;
use crate::ops::create::command as create_op;
use crate::ops::create::gate::GateOptions;
use crate::ops::create::options::{CreateOptions, DedupPolicy, TermsOptions};
use crate::ops::create::outcome::{CreateOutcome, Skipped};
use crate::ops::database::backup;
use crate::ops::warning::Warning;
use crate::view::contract::{self as contract_view, ContractDocument, ContractForm};
use crate::view::copies::json;
use crate::view::{create, words};

/// Record the directory as a new checkpoint
///
/// Prints the id of the checkpoint, and nothing else, on stdout.
#[derive(Debug, clap::Args)]
pub struct CreateArgs {
    /// Reason, as with --reason
    #[arg(value_name = "REASON", conflicts_with = "reason")]
    pub word: Option<OsString>,
    // Words of a reason without quotes, which are refused with the quotes that it needs.
    #[arg(hide = true)]
    pub more_words: Vec<OsString>,
    /// Reason, which list shows and restore accepts [default: manual]
    #[arg(
        short,
        long,
        value_name = "TEXT",
        allow_hyphen_values = true,
        visible_alias = "message",
        visible_short_alias = 'm'
    )]
    pub reason: Option<String>,
    /// Source, such as the name of a skill [default: `CHECKPOINT_SOURCE`, or cli]
    #[arg(short, long, value_name = "TEXT", allow_hyphen_values = true)]
    pub source: Option<String>,
    /// Path or pattern to record instead of everything (repeatable; @FILE reads a list, - reads
    /// stdin)
    #[arg(
        long,
        value_name = "GLOB|PATH",
        allow_hyphen_values = true,
        help_heading = "What is recorded"
    )]
    pub scope: Vec<OsString>,
    /// Database to record: an SQLite file, or a NAME of your configuration (repeatable)
    #[arg(
        long,
        value_name = "FILE|NAME",
        allow_hyphen_values = true,
        help_heading = "What is recorded"
    )]
    pub db: Vec<OsString>,
    /// Type of the checkpoint, as agents declare it [default: the whole directory]
    #[arg(long = "type", value_name = "TYPE", help_heading = "What is recorded")]
    pub checkpoint_type: Option<CheckpointType>,
    /// Value to record (repeatable); without --scope, no files are recorded
    #[arg(long, value_name = "KEY=JSON", help_heading = "What is recorded")]
    pub state: Vec<String>,
    /// File with a JSON object to record unchanged (- reads stdin)
    #[arg(long, value_name = "FILE", help_heading = "What is recorded")]
    pub state_file: Option<PathBuf>,
    /// Fail with 4 unless a checkpoint holds the present state at the end
    #[arg(long)]
    pub require: bool,
    /// Time after which a prune may drop it: 24h, a time, or never (as good as a pin)
    #[arg(long, value_name = "WHEN", help_heading = "Limits")]
    pub expires: Option<String>,
    /// Number of last checkpoints to keep [default: as configured]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), help_heading = "Limits")]
    pub keep: Option<u32>,
    /// Number of files above which nothing is recorded; 0 is no limit [default: as configured]
    #[arg(long, value_name = "N", help_heading = "Limits")]
    pub max_files: Option<u64>,
    /// Check the number of files only once for this session id [default: `CLAUDE_CODE_SESSION_ID`]
    #[arg(long, value_name = "ID", help_heading = "Limits")]
    pub session: Option<String>,
    /// Also record files that look like secrets, all or those that match a pattern
    #[arg(long, value_name = "GLOB", num_args = 0..=1, require_equals = true, default_missing_value = "*", help_heading = "What is recorded")]
    pub include_sensitive: Vec<String>,
    /// Allow a protected directory such as / or your home, and any number of files
    #[arg(long, help_heading = "Limits")]
    pub force: bool,
    /// With --type `file_backup`: also copy the files to .checkpoints/, to be read without this program
    #[arg(long, help_heading = "Agent contract")]
    pub copies: bool,
    #[command(flatten)]
    pub contract: ContractArgs,
}

impl ValueEnum for CheckpointType {
    fn value_variants<'a>() -> &'a [Self] {
        Self::VARIANTS
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        let help = match self {
            Self::GitStash => "Files in scope that git tracks; the git stash is not touched",
            Self::FileBackup => "Any files",
            Self::StateSnapshot => "Values instead of files",
            Self::DatabaseSavepoint => "Databases named by --db",
        };
        Some(PossibleValue::new(self.into_str()).help(help))
    }
}

impl CreateArgs {
    /// Takes the words after `create` as the reason.
    ///
    /// # Errors
    /// They are several words, the path of a file, or one stands right behind a bare
    /// `--include-sensitive`, so that something else may be meant. `typed` is the whole call.
    fn take_words(&mut self, context: &Context, typed: &[OsString]) -> Result<()> {
        let root = context.root.path();
        let here = backup::live(context, context.root.current());
        let words: Vec<OsString> = self
            .word
            .take()
            .into_iter()
            .chain(self.more_words.drain(..))
            .collect();
        // A pattern after a blank would become the reason, and all secrets be recorded.
        let behind_option = typed.windows(2).find_map(|pair| {
            let is_word = pair[0] == "--include-sensitive" && words.contains(&pair[1]);
            is_word.then(|| pair[1].as_encoded_bytes())
        });
        if let Some(word) = behind_option {
            let again = [b"create", b"-m".as_slice(), word, b"--include-sensitive"];
            return Err(Error::usage(format!(
                "{0} after --include-sensitive is ambiguous: a pattern needs '=' \
                     (--include-sensitive={0}), a reason -m",
                shell_word(word)
            ))
            .next(Sentence::command(CommandWords::new(again))));
        }
        let is_there = |word: &&OsString| here.join(word).symlink_metadata().is_ok();
        if let Some(path) = words.iter().filter(|word| !word.is_empty()).find(is_there) {
            let has_dots = Path::new(path)
                .components()
                .any(|part| part == Component::ParentDir);
            let is_inside = !has_dots && here.join(path).starts_with(root);
            let word = path.as_encoded_bytes();
            let path = shell_word(word);
            let everything = Sentence::new(
                "'checkpoint create -m {}' records everything, with this reason",
                &[&word],
            );
            return Err(if is_inside {
                Error::usage(format!("{path} is a path in this directory")).next(
                    everything.then_sentence(Sentence::new(
                        ", 'checkpoint create --scope {}' only that path",
                        &[&word],
                    )),
                )
            } else {
                Error::usage(format!("{path} is a path outside this directory")).next(everything)
            });
        }
        let text = words.join(OsStr::new(" "));
        let text = text
            .into_string()
            .map_err(|_| Error::usage("the reason is not UTF-8"))?;
        match words.len() {
            0 => {}
            1 => self.reason = Some(text),
            _ => {
                return Err(Error::usage("a reason of several words needs quotes")
                    .next(Sentence::command(CommandWords::new(["create", &*text]))));
            }
        }
        Ok(())
    }

    /// `scope` has the scope with all lists expanded; `state` the content of the state file.
    pub fn into_options(
        self,
        scope: Option<Vec<Vec<u8>>>,
        state: Option<Vec<u8>>,
    ) -> CreateOptions {
        let args = self;
        let terms = TermsOptions {
            scope,
            databases: args
                .db
                .into_iter()
                .map(OsString::into_encoded_bytes)
                .collect(),
            checkpoint_type: args.checkpoint_type,
            expires: args.expires,
            state_file: args.state_file.zip(state),
            state: args.state,
        };
        CreateOptions {
            dedup: DedupPolicy::default(),
            reason: args.reason,
            source: args.source,
            keep: KeepOptions {
                change: PolicyChange {
                    last: args.keep.map(|last| last as usize),
                    ..PolicyChange::default()
                },
                ..KeepOptions::default()
            },
            is_automatic: false,
            origin: None,
            gate: GateOptions {
                max_files: args.max_files,
                session: args.session,
            },
            force: args.force,
            include_sensitive: args.include_sensitive,
            terms,
            copies: args.copies.then_some(json),
        }
    }
}

/// Maximum time for cleanup after the id was printed.
const TIDY_TIME: Duration = Duration::from_millis(200);

impl RunCommand for CreateArgs {
    fn properties(&self) -> Properties {
        Properties {
            may_take_long: true,
            contract: self.contract.wanted(),
            ..Properties::USUAL
        }
    }

    /// Runs the command, and adds a line to the audit trail if that is enabled.
    fn run(self, context: &Context, cmd: &CommandContext<'_>) -> Result<u8> {
        let mut made = false;
        let ended = create(context, cmd, self, &mut made);
        // No log in a refused or missing root.
        let has_place = !ended
            .as_ref()
            .is_err_and(|error| [Code::UNSAFE_ROOT, Code::ROOT_MISSING].contains(&error.code));
        if context.settings.audit && has_place {
            note(
                context,
                cmd,
                ended
                    .as_ref()
                    .map_or_else(|error| error.code.exit, |code| *code),
                made,
            );
        }
        ended
    }
}

/// Sets `made` if a checkpoint was recorded, even if a later step failed.
fn create(
    context: &Context,
    cmd: &CommandContext<'_>,
    mut args: CreateArgs,
    made: &mut bool,
) -> Result<u8> {
    let scope = (!args.scope.is_empty())
        .then(|| lists::expand(&args.scope))
        .transpose()?;
    let state = args.state_file.as_deref().map(lists::content).transpose()?;
    args.take_words(context, cmd.words)?;
    let (wants, has_reason) = (args.contract, args.reason.is_some());
    let required = args.require;
    let options = args.into_options(scope, state);
    let mut code = Ok(exit_code::DONE);
    let printed_at = Cell::new(None);
    let mut print = |outcome: &CreateOutcome| {
        let document = wants
            .contract
            .then(|| contract(context, cmd, outcome, has_reason))
            .transpose();
        let missing = required && outcome.checkpoint.is_none();
        let missing = missing.then(|| {
            Error::new(Code::NOT_RECORDED, "no checkpoint holds the present state").advise(
                if outcome.skipped == Some(Skipped::Disabled) {
                    "CHECKPOINT_DISABLE is set"
                } else {
                    "--max-files N raises the limit, an exclude leaves folders out"
                },
            )
        });
        code = document.and_then(|document| {
            print_outcome(
                context,
                cmd,
                outcome,
                document.as_ref(),
                wants.format.into(),
                missing.as_ref(),
            )
        });
        *made = outcome.checkpoint.is_some() && outcome.skipped.is_none();
        printed_at.set(Some(Instant::now()));
    };
    let out_of_time = || {
        printed_at
            .get()
            .is_some_and(|at: Instant| at.elapsed() > TIDY_TIME)
    };
    let later = create_op::create(context, &options, &mut print, &out_of_time)?;
    cmd.warn(&later);
    cmd.warn_late(&later);
    code
}

fn print_outcome(
    context: &Context,
    cmd: &CommandContext<'_>,
    outcome: &CreateOutcome,
    contract: Option<&ContractDocument>,
    form: ContractForm,
    missing: Option<&Error>,
) -> Result<u8> {
    // A new checkpoint that cannot be read back is damaged.
    let is_proven = contract.is_none_or(ContractDocument::is_proven);
    let code = match missing {
        Some(missing) => missing.code.exit,
        None if is_proven => exit_code::of_create(outcome),
        None => exit_code::DAMAGED,
    };
    if cmd.printer.json {
        let store = context.store_dir()?;
        let document = create::json(outcome, &store, code, contract, missing);
        cmd.printer.result(&document);
        return Ok(code);
    }
    let mut output = create::human(outcome, cmd.started.elapsed().as_millis());
    if let Some(contract) = contract {
        output.result = contract.text(form);
    }
    cmd.print_output(&output, &outcome.warnings);
    cmd.insist(outcome);
    if let Some(missing) = missing {
        let paint = cmd.printer.err_paint();
        cmd.printer.failure(&words::error(missing, paint));
    }
    Ok(code)
}

fn contract(
    context: &Context,
    cmd: &CommandContext<'_>,
    outcome: &CreateOutcome,
    has_reason: bool,
) -> Result<ContractDocument> {
    let words = Words::of(context, cmd);
    let call = words.call(context);
    if let Some(contract) = contract_op::of_create(context, outcome, has_reason)? {
        return Ok(contract_view::document(&contract, &call));
    }
    let why: Vec<String> = outcome.warnings.iter().map(ToString::to_string).collect();
    Ok(contract_view::nothing_made(&why.join("; "), call.anchor))
}

fn note(context: &Context, cmd: &CommandContext<'_>, code: u8, made: bool) {
    let exit = printer::lost().map_or(code, |_| exit_code::unanswered(code, exit_code::FAILED));
    let words = cmd
        .words
        .iter()
        .map(|word| word.as_encoded_bytes())
        .collect();
    let warnings: Vec<Warning> = audit::note(context, &AuditEnd { words, exit, made })
        .into_iter()
        .collect();
    cmd.warn(&warnings);
    cmd.warn_late(&warnings);
}
