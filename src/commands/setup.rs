//! `setup`: our entries in the settings of agents, with one question each.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use clap::builder::PossibleValuesParser;
use strum::VariantArray as _;

use crate::agent::setup::plan;
use crate::agent::setup::settings_json::is_our_name;
use crate::agent::{
    AgentName, AgentPlan, Agents, FileOutcome, SettingsFile, SetupPlaces, SetupProgress, setup,
};
use crate::base::Interrupt;
use crate::commands::prelude::*;
use crate::config::environment::base;
use crate::ops::RootSearch;
use crate::ops::transfer::clone::is_free;
use crate::shell::{command_context, signals};

/// Stands for every agent.
const ALL: &str = "all";

/// Let agents make checkpoints by themselves
///
/// Writes hooks, skills and the MCP server into the settings of agents, so that a checkpoint is made
/// before each prompt and the agent can list, compare and restore checkpoints. Shows what it writes
/// and asks for each agent. If checkpoint is uninstalled, its hooks do nothing. Files that others
/// write too keep comments and layout, and a copy is left beside them.
#[derive(Clone, Debug, clap::Args)]
pub struct SetupArgs {
    /// Agents, or all [default: those that are here]
    #[arg(value_name = "NAME", value_parser = names())]
    pub agents: Vec<String>,
    /// Write into this project's settings, not into those of the user
    #[arg(long)]
    pub project: bool,
    /// Print the files with their content, and write nothing
    #[arg(long)]
    pub print: bool,
    /// Take out what was written, and nothing else
    #[arg(long)]
    pub remove: bool,
    /// Write the plugin for Claude Code into a new or empty folder instead, to pass it on
    #[arg(long, value_name = "DIR", conflicts_with_all = ["project", "remove"])]
    pub into: Option<PathBuf>,
    /// Program that the plugin calls: a path, or checkpoint to find it by PATH [default: this one]
    #[arg(long, value_name = "PROGRAM", requires = "into")]
    pub program: Option<String>,
}

fn agent_names() -> impl Iterator<Item = &'static str> {
    AgentName::VARIANTS.iter().map(AgentName::into_str)
}

fn names() -> PossibleValuesParser {
    PossibleValuesParser::new(agent_names().chain([ALL]))
}

/// What was written into the settings of agents.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "SetupAnswer")]
pub struct SetupOutcome {
    agents: Vec<AgentPlan>,
}

impl RunAnywhere for SetupArgs {
    fn run(self, cmd: &mut CommandContext<'_>, environment: Environment) -> Result<u8> {
        let interrupt = Interrupt::default();
        signals::install(&interrupt, false);
        let table = Agents::read()?;
        let places = self.places(cmd, &environment)?;
        let program = match &self.program {
            Some(program) => named_program(program)?,
            None => program(cmd)?,
        };
        let _alone = setup::lock(&places)?;
        let mut agents = if let Some(folder) = &self.into {
            vec![self.plugin(&table, folder, &program)?]
        } else {
            if !self.print {
                let _ = setup::clear_leftovers(&places, &table);
            }
            let agents = self.agents(&table, &environment)?.into_iter();
            let plans =
                agents.map(|agent| plan::plan(&places, &program, self.remove, &table, agent));
            plans.collect::<Result<Vec<AgentPlan>>>()?
        };
        if self.agents.is_empty() && self.remove {
            agents.retain(AgentPlan::is_something);
        }
        if !self.print {
            agents = self.carry_out(cmd, &interrupt, agents, &places.top)?;
            if self.remove
                && let Err(why) = setup::clear_leftovers(&places, &table)
                && let Some(last) = agents.last_mut()
            {
                let again = self.again(cmd, last.agent.into_str());
                last.failure.get_or_insert(stopped(last, why, again));
            }
        }
        for agent in &mut agents {
            let is_shown = |file: &SettingsFile| file.outcome != FileOutcome::Unchanged;
            agent.files.retain(|file| self.print || is_shown(file));
            for file in agent.files.iter_mut().filter(|_| self.print) {
                file.content.clone_from(&file.wanted);
            }
        }
        let has_failed = agents.iter().any(AgentPlan::has_failed);
        let exit = u8::from(has_failed) * exit_code::FAILED;
        let outcome = SetupOutcome { agents };
        let mut failures = outcome.agents.iter().filter_map(|one| one.failure.as_ref());
        let printer = &cmd.printer;
        if printer.json {
            cmd.document(exit, &outcome, &[], failures.next());
            return Ok(exit);
        }
        printer.result(&self.text(&outcome.agents));
        printer.talk(self.talk(&outcome.agents));
        for error in failures {
            printer.error(error);
        }
        Ok(exit)
    }
}

