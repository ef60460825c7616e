//! The bench on which every test of the built program stands: a sandbox, exact pictures of directories, and outside tools.

pub mod cases;
pub mod damaged;
pub mod fixtures;
pub mod git;
pub mod normalize;
pub mod place;
pub mod play;
pub mod recipe;
pub mod run;
pub mod sandbox;
pub mod strace;
pub mod terminal;
pub mod trace;
pub mod tree;
pub mod watch;

pub use cases::cases;
pub use git::Git;
pub use recipe::Recipe;
pub use run::Run;
pub use sandbox::Sandbox;
pub use tree::Tree;

/// Says why a test has nothing to do on this machine.
pub fn skipped(why: &str) {
    println!("skipped: {why}");
}
