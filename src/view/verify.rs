//! `verify` as text and as JSON.

use serde_json::{Value, json};

use crate::base::text::{escape, escape_path};
use crate::error::Error;
use crate::ops::maintain::repair::RepairOutcome;
use crate::ops::maintain::verify::{
    CheckReport, Fault, FaultyCheckpoint, FileFinding, VerifyOutcome,
};
use crate::ops::warning_words::thousands;
use crate::view::envelope::{envelope, hex, with_path};
use crate::view::failure::partial;
use crate::view::format::{Paint, count, size};
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

/// Describes in one line the damage found, and what to do next.
pub fn verdict(outcome: &VerifyOutcome, paint: Paint) -> String {
    let report = &outcome.report;
    let who = paint.red("checkpoint:");
    match outcome
        .repaired
        .as_ref()
        .and_then(|repaired| repaired.salvaged.as_ref())
    {
        Some(salvaged) if report.is_whole() => format!(
            "{who} {} could not be made whole; what is left of them is in {}\n",
            count(salvaged.lost.len(), "checkpoint", "checkpoints"),
            escape_path(&salvaged.kept_as)
        ),
        _ if outcome.repaired.is_some() => format!(
            "{who} {} and cannot be made whole ('checkpoint restore ID PATH' brings back what is left, \
             'checkpoint delete ID' drops it)\n",
            damage(report)
        ),
        _ => format!(
            "{who} {} ('checkpoint verify --repair' mends what can be mended)\n",
            damage(report)
        ),
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
        .map(|file| format!("made anew: {}\n", found(file)))
        .collect();
    for path in &repaired.set_aside {
        text.push_str(&format!("set aside: {}\n", escape_path(path)));
    }
    if repaired.healed > 0 {
        text.push_str(&format!(
            "made whole: {}\n",
            count(repaired.healed, "checkpoint", "checkpoints")
        ));
    }
    if repaired.fetched > 0 {
        let many = count(repaired.fetched, "checkpoint", "checkpoints");
        text.push_str(&format!("brought back from the kept copy: {many}\n"));
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
        text.push_str("nothing to mend\n");
    }
    text
}

pub fn json(outcome: &VerifyOutcome, exit: u8) -> String {
    let report = &outcome.report;
    let data = json!({
        "exists": outcome.exists,
        "checkpoints": report.checkpoints,
        "content": outcome.content,
        "objects": report.objects,
        "bytes": report.bytes,
        "damaged": report.damaged.iter().map(faulty_json).collect::<Vec<_>>(),
        "files": report.files.iter().map(file).collect::<Vec<_>>(),
        "derived": report.derived.iter().map(file).collect::<Vec<_>>(),
        "repair": outcome.repaired.as_ref().map(repaired_json),
    });
    if exit == 0 {
        return envelope("verify", exit, &data, &outcome.warnings);
    }
    let message = match outcome
        .repaired
        .as_ref()
        .and_then(|repaired| repaired.salvaged.as_ref())
    {
        Some(salvaged) if report.is_whole() => format!(
            "{} checkpoints could not be made whole",
            salvaged.lost.len()
        ),
        _ => damage(report),
    };
    let error = Error::Damaged {
        what: "the store".into(),
        why: message,
    };
    partial("verify", exit, &data, &outcome.warnings, Some(&error))
}

fn faulty_json(faulty: &FaultyCheckpoint) -> Value {
    json!({
        "id": faulty.id.digits(),
        "short": faulty.id.short(),
        "reason": faulty.reason,
        "faults": faulty.faults.iter().map(fault).collect::<Vec<_>>(),
    })
}

fn fault(fault: &Fault) -> Value {
    let fault_line = json!({"why": fault.why, "object": fault.object.map(hex)});
    fault
        .path
        .as_ref()
        .map_or(fault_line.clone(), |path| with_path(fault_line, path))
}

fn file(finding: &FileFinding) -> Value {
    json!({"file": finding.file.display().to_string(), "why": finding.why})
}

fn repaired_json(repaired: &RepairOutcome) -> Value {
    let salvaged = repaired.salvaged.as_ref().map(|salvaged| {
        json!({
            "kept_as": salvaged.kept_as.display().to_string(),
            "whole": salvaged.whole,
            "in_part": salvaged.in_part,
            "lost": salvaged.lost.iter().map(faulty_json).collect::<Vec<_>>(),
            "lost_refs": salvaged.lost_refs,
        })
    });
    json!({
        "derived": repaired.derived.iter().map(file).collect::<Vec<_>>(),
        "set_aside": repaired.set_aside.iter().map(|path| path.display().to_string()).collect::<Vec<_>>(),
        "healed": repaired.healed,
        "fetched": repaired.fetched,
        "salvaged": salvaged,
    })
}
