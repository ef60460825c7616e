//! The two namespaces of run refs, and reading the refs in them.

use std::collections::BTreeMap;

use crate::error::Result;
use crate::model::run_id::is_legal;
use crate::store::layout::Layout;
use crate::store::refs::ref_files::{self, RefValue};

/// The namespace of a run's ref.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RefNamespace {
    Live,
    /// Archived: nothing is recorded there.
    Archived,
}

impl RefNamespace {
    pub const BOTH: [Self; 2] = [Self::Live, Self::Archived];

    pub(super) fn folder(self) -> &'static str {
        match self {
            Self::Live => "refs/workflows",
            Self::Archived => "refs/archive/workflows",
        }
    }

    /// The full name of a ref.
    pub fn name_of(self, id: &str) -> String {
        format!("{}/{id}", self.folder())
    }

    /// The namespace and id in the full name of a ref; `None` if it is no ref of a run.
    pub fn of_name(name: &str) -> Option<(Self, &str)> {
        Self::BOTH.into_iter().find_map(|namespace| {
            let id = name.strip_prefix(namespace.folder())?.strip_prefix('/')?;
            is_legal(id).then_some((namespace, id))
        })
    }
}

/// The refs of a namespace that exist.
///
/// # Errors
/// The refs cannot be listed.
pub fn stored(layout: &Layout, namespace: RefNamespace) -> Result<BTreeMap<String, RefValue>> {
    let mut found = BTreeMap::new();
    for (name, value) in ref_files::packed(layout, namespace.folder())? {
        let id = RefNamespace::of_name(&name).filter(|(on, _)| *on == namespace);
        found.extend(id.map(|(_, id)| (id.to_owned(), RefValue::Id(value))));
    }
    for entry in ref_files::list(&layout.dir().join(namespace.folder()))? {
        let name = entry.file_name();
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        let id = name.to_str().filter(|id| is_legal(id) && !is_folder);
        if let Some(id) = id {
            found.extend(ref_files::read_file(&entry.path())?.map(|value| (id.to_owned(), value)));
        }
    }
    Ok(found)
}