impl SetupArgs {
    fn places(&self, cmd: &CommandContext<'_>, environment: &Environment) -> Result<SetupPlaces> {
        if !self.project {
            return SetupPlaces::of_user(environment);
        }
        let base = base(cmd.global.base.as_deref(), environment).unwrap_or_default();
        let home = environment.home.as_deref();
        let place = command_context::place(cmd.global, environment)?;
        let root = RootSearch { base: &base, home }.find_here(&place)?;
        Ok(SetupPlaces::of_project(root.path()))
    }

    /// Plans the plugin for Claude Code in a folder of its own.
    fn plugin(&self, table: &Agents, folder: &Path, program: &str) -> Result<AgentPlan> {
        if self.agents != ["claude"] {
            return Err(Error::usage(
                "--into writes the plugin for Claude Code: type setup claude --into DIR",
            ));
        }
        let dir = environment::absolute(folder)?;
        if !is_free(&dir).unwrap_or(!dir.exists()) {
            return Err(Error::bad_destination(&dir, "it is not empty"));
        }
        plan::plugin(table, &dir, program)
    }

    /// Returns the named agents, or those that are here; of all what was written is removed.
    fn agents(&self, table: &Agents, environment: &Environment) -> Result<Vec<AgentName>> {
        let is_named = |name: &str| self.agents.iter().any(|named| named == name);
        let takes_all = is_named(ALL) || (self.agents.is_empty() && self.remove);
        let of_user = SetupPlaces::of_user(environment);
        let is_here = |name: AgentName| {
            let places = of_user.as_ref().ok().filter(|_| self.agents.is_empty());
            places.is_some_and(|places| table.get(name).is_ok_and(|agent| places.has(agent)))
        };
        let all = AgentName::VARIANTS.iter().copied();
        let is_meant = |name: &AgentName| takes_all || is_named(name.into_str()) || is_here(*name);
        let found: Vec<AgentName> = all.filter(is_meant).collect();
        if found.is_empty() {
            let names: Vec<&str> = agent_names().collect();
            let what = "no agent has settings here; name one of";
            return Err(Error::usage(format!("{what} {}", names.join(", "))));
        }
        Ok(found)
    }

    /// Returns the command that does the same for one agent again.
    fn again(&self, cmd: &CommandContext<'_>, agent: &str) -> CommandWords {
        let words = [
            Some("setup"),
            Some(agent),
            self.project.then_some("--project"),
            self.remove.then_some("--remove"),
            cmd.global.yes.then_some("--yes"),
        ];
        CommandWords::new(words.into_iter().flatten())
    }

    /// Asks for each agent and carries out what is agreed to.
    fn carry_out(
        &self,
        cmd: &CommandContext<'_>,
        interrupt: &Interrupt,
        mut plans: Vec<AgentPlan>,
        top: &Path,
    ) -> Result<Vec<AgentPlan>> {
        let summary = self.summary(&plans);
        // Whoever names a new folder has agreed to it.
        let is_agreed = cmd.global.yes || self.into.is_some();
        if let (Some(what), false, false) = (&summary, is_agreed, cmd.prompt.may_ask) {
            return Err(Error::consent_needed(what, false));
        }
        for plan in &mut plans {
            let agent = plan.agent.into_str();
            let verb = if self.remove {
                "Take this back from"
            } else {
                "Write this for"
            };
            let question = format!("{}{verb} {agent}? [y/N] ", self.listing(plan));
            let agreed = is_agreed || plan.changes().next().is_none() || {
                let summary = summary.clone().unwrap_or_default();
                match cmd.prompt.ask(interrupt, &summary, &question) {
                    Err(error) if error.code == Code::DECLINED => false,
                    answer => answer.map(|()| true)?,
                }
            };
            if agreed {
                setup::carry_out(plan, top);
                let cause = plan.failure.take();
                plan.failure = cause.map(|cause| stopped(plan, cause, self.again(cmd, agent)));
            } else {
                plan.progress = SetupProgress::Declined;
            }
            interrupt.check()?;
        }
        let is_refused = |plan: &AgentPlan| plan.progress == SetupProgress::Declined;
        if !plans.is_empty() && plans.iter().all(is_refused) {
            return Err(Error::declined());
        }
        Ok(plans)
    }

    /// Summarizes what the plans would do; `None` if that is nothing.
    fn summary(&self, plans: &[AgentPlan]) -> Option<String> {
        let changing = plans.iter().filter(|plan| plan.changes().next().is_some());
        let agents: Vec<&str> = changing.map(|plan| plan.agent.into_str()).collect();
        let files = plans.iter().map(|plan| plan.changes().count()).sum();
        let files = count(files, "file", "files");
        let [verb, link] = if self.remove {
            ["take back", "of"]
        } else {
            ["write", "for"]
        };
        (!agents.is_empty()).then(|| format!("{verb} {files} {link} {}", agents.join(", ")))
    }

