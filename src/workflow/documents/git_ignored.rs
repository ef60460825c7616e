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

/// Returns a warning with the missing `.gitignore` line for each file that is neither ignored nor
/// committed already.
pub fn lines_missing(context: &Context, workflow: &Workflow) -> Vec<Warning> {
    let root = context.root.path();
    if workflow.profile.is_none() || git_head::read(root).is_none() {
        return Vec::new();
    }
    let (Ok(work), Ok(tracked)) = (WorkTree::open(root), find_index::load(root)) else {
        return Vec::new();
    };
    let ignore_file_of = |dir: &RelPath| {
        let read = state_file::read(&work, &dir.join(IGNORE_FILE));
        read.ok().flatten()
    };
    let rules = Rules::new(RuleSources::default());
    let is_taken_up = |path: &&str| {
        let verdict = rules.judge_at(&rel(path), false, &ignore_file_of);
        !matches!(verdict, RuleVerdict::LeaveOut(_)) && !tracked.contains(path.as_bytes())
    };
    let paths = files::of_run(workflow).map(|(path, _)| path.as_str());
    let pattern = |path: &str| match path.rsplit_once('/') {
        Some((folder, _)) if path != pipeline::FILE => format!("{folder}/"),
        _ => path.to_owned(),
    };
    let mut patterns: Vec<String> = paths.filter(is_taken_up).map(pattern).collect();
    patterns.dedup();
    let ignore_file = root.join(".gitignore");
    let warning = |pattern| RunWarning::NotIgnored {
        pattern,
        ignore_file: ignore_file.clone(),
    };
    patterns
        .into_iter()
        .map(|one| warning(one).into())
        .collect()
}
