//! The data of `verify`. Where damage is found the document is a failure, and the data stands beside the error.

use serde_json::{Value, json};

use crate::error::Error;
use crate::ops::maintain::repair::Mended;
use crate::ops::maintain::verify::{DamagedState, Fault, FileFinding, VerifyOutcome};
use crate::view::human::verify::damage;
use crate::view::json::failure::partial;
use crate::view::json::parts::{envelope, hex, with_path};

pub fn verify(outcome: &VerifyOutcome, exit: u8) -> String {
    let report = &outcome.report;
    let data = json!({
        "exists": outcome.exists,
        "checkpoints": report.checkpoints,
        "content": outcome.content,
        "objects": report.objects,
        "bytes": report.bytes,
        "damaged": report.damaged.iter().map(state).collect::<Vec<_>>(),
        "files": report.files.iter().map(file).collect::<Vec<_>>(),
        "derived": report.derived.iter().map(file).collect::<Vec<_>>(),
        "repair": outcome.mended.as_ref().map(mended),
    });
    if exit == 0 {
        return envelope("verify", exit, &data, &outcome.warnings);
    }
    let message = match outcome.mended.as_ref().and_then(|mended| mended.salvaged.as_ref()) {
        Some(salvaged) if report.is_whole() => format!("{} checkpoints could not be made whole", salvaged.lost.len()),
        _ => damage(report),
    };
    let error = Error::Damaged { what: "the store".into(), why: message };
    partial("verify", exit, &data, &outcome.warnings, Some(&error))
}

fn state(state: &DamagedState) -> Value {
    json!({
        "id": state.id.digits(),
        "short": state.id.short(),
        "reason": state.reason,
        "faults": state.faults.iter().map(fault).collect::<Vec<_>>(),
    })
}

fn fault(fault: &Fault) -> Value {
    let told = json!({"why": fault.why, "object": fault.object.map(hex)});
    fault.path.as_ref().map_or(told.clone(), |path| with_path(told, path))
}

fn file(finding: &FileFinding) -> Value {
    json!({"file": finding.file.display().to_string(), "why": finding.why})
}

fn mended(mended: &Mended) -> Value {
    let salvaged = mended.salvaged.as_ref().map(|salvaged| {
        json!({
            "kept_as": salvaged.kept_as.display().to_string(),
            "whole": salvaged.whole,
            "in_part": salvaged.in_part,
            "lost": salvaged.lost.iter().map(state).collect::<Vec<_>>(),
            "lost_refs": salvaged.lost_refs,
        })
    });
    json!({
        "derived": mended.derived.iter().map(file).collect::<Vec<_>>(),
        "set_aside": mended.set_aside.iter().map(|path| path.display().to_string()).collect::<Vec<_>>(),
        "healed": mended.healed,
        "fetched": mended.fetched,
        "salvaged": salvaged,
    })
}
