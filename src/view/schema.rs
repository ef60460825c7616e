//! The JSON Schemas of all answers, and of the documents that agents read.

use serde_json::Value;

use crate::view::document::{self, JsonSchema, Serialize};
use crate::view::envelope::{self, envelope};
use crate::view::parts::TextAnswer;
use crate::view::workflow::answers as runs;
use crate::view::{
    bisect, cat, config, copies, create, delete, diff, doctor, export, find, guard, hold, import,
    list, ls, pin, prune, relink, remote, restore, rewind, reword, setup, show, status, stores,
    undo, verify,
};
use crate::workflow::profiles::pipeline_schema::PIPELINE_SCHEMA;

/// Documents whose formats other programs prescribe.
const DOCUMENTS: [(&str, &str); 3] = [
    ("contract", include_str!("schemas/contract.json")),
    ("pipeline-state", PIPELINE_SCHEMA),
    (
        "restore-contract",
        include_str!("schemas/restore-contract.json"),
    ),
];

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

/// Every answer; `usage` is that of a command line without a command.
const ANSWERS: [(&str, Schema); 53] = [
    ("bisect", envelope::schema::<bisect::BisectAnswer>),
    ("cat", envelope::schema::<cat::CatAnswer>),
    ("clone", envelope::schema::<remote::CloneAnswer>),
    ("completions", envelope::schema::<TextAnswer>),
    ("config", envelope::schema::<config::ConfigAnswer>),
    ("config.set", envelope::schema::<config::ConfigAnswer>),
    ("create", envelope::schema::<create::CreateAnswer>),
    ("delete", envelope::schema::<delete::DeleteAnswer>),
    ("diff", envelope::schema::<diff::DiffAnswer>),
    ("doctor", envelope::schema::<doctor::DoctorAnswer>),
    ("export", envelope::schema::<export::ExportAnswer>),
    ("fetch", envelope::schema::<remote::FetchAnswer>),
    ("find", envelope::schema::<find::FindAnswer>),
    ("guard", envelope::schema::<guard::GuardAnswer>),
    ("help", envelope::schema::<TextAnswer>),
    ("hook", envelope::schema::<()>),
    ("hold", envelope::schema::<hold::HoldAnswer>),
    ("import", envelope::schema::<import::ImportAnswer>),
    ("list", envelope::schema::<list::ListAnswer>),
    ("list_all", envelope::schema::<stores::ListAllAnswer>),
    ("man", envelope::schema::<TextAnswer>),
    ("mcp", envelope::schema::<()>),
    ("ls", envelope::schema::<ls::LsAnswer>),
    ("pin", envelope::schema::<pin::PinAnswer>),
    ("plugin", envelope::schema::<()>),
    ("plugin.emit", envelope::schema::<setup::PluginEmitAnswer>),
    ("prompt", envelope::schema::<TextAnswer>),
    ("prune", envelope::schema::<prune::PruneAnswer>),
    (
        "prune_orphaned",
        envelope::schema::<stores::PruneOrphanedAnswer>,
    ),
    ("push", envelope::schema::<remote::PushAnswer>),
    ("redo", envelope::schema::<restore::RestoreAnswer>),
    ("release", envelope::schema::<hold::ReleaseAnswer>),
    ("relink", envelope::schema::<relink::RelinkAnswer>),
    ("remote", envelope::schema::<()>),
    ("remote.add", envelope::schema::<remote::RemoteAnswer>),
    ("remote.list", envelope::schema::<remote::RemoteAnswer>),
    ("remote.remove", envelope::schema::<remote::RemoteAnswer>),
    ("remote.drop", envelope::schema::<remote::DroppedLineAnswer>),
    ("restore", envelope::schema::<restore::RestoreAnswer>),
    ("rewind", envelope::schema::<restore::RestoreAnswer>),
    ("rewind.list", envelope::schema::<rewind::RewindListAnswer>),
    ("reword", envelope::schema::<reword::RewordAnswer>),
    ("schema", envelope::schema::<SchemaAnswer>),
    ("setup", envelope::schema::<setup::SetupAnswer>),
    ("show", envelope::schema::<show::ShowAnswer>),
    ("status", envelope::schema::<status::StatusAnswer>),
    ("statusline", envelope::schema::<TextAnswer>),
    ("undo", envelope::schema::<restore::RestoreAnswer>),
    ("undo.list", envelope::schema::<undo::UndoListAnswer>),
    ("unpin", envelope::schema::<pin::PinAnswer>),
    ("usage", envelope::schema::<()>),
    ("verify", envelope::schema::<verify::VerifyAnswer>),
    // A file, not an answer.
    ("copies", |_| document::schema::<copies::CopiesManifest>()),
];

