//! `create`: the id alone on stdout, or the contract; everything else on stderr.

use std::ffi::{OsStr, OsString};
use std::path::{Component, Path, PathBuf};
use std::time::{Duration, Instant};

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

use crate::answer::contract::{self as contract_view};
use crate::answer::words::{count_files, eviction_lines};
use crate::answer::{ContractDocument, ContractForm};
use crate::base::cut_list::and_more;
use crate::base::shell_word::shell_word;
use crate::base::time;
use crate::commands::args::{self, ContractArgs, bytes_of, call};
use crate::commands::prelude::*;
use crate::model::{
    CheckpointTerms, CheckpointType, Database, Expiry, Record, Scope, StateDocument,
};
use crate::ops::contract::{audit, create_facts};
use crate::ops::create::command::{create, tidy};
use crate::ops::create::options::{
    check_names_nothing_else, checked_text, is_enabled, parse_scope,
};
use crate::ops::database::backup;
use crate::ops::{CreateOptions, CreateOutcome, LeftOut, Skipped};
use crate::shell::run::{Ended, unanswered};
use crate::shell::terminal::printer;

/// Record the directory as a new checkpoint
///
/// Prints the id of the checkpoint, and nothing else, on stdout.
#[expect(clippy::struct_excessive_bools, reason = "flags of one line")]
#[derive(Debug, clap::Args)]
pub struct CreateArgs {
    /// Reason, as with --reason
    #[arg(value_name = "REASON", conflicts_with = "reason")]
    pub word: Option<OsString>,
    // Words of a reason without quotes, which are refused with the quotes that it needs.
    #[arg(hide = true)]
    pub more_words: Vec<OsString>,
    /// Reason, which list shows and restore accepts [default: manual]
    #[arg(short, long, value_name = "TEXT", allow_hyphen_values = true)]
    #[arg(visible_alias = "message", visible_short_alias = 'm')]
    pub reason: Option<String>,
    /// Source, such as the name of a skill [default: `CHECKPOINT_SOURCE`, or cli]
    #[arg(short, long, value_name = "TEXT", allow_hyphen_values = true)]
    pub source: Option<String>,
    /// Path or pattern to record instead of everything (repeatable; @FILE reads a list, - reads
    /// stdin)
    #[arg(long, value_name = "GLOB|PATH", allow_hyphen_values = true)]
    #[arg(help_heading = "What is recorded")]
    pub scope: Vec<OsString>,
    /// Database to record: an SQLite file, or a NAME of your configuration (repeatable)
    #[arg(long, value_name = "FILE|NAME", allow_hyphen_values = true)]
    #[arg(help_heading = "What is recorded")]
    pub db: Vec<OsString>,
    /// Type of the checkpoint, as agents declare it [default: the whole directory]
    #[arg(long = "type", value_name = "TYPE", help_heading = "What is recorded", value_parser = types())]
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
    /// Look at every file, whatever fsmonitor of your configuration says
    #[arg(long, help_heading = "Limits")]
    pub full_scan: bool,
    /// With --type `file_backup`: also copy the files to .checkpoints/, to be read without this program
    #[arg(long, help_heading = "Agent contract")]
    pub copies: bool,
    #[command(flatten)]
    pub contract: ContractArgs,
}

