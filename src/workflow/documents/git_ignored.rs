//! Checks whether the project's git would commit the files of a run, which may be private.

use crate::model::default_rules::IGNORE_FILE;
use crate::model::state::rel_path::RelPath;
use crate::ops::context::Context;
use crate::ops::warning::Warning;
use crate::ops::warning::run_warning::RunWarning;
use crate::workflow::documents::rel;
use crate::workflow::profiles::{pipeline, registry};
use crate::workflow::rules::profile::{self, Profile};
use crate::workflow::rules::workflow::Workflow;
use crate::worktree::files::state_file;
use crate::worktree::git::{find_index, git_head};
use crate::worktree::rules::rule_set::{RuleSources, RuleVerdict, Rules};
use crate::worktree::tree_handle::WorkTree;

/// Returns a warning with the missing `.gitignore` line for each file that is neither ignored nor
/// committed already.
pub fn lines_missing(context: &Context, workflow: &Workflow) -> Vec<Warning> {
    let root = context.root.path();
    if workflow.profiles.is_empty() || git_head::read(root).is_none() {
        return Vec::new();
    }
    let (Ok(work), Ok(tracked)) = (WorkTree::open(root), find_index::load(root)) else {
        return Vec::new();
    };
    let ignore_file_of = |dir: &RelPath| {
        state_file::read(&work, &dir.join(IGNORE_FILE))
            .ok()
            .flatten()
    };
    let rules = Rules::new(RuleSources::default());
    let is_taken_up = |path: &str| {
        let is_ignored = matches!(
            rules.judge_at(&rel(path), false, &ignore_file_of),
            RuleVerdict::LeaveOut(_)
        );
        !is_ignored && !tracked.contains(path.as_bytes())
    };
    let file = |profile: &Profile| match profile {
        Profile::Phases => (profile::PHASE_FILE.to_owned(), "memory/state/".to_owned()),
        Profile::Pipeline => (pipeline::FILE.to_owned(), pipeline::FILE.to_owned()),
        Profile::Registry => (registry::path(workflow), format!("{}/", registry::FOLDER)),
    };
    let files = workflow
        .profiles
        .iter()
        .map(file)
        .filter(|(path, _)| is_taken_up(path));
    files
        .map(|(_, pattern)| {
            RunWarning::NotIgnored {
                pattern,
                ignore_file: root.join(".gitignore"),
            }
            .into()
        })
        .collect()
}
