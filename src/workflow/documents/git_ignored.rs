//! Checks whether the project's git would commit the files of a run, which may be private.

use crate::model::default_rules::IGNORE_FILE;
use crate::model::state::rel_path::RelPath;
use crate::ops::context::Context;
use crate::ops::warning::Warning;
use crate::ops::warning::run_warning::RunWarning;
use crate::workflow::documents::{files, rel};
use crate::workflow::profiles::pipeline;
use crate::workflow::rules::workflow::Workflow;
use crate::worktree::files::state_file;
use crate::worktree::git::{find_index, git_head};
use crate::worktree::rules::rule_set::{RuleSources, RuleVerdict, Rules};
use crate::worktree::tree_handle::WorkTree;

/// Returns a warning with the missing `.gitignore` line if the files are neither ignored nor
/// committed already.
pub fn line_missing(context: &Context, workflow: &Workflow) -> Option<Warning> {
    let root = context.root.path();
    git_head::read(root)?;
    let (path, _) = files::of_run(workflow).last()?;
    let (tree, tracked) = (WorkTree::open(root).ok()?, find_index::load(root).ok()?);
    let ignore_file_of = |dir: &RelPath| {
        let read = state_file::read(&tree, &dir.join(IGNORE_FILE));
        read.ok().flatten()
    };
    let verdict = Rules::new(RuleSources::default()).judge_at(&rel(path), false, &ignore_file_of);
    if matches!(verdict, RuleVerdict::LeaveOut(_)) || tracked.contains(path.as_bytes()) {
        return None;
    }
    let folder = path.rsplit_once('/').filter(|_| path != pipeline::FILE);
    let pattern = folder.map_or(path.clone(), |(folder, _)| format!("{folder}/"));
    let ignore_file = root.join(".gitignore");
    let missing = RunWarning::NotIgnored {
        pattern,
        ignore_file,
    };
    Some(missing.into())
}
