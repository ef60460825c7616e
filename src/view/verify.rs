//! `verify` as text and as JSON.

use crate::base::text::{escape, escape_path};
use crate::error::Error;
use crate::error::sentence::Sentence;
use crate::model::json::{CheckpointRef, PathName};
use crate::model::state::object_id::ObjectId;
use crate::ops::maintain::repair::RepairOutcome;
use crate::ops::maintain::verify::{
    CheckReport, Fault, FaultyCheckpoint, FileFinding, Salvaged, VerifyOutcome,
};
use crate::ops::warning::warning_words::thousands;
use crate::view::document::{JsonSchema, Serialize};
use crate::view::envelope::{envelope, partial};
use crate::view::format::{count, size};
use crate::view::words::Output;

pub fn human(outcome: &VerifyOutcome) -> Output {
    if !outcome.exists {
        return Output::default();
    }
    let mut result = outcome.repaired.as_ref().map(repaired).unwrap_or_default();
    result.push_str(
        &outcome
            .report
            .damaged
            .iter()
            .map(faulty)
            .collect::<String>(),
    );
    result.push_str(
        &outcome
            .report
            .files
            .iter()
            .map(|file| format!("damaged: {}\n", found(file)))
            .collect::<String>(),
    );
    let derived = outcome.report.derived.iter();
    result.push_str(
        &derived
            .map(|file| format!("will be rebuilt: {}\n", found(file)))
            .collect::<String>(),
    );
    if outcome.is_whole() {
        result.push_str(&summary(&outcome.report));
        result.extend(
            outcome
                .content
                .iter()
                .map(|hash| format!("content: {hash}\n")),
        );
    }
    Output {
        result,
        talk: String::new(),
    }
}

/// Returns what was found damaged, or could not be repaired, and what to do next.
pub fn failure(outcome: &VerifyOutcome) -> Error {
    let report = &outcome.report;
    let repaired = outcome.repaired.as_ref();
    match repaired.and_then(|repaired| repaired.salvaged.as_ref()) {
        Some(salvaged) if report.is_whole() => Error::DamageFound {
            what: format!("{} could not be repaired", lost(salvaged)),
            hint: Sentence::text(format!(
                "what is left is in {}",
                escape_path(&salvaged.kept_as)
            )),
        },
        _ if repaired.is_some() => Error::DamageFound {
            what: format!("{} and cannot be repaired", damage(report)),
            hint: Sentence::new(
                "'checkpoint restore ID PATH' restores what is left, 'checkpoint delete ID' deletes it",
                &[],
            ),
        },
        _ => Error::DamageFound {
            what: damage(report),
            hint: Sentence::new("'checkpoint verify --repair' repairs what it can", &[]),
        },
    }
}

/// Formats `2 checkpoints and 1 ref` of what a repair lost.
fn lost(salvaged: &Salvaged) -> String {
    let checkpoints = count(salvaged.lost.len(), "checkpoint", "checkpoints");
    let refs = count(salvaged.lost_refs.len(), "ref", "refs");
    match (salvaged.lost.is_empty(), salvaged.lost_refs.is_empty()) {
        (true, _) => refs,
        (_, true) => checkpoints,
        _ => format!("{checkpoints} and {refs}"),
    }
}

/// Formats `2 checkpoints and 1 file are damaged`.
pub fn damage(report: &CheckReport) -> String {
    let mut parts = Vec::new();
    if !report.damaged.is_empty() {
        parts.push(count(report.damaged.len(), "checkpoint", "checkpoints"));
    }
    if !report.files.is_empty() {
        parts.push(format!(
            "{} of the store",
            count(report.files.len(), "file", "files")
        ));
    }
    let is = if report.damaged.len() + report.files.len() == 1 {
        "is"
    } else {
        "are"
    };
    format!("{} {is} damaged", parts.join(" and "))
}

fn summary(report: &CheckReport) -> String {
    format!(
        "verified: {}, {} {}, {}\n",
        count(report.checkpoints, "checkpoint", "checkpoints"),
        thousands(report.objects),
        if report.objects == 1 {
            "object"
        } else {
            "objects"
        },
        size(report.bytes)
    )
}

fn faulty(faulty: &FaultyCheckpoint) -> String {
    let named = match &faulty.reason {
        Some(reason) => format!("{} ({})", faulty.id.short(), escape(reason)),
        None => faulty.id.short(),
    };
    faulty
        .faults
        .iter()
        .map(|fault| format!("{named}: {}\n", fault_line(fault)))
        .collect()
}

fn fault_line(fault: &Fault) -> String {
    match &fault.path {
        Some(path) => format!("{path}: {}", escape(&fault.why)),
        None => escape(&fault.why),
    }
}

fn found(finding: &FileFinding) -> String {
    format!(
        "{}: {}",
        escape(&finding.file.to_string_lossy()),
        escape(&finding.why)
    )
}

