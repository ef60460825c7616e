//! Whether the project's git would take up the files of a run: they may hold what is not meant for others.

use crate::model::state::rel_path::RelPath;
use crate::ops::context::Context;
use crate::ops::run_warning::RunWarning;
use crate::ops::warning::Warning;
use crate::workflow::documents::find_documents::rel;
use crate::workflow::profiles::{pipeline, registry};
use crate::workflow::rules::profile::{self, Profile};
use crate::workflow::rules::workflow::Workflow;
use crate::worktree::files::state_file;
use crate::worktree::git::{find_index, git_head};
use crate::worktree::rules::rule_set::{RuleSources, RuleVerdict, Rules};
use crate::worktree::tree_handle::WorkTree;

const IGNORE_FILE: &[u8] = b".gitignore";

/// The line that would keep out each of them that no `.gitignore` keeps out. What is committed already is meant to be.
pub fn lines_missing(context: &Context, workflow: &Workflow) -> Vec<Warning> {
    let root = context.root.path();
    if workflow.profiles.is_empty() || git_head::read(root).is_none() {
        return Vec::new();
    }
    let (Ok(work), Ok(tracked)) = (WorkTree::open(root), find_index::load(root)) else { return Vec::new() };
    let ignore_file_of = |dir: &RelPath| state_file::read(&work, &dir.join(IGNORE_FILE)).ok().flatten();
    let rules = Rules::new(RuleSources::default());
    let is_taken_up = |path: &str| {
        let is_ignored = matches!(rules.judge_at(&rel(path), false, &ignore_file_of), RuleVerdict::LeaveOut(_));
        !is_ignored && !tracked.contains(path.as_bytes())
    };
    let file = |profile: &Profile| match profile {
        Profile::Phases => (profile::PHASE_FILE.to_owned(), "memory/state/".to_owned()),
        Profile::Pipeline => (pipeline::FILE.to_owned(), pipeline::FILE.to_owned()),
        Profile::Registry => (registry::path(workflow), format!("{}/", registry::FOLDER)),
    };
    let files = workflow.profiles.iter().map(file).filter(|(path, _)| is_taken_up(path));
    files.map(|(_, pattern)| RunWarning::NotIgnored { pattern, ignore_file: root.join(".gitignore") }.into()).collect()
}
