//! Real git in a store, as a user calls it there by hand.

use super::{Git, Sandbox};

pub struct Recipe {
    git: Git,
}

impl Recipe {
    /// `None`, with a printed line, where there is no git.
    pub fn find(sandbox: &Sandbox) -> Option<Self> {
        let git = Git::find(sandbox.root())?
            .with("GIT_DIR", sandbox.store())
            .with("GIT_WORK_TREE", sandbox.root());
        Some(Self { git })
    }

    pub fn git(&self) -> &Git {
        &self.git
    }
}
