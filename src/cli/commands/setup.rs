//! `setup`: our entries in the settings of agents, with one question each.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use clap::builder::PossibleValuesParser;
use strum::VariantArray as _;

use crate::agent::dialect::event::AgentName;
use crate::agent::setup::act;
use crate::agent::setup::agents::{Agents, SetupPlaces};
use crate::agent::setup::command_line::is_our_name;
use crate::agent::setup::plan::{self, AgentPlan, SettingsChange, SetupProgress, SetupRequest};
use crate::base::interrupt::Interrupt;
use crate::base::text::escape_path;
use crate::cli::command_context::{CommandContext, print_answer};
use crate::cli::run::RunAnywhere;
use crate::cli::{environment, exit_code, signals};
use crate::config::environment::Environment;
use crate::error::sentence::{CommandWords, Sentence};
use crate::error::{Code, Error, Result};
use crate::ops::find_root::exactly;
use crate::view::format::count;
use crate::view::setup::{self as setup_view, SetupForm};
use crate::view::words;

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

impl RunAnywhere for SetupArgs {
    fn run(self, cmd: &CommandContext<'_>, environment: Environment) -> Result<u8> {
        let interrupt = Interrupt::default();
        signals::install(&interrupt);
        let table = Agents::read()?;
        let request = self.request(cmd, &environment)?;
        let _alone = act::lock(&environment)?;
        let mut plans = if let Some(folder) = &self.into {
            vec![self.plugin(&table, folder, &request.program)?]
        } else {
            if !self.print {
                act::clear_leftovers(&request.places, &table);
            }
            let agents = self.agents(&table, &environment)?.into_iter();
            let plans = agents.map(|agent| plan::plan(&request, &table, agent));
            plans.collect::<Result<Vec<AgentPlan>>>()?
        };
        if self.agents.is_empty() && self.remove {
            plans.retain(AgentPlan::is_something);
        }
        let outcomes = if self.print {
            plans
        } else {
            self.carry_out(cmd, &interrupt, plans, &request.places.top)?
        };
        let failed = outcomes.iter().any(AgentPlan::has_failed);
        let code = if failed {
            exit_code::FAILED
        } else {
            exit_code::DONE
        };
        print_answer(
            cmd,
            || setup_view::json(&outcomes, self.print, code),
            || {
                let form = SetupForm {
                    prints: self.print,
                    removes: self.remove,
                    asked: !self.print && !cmd.global.yes && self.into.is_none(),
                };
                setup_view::human(&outcomes, form)
            },
            &[],
        );
        for error in outcomes
            .iter()
            .filter_map(|outcome| outcome.failure.as_ref())
        {
            let paint = cmd.printer.err_paint();
            cmd.printer.failure(&words::error(error, paint));
        }
        Ok(code)
    }
}

impl SetupArgs {
    fn request(&self, cmd: &CommandContext<'_>, environment: &Environment) -> Result<SetupRequest> {
        let places = if self.project {
            let global = cmd.global;
            let dir = environment::directory(global.dir.as_deref(), environment)?;
            SetupPlaces::of_project(exactly(&dir)?.path())
        } else {
            SetupPlaces::of_user(environment)?
        };
        let program = match &self.program {
            Some(program) => named_program(program)?,
            None => program(cmd)?,
        };
        Ok(SetupRequest {
            places,
            program,
            removes: self.remove,
        })
    }

    /// Plans the plugin for Claude Code in a folder of its own.
    fn plugin(&self, table: &Agents, folder: &Path, program: &str) -> Result<AgentPlan> {
        if self.agents != ["claude"] {
            return Err(Error::usage(
                "--into writes the plugin for Claude Code: type setup claude --into DIR",
            ));
        }
        let dir = environment::absolute(folder)?;
        let is_free = match std::fs::read_dir(&dir) {
            Ok(mut entries) => entries.next().is_none(),
            Err(why) => why.kind() == ErrorKind::NotFound,
        };
        if !is_free {
            let why = "it is not empty".to_owned();
            return Err(Error::bad_destination(&dir, why));
        }
        plan::plugin(table, &dir, program)
    }

    /// Returns the named agents, or those that are here; of all what was written is removed.
    fn agents(&self, table: &Agents, environment: &Environment) -> Result<Vec<AgentName>> {
        let all = AgentName::VARIANTS.iter().copied();
        if self.agents.iter().any(|name| name == ALL) || (self.agents.is_empty() && self.remove) {
            return Ok(all.collect());
        }
        if !self.agents.is_empty() {
            let is_named = |agent: &AgentName| {
                let name: &str = agent.into();
                self.agents.iter().any(|named| named == name)
            };
            return Ok(all.filter(is_named).collect());
        }
        let places = SetupPlaces::of_user(environment)?;
        let is_here = |agent: &AgentName| table.get(*agent).is_ok_and(|agent| places.has(agent));
        let found: Vec<AgentName> = all.filter(is_here).collect();
        if found.is_empty() {
            return Err(Error::usage(format!(
                "no agent has settings here; name one of {}",
                agent_names().collect::<Vec<_>>().join(", ")
            )));
        }
        Ok(found)
    }

