//! Databases in a restore, as text and as JSON.

use crate::model::json::PathName;
use crate::model::state::database::{Database, Databases, Held};
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

/// A database: a file has a path, any other a name.
#[derive(Serialize, JsonSchema)]
pub struct DatabaseName {
    /// `file` or `named`.
    kind: &'static str,
    path: Option<String>,
    path_hex: Option<String>,
    name: Option<String>,
}

impl DatabaseName {
    pub fn new(database: &Database) -> Self {
        let (file, name) = match database {
            Database::File(path) => (Some(PathName::new(path)), None),
            Database::Named(name) => (None, Some(name.clone())),
        };
        let (path, path_hex) = file.map_or((None, None), |file| (Some(file.path), file.path_hex));
        Self {
            kind: database.into_str(),
            path,
            path_hex,
            name,
        }
    }
}

/// A database that a checkpoint holds.
#[derive(Serialize, JsonSchema)]
pub struct HeldDatabase {
    #[serde(flatten)]
    database: DatabaseName,
    /// Id of its content; null if it was not there.
    blob_id: Option<String>,
}

pub fn held(databases: &Databases) -> Vec<HeldDatabase> {
    let one = |(database, held): (&Database, &Held)| HeldDatabase {
        database: DatabaseName::new(database),
        blob_id: match held {
            Held::Content(id) => Some(id.to_hex()),
            Held::Absent => None,
        },
    };
    databases.iter().map(one).collect()
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
