//! `verify`: prints findings on stdout, and one line on stderr if there is damage.

use crate::base::text::thousands;
use crate::commands::prelude::*;
use crate::ops::maintain::verify::{
    CheckReport, Fault, FaultyCheckpoint, FileFinding, Salvaged, verify,
};
use crate::ops::{RepairOutcome, VerifyOutcome};

/// Check the store and every checkpoint in it
#[derive(Clone, Debug, clap::Args)]
pub struct VerifyArgs {
    /// Checkpoint: an id, @, latest~N, a reason, or a time such as '10m ago' [default: all]
    #[arg(value_name = "SEL", conflicts_with = "repair")]
    pub selector: Option<String>,
    /// Read and hash every object
    #[arg(long)]
    pub full: bool,
    /// Repair what can be repaired; damaged data is kept beside the store
    #[arg(long)]
    pub repair: bool,
}

impl Command for VerifyArgs {
    type Answer = VerifyOutcome;
    const TRAITS: Properties = Properties {
        left_by_a_signal: Some("nothing is lost, and the same command starts again"),
        ..Properties::LONG
    };

    fn run(self, context: &Context, _: &CommandContext<'_>) -> Result<Done<VerifyOutcome>> {
        let mut outcome = verify(context, self.selector.as_deref(), self.full, self.repair)?;
        let warnings = std::mem::take(&mut outcome.warnings);
        let error = (!outcome.is_whole()).then(|| failure(&outcome));
        Ok(Done::new(outcome, warnings).but(error))
    }
}

impl Text for VerifyOutcome {
    fn write(&self, out: &mut Out<'_>) {
        if !self.exists {
            return out.no_store();
        }
        if let Some(repair) = &self.repaired {
            write_repair(repair, out);
        }
        for checkpoint in &self.report.damaged {
            out.result.push_str(&faulty(checkpoint));
        }
        for file in &self.report.files {
            outln!(out, "damaged: {}", found(file));
        }
        for file in &self.report.derived {
            outln!(out, "will be rebuilt: {}", found(file));
        }
        if self.is_whole() {
            out.result.push_str(&summary(&self.report));
            if let Some(hash) = &self.content {
                outln!(out, "content: {hash}");
            }
        }
    }
}

/// Returns what was found damaged, or could not be repaired, and what to do next.
fn failure(outcome: &VerifyOutcome) -> Error {
    let report = &outcome.report;
    let repaired = outcome.repaired.as_ref();
    match repaired.and_then(|repaired| repaired.salvaged.as_ref()) {
        Some(salvaged) if report.is_whole() => {
            let what = format!("{} could not be repaired", lost(salvaged));
            let place = escape_path(&salvaged.kept_as);
            Error::new(Code::DAMAGED, what)
                .next(Sentence::text(format!("what is left is in {place}")))
        }
        _ if repaired.is_some() => {
            let what = format!("{} and cannot be repaired", damage(report));
            Error::new(Code::DAMAGED, what).advise("'checkpoint restore ID PATH' restores what is left, 'checkpoint delete ID' deletes it")
        }
        _ => Error::new(Code::DAMAGED, damage(report))
            .advise("'checkpoint verify --repair' repairs what it can"),
    }
}

/// Formats `2 checkpoints and 1 ref` of what a repair lost.
fn lost(salvaged: &Salvaged) -> String {
    let lost = counts(&[
        (salvaged.lost.len(), "checkpoint", "checkpoints"),
        (salvaged.lost_refs.len(), "ref", "refs"),
    ]);
    lost.join(" and ")
}

/// Formats `2 checkpoints and 1 file are damaged`.
fn damage(report: &CheckReport) -> String {
    let (damaged, files) = (report.damaged.len(), report.files.len());
    let parts = counts(&[
        (damaged, "checkpoint", "checkpoints"),
        (files, "file of the store", "files of the store"),
    ]);
    let is = if damaged + files == 1 { "is" } else { "are" };
    format!("{} {is} damaged", parts.join(" and "))
}

fn summary(report: &CheckReport) -> String {
    let all = checkpoints_and_safety(report.checkpoints, report.safety_count);
    let bytes = size(report.bytes);
    let objects = thousands(report.objects);
    let s = if report.objects == 1 { "" } else { "s" };
    format!("verified: {all}, {objects} object{s}, {bytes}\n")
}

fn faulty(faulty: &FaultyCheckpoint) -> String {
    let named = match &faulty.reason {
        Some(reason) => format!("{} ({})", faulty.id.short(), escape(reason)),
        None => faulty.id.short(),
    };
    let line = |fault: &Fault| {
        let path = fault.path.as_ref().map(|path| format!("{path}: "));
        let (path, why) = (path.unwrap_or_default(), escape(&fault.why));
        format!("{named}: {path}{why}\n")
    };
    faulty.faults.iter().map(line).collect()
}

fn found(finding: &FileFinding) -> String {
    let file = escape(&finding.file.to_string_lossy());
    format!("{file}: {}", escape(&finding.why))
}

fn write_repair(repair: &RepairOutcome, out: &mut Out<'_>) {
    for file in &repair.derived {
        outln!(out, "rebuilt: {}", found(file));
    }
    for path in &repair.set_aside {
        outln!(out, "set aside: {}", escape_path(path));
    }
    if repair.healed > 0 {
        outln!(out, "repaired: {}", checkpoints(repair.healed));
    }
    if repair.fetched > 0 {
        let fetched = checkpoints(repair.fetched);
        outln!(out, "restored from the damaged copy: {fetched}");
    }
    if let Some(salvaged) = &repair.salvaged {
        let known = salvaged.whole + salvaged.in_part + salvaged.lost.len();
        let in_part = match salvaged.in_part {
            0 => String::new(),
            more => format!(", {more} more in part"),
        };
        let (whole, kept) = (salvaged.whole, escape_path(&salvaged.kept_as));
        outln!(
            out,
            "salvaged: {whole} of {known} checkpoints{in_part}; the damaged store is kept as {kept}"
        );
        for lost in &salvaged.lost {
            out.result.push_str(&format!("lost: {}", faulty(lost)));
        }
        for name in &salvaged.lost_refs {
            outln!(out, "lost: {}", escape(name));
        }
    }
    if repair.is_nothing() {
        outln!(out, "nothing to repair");
    }
}