    /// Returns the command that does the same for one agent again.
    fn again(&self, cmd: &CommandContext<'_>, agent: AgentName) -> CommandWords {
        let flags = [
            (self.project, "--project"),
            (self.remove, "--remove"),
            (cmd.global.yes, "--yes"),
        ];
        let flags = flags.into_iter().filter(|(is_given, _)| *is_given);
        let words = ["setup", agent.into_str()];
        CommandWords::new(words.into_iter().chain(flags.map(|(_, flag)| flag)))
    }

    /// Asks for each agent and carries out what is agreed to.
    fn carry_out(
        &self,
        cmd: &CommandContext<'_>,
        interrupt: &Interrupt,
        plans: Vec<AgentPlan>,
        top: &Path,
    ) -> Result<Vec<AgentPlan>> {
        let changing = plans.iter().filter(|plan| !plan.changes.is_empty());
        let summary = setup_view::summary(changing, self.remove);
        // Whoever names a new folder has agreed to it.
        let is_agreed = cmd.global.yes || self.into.is_some();
        if let (Some(what), false, false) = (&summary, is_agreed, cmd.prompt.may_ask) {
            return Err(Error::consent_needed(what, false));
        }
        let mut outcomes = Vec::new();
        for plan in plans {
            let agreed = plan.changes.is_empty() || is_agreed || {
                let question = setup_view::question(&plan, self.remove);
                let summary = summary.clone().unwrap_or_default();
                match cmd.prompt.ask(interrupt, &summary, &question) {
                    Err(error) if error.code == Code::DECLINED => false,
                    answer => answer.map(|()| true)?,
                }
            };
            outcomes.push(if agreed {
                let again = self.again(cmd, plan.agent);
                carry_out_one(plan, top, again)
            } else {
                let progress = SetupProgress::Declined;
                AgentPlan { progress, ..plan }
            });
            interrupt.check()?;
        }
        let is_refused = |outcome: &AgentPlan| outcome.progress == SetupProgress::Declined;
        if !outcomes.is_empty() && outcomes.iter().all(is_refused) {
            return Err(Error::declined());
        }
        Ok(outcomes)
    }
}

/// Carries out one plan; a failure tells how far it came, and what goes on from there.
fn carry_out_one(plan: AgentPlan, top: &Path, again: CommandWords) -> AgentPlan {
    let mut outcome = act::carry_out(plan, top);
    let agent = outcome.agent.into_str();
    let is_done = |change: &&SettingsChange| change.found != change.wanted;
    let done = match (
        outcome.changes.iter().filter(is_done).count(),
        outcome.failed.len(),
    ) {
        (0, _) => format!("nothing of {agent} was changed:"),
        (_, 0) => format!("all of {agent} is done, but:"),
        (done, failed) => {
            let done = count(done, "file is", "files are");
            format!("of {agent}, {done} done and {failed} not:")
        }
    };
    outcome.failure = outcome.failure.map(|cause| {
        let next = next_step(&cause, again);
        cause.after(&done, Some(next))
    });
    outcome
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
    let found = found.ok_or_else(|| Error::unexpected("the path of this program is not known"))?;
    let is_plain = |path: &&str| !path.contains(char::is_control) && is_our_name(path);
    let path = found.to_str().filter(is_plain).map(str::to_owned);
    path.ok_or_else(|| Error::usage(format!(
            "agents call this program by its path, which must be plain text and end in checkpoint; it is {}",
            escape_path(&found)
        )))
}

/// Returns the program as it is written into the plugin: a path as an absolute one, as the plugin is
/// called from everywhere; a bare name as it is, as `PATH` may find it on another machine.
fn named_program(typed: &str) -> Result<String> {
    let is_bare = Path::new(typed).components().count() == 1;
    let path = if is_bare {
        Some(typed.to_owned())
    } else {
        let path: PathBuf = environment::absolute(Path::new(typed))?
            .components()
            .collect();
        path.to_str().map(str::to_owned)
    };
    let is_plain = |path: &String| is_our_name(path) && !path.contains(char::is_control);
    path.filter(is_plain).ok_or_else(|| {
        Error::usage(format!(
            "--program must end in checkpoint, and '{typed}' does not"
        ))
    })
}