    /// Formats the files of each agent; with `--print` their content too.
    fn text(&self, plans: &[AgentPlan]) -> String {
        let mut text = String::new();
        for plan in plans {
            text.push_str(&self.listing(plan));
            for file in &plan.files {
                if let Some(content) = &file.content {
                    text.push_str(&format!("\n--- {}\n", escape_path(&file.path)));
                    text.extend(content.lines().map(|line| format!("{line}\n")));
                }
            }
        }
        text
    }

    fn talk(&self, plans: &[AgentPlan]) -> &'static str {
        let is_new = |plan: &AgentPlan| {
            let is_done = plan.progress == SetupProgress::Done && self.into.is_none();
            is_done && plan.agent.has_hooks() && plan.changes().next().is_some()
        };
        match self.remove {
            true if plans.is_empty() => "nothing that setup wrote is here\n",
            false if plans.iter().any(is_new) => {
                "after the next prompt, 'checkpoint rewind' lists the states to go back to\n"
            }
            _ => "",
        }
    }

    fn listing(&self, plan: &AgentPlan) -> String {
        let agent = plan.agent.into_str();
        let state = match (plan.progress, self.remove) {
            (SetupProgress::Declined, _) => ": left as it is",
            _ if plan.is_something() => "",
            (_, true) => ": not set up; nothing to remove",
            (_, false) => ": already set up",
        };
        let mut text = format!("{agent}{state}\n");
        if !state.is_empty() {
            return text;
        }
        let is_shown = |file: &&SettingsFile| file.outcome != FileOutcome::Unchanged;
        for file in plan.files.iter().filter(is_shown) {
            let what = match (file.outcome, plan.progress) {
                (FileOutcome::Created, SetupProgress::Planned) => "write",
                (FileOutcome::Changed, SetupProgress::Planned) => "change",
                (FileOutcome::Removed, SetupProgress::Planned) => "remove",
                (done, _) => done.into_str(),
            };
            let why = file.why.as_ref().map(|why| format!(": {}", escape(why)));
            let path = escape_path(&file.path);
            text.push_str(&format!("  {what:<8} {path}{}\n", why.unwrap_or_default()));
        }
        let notes = plan.notes.iter().filter(|_| !plan.has_failed());
        text.extend(notes.map(|note| format!("  {note}\n")));
        text
    }
}

/// Says how far a plan came, and what goes on from there.
fn stopped(plan: &AgentPlan, cause: Error, again: CommandWords) -> Error {
    let agent = plan.agent.into_str();
    let done = count(plan.changes().count(), "file is", "files are");
    let failed = plan.files.iter();
    let failed = failed.filter(|file| file.outcome == FileOutcome::Failed);
    let done = match (plan.changes().count(), failed.count()) {
        (0, _) => format!("nothing of {agent} was changed:"),
        (_, 0) => format!("of {agent}, {done} done, but"),
        (_, failed) => format!("of {agent}, {done} done and {failed} not:"),
    };
    let next = next_step(&cause, again);
    cause.after(&done, Some(next))
}

/// Returns what lets settings be written, and the command that goes on then.
fn next_step(cause: &Error, again: CommandWords) -> Sentence {
    let condition = match cause.io_kind().unwrap_or(ErrorKind::Other) {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => "free some space on that disk, then ",
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
            "this user or sandbox may not write there; once it may, "
        }
        _ => return Sentence::command(again),
    };
    Sentence::text(condition)
        .then_command(again)
        .then(" goes on")
}

/// Returns the path of this program that is written into settings.
///
/// # Errors
/// It has another name or cannot be written there: then it would not be recognized again.
pub fn program(cmd: &CommandContext<'_>) -> Result<String> {
    let found = environment::found_program(cmd.words);
    plain(&found.ok_or_else(|| Error::unexpected("the path of this program is not known"))?)
}

/// Returns the program as it is written into the plugin: a path as an absolute one, as the plugin is
/// called from everywhere; a bare name as it is, as `PATH` may find it on another machine.
fn named_program(typed: &str) -> Result<String> {
    let path = Path::new(typed);
    if path.components().count() == 1 {
        return plain(path);
    }
    let path: PathBuf = environment::absolute(path)?.components().collect();
    plain(&path)
}

fn plain(path: &Path) -> Result<String> {
    let is_plain = |path: &&str| !path.contains(char::is_control) && is_our_name(path);
    let text = path.to_str().filter(is_plain).map(str::to_owned);
    text.ok_or_else(|| Error::usage(format!(
            "agents call this program by a path, which must be plain text and end in checkpoint; it is {}",
            escape_path(path)
        )))
}
