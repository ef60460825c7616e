//! Databases in a restore, as text and as JSON.

use crate::model::json::DatabaseName;
use crate::ops::restore::restore_options::{DatabaseFate, DatabaseReport};
use crate::view::document::{JsonSchema, Serialize};
use crate::view::format::Paint;

/// Lists the databases to restore, one per line.
pub fn listing(databases: &[DatabaseReport], paint: Paint) -> String {
    let planned = databases
        .iter()
        .filter(|report| report.fate == DatabaseFate::Planned);
    planned
        .map(|report| {
            format!(
                "{}\n",
                paint.yellow(&format!("  {:<7}{}", "db", report.database))
            )
        })
        .collect()
}

/// Whether a restore changes it.
pub fn is_concerned(report: &DatabaseReport) -> bool {
    matches!(report.fate, DatabaseFate::Planned | DatabaseFate::Restored)
}

/// Describes the databases that were left unchanged.
pub fn left(databases: &[DatabaseReport]) -> String {
    let told = databases.iter().filter_map(|report| match report.fate {
        DatabaseFate::Unchanged => {
            Some(format!("database {} is already as it was then\n", report.database))
        }
        DatabaseFate::Left => Some(format!(
            "database {} did not exist then; it was left, because another program may have it open\n",
            report.database
        )),
        _ => None,
    });
    told.collect()
}

/// Formats one line for each failed database, with the next step.
pub fn failures(databases: &[DatabaseReport], way_on: &str, paint: Paint) -> String {
    let told = databases.iter().filter_map(|report| match &report.fate {
        DatabaseFate::Failed(why) => Some(format!(
            "{} database {} was not restored: {why}; {way_on}\n",
            paint.red("checkpoint:"),
            report.database
        )),
        _ => None,
    });
    told.collect()
}

/// What a restore did with a database.
#[derive(Serialize, JsonSchema)]
pub struct RestoredDatabase {
    #[serde(flatten)]
    database: DatabaseName,
    /// `planned`, `restored`, `unchanged`, `left` or `failed`.
    outcome: &'static str,
    /// Why it failed.
    why: Option<String>,
}

pub fn reports(reports: &[DatabaseReport]) -> Vec<RestoredDatabase> {
    let one = |report: &DatabaseReport| {
        let (outcome, why) = match &report.fate {
            DatabaseFate::Planned => ("planned", None),
            DatabaseFate::Restored => ("restored", None),
            DatabaseFate::Unchanged => ("unchanged", None),
            DatabaseFate::Left => ("left", None),
            DatabaseFate::Failed(why) => ("failed", Some(why.clone())),
        };
        RestoredDatabase {
            database: DatabaseName::new(&report.database),
            outcome,
            why,
        }
    };
    reports.iter().map(one).collect()
}
