//! `workflow resume` and `workflow recover`: the commands that ask, in the words and letters of each
//! profile.

use crate::answer::format::ago;
use crate::base::json;
use crate::base::time::{self, rfc3339_seconds, utc_seconds};
use crate::commands::prelude::*;
use crate::commands::workflow::call::WorkflowCall;
use crate::commands::workflow::report::{changed, findings, remarks, summary, with_place};
use crate::ops::restore::restore_paths::parse_one;
use crate::workflow::documents::conflict::{in_line, in_words};
use crate::workflow::documents::render;
use crate::workflow::engine::report;
use crate::workflow::engine::resume::{self as op, Take, repair, resolve_conflict};
use crate::workflow::engine::transact::open_imported;
use crate::workflow::profiles::dispatch::profile_of_path;
use crate::workflow::rules::dialog::Dialog;
use crate::workflow::rules::validate::is_stale;
use crate::workflow::words::{listed, refused};
use crate::workflow::{
    Chosen, Conflict, Phase, PhaseStatus, Profile, RecoverOutcome, ResumeOutcome, Runs, Status,
    View, Workflow,
};

const CORRUPTED: &str = "State appears corrupted. Start fresh? [y/N]";
const DELETE: &str = "Delete the corrupted checkpoint? It is kept in the archive. [y/N]";
const MENDING: &str = "Attempt manual recovery or start fresh? (recover/fresh; Enter cancels)";
const YES: &str = "y,yes";

/// Show the state of a run, ask, and resume it
///
/// Without a terminal it asks nothing: it shows the same, exits with 4 and names the answers. A run
/// with errors is resumed only with --anyway.
#[derive(Clone, Debug, clap::Args)]
pub struct ResumeArgs {
    /// Run: its id or the beginning of it, its project, type or description [default: the newest
    /// open one]
    #[arg(value_name = "WORKFLOW")]
    pub run: Option<String>,
    /// Answer: y, n, restart, abandon or pick:ID; with registry r, s, v or d
    #[arg(long, value_name = "ANSWER")]
    pub choose: Option<String>,
    /// Resume even if 'workflow check' finds errors
    #[arg(long)]
    pub anyway: bool,
}

/// Repair a run after an interruption, or settle an unreadable state file
#[derive(Clone, Debug, clap::Args)]
pub struct RecoverArgs {
    /// Run; with --take, path of a file
    #[arg(value_name = "WORKFLOW|PATH")]
    pub what: Option<String>,
    /// Side that counts: state or none; what it replaces is kept aside
    #[arg(long, value_name = "SIDE", requires = "what")]
    #[arg(conflicts_with = "dry_run")]
    pub take: Option<Take>,
    /// Only show what would be done
    #[arg(short = 'n', long)]
    pub dry_run: bool,
}

