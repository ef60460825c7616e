//! The roll of runs: their namespaces and names, so that the loss of a ref is noticed.

use std::collections::BTreeMap;

use crate::error::Result;
use crate::model::state::object_id::ObjectId;
use crate::store::files::{atomic_file, checksummed_text};
use crate::store::layout::Layout;
use crate::store::refs::ref_files::RefValue;
use crate::store::runs::namespace::{self, RefNamespace};

/// Stands for the commit of a live run, which changes with each transition.
const MOVES: &str = "-";

/// By namespace and name; with the commit of an archived run.
pub type Roll = BTreeMap<(RefNamespace, String), Option<ObjectId>>;

/// Reads the roll; `None` if it is missing or invalid.
pub fn read(layout: &Layout) -> Option<Roll> {
    checksummed_text::read(&layout.workflow_roll(), parse_line)
        .ok()
        .flatten()
}

/// Adds a run to the roll. A missing roll is made from the refs.
///
/// # Errors
/// The refs cannot be read, or the roll cannot be written; then it is as before.
pub fn enter(layout: &Layout, namespace: RefNamespace, id: &str, tip: ObjectId) -> Result<()> {
    let known = read(layout);
    let is_new = known.is_none();
    let mut roll = known.map_or_else(|| from_refs(layout), Ok)?;
    let tip = tip_of(namespace, RefValue::Id(tip));
    if roll.insert((namespace, id.to_owned()), tip) == Some(tip) && !is_new {
        return Ok(());
    }
    save(layout, &roll)
}

/// Removes a run from the roll, durably, before its ref goes, so that it is not reported as lost.
/// If the roll cannot be written, it is deleted.
///
/// # Errors
/// The roll can neither be written nor removed.
pub fn strike_out(layout: &Layout, namespace: RefNamespace, id: &str) -> Result<()> {
    let Some(mut roll) = read(layout) else {
        return Ok(());
    };
    if roll.remove(&(namespace, id.to_owned())).is_none() {
        return Ok(());
    }
    let path = layout.workflow_roll();
    atomic_file::replace_through(&layout.own(), &path, render(&roll).as_bytes()).or_else(|_| {
        atomic_file::remove_if_there(&path).and_then(|_| atomic_file::sync_directory(&layout.own()))
    })
}

/// Makes the roll if it is missing and there are runs.
///
/// # Errors
/// The refs cannot be read, or the roll cannot be written.
pub fn make_if_missing(layout: &Layout) -> Result<()> {
    if read(layout).is_some() {
        return Ok(());
    }
    match from_refs(layout)? {
        roll if roll.is_empty() => Ok(()),
        roll => save(layout, &roll),
    }
}

fn save(layout: &Layout, roll: &Roll) -> Result<()> {
    let path = layout.workflow_roll();
    atomic_file::replace_derived(&layout.own(), &path, render(roll).as_bytes())
}

fn from_refs(layout: &Layout) -> Result<Roll> {
    let mut roll = Roll::new();
    for namespace in RefNamespace::BOTH {
        for (id, value) in namespace::stored(layout, namespace)? {
            roll.insert((namespace, id), tip_of(namespace, value));
        }
    }
    Ok(roll)
}

fn tip_of(namespace: RefNamespace, value: RefValue) -> Option<ObjectId> {
    value.id().filter(|_| namespace == RefNamespace::Archived)
}

fn render(roll: &Roll) -> String {
    let line = |((namespace, id), tip): (&(RefNamespace, String), &Option<ObjectId>)| {
        let tip = tip.map_or_else(|| MOVES.to_owned(), ObjectId::to_hex);
        format!("{tip} {}\n", namespace.name_of(id))
    };
    checksummed_text::seal(&roll.iter().map(line).collect::<String>())
}

fn parse_line(line: &str) -> Option<((RefNamespace, String), Option<ObjectId>)> {
    let (tip, name) = line.split_once(' ')?;
    let (namespace, id) = RefNamespace::of_name(name)?;
    let tip = match tip {
        MOVES => None,
        tip => Some(ObjectId::from_hex(tip)?),
    };
    Some(((namespace, id.to_owned()), tip))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_roll_comes_back_and_senseless_lines_do_not() {
        let tip = ObjectId::from_hex(&"ab".repeat(20)).unwrap();
        let roll = Roll::from([
            ((RefNamespace::Live, "w_1".to_owned()), None),
            ((RefNamespace::Archived, "w_1-2".to_owned()), Some(tip)),
        ]);
        assert_eq!(
            checksummed_text::parse(&render(&roll), parse_line),
            Some(roll)
        );
        for line in [
            "- refs/heads/main",
            "x refs/workflows/w",
            "- refs/workflows/../x",
            "-",
        ] {
            assert_eq!(parse_line(line), None, "{line}");
        }
    }
}
