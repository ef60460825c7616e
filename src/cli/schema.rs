//! `schema`: the JSON Schemas of all answers, and of the documents that agents read.

use serde_json::Value;

use crate::agent::DoctorOutcome;
use crate::answer::contract::{CheckpointContract, RollbackContract};
use crate::answer::envelope;
use crate::base::json::{self, JsonSchema, Serialize};
use crate::commands::cat::CatAnswer;
use crate::commands::report::ReportAnswer;
use crate::commands::restore::RestoreAnswer;
use crate::commands::run::RunAnswer;
use crate::commands::setup::SetupOutcome;
use crate::commands::ui::UiAnswer;
use crate::commands::watch::WatchOutcome;
use crate::commands::{create, diff, show, status};
use crate::config::Environment;
use crate::error::{Code, Error, Result, exit_code};
use crate::model::TextAnswer;
use crate::ops::create::copies::CopiesManifest;
use crate::ops::{
    BisectOutcome, CloneOutcome, ConfigOutcome, DeleteOutcome, ExportOutcome, FetchOutcome,
    FindOutcome, GuardOutcome, HoldOutcome, ImportOutcome, ListOutcome, LsOutcome, OrphansOutcome,
    PinOutcome, PromptsOutcome, PruneOutcome, PushOutcome, ReleaseOutcome, RelinkOutcome,
    RemoteOutcome, RewordOutcome, StepsOutcome, StoreList, VerifyOutcome,
};
use crate::shell::{CommandContext, RunAnywhere};
use crate::workflow::profiles::pipeline::PIPELINE_SCHEMA;
use crate::workflow::{
    ComparedRun, EndOutcome, Exported, Listed, RecoverOutcome, ResumeOutcome, RewindOutcome, Shown,
    Status, StepOutcome,
};

/// Print the JSON Schema of a document
#[derive(Debug, clap::Args)]
#[command(hide = true)]
pub struct SchemaArgs {
    /// Name of the document [default: list the names]
    #[arg(value_name = "NAME")]
    pub name: Option<String>,
}

impl RunAnywhere for SchemaArgs {
    fn run(self, cmd: &mut CommandContext<'_>, _: Environment) -> Result<u8> {
        let text = match &self.name {
            None => names().join("\n") + "\n",
            Some(name) => text(name).ok_or_else(|| {
                let what = format!("there is no schema named '{name}'");
                Error::new(Code::NOTHING_FOUND, what).advise("'checkpoint schema' lists them")
            })?,
        };
        if cmd.printer.json {
            let names = || names().into_iter().map(str::to_owned).collect();
            let schema = self.name.as_ref().map(|_| serde_json::from_str(&text));
            let answer = SchemaAnswer {
                names: self.name.is_none().then(names),
                schema: schema.map(Result::unwrap_or_default),
            };
            cmd.document(exit_code::DONE, &answer, &[], None);
        } else {
            cmd.printer.data(&text);
        }
        Ok(exit_code::DONE)
    }
}

/// Documents whose formats other programs prescribe.
const DOCUMENTS: [(&str, &str); 1] = [("pipeline-state", PIPELINE_SCHEMA)];

/// The schema of an answer, by the name of its command.
type Schema = fn(&str) -> Value;

/// The answer to `schema` itself.
#[derive(Serialize, JsonSchema)]
pub struct SchemaAnswer {
    /// The names of all schemas; null if one was named.
    names: Option<Vec<String>>,
    /// The schema that was named.
    schema: Option<Value>,
}

macro_rules! answers {
    ($($($name:literal)+ => $answer:ty,)*) => {
        [$($(($name, envelope::schema::<$answer> as Schema)),+),*]
    };
}

/// What is no answer.
const OTHERS: [(&str, Schema); 3] = [
    ("contract", |_| json::schema::<CheckpointContract>()),
    ("copies", |_| json::schema::<CopiesManifest>()),
    ("restore-contract", |_| json::schema::<RollbackContract>()),
];

/// Every answer; one without a value is of wrong usage, or of a command that prints no document.
const ANSWERS: &[(&str, Schema)] = &answers! {
    "hook" "mcp" "phase" "remote" "task" "usage" "workflow" => (),
    "completions" "help" "man" "statusline" => TextAnswer,
    "bisect" => BisectOutcome,
    "cat" => CatAnswer,
    "clone" => CloneOutcome,
    "config" "config.set" "config.unset" => ConfigOutcome,
    "create" => create::CreateAnswer,
    "delete" => DeleteOutcome,
    "diff" => diff::DiffAnswer,
    "doctor" => DoctorOutcome,
    "export" => ExportOutcome,
    "fetch" => FetchOutcome,
    "find" => FindOutcome,
    "guard" => GuardOutcome,
    "hold" => HoldOutcome,
    "import" => ImportOutcome,
    "list" => ListOutcome,
    "list.all" => StoreList,
    "ls" => LsOutcome,
    "pin" "unpin" => PinOutcome,
    "prune" => PruneOutcome,
    "prune.orphaned" => OrphansOutcome,
    "push" => PushOutcome,
    "redo" "restore" "rewind" "undo" => RestoreAnswer,
    "release" => ReleaseOutcome,
    "relink" => RelinkOutcome,
    "remote.add" "remote.list" "remote.remove" => RemoteOutcome,
    "report" => ReportAnswer,
    "rewind.list" => PromptsOutcome,
    "reword" => RewordOutcome,
    "run" => RunAnswer,
    "schema" => SchemaAnswer,
    "setup" => SetupOutcome,
    "show" => show::ShowAnswer,
    "status" => status::StatusAnswer,
    "undo.list" => StepsOutcome,
    "ui" => UiAnswer,
    "verify" => VerifyOutcome,
    "watch" => WatchOutcome,
    "phase.approve" "phase.done" "phase.fail" "phase.progress" "phase.skip" "phase.start"
    "task.add" "task.done" "task.fail" "task.reset" "task.start"
    "workflow.import" "workflow.init" "workflow.note" => StepOutcome,
    "task.list" "workflow.check" "workflow.next" "workflow.status" => Status,
    "workflow.cleanup" "workflow.end" => EndOutcome,
    "workflow.export" => Exported,
    "workflow.list" => Listed,
    "workflow.recover" => RecoverOutcome,
    "workflow.resume" => ResumeOutcome,
    "workflow.rewind" => RewindOutcome,
    "workflow.show" => Shown,
    "workflow.show.revisions" => ComparedRun,
};

fn all() -> impl Iterator<Item = &'static (&'static str, Schema)> {
    ANSWERS.iter().chain(&OTHERS)
}

/// Returns the names of all schemas.
pub fn names() -> Vec<&'static str> {
    let answers = all().map(|(name, _)| *name);
    let documents = DOCUMENTS.iter().map(|(name, _)| *name);
    let mut names: Vec<&str> = documents.chain(answers).collect();
    names.sort_unstable();
    names
}

/// Returns a schema as text; `None` if there is none of that name.
pub fn text(name: &str) -> Option<String> {
    let found = DOCUMENTS.iter().find(|(known, _)| *known == name);
    if let Some((_, text)) = found {
        return Some((*text).to_owned());
    }
    of_answer(name).map(|schema| format!("{schema:#}\n"))
}

/// Returns the schema of an answer; `None` if there is none of that name.
pub fn of_answer(name: &str) -> Option<Value> {
    let (_, schema) = all().find(|(known, _)| *known == name)?;
    Some(schema(name))
}