impl WorkflowCall<'_> {
    pub fn resume(self, args: &ResumeArgs) -> Result<Either<RecoverOutcome, ResumeOutcome>> {
        let Self { context, cmd } = self;
        if let Some(settled) = self.settle_first(args)? {
            return Ok(Either::First(settled));
        }
        let named = args.run.as_deref();
        let status = report::status(context, named, View::Whole);
        let open = status.and_then(|status| op::check_open(&status).map(|()| status));
        if let (Err(why), Some(word)) = (&open, &args.choose)
            && why.is_of_run()
            && let Some(mut again) = op::restart_again(context, named, word)?
        {
            with_place(&mut again.status, &cmd.printer.place);
            return Ok(Either::Second(again));
        }
        let status = open?;
        let question = Question {
            call: self,
            status: &status,
            is_accepted: args.anyway || status.seen.report.valid,
        };
        let chosen = match &args.choose {
            Some(word) => question.answered(word)?,
            None => question.ask()?,
        };
        if args.choose.is_some() && chosen.goes_on() {
            let drift = changed(&status.seen, context.now_ms);
            cmd.printer.talk(&(drift + &findings(&status.seen)));
        }
        let mut outcome = op::resume(context, status, chosen, args.choose.is_none())?;
        with_place(&mut outcome.status, &cmd.printer.place);
        Ok(Either::Second(outcome))
    }

    /// Settles the malformed files that keep the chosen run from being resumed; returns the last of them
    /// if there is nothing left to resume.
    fn settle_first(self, args: &ResumeArgs) -> Result<Option<RecoverOutcome>> {
        let named = args.run.as_deref();
        while self.cmd.prompt.may_ask && args.choose.is_none() {
            let (store, conflicts) = open_imported(self.context)?;
            let runs = Runs::live(&store)?;
            let meant = runs.pick(named).ok().filter(|run| run.is_open());
            let is_in_way = |conflict: &&Conflict| match meant {
                Some(run) => conflict.concerns(&run.workflow),
                None => named.is_none(),
            };
            let Some(conflict) = conflicts.iter().find(is_in_way) else {
                break;
            };
            let settled = self.settle(conflict, false)?;
            if meant.is_none() || settled.take == Some(Take::None) {
                return Ok(Some(settled));
            }
            self.print(settled);
        }
        Ok(None)
    }

    pub fn recover(self, args: &RecoverArgs) -> Result<RecoverOutcome> {
        let context = self.context;
        // A path that says where it begins is one from here; another is from the root, as in messages.
        let what = args.what.as_deref();
        let begins = ["./", "../", "/"];
        let path = what.filter(|named| begins.iter().any(|begin| named.starts_with(begin)));
        let path = path.and_then(|path| parse_one(&context.root, path.as_bytes()).ok());
        let path = path.map(|path| String::from_utf8_lossy(path.as_bytes()).into_owned());
        let named = path.as_deref().or(what);
        if let Some((named, take)) = named.zip(args.take) {
            return resolve_conflict(context, named, take);
        }
        let mut conflicts = open_imported(context)?.1.into_iter();
        match conflicts.find(|conflict| named.is_none_or(|named| conflict.is_named(named))) {
            Some(conflict) => self.settle(&conflict, args.dry_run),
            None => repair(context, named, args.dry_run),
        }
    }

    /// Shows what is wrong with a file and all that is in it, and asks what is to become of it.
    fn settle(self, conflict: &Conflict, dry_run: bool) -> Result<RecoverOutcome> {
        let dialog = match profile_of_path(&conflict.file) {
            Some(Profile::Phases) => Dialog::new(CORRUPTED, &[(YES, Take::None)]),
            Some(Profile::Registry) => Dialog::new(DELETE, &[(YES, Take::None)]),
            _ => {
                let run = conflict.workflow.as_ref();
                let mend = run.map_or(Take::Copy, |_| Take::State);
                let words = [
                    ("recover,manual", mend),
                    ("fresh,start fresh,start", Take::None),
                ];
                Dialog::new(MENDING, &words)
            }
        };
        let finding = |one| format!("  {}\n", in_words(one));
        let line = |line| format!("  | {}\n", escape(line));
        let findings: String = conflict.findings.iter().map(finding).collect();
        let raw: String = conflict.raw.lines().map(line).collect();
        let (path, ask) = (escape(&conflict.file), dialog.text.as_str());
        let shown = format!("State file is malformed: {path}\n{findings}It says:\n{raw}{ask} ");
        if dry_run || !self.cmd.prompt.may_ask {
            self.cmd.printer.talk(&format!("{}\n", shown.trim_end()));
            return Err(conflict.problem());
        }
        let chosen = dialog.by_word(&self.typed(&shown)?);
        let take = chosen.ok_or_else(Error::declined)?;
        resolve_conflict(self.context, &conflict.file, take)
    }

    fn typed(self, text: &str) -> Result<String> {
        self.cmd.prompt.words(&self.context.interrupt, text)
    }
}

/// What is to become of a run. Nothing is changed and no lock is held until the last answer is given.
struct Question<'q> {
    call: WorkflowCall<'q>,
    status: &'q Status,
    /// The run has no errors, or is resumed with them.
    is_accepted: bool,
}

