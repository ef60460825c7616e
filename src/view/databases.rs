//! What becomes of databases in a restore, in words.

use crate::ops::restore::restore_options::{DatabaseFate, DatabaseReport};
use crate::view::format::Paint;

/// The databases that would be restored, a line each.
pub fn listing(databases: &[DatabaseReport], paint: Paint) -> String {
    let planned = databases.iter().filter(|report| report.fate == DatabaseFate::Planned);
    planned.map(|report| format!("{}\n", paint.yellow(&format!("  {:<7}{}", "db", report.database)))).collect()
}

/// What is to be said of those that were left as they are.
pub fn left(databases: &[DatabaseReport]) -> String {
    let told = databases.iter().filter_map(|report| match report.fate {
        DatabaseFate::Unchanged => Some(format!("database {} is as it was then\n", report.database)),
        DatabaseFate::Left => Some(format!(
            "database {} was not there then; it stays, because another program may have it open\n",
            report.database
        )),
        _ => None,
    });
    told.collect()
}

/// One line for each that could not be restored, with the way on.
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