/// The types in the words of contracts, and what each holds.
fn types() -> impl TypedValueParser<Value = CheckpointType> {
    let types = [
        (
            "git_stash",
            "Files in scope that git tracks; the git stash is not touched",
        ),
        ("file_backup", "Any files"),
        ("state_snapshot", "Values instead of files"),
        ("database_savepoint", "Databases named by --db"),
    ];
    let types = types.map(|(name, holds)| PossibleValue::new(name).help(holds));
    PossibleValuesParser::new(types).try_map(|name| name.parse())
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
        let word = self.word.take().into_iter();
        let words: Vec<OsString> = word.chain(self.more_words.drain(..)).collect();
        // A pattern after a blank would become the reason, and all secrets be recorded.
        let behind_option = typed.windows(2).find_map(|pair| {
            let is_word = pair[0] == "--include-sensitive" && words.contains(&pair[1]);
            is_word.then(|| pair[1].as_encoded_bytes())
        });
        if let Some(word) = behind_option {
            let pattern = [b"--include-sensitive=", word].concat();
            let again = [b"create".to_vec(), pattern];
            return Err(Error::usage(format!(
                "{0} after --include-sensitive is ambiguous: a pattern needs '=' \
                     (--include-sensitive={0}), a reason -m",
                shell_word(word)
            ))
            .next(Sentence::command(CommandWords::new(again))));
        }
        let is_there = |word: &&OsString| here.join(word).symlink_metadata().is_ok();
        if let Some(path) = words.iter().filter(|word| !word.is_empty()).find(is_there) {
            let mut parts = Path::new(path).components();
            let has_dots = parts.any(|part| part == Component::ParentDir);
            let is_inside = !has_dots && here.join(path).starts_with(root);
            let word = path.as_encoded_bytes();
            let path = shell_word(word);
            let everything = "'checkpoint create -m {}' records everything, with this reason";
            let (place, only) = if is_inside {
                ("in", ", 'checkpoint create --scope {}' only that path")
            } else {
                ("outside", "")
            };
            let [everything, only] = [everything, only].map(|text| Sentence::new(text, &[&word]));
            let what = format!("{path} is a path {place} this directory");
            return Err(Error::usage(what).next(everything.then_sentence(only)));
        }
        let text = words.join(OsStr::new(" ")).into_string();
        let text = text.map_err(|_| Error::usage("the reason is not UTF-8"))?;
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
    fn resolve(
        self,
        context: &Context,
        scope: Option<Vec<Vec<u8>>>,
        state: Option<Vec<u8>>,
    ) -> Result<CreateOptions> {
        let is_backup = self.checkpoint_type == Some(CheckpointType::FileBackup);
        if self.copies && !(is_backup && scope.is_some()) {
            return Err(Error::usage(
                "--copies needs --type file_backup and a --scope",
            ));
        }
        let reason = checked_text(self.reason.as_deref().unwrap_or("manual"), "reason")?;
        check_names_nothing_else(context, &reason)?;
        let mut options = CreateOptions {
            reason,
            source: source(context, self.source.as_deref())?,
            keep: self.keep.map(|last| last as usize),
            max_files: self.max_files,
            session: self.session,
            force: self.force,
            full_scan: self.full_scan,
            include_sensitive: self.include_sensitive,
            copies: self.copies,
            ..CreateOptions::default()
        };
        if !is_enabled(context)? {
            return Ok(options);
        }
        let scope = scope.map(|typed| parse_scope(&context.root, &typed));
        options.terms.scope = scope.transpose()?;
        options.state_document = state_document(self.state_file.zip(state).as_ref(), &self.state)?;
        options.terms.checkpoint_type = self.checkpoint_type;
        let expiry = self.expires.map(|typed| expiry(&typed, context.now_ms));
        let has_state = options.state_document.is_some();
        if let Some(lack) = lack(&options.terms, has_state, !self.db.is_empty()) {
            return Err(Error::usage(lack));
        }
        options.databases = backup::parse_databases(context, &bytes_of(self.db))?;
        // With a state or databases, files are recorded only if requested.
        if options.terms.scope.is_none() && (has_state || !options.databases.is_empty()) {
            options.terms.scope = Some(Scope::default());
        }
        options.terms.expiry = expiry.transpose()?;
        Ok(options)
    }
}

/// Returns the source of a checkpoint: as it was typed, else as the environment says.
pub(super) fn source(context: &Context, typed: Option<&str>) -> Result<String> {
    let known = context.environment.source.as_deref();
    let fallback = known.filter(|source| !source.trim().is_empty());
    checked_text(typed.or(fallback).unwrap_or("cli"), "source")
}

/// Returns what a type lacks of its content, if anything.
fn lack(terms: &CheckpointTerms, has_state: bool, has_databases: bool) -> Option<String> {
    let has_scope = terms.scope.is_some();
    match terms.checkpoint_type {
        Some(of_files @ (CheckpointType::GitStash | CheckpointType::FileBackup)) if !has_scope => {
            let of_files = of_files.into_str();
            Some(format!(
                "type {of_files} needs a --scope; without a type the whole directory is recorded"
            ))
        }
        Some(CheckpointType::DatabaseSavepoint) if !has_databases => {
            Some("type database_savepoint needs a --db".to_owned())
        }
        Some(CheckpointType::StateSnapshot) if !has_state || has_scope => Some(
            "type state_snapshot holds values and no files: give --state or --state-file, \
             and no --scope"
                .to_owned(),
        ),
        _ => None,
    }
}

/// Makes the state document of a file with one object and of `KEY=JSON` pairs that override it.
fn state_document(
    file: Option<&(PathBuf, Vec<u8>)>,
    pairs: &[String],
) -> Result<Option<StateDocument>> {
    if let Some((file, bytes)) = file {
        let checked = StateDocument::of(Some(bytes), &[]);
        checked.map_err(|why| Error::usage(format!("{}: {why}", escape_path(file))))?;
    }
    let whole = file.map(|(_, bytes)| bytes.as_slice());
    StateDocument::of(whole, pairs).map_err(|why| Error::usage(why.to_string()))
}