/// The answers of `workflow`, `phase` and `task`; those without a word are of wrong usage.
const RUN_ANSWERS: [(&str, Schema); 35] = [
    ("phase", envelope::schema::<()>),
    ("phase.approve", envelope::schema::<runs::StepAnswer>),
    ("phase.done", envelope::schema::<runs::StepAnswer>),
    ("phase.fail", envelope::schema::<runs::StepAnswer>),
    ("phase.progress", envelope::schema::<runs::StepAnswer>),
    ("phase.skip", envelope::schema::<runs::StepAnswer>),
    ("phase.start", envelope::schema::<runs::StepAnswer>),
    ("task", envelope::schema::<()>),
    ("task.add", envelope::schema::<runs::StepAnswer>),
    ("task.done", envelope::schema::<runs::StepAnswer>),
    ("task.fail", envelope::schema::<runs::StepAnswer>),
    ("task.list", envelope::schema::<runs::TaskListAnswer>),
    ("task.reset", envelope::schema::<runs::StepAnswer>),
    ("task.start", envelope::schema::<runs::StepAnswer>),
    ("workflow", envelope::schema::<()>),
    ("workflow.abandon", envelope::schema::<runs::RunStepAnswer>),
    ("workflow.archive", envelope::schema::<runs::EndAnswer>),
    ("workflow.cleanup", envelope::schema::<runs::EndAnswer>),
    ("workflow.delete", envelope::schema::<runs::EndAnswer>),
    ("workflow.export", envelope::schema::<runs::DocumentAnswer>),
    ("workflow.import", envelope::schema::<runs::RunStepAnswer>),
    ("workflow.init", envelope::schema::<runs::RunStepAnswer>),
    (
        "workflow.interrupt",
        envelope::schema::<runs::RunStepAnswer>,
    ),
    ("workflow.lint", envelope::schema::<runs::LintAnswer>),
    ("workflow.list", envelope::schema::<runs::RunListAnswer>),
    (
        "workflow.mini_commit",
        envelope::schema::<runs::MiniCommitAnswer>,
    ),
    ("workflow.next", envelope::schema::<runs::NextAnswer>),
    ("workflow.note", envelope::schema::<runs::RunStepAnswer>),
    ("workflow.recover", envelope::schema::<runs::RecoverAnswer>),
    ("workflow.resume", envelope::schema::<runs::ResumeAnswer>),
    ("workflow.rewind", envelope::schema::<runs::RewindAnswer>),
    ("workflow.set", envelope::schema::<runs::RunStepAnswer>),
    ("workflow.show", envelope::schema::<runs::RunShowAnswer>),
    ("workflow.status", envelope::schema::<runs::RunStatusAnswer>),
    (
        "workflow.validate",
        envelope::schema::<runs::RunStatusAnswer>,
    ),
];

/// Returns the names of all schemas.
pub fn names() -> Vec<&'static str> {
    let answers = ANSWERS.iter().chain(&RUN_ANSWERS).map(|(name, _)| *name);
    let mut names: Vec<&str> = DOCUMENTS
        .iter()
        .map(|(name, _)| *name)
        .chain(answers)
        .collect();
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
    let mut answers = ANSWERS.iter().chain(&RUN_ANSWERS);
    let (_, schema) = answers.find(|(known, _)| *known == name)?;
    Some(schema(name))
}

/// Returns the names, or with `schema` that one.
pub fn json(schema: Option<&str>) -> String {
    let names = || names().into_iter().map(str::to_owned).collect();
    let data = SchemaAnswer {
        names: schema.is_none().then(names),
        schema: schema.map(|text| serde_json::from_str(text).unwrap_or_default()),
    };
    envelope("schema", 0, &data, &[])
}