impl Question<'_> {
    /// Interprets an answer given with the command; it answers the further questions as well.
    fn answered(&self, word: &str) -> Result<Chosen> {
        let workflow = &self.status.run.workflow;
        let first = Dialog::first(workflow);
        let (code, what) = match first.understand(word).filter(|_| !word.is_empty()) {
            Some(Chosen::Declined) => return Err(self.undecided(&Dialog::after_no(workflow))),
            Some(chosen) if self.is_accepted || !chosen.goes_on() => return Ok(chosen),
            Some(_) => {
                self.call.cmd.printer.talk(&remarks(&self.status.seen));
                let (run, wrong) = (workflow.named(), self.wrong(""));
                ("unsound", format!("workflow {run} is inconsistent{wrong}"))
            }
            None => ("no_answer", format!("'{word}' is not a valid answer")),
        };
        Err(self.refuse(code, format!("{what}; nothing was changed"), &first))
    }

    /// Asks until there is a decision; without a terminal it is the error that names the answers.
    fn ask(&self) -> Result<Chosen> {
        let workflow = &self.status.run.workflow;
        let mut dialog = Dialog::first(workflow);
        let mut text = self.shown(&dialog.text);
        if !self.call.cmd.prompt.may_ask {
            let corrupted = if self.is_accepted { "" } else { CORRUPTED };
            let text = format!("{text}\n{corrupted}");
            let printer = &self.call.cmd.printer;
            printer.talk(&format!("{}\n", text.trim_end()));
            return Err(self.undecided(&dialog));
        }
        if !self.is_accepted {
            let corrupted = format!("{}{CORRUPTED} ", remarks(&self.status.seen));
            let corrupted = Dialog::new(corrupted, &[(YES, Chosen::StartedFresh)]);
            if let Some(chosen) = corrupted.by_word(&self.call.typed(&corrupted.text)?) {
                return Ok(chosen);
            }
        }
        // The other questions say what a fresh start does.
        let is_told = matches!(workflow.profile, Some(Profile::Phases | Profile::Registry));
        let asks_again = !is_told && !self.call.cmd.global.yes;
        loop {
            let typed = self.call.typed(&text)?;
            let mut before = String::new();
            match dialog.understand(&typed) {
                None if typed.trim().is_empty() => return Err(Error::declined()),
                None if typed.trim() == "pick" => dialog = Dialog::pick(workflow),
                None => {
                    let leave = dialog.by_word("").map_or("; Enter cancels", |_| "");
                    let typed = escape(typed.trim());
                    before = format!("'{typed}' is not a valid answer{leave}.\n");
                }
                Some(Chosen::Viewed) => before = details(workflow) + "\n",
                Some(Chosen::Declined) => dialog = Dialog::after_no(workflow),
                Some(Chosen::StartedFresh) if asks_again => {
                    let run = escape(workflow.named());
                    let again = format!("Archive {run} and start its plan again?");
                    self.call.cmd.ask(self.call.context, &again, &again)?;
                    return Ok(Chosen::StartedFresh);
                }
                Some(chosen) => return Ok(chosen),
            }
            text = before + &dialog.text;
        }
    }

    /// The error if the user cannot be asked.
    fn undecided(&self, dialog: &Dialog) -> Error {
        let run = self.status.run.workflow.named();
        let wrong = self.wrong(" and inconsistent");
        let what = format!("workflow {run} is open{wrong}; choose what to do with it");
        self.refuse("decision_needed", what, dialog)
    }

    /// The error that names the answers to a question.
    fn refuse(&self, code: &'static str, what: String, dialog: &Dialog) -> Error {
        let (workflow, is_sound) = (&self.status.run.workflow, self.status.seen.report.valid);
        let options = dialog.options(workflow, is_sound);
        let mut error = refused(code, what).next(listed(&options));
        let text = Dialog::first(workflow).text;
        let question = if is_sound { text.trim_end() } else { CORRUPTED };
        // What a user would be shown and asked.
        let mut detail = json::value(&self.status.seen).unwrap_or_default();
        detail["question"] = question.into();
        error.run_details().detail = Some(detail);
        error.with_options(options).with_state(workflow)
    }

    /// Formats the first error of the run after a word, and the number of others.
    fn wrong(&self, word: &str) -> String {
        let errors = &self.status.seen.report.errors;
        let shown = |_| format!("{word}: {}", in_line(errors));
        errors.first().map(shown).unwrap_or_default()
    }

    /// Formats the state of the run and the first question.
    fn shown(&self, question: &str) -> String {
        let (workflow, seen) = (&self.status.run.workflow, &self.status.seen);
        let now_ms = self.call.context.now_ms;
        let beside = changed(seen, now_ms) + &remarks(seen);
        let head = match workflow.profile {
            Some(Profile::Phases) => {
                let run = escape(workflow.id_in_document().unwrap_or(&workflow.id));
                let started = rfc3339_seconds(workflow.created_ms);
                let old = "This state is old: answer n to archive it and start fresh.\n";
                let offer = if is_stale(workflow, now_ms) { old } else { "" };
                return format!(
                    "Detected interrupted workflow: {run} (started {started})\n{beside}{offer}{question}"
                );
            }
            Some(Profile::Registry) => registry(workflow, now_ms),
            _ => summary(workflow, time::shown(self.call.cmd.prompt.may_ask)),
        };
        let gap = if beside.is_empty() { "" } else { "\n" };
        format!("{head}{gap}{beside}\n{question}")
    }
}