/// Parses a span from now, a time, or `never`.
fn expiry(typed: &str, now_ms: i64) -> Result<Expiry> {
    if typed == "never" {
        return Ok(Expiry::Never);
    }
    let wrong = |why: &str| Error::usage(format!("--expires '{typed}' {why}"));
    let end_ms = match (time::parse_span(typed), time::parse_time(typed, now_ms)) {
        (Some(span_ms), _) => now_ms.saturating_add(span_ms),
        (None, Some(time)) => time.start_ms,
        (None, None) => {
            return Err(Error::bad_time_of(
                "--expires",
                typed,
                "24h, 7d, 2026-12-24, '2026-12-24 18:00' or never",
            ));
        }
    };
    if end_ms <= now_ms {
        return Err(wrong("has passed already"));
    }
    if end_ms > time::LAST_MS {
        return Err(wrong("is after the year 9999"));
    }
    Ok(Expiry::At(end_ms))
}

/// Maximum time for cleanup after the id was printed.
const TIDY_TIME: Duration = Duration::from_millis(200);

/// What `create` made.
#[derive(Serialize, JsonSchema)]
pub struct CreateAnswer {
    #[serde(flatten)]
    outcome: CreateOutcome,
    /// Whether a new checkpoint was made.
    created: bool,
    store: String,
    contract: Option<ContractDocument>,
    #[serde(skip)]
    form: ContractForm,
    #[serde(skip)]
    duration_ms: u128,
}

impl Command for CreateArgs {
    type Answer = CreateAnswer;

    fn properties(&self) -> Properties {
        Properties {
            contract: self.contract.wanted(),
            left_by_a_signal: Some("no checkpoint was made"),
            ..Properties::LONG
        }
    }

    fn run(mut self, context: &Context, cmd: &CommandContext<'_>) -> Result<Done<CreateAnswer>> {
        let scope = (!self.scope.is_empty()).then(|| args::expand(&self.scope));
        let state = self.state_file.as_deref().map(args::content);
        let (scope, state) = (scope.transpose()?, state.transpose()?);
        self.take_words(context, cmd.words)?;
        let (wants, has_reason) = (self.contract, self.reason.is_some());
        let required = self.require;
        let keeps_all = args::needs_plan(context) && self.keep.take().is_some();
        let mut outcome = create(context, &self.resolve(context, scope, state)?)?;
        let contract = wants.contract.then(|| {
            let facts = create_facts::of_create(context, &outcome)?;
            let (facts, call) = (facts.as_ref(), call(context, cmd));
            Ok(contract_view::document(facts, &outcome, has_reason, &call))
        });
        let (contract, failure) = match contract.transpose() {
            Ok(contract) => (contract, None),
            Err(error) => (None, Some(error)),
        };
        let advice = match outcome.skipped {
            Some(Skipped::Disabled) => "CHECKPOINT_DISABLE is set",
            _ => "--max-files N raises the limit, an exclude leaves folders out",
        };
        let what = "no checkpoint holds the present state";
        let missing = || Error::new(Code::NOT_RECORDED, what).advise(advice);
        let is_missing = required && outcome.checkpoint.is_none();
        let error = failure.or_else(|| is_missing.then(missing));
        let is_partial = outcome.lacks_something();
        // A new checkpoint that cannot be read back is damaged.
        let is_damaged = contract.as_ref().is_some_and(|made| !made.is_proven());
        let mut warnings = std::mem::take(&mut outcome.warnings);
        warnings.extend(keeps_all.then_some(Warning::KeepNotAgreed));
        let store = context.store_dir().unwrap_or_default();
        let answer = CreateAnswer {
            created: outcome.skipped.is_none(),
            store: store.display().to_string(),
            contract,
            form: wants.form(),
            duration_ms: cmd.started.elapsed().as_millis(),
            outcome,
        };
        Ok(Done::new(answer, warnings)
            .exit_if(is_partial, exit_code::PARTIAL)
            .exit_if(is_damaged, exit_code::DAMAGED)
            .but(error))
    }

