//! Databases in a restore, as text and as JSON.

use serde_json::{Value, json};

use crate::model::state::database::{Database, Databases, Held};
use crate::ops::restore::restore_options::{DatabaseFate, DatabaseReport};
use crate::view::envelope::{hex, with_path};
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

/// Describes the databases that were left unchanged.
pub fn left(databases: &[DatabaseReport]) -> String {
    let told = databases.iter().filter_map(|report| match report.fate {
        DatabaseFate::Unchanged => {
            Some(format!("database {} is as it was then\n", report.database))
        }
        DatabaseFate::Left => Some(format!(
            "database {} was not there then; it stays, because another program may have it open\n",
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
            "{} database {} was not restored: {why} ({way_on})\n",
            paint.red("checkpoint:"),
            report.database
        )),
        _ => None,
    });
    told.collect()
}

/// A file has a path, any other database a name.
pub fn database(database: &Database) -> Value {
    let told = json!({"kind": database.into_str()});
    match database {
        Database::File(path) => with_path(told, path),
        Database::Named(name) => json!({"kind": database.into_str(), "name": name}),
    }
}

pub fn held(databases: &Databases) -> Value {
    let told = databases.iter().map(|(one, held)| {
        let mut told = database(one);
        told["blob"] = match held {
            Held::Content(id) => hex(*id),
            Held::Absent => Value::Null,
        };
        told
    });
    told.collect()
}

pub fn reports(reports: &[DatabaseReport]) -> Value {
    let told = reports.iter().map(|report| {
        let mut told = database(&report.database);
        let (fate, why) = match &report.fate {
            DatabaseFate::Planned => ("planned", None),
            DatabaseFate::Restored => ("restored", None),
            DatabaseFate::Unchanged => ("unchanged", None),
            DatabaseFate::Left => ("left", None),
            DatabaseFate::Failed(why) => ("failed", Some(why)),
        };
        told["outcome"] = fate.into();
        if let Some(why) = why {
            told["why"] = why.clone().into();
        }
        told
    });
    told.collect()
}
