//! Databases for programs.

use serde_json::{Value, json};

use crate::model::state::database::{Database, Databases, Held};
use crate::ops::restore::restore_options::{DatabaseFate, DatabaseReport};
use crate::view::json::parts::{hex, with_path};

/// One that is a file has its path, any other its name.
pub fn database(database: &Database) -> Value {
    let told = json!({"kind": database.word()});
    match database {
        Database::File(path) => with_path(told, path),
        Database::Named(name) => json!({"kind": database.word(), "name": name}),
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