    /// Tidies up, and adds a line to the audit trail if that is enabled.
    fn after(context: &Context, cmd: &CommandContext<'_>, ended: Ended<'_, CreateAnswer>) {
        let mut late = Vec::new();
        if let Ok(done) = ended {
            insist(cmd, &done.answer.outcome, &done.warnings);
            let answered = Instant::now();
            late = tidy(context, &done.answer.outcome, &|| {
                answered.elapsed() > TIDY_TIME
            });
        }
        // No log in a refused or missing root.
        let is_nowhere =
            ended.is_err_and(|error| [Code::UNSAFE_ROOT, Code::ROOT_MISSING].contains(&error.code));
        if context.settings.audit && !is_nowhere {
            let code = ended.map_or_else(|error| error.code.exit, |done| done.exit);
            let failed = |_| unanswered(code, exit_code::FAILED);
            let exit = printer::lost().map_or(code, failed);
            let made = ended.is_ok_and(|done| done.answer.created);
            late.extend(audit::note(context, cmd.words, exit, made));
        }
        cmd.warn(&late);
        cmd.warn_late(&late);
    }
}

/// Prints what `--quiet` must not hide: that no checkpoint was made, or a partial one.
pub(super) fn insist(cmd: &CommandContext<'_>, outcome: &CreateOutcome, warnings: &[Warning]) {
    if cmd.printer.json {
        return;
    }
    let skipped = !matches!(outcome.skipped, None | Some(Skipped::Dedup));
    let must_show = |warning: &&Warning| {
        let is_partial = matches!(
            warning,
            Warning::NotCaptured { .. }
                | Warning::CopiesNotMade { .. }
                | Warning::StoreReinitialized { .. }
        );
        cmd.printer.quiet && (skipped || is_partial)
    };
    for warning in warnings.iter().filter(must_show) {
        cmd.printer.warning(warning);
    }
    let partial = outcome.checkpoint.as_ref().filter(|_| outcome.is_partial());
    if let Some(id) = partial.map(|checkpoint| checkpoint.id) {
        cmd.printer.warning(&Warning::IsPartial { id });
    }
}

impl Text for CreateAnswer {
    fn write(&self, out: &mut Out<'_>) {
        let outcome = &self.outcome;
        if let Some(checkpoint) = &outcome.checkpoint {
            outln!(out, "{}", checkpoint.id.short());
            if outcome.skipped != Some(Skipped::Dedup) {
                self.write_summary(&checkpoint.record, out);
            }
        }
        if let Some(contract) = &self.contract {
            out.result = contract.text(self.form);
        }
    }
}

impl CreateAnswer {
    fn write_summary(&self, record: &Record, out: &mut Out<'_>) {
        let (outcome, counts) = (&self.outcome, &self.outcome.counts);
        let (files, bytes) = (count_files(counts.files), size(counts.content_bytes));
        let (reason, source) = (escape(&record.reason), escape(&record.source));
        let (added, modified, deleted) = (counts.added, counts.modified, counts.deleted);
        talkln!(
            out,
            "{reason} ({source}): +{added} ~{modified} -{deleted}, {files}, {bytes}, {} ms",
            self.duration_ms
        );
        if !outcome.databases.is_empty() {
            let named: Vec<String> = outcome.databases.iter().map(Database::to_string).collect();
            talkln!(out, "databases: {}", named.join(", "));
        }
        if outcome.left_out_told {
            let words = left_out_words(&outcome.left_out, out.context);
            out.talk.push_str(&words);
        }
        if let Some(dir) = &outcome.copies {
            talkln!(out, "copies in {}", escape_path(dir));
        }
        out.talk
            .push_str(&eviction_lines("evicted", &outcome.evicted));
    }
}

/// Formats `left out: build/ dist/ and 3 files`; secrets are named.
pub fn left_out_words(left_out: &LeftOut, context: &Context) -> String {
    const NAMED_ENTRIES: usize = 8;
    let mut text = String::new();
    if !left_out.secrets.is_empty() {
        let secrets = left_out.secrets.iter().map(|path| context.shown(path));
        let secrets = secrets.collect::<Vec<_>>().join(" ");
        text.push_str(&format!("left out as sensitive: {secrets}\n"));
    }
    if !left_out.not_captured.is_empty() {
        let named = left_out.not_captured.iter();
        let named = named.map(|(path, why)| format!("{} ({why})", context.shown(path)));
        let named = and_more(&named.collect::<Vec<_>>(), NAMED_ENTRIES);
        text.push_str(&format!("not captured: {named}\n"));
    }
    let dirs = left_out.directories.iter().take(NAMED_ENTRIES);
    let dirs: Vec<String> = dirs.map(|dir| context.shown(dir) + "/").collect();
    let more = left_out.directories.len().saturating_sub(NAMED_ENTRIES);
    let mut parts = counts(&[
        (more, "more directory", "more directories"),
        (left_out.files.len(), "file", "files"),
    ]);
    if !dirs.is_empty() {
        parts.insert(0, dirs.join(" "));
    }
    if !parts.is_empty() {
        text.push_str(&format!("left out: {}\n", parts.join(" and ")));
    }
    text
}
