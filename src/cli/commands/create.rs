//! `create`: the id alone on stdout, or the contract; everything else on stderr.

use std::cell::Cell;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::ValueEnum;
use clap::builder::PossibleValue;
use strum::VariantArray as _;

use crate::cli::command_context::CommandContext;
use crate::cli::contract::{ContractArgs, Words};
use crate::cli::run::{Properties, RunCommand};
use crate::cli::terminal::printer;
use crate::cli::{exit_code, lists};
use crate::error::{Error, Result};
use crate::model::checkpoint::terms::CheckpointType;
use crate::ops::context::Context;
use crate::ops::contract::audit::{self, AuditEnd};
use crate::ops::contract::create_contract as contract_op;
use crate::ops::create::command as create_op;
use crate::ops::create::gate::GateOptions;
use crate::ops::create::options::{CreateOptions, DedupPolicy, TermsOptions};
use crate::ops::create::outcome::CreateOutcome;
use crate::ops::warning::Warning;
use crate::view::contract::{self as contract_view, ContractDocument, ContractForm};
use crate::view::copies::json;
use crate::view::create;

/// Record the directory as a new checkpoint
///
/// Prints the id of the checkpoint, and nothing else, on stdout.
#[derive(Debug, clap::Args)]
pub struct CreateArgs {
    /// Reason, which `list` shows and `restore` accepts [default: manual]
    #[arg(short, long, value_name = "TEXT", allow_hyphen_values = true)]
    pub reason: Option<String>,
    /// Source, such as the name of a skill [default: `CHECKPOINT_SOURCE`, or cli]
    #[arg(short, long, value_name = "TEXT", allow_hyphen_values = true)]
    pub source: Option<String>,
    /// Path or pattern to capture instead of everything (repeatable; @FILE reads a list, - reads
    /// stdin)
    #[arg(long, value_name = "GLOB|PATH", allow_hyphen_values = true)]
    pub scope: Vec<OsString>,
    /// Database to capture: a file of SQLite, or a NAME of your configuration (repeatable)
    #[arg(long, value_name = "FILE|NAME", allow_hyphen_values = true)]
    pub db: Vec<OsString>,
    /// Type of the checkpoint [default: the whole directory]
    #[arg(long = "type", value_name = "TYPE")]
    pub checkpoint_type: Option<CheckpointType>,
    /// Value to record (repeatable); without --scope, no files are recorded
    #[arg(long, value_name = "KEY=JSON")]
    pub state: Vec<String>,
    /// File with a JSON object to record unchanged (- reads stdin)
    #[arg(long, value_name = "FILE")]
    pub state_file: Option<PathBuf>,
    /// Also make plain copies of a `file_backup`, under .checkpoints/
    #[arg(long)]
    pub copies: bool,
    /// Time after which a prune may drop it: 24h, a time, or never (as good as a pin)
    #[arg(long, value_name = "WHEN")]
    pub expires: Option<String>,
    /// Number of checkpoints to keep, in this call only [default: as configured]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub keep: Option<u32>,
    /// Number of files above which nothing is captured; 0 is no limit [default: as configured]
    #[arg(long, value_name = "N")]
    pub max_files: Option<u64>,
    /// Session in which the size is checked only once [default: `CLAUDE_CODE_SESSION_ID`]
    #[arg(long, value_name = "ID")]
    pub session: Option<String>,
    /// Check the size again in this session
    #[arg(long)]
    pub recount: bool,
    /// Also capture sensitive files, all or those that match a pattern
    #[arg(long, value_name = "GLOB", num_args = 0..=1, require_equals = true, default_missing_value = "*")]
    pub include_sensitive: Vec<String>,
    /// Accept a refused directory, and any number of files
    #[arg(long)]
    pub force: bool,
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
            keep: args.keep.map(|keep| keep as usize),
            gate: GateOptions {
                max_files: args.max_files,
                session: args.session,
                recount: args.recount,
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
        let contract = self.contract.contract.then(|| self.contract.into());
        Properties {
            may_take_long: true,
            contract,
            ..Properties::USUAL
        }
    }

    /// Runs the command, and adds a line to the audit trail if that is enabled.
    fn run(self, context: &Context, cmd: &CommandContext<'_>) -> Result<u8> {
        let mut made = false;
        let ended = create(context, cmd, self, &mut made);
        // No log in a refused or missing root.
        let has_place = !matches!(
            ended,
            Err(Error::UnsafeRoot { .. } | Error::RootMissing { .. })
        );
        if context.settings.audit && has_place {
            note(
                context,
                cmd,
                ended
                    .as_ref()
                    .map_or_else(exit_code::of_error, |code| *code),
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
    args: CreateArgs,
    made: &mut bool,
) -> Result<u8> {
    let scope = (!args.scope.is_empty())
        .then(|| lists::expand(&args.scope))
        .transpose()?;
    let state = args.state_file.as_deref().map(lists::content).transpose()?;
    let (wants, has_reason) = (args.contract, args.reason.is_some());
    let options = args.into_options(scope, state);
    let mut code = Ok(exit_code::DONE);
    let printed_at = Cell::new(None);
    let mut print = |outcome: &CreateOutcome| {
        let document = wants
            .contract
            .then(|| contract(context, cmd, outcome, has_reason))
            .transpose();
        code = document.and_then(|document| {
            print_outcome(context, cmd, outcome, document.as_ref(), wants.into())
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
) -> Result<u8> {
    // A new checkpoint that cannot be read back is damaged.
    let is_proven = contract.is_none_or(ContractDocument::is_proven);
    let code = if is_proven {
        exit_code::of_create(outcome)
    } else {
        exit_code::DAMAGED
    };
    if cmd.printer.json {
        cmd.printer.result(&create::json(
            outcome,
            &context.store_dir()?,
            code,
            contract,
        ));
        return Ok(code);
    }
    let mut output = create::human(outcome, cmd.started.elapsed().as_millis());
    if let Some(contract) = contract {
        output.result = contract.text(form);
    }
    cmd.print_output(&output, &outcome.warnings);
    cmd.insist(outcome);
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
