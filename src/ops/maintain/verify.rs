//! `verify`: checks the store and every checkpoint in it, and repairs on request.

use crate::base::json::{JsonSchema, Serialize};
use crate::error::Result;
use crate::model::{CheckpointId, ObjectId};
use crate::ops::browse::list::reader_warnings;
use crate::ops::maintain::repair::{self, check_with_retries};
use crate::ops::select::checkpoint::find;
use crate::ops::{Context, RepairOutcome, Warning};
use crate::store::trees::digest;
use crate::store::{Inventory, Store};

pub use crate::store::damage::check_report::{CheckReport, Fault, FaultyCheckpoint, FileFinding};
pub use crate::store::damage::salvage::Salvaged;

/// What `verify` found, and what `--repair` did about it.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct VerifyOutcome {
    /// Whether there is a store.
    pub exists: bool,
    /// Digest of the content of the selected checkpoint, if that is whole.
    pub content: Option<String>,
    #[serde(flatten)]
    pub report: CheckReport,
    /// Null without `--repair`.
    #[serde(rename = "repair")]
    pub repaired: Option<RepairOutcome>,
    #[serde(skip)]
    pub warnings: Vec<Warning>,
}

impl VerifyOutcome {
    /// Whether the store is whole and a repair lost nothing.
    pub fn is_whole(&self) -> bool {
        self.report.is_whole()
            && self
                .repaired
                .as_ref()
                .is_none_or(RepairOutcome::lost_nothing)
    }
}

/// Checks the store, or only one checkpoint; `full` reads and hashes every object.
pub fn verify(
    context: &Context,
    selector: Option<&str>,
    full: bool,
    repair: bool,
) -> Result<VerifyOutcome> {
    if repair {
        let repaired = repair::repair(context)?;
        return Ok(
            repaired.map_or_else(VerifyOutcome::default, |(repaired, report, warnings)| {
                VerifyOutcome {
                    exists: true,
                    report,
                    repaired: Some(repaired),
                    warnings,
                    ..VerifyOutcome::default()
                }
            }),
        );
    }
    let Some(mut store) = context.find_store()? else {
        return match selector {
            Some(_) => Err(context.no_store()),
            None => Ok(VerifyOutcome::default()),
        };
    };
    let inventory = store.inventory()?;
    let only = selector
        .map(|query| resolve(context, &inventory, query))
        .transpose()?;
    let report = check_with_retries(context, &mut store, only.as_ref(), full)?;
    let inventory = store.inventory()?;
    let mut warnings = reader_warnings(context, &store, &inventory)?;
    // Reported here as findings instead.
    warnings
        .retain(|warning| !matches!(warning, Warning::Damaged { .. } | Warning::RefsLost { .. }));
    let id = only
        .and_then(|id| id.commit())
        .filter(|_| report.is_whole());
    let hash = id
        .map(|id| content_of(&store, &inventory, id))
        .transpose()?;
    Ok(VerifyOutcome {
        exists: true,
        content: hash.flatten(),
        report,
        warnings,
        ..VerifyOutcome::default()
    })
}

/// Returns the content digest that contracts name.
fn content_of(store: &Store, inventory: &Inventory, id: ObjectId) -> Result<Option<String>> {
    let own = inventory.get(id).cloned();
    let Some(checkpoint) = own.or_else(|| store.find_fetched(id)) else {
        return Ok(None);
    };
    let (snapshot, extras) = (store.snapshot(&checkpoint)?, store.extras(&checkpoint)?);
    let sum = digest::sum(store.objects(), &snapshot, &extras);
    sum.map(|sum| Some(sum.hash))
        .map_err(|why| store.damage(id, why))
}

/// Resolves the selector; a damaged checkpoint can be named by its id.
fn resolve(context: &Context, inventory: &Inventory, query: &str) -> Result<CheckpointId> {
    match find(context, inventory, query) {
        Ok(found) => Ok(found.id.into()),
        Err(cause) => inventory
            .damaged_by_prefix(query)
            .map(|damaged| damaged.id.clone())
            .ok_or(cause),
    }
}
