//! A create and a restore as libgit2 offers them.

use std::path::Path;

use anyhow::{Context as _, Result};
use git2::build::CheckoutBuilder;
use git2::{IndexAddOption, Oid, Repository, Signature};

fn open(store: &Path, tree: &Path) -> Result<Repository> {
    let repository =
        Repository::open(store).with_context(|| format!("cannot open {}", store.display()))?;
    repository.set_workdir(tree, false)?;
    Ok(repository)
}

fn commit(repository: &Repository) -> Result<Oid> {
    let mut index = repository.index()?;
    index.add_all(["*"], IndexAddOption::DEFAULT, None)?;
    index.write()?;
    let tree = repository.find_tree(index.write_tree()?)?;
    let name = Signature::now("bench", "bench@example.org")?;
    let parent = repository
        .head()
        .ok()
        .and_then(|head| head.peel_to_commit().ok());
    let parents: Vec<_> = parent.iter().collect();
    Ok(repository.commit(Some("HEAD"), &name, &name, "x", &tree, &parents)?)
}

/// Creates a checkpoint; returns the id of the commit.
pub fn create(store: &Path, tree: &Path) -> Result<String> {
    Ok(commit(&open(store, tree)?)?.to_string())
}

/// Commits the present state, then checks the wanted one out; returns the id of the former.
pub fn restore(store: &Path, tree: &Path, id: &str) -> Result<String> {
    let repository = open(store, tree)?;
    let safety = commit(&repository)?;
    let wanted = repository.find_commit(Oid::from_str(id)?)?.tree()?;
    repository.checkout_tree(wanted.as_object(), Some(CheckoutBuilder::new().force()))?;
    Ok(safety.to_string())
}