/// Formats the document in which the run is kept, else the complete state.
fn details(workflow: &Workflow) -> String {
    let own = workflow.documents.values().next();
    let text = own.map_or_else(|| workflow.to_json(), render);
    text.lines().map(|line| escape(line) + "\n").collect()
}

fn registry(workflow: &Workflow, now_ms: i64) -> String {
    let named = |phase: Option<&Phase>, none: &str| {
        let number = phase.and_then(|phase| workflow.number_of(&phase.id));
        number.map_or(none.to_owned(), |number| format!("Phase {number}"))
    };
    let mut phases = workflow.phases.iter().rev();
    let last = phases.find(|phase| phase.status == PhaseStatus::Complete);
    let (last, next) = (named(last, "No phase"), named(workflow.next(), "the end"));
    let title = match &*workflow.description {
        "" => workflow.named(),
        description => description,
    };
    format!(
        "Run: {}\nFound existing checkpoint for \"{}\"\nCreated: {} ({})\nProgress: {last} of {} completed\n\n\
         Options:\n  (r)esume - Continue from {next}\n  (s)tart fresh - Delete checkpoint and restart\n  \
         (v)iew details - Show checkpoint contents\n  (d)elete - Remove checkpoint without starting\n",
        escape(workflow.named()),
        escape(title),
        utc_seconds(workflow.created_ms),
        ago(workflow.created_ms, now_ms),
        workflow.phases.len(),
    )
}

impl Text for ResumeOutcome {
    fn write(&self, out: &mut Out<'_>) {
        let workflow = &self.status.run.workflow;
        for what in &self.recovered {
            talkln!(out, "recovered: {}", escape(what));
        }
        match self.done {
            Chosen::Viewed => return out.result.push_str(&details(workflow)),
            Chosen::Deleted => return talkln!(out, "Deleted; the archive keeps it"),
            Chosen::Abandoned => return talkln!(out, "Abandoned; the archive keeps it"),
            Chosen::StartedFresh => {
                talkln!(out, "Started {}; the old run was archived", workflow.id);
            }
            Chosen::Resumed | Chosen::Picked(_) | Chosen::Declined => {
                let is_phases = workflow.profile == Some(Profile::Phases);
                let next = workflow.next();
                let next = next.map(|next| if is_phases { &next.id } else { &next.name });
                let from = next.map(|next| format!(" from {} phase", escape(next)));
                let (named, from) = (escape(workflow.named()), from.unwrap_or_default());
                talkln!(out, "Resuming workflow {named}{from}");
                let last = rfc3339_seconds(self.last_activity_at.ms());
                talkln!(out, "Last activity: {last}");
                let ids = workflow.completed().map(|phase| escape(&phase.id));
                let ids = ids.collect::<Vec<_>>().join(", ");
                let ids = if ids.is_empty() { "nothing yet" } else { &ids };
                talkln!(out, "Completed: {ids}");
            }
        }
        outln!(out, "Next: {}", self.status.seen.next.words);
    }
}

impl Text for RecoverOutcome {
    fn write(&self, out: &mut Out<'_>) {
        if let (Some(path), Some(kept_as)) = (&self.file, &self.put_aside) {
            let (path, kept) = (escape(path), escape(kept_as));
            let done = match self.take {
                Some(Take::State) => format!("Wrote {path} from the recorded state"),
                Some(Take::Copy) => {
                    let fix = format!("Fix {path}, and the next command reads it.");
                    return outln!(out, "A copy is kept as {kept}. {fix}");
                }
                _ => format!("Put {path} aside"),
            };
            let said = self.link_to.as_ref().map(|to| {
                let to = escape(to);
                format!("it was a link to {to}, and the link")
            });
            let said = said.as_deref().unwrap_or("what it said");
            outln!(out, "{done}; {said} is kept as {kept}.");
        }
        if let Some(id) = &self.started {
            outln!(out, "Started {id}; the old run was archived");
        }
        if self.take.is_some() {
            return;
        }
        let id = self.run.as_ref().map(|run| run.workflow.named());
        let id = escape(id.unwrap_or_default());
        let word = if self.dry_run { "would be" } else { "was" };
        if self.reopened {
            outln!(out, "Workflow {id} {word} reopened.");
        } else if self.recovered.is_empty() {
            outln!(out, "Nothing to recover in {id}.");
        }
        if !self.recovered.is_empty() {
            outln!(out, "In {id} this {word} repaired:");
        }
        for what in &self.recovered {
            outln!(out, "  {}", escape(what));
        }
    }
}