fn repaired(repaired: &RepairOutcome) -> String {
    let mut text: String = repaired
        .derived
        .iter()
        .map(|file| format!("rebuilt: {}\n", found(file)))
        .collect();
    for path in &repaired.set_aside {
        text.push_str(&format!("set aside: {}\n", escape_path(path)));
    }
    if repaired.healed > 0 {
        text.push_str(&format!(
            "repaired: {}\n",
            count(repaired.healed, "checkpoint", "checkpoints")
        ));
    }
    if repaired.fetched > 0 {
        let many = count(repaired.fetched, "checkpoint", "checkpoints");
        text.push_str(&format!("restored from the damaged copy: {many}\n"));
    }
    if let Some(salvaged) = &repaired.salvaged {
        let known = salvaged.whole + salvaged.in_part + salvaged.lost.len();
        let in_part = if salvaged.in_part > 0 {
            format!(", {} more in part", salvaged.in_part)
        } else {
            String::new()
        };
        let kept = escape_path(&salvaged.kept_as);
        text.push_str(&format!(
            "salvaged: {} of {known} checkpoints{in_part}; the damaged store is kept as {kept}\n",
            salvaged.whole
        ));
        text.push_str(
            &salvaged
                .lost
                .iter()
                .map(|lost| format!("lost: {}", faulty(lost)))
                .collect::<String>(),
        );
        text.push_str(
            &salvaged
                .lost_refs
                .iter()
                .map(|name| format!("lost: {}\n", escape(name)))
                .collect::<String>(),
        );
    }
    if repaired.is_nothing() {
        text.push_str("nothing to repair\n");
    }
    text
}

/// What `verify` found, and what `--repair` did about it.
#[derive(Serialize, JsonSchema)]
pub struct VerifyAnswer {
    /// Whether there is a store.
    exists: bool,
    /// Numbers of what was read.
    checkpoint_count: usize,
    objects: u64,
    checked_bytes: u64,
    /// Digest of the content of the checkpoint that was named.
    content: Option<String>,
    damaged: Vec<FaultyCheckpointJson>,
    /// Damaged files of the store.
    files: Vec<FileFindingJson>,
    /// Damaged files of the store that can be made from others.
    derived: Vec<FileFindingJson>,
    /// Null without `--repair`.
    repair: Option<RepairJson>,
}

/// A damaged checkpoint.
#[derive(Serialize, JsonSchema)]
struct FaultyCheckpointJson {
    #[serde(flatten)]
    checkpoint: CheckpointRef,
    faults: Vec<FaultJson>,
}

/// What is damaged in a checkpoint.
#[derive(Serialize, JsonSchema)]
struct FaultJson {
    path: Option<String>,
    path_hex: Option<String>,
    object_id: Option<String>,
    why: String,
}

/// What is wrong with a file of the store.
#[derive(Serialize, JsonSchema)]
struct FileFindingJson {
    file: String,
    why: String,
}

/// What a repair did.
#[derive(Serialize, JsonSchema)]
struct RepairJson {
    /// Files that were made anew.
    derived: Vec<FileFindingJson>,
    set_aside: Vec<String>,
    /// Number of checkpoints made whole from the directory.
    healed: usize,
    /// Number of checkpoints brought back from a kept copy.
    fetched: usize,
    /// Set if a fresh store was made of what could be read.
    salvaged: Option<SalvagedJson>,
}

/// What could be read of a damaged store.
#[derive(Serialize, JsonSchema)]
struct SalvagedJson {
    /// Where the damaged store is.
    kept_as: String,
    whole: usize,
    in_part: usize,
    lost: Vec<FaultyCheckpointJson>,
    lost_refs: Vec<String>,
}

pub fn json(outcome: &VerifyOutcome, exit: u8) -> String {
    let report = &outcome.report;
    let data = VerifyAnswer {
        exists: outcome.exists,
        checkpoint_count: report.checkpoints,
        objects: report.objects,
        checked_bytes: report.bytes,
        content: outcome.content.clone(),
        damaged: report.damaged.iter().map(faulty_json).collect(),
        files: report.files.iter().map(file).collect(),
        derived: report.derived.iter().map(file).collect(),
        repair: outcome.repaired.as_ref().map(repaired_json),
    };
    if exit == 0 {
        return envelope("verify", exit, &data, &outcome.warnings);
    }
    let error = failure(outcome);
    partial("verify", exit, &data, &outcome.warnings, Some(&error))
}

fn faulty_json(faulty: &FaultyCheckpoint) -> FaultyCheckpointJson {
    FaultyCheckpointJson {
        checkpoint: CheckpointRef::of_parts(&faulty.id, faulty.reason.as_deref(), None),
        faults: faulty.faults.iter().map(fault).collect(),
    }
}

fn fault(fault: &Fault) -> FaultJson {
    let name = fault.path.as_ref().map(PathName::new);
    let (path, path_hex) = name.map_or((None, None), |name| (Some(name.path), name.path_hex));
    FaultJson {
        path,
        path_hex,
        object_id: fault.object.map(ObjectId::to_hex),
        why: fault.why.clone(),
    }
}

fn file(finding: &FileFinding) -> FileFindingJson {
    FileFindingJson {
        file: finding.file.display().to_string(),
        why: finding.why.clone(),
    }
}

fn repaired_json(repaired: &RepairOutcome) -> RepairJson {
    let salvaged = repaired.salvaged.as_ref();
    let set_aside = repaired.set_aside.iter();
    RepairJson {
        derived: repaired.derived.iter().map(file).collect(),
        set_aside: set_aside.map(|path| path.display().to_string()).collect(),
        healed: repaired.healed,
        fetched: repaired.fetched,
        salvaged: salvaged.map(|salvaged| SalvagedJson {
            kept_as: salvaged.kept_as.display().to_string(),
            whole: salvaged.whole,
            in_part: salvaged.in_part,
            lost: salvaged.lost.iter().map(faulty_json).collect(),
            lost_refs: salvaged.lost_refs.clone(),
        }),
    }
}
