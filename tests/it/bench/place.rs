//! The place of a store, computed a second time from the words of the README, to compare both.

use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

/// The first 16 hex digits of the SHA-256 over the bytes of the canonical path.
pub fn dir_hash(root: &Path) -> String {
    hex::encode(Sha256::digest(root.as_os_str().as_encoded_bytes()))[..16].to_owned()
}

/// The folder name that Claude Code gives to a project.
pub fn key(root: &Path) -> String {
    let bytes = root.as_os_str().as_encoded_bytes();
    let mut key = String::new();
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            if c.is_ascii_alphanumeric() {
                key.push(c);
            } else {
                key.extend(std::iter::repeat_n('-', c.len_utf16()));
            }
        }
        key.extend(chunk.invalid().iter().map(|_| '-'));
    }
    if key.len() > 200 {
        key.truncate(200);
        key.push('-');
        key.push_str(&hex::encode(Sha256::digest(bytes))[..8]);
    }
    key
}

pub fn store(base: &Path, root: &Path) -> PathBuf {
    base.join("projects")
        .join(key(root))
        .join("checkpoints")
        .join(dir_hash(root))
}
