//! The version of the program, and what it was built from: commit, features and platform.

use std::env::consts::{ARCH, OS};

/// The commit that `.ci/package` names.
const COMMIT: Option<&str> = option_env!("CHECKPOINT_COMMIT");

pub fn short() -> String {
    concat!(env!("CARGO_PKG_NAME"), " ", env!("CARGO_PKG_VERSION"), "\n").to_owned()
}

/// Returns the version with what the program was built from.
pub fn long() -> String {
    let features = [
        ("mcp", cfg!(feature = "mcp")),
        ("sqlite", cfg!(feature = "sqlite")),
    ];
    let features = features.iter().filter(|(_, is_on)| *is_on);
    let features: Vec<&str> = features.map(|(name, _)| *name).collect();
    let libraries = [
        ("gnu", cfg!(target_env = "gnu")),
        ("musl", cfg!(target_env = "musl")),
        ("msvc", cfg!(target_env = "msvc")),
        ("static", cfg!(target_feature = "crt-static")),
    ];
    let libraries = libraries.iter().filter(|(_, is_on)| *is_on);
    let platform: Vec<&str> = [OS, ARCH]
        .into_iter()
        .chain(libraries.map(|(name, _)| *name))
        .collect();
    let or_none = |words: &[&str]| {
        if words.is_empty() {
            "none".to_owned()
        } else {
            words.join(" ")
        }
    };
    format!(
        "{}commit    {}\nfeatures  {}\nplatform  {}\n",
        short(),
        COMMIT.unwrap_or("not recorded"),
        or_none(&features),
        or_none(&platform)
    )
}
