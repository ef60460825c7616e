//! Reads the project's own HEAD as text; runs no git and writes nothing.

use std::path::Path;

use crate::error::{Error, Result};
use crate::worktree::git::find_index::{git_dir, has_conflicts, read_plain};

/// Upper bound in bytes on a file read here; enough for the `packed-refs` of a large repository.
const LONGEST_BYTES: u64 = 64 << 20;
/// Upper bound on symbolic refs followed; more are a cycle.
const MOST_LINKS: usize = 8;
const SHA1_DIGITS: usize = 40;

/// Branch and commit of HEAD.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GitHead {
    /// `None` for a detached HEAD.
    pub branch: Option<String>,
    /// 40 or 64 hex digits; `None` on a branch without a commit.
    pub commit: Option<String>,
}

/// Reads HEAD for information; `None` without a readable repository at exactly this root.
pub fn read(root: &Path) -> Option<GitHead> {
    let git_dir = git_dir(root).ok()??;
    let text = text(&git_dir.join("HEAD"))?;
    let Some(name) = text.trim_end().strip_prefix("ref: ") else {
        return id(&text).map(|commit| GitHead {
            branch: None,
            commit: Some(commit),
        });
    };
    let branch = name.strip_prefix("refs/heads/").unwrap_or(name).to_owned();
    let commit = is_plain(name).then(|| commit_of(&git_dir, name)).flatten();
    Some(GitHead {
        branch: Some(branch),
        commit,
    })
}

/// Returns the unfinished operation of the repository at this root that will end with a commit, if
/// any. `Err` if there is no repository or it is unreadable.
pub fn under_way(root: &Path) -> Result<Option<&'static str>> {
    let git_dir =
        git_dir(root)?.ok_or_else(|| Error::unexpected("there is none of its own here"))?;
    let begun = [
        ("MERGE_HEAD", "a merge"),
        ("CHERRY_PICK_HEAD", "a cherry-pick"),
        ("REVERT_HEAD", "a revert"),
        ("rebase-merge", "a rebase"),
        ("rebase-apply", "a rebase"),
        ("sequencer", "a row of cherry-picks or reverts"),
    ];
    let begun = begun
        .into_iter()
        .find(|(name, _)| git_dir.join(name).exists())
        .map(|(_, what)| what);
    // A `stash pop` leaves conflicts but no marker file.
    Ok(begun.or_else(|| has_conflicts(&git_dir).then_some("the settling of conflicts")))
}

/// Returns the commit of a ref; a linked worktree shares the refs of its main repository.
fn commit_of(git_dir: &Path, name: &str) -> Option<String> {
    let common = text(&git_dir.join("commondir")).map(|text| git_dir.join(text.trim_end()));
    let dirs = [Some(git_dir.to_path_buf()), common];
    let mut name = name.to_owned();
    for _ in 0..MOST_LINKS {
        let found = dirs.iter().flatten().find_map(|dir| text(&dir.join(&name)));
        let Some(found) = found else { break };
        match found.trim_end().strip_prefix("ref: ") {
            Some(next) if is_plain(next) => next.clone_into(&mut name),
            _ => return id(&found),
        }
    }
    dirs.iter()
        .flatten()
        .find_map(|dir| packed(&text(&dir.join("packed-refs"))?, &name))
}

fn packed(text: &str, name: &str) -> Option<String> {
    let line = text
        .lines()
        .find_map(|line| line.split_once(' ').filter(|(_, found)| *found == name))?;
    id(line.0)
}

fn id(text: &str) -> Option<String> {
    let text = text.trim_end();
    let is_hex =
        matches!(text.len(), SHA1_DIGITS | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_hex.then(|| text.to_owned())
}

fn is_plain(name: &str) -> bool {
    name.starts_with("refs/") && !name.split('/').any(|part| matches!(part, "" | "." | ".."))
}

fn text(path: &Path) -> Option<String> {
    String::from_utf8(read_plain(path, LONGEST_BYTES).ok()??).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";

    fn with(files: &[(&str, &str)]) -> tempfile::TempDir {
        let temp = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = temp.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        temp
    }

    #[test]
    fn a_branch_is_found_loose_packed_and_from_a_worktree() {
        let head = Some(GitHead {
            branch: Some("feat/x".into()),
            commit: Some(ID.into()),
        });
        let loose = with(&[
            (".git/HEAD", "ref: refs/heads/feat/x\n"),
            (".git/refs/heads/feat/x", &format!("{ID}\n")),
        ]);
        assert_eq!(read(loose.path()), head);
        let packed = format!("# pack-refs\n{ID} refs/heads/feat/x\n^{ID}\n");
        let packed = with(&[
            (".git/HEAD", "ref: refs/heads/feat/x\n"),
            (".git/packed-refs", &packed),
        ]);
        assert_eq!(read(packed.path()), head);
        let tree = with(&[
            ("tree/.git", "gitdir: ../main/.git/worktrees/tree\n"),
            ("main/.git/worktrees/tree/HEAD", "ref: refs/heads/feat/x\n"),
            ("main/.git/worktrees/tree/commondir", "../..\n"),
            ("main/.git/refs/heads/feat/x", ID),
        ]);
        assert_eq!(read(&tree.path().join("tree")), head);
    }

    #[test]
    fn what_makes_no_sense_is_no_head() {
        assert_eq!(read(with(&[("a", "")]).path()), None);
        for text in ["", "nonsense", "ref: refs/heads/../../x"] {
            let repository = with(&[(".git/HEAD", text)]);
            assert_eq!(
                read(repository.path()).and_then(|head| head.commit),
                None,
                "{text}"
            );
        }
        let detached = with(&[(".git/HEAD", ID)]);
        assert_eq!(
            read(detached.path()),
            Some(GitHead {
                branch: None,
                commit: Some(ID.into())
            })
        );
    }
}
