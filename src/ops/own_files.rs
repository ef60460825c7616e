//! Files in the project that we or other programs write for workflows: never captured, never
//! changed by a restore.

use crate::error::{Code, Error, Result};
use crate::model::{RelPath, Snapshot};

/// Directories kept beside such files: each with the path prefix of the files that imply it.
const DIRECTORIES: [(&str, &str); 4] = [
    (".claude/checkpoints/", ".claude/checkpoints/failed"),
    (".claude/checkpoints/", ".claude/.archive"),
    (".claude/pipeline-state.json", ".claude/.archive"),
    ("memory/state/phase.json", "memory/state/.archive"),
];

/// Files of workflows, and the directories beside them with everything in these.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OwnFiles {
    paths: Vec<RelPath>,
}

impl OwnFiles {
    /// Collects `files` and the directories kept beside them.
    pub fn from_paths<'p>(files: impl Iterator<Item = &'p str>) -> Self {
        let mut paths = Vec::new();
        for file in files {
            let beside = DIRECTORIES
                .iter()
                .filter(|(begin, _)| file.starts_with(begin));
            let all = [file].into_iter().chain(beside.map(|(_, dir)| *dir));
            paths.extend(all.filter_map(|path| RelPath::new(path.as_bytes()).ok()));
        }
        paths.sort_unstable();
        paths.dedup();
        Self { paths }
    }

    /// Sorted bytewise.
    pub fn paths(&self) -> &[RelPath] {
        &self.paths
    }

    pub fn covers(&self, path: &RelPath) -> bool {
        self.paths.iter().any(|own| path.is_at_or_below(own))
    }

    /// Removes these files from a snapshot.
    pub fn drop_from(&self, snapshot: &mut Snapshot) {
        if !self.paths.is_empty() {
            snapshot.retain(&|path| !self.covers(path));
        }
    }

    /// Refuses paths that name one of these files: a restore is not the way to change them.
    ///
    /// # Errors
    /// `workflow_file`
    pub fn refuse(&self, named: &[RelPath]) -> Result<()> {
        let Some(path) = named.iter().find(|path| self.covers(path)) else {
            return Ok(());
        };
        let what = format!("'{path}' belongs to a workflow, and a restore leaves it alone");
        Err(Error::new(Code::WORKFLOW_FILE, what).advise(
            "'checkpoint workflow rewind PHASE --both' takes a workflow back, and its files with it",
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::tests::path;

    #[test]
    fn a_directory_belongs_to_us_only_with_the_file_beside_it() {
        let none = OwnFiles::from_paths([].into_iter());
        assert!(
            !none.covers(&path(".claude/checkpoints/failed/x"))
                && none.refuse(&[path("a")]).is_ok()
        );
        let phases = OwnFiles::from_paths(["memory/state/phase.json"].into_iter());
        assert!(
            phases.covers(&path("memory/state/.archive/x/y"))
                && !phases.covers(&path("memory/state"))
        );
        assert!(!phases.covers(&path(".claude/checkpoints/failed")));
        let registry = OwnFiles::from_paths(
            [".claude/checkpoints/a.json", ".claude/checkpoints/b.json"].into_iter(),
        );
        assert_eq!(registry.paths().len(), 4);
        assert!(
            registry
                .refuse(&[path("a"), path(".claude/checkpoints/failed/a")])
                .is_err()
        );
    }
}
