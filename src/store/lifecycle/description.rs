//! The description of a store: its format and its root. The path decides; device and inode hint.

use std::path::{Path, PathBuf};

use crate::base::text::{percent_decode, percent_encode};
use crate::error::{Error, Result};
use crate::store::Layout;
use crate::store::files::{atomic_file, checksummed_text, read_regular};

/// Newest store format that this program writes.
pub const STORE_FORMAT: u32 = 1;

/// Device and inode of the root and of its parent directory when last recorded; zero where unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Identity {
    pub root: (u64, u64),
    pub parent: (u64, u64),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Description {
    pub format: u32,
    /// Canonical absolute path as raw bytes.
    pub root: Vec<u8>,
    pub created_ms: i64,
    pub identity: Identity,
    /// The user has once confirmed this root although it is dangerous.
    pub forced: bool,
}

impl Description {
    pub fn of_root(root: &Path, created_ms: i64, identity: Identity, forced: bool) -> Self {
        let root = root.as_os_str().as_encoded_bytes().to_vec();
        Self {
            format: STORE_FORMAT,
            root,
            created_ms,
            identity,
            forced,
        }
    }

    pub fn names(&self, root: &Path) -> bool {
        self.root_path().as_deref() == Some(root)
    }

    /// Returns the root as a path; `None` where the system does not allow such a name.
    pub fn root_path(&self) -> Option<PathBuf> {
        #[cfg(unix)]
        return Some(
            <std::ffi::OsString as std::os::unix::ffi::OsStringExt>::from_vec(self.root.clone())
                .into(),
        );
        #[cfg(not(unix))]
        return String::from_utf8(self.root.clone()).ok().map(PathBuf::from);
    }

    /// Reads the description of a store; `None` if it is missing or invalid.
    ///
    /// # Errors
    /// A failure of the system other than a missing file.
    pub fn read(layout: &Layout) -> Result<Option<Self>> {
        let path = layout.description();
        match read_regular::read_text(&path) {
            Ok(text) => Ok(parse(&text)),
            Err(e)
                if matches!(
                    e.kind(),
                    std::io::ErrorKind::NotFound
                        | std::io::ErrorKind::NotADirectory
                        | std::io::ErrorKind::InvalidData
                ) =>
            {
                Ok(None)
            }
            Err(e) => Err(Error::io("read", &path)(e)),
        }
    }

    pub fn write(&self, layout: &Layout) -> Result<()> {
        atomic_file::replace(&layout.description(), self.render().as_bytes())
    }

    /// Renders the text of the file.
    pub fn render(&self) -> String {
        let (format, root, created_ms) = (self.format, percent_encode(&self.root), self.created_ms);
        let ((dev, ino), (parent_dev, parent_ino)) = (self.identity.root, self.identity.parent);
        let forced = if self.forced { "forced\n" } else { "" };
        checksummed_text::seal(&format!(
            "format {format}\nroot {root}\ncreated {created_ms}\nidentity {dev} {ino}\nparent {parent_dev} {parent_ino}\n{forced}"
        ))
    }
}

/// The format of a store that a newer program wrote. A description with a wrong checksum is damaged and
/// has none; every format has the checksum line, so a flipped byte is never taken for a newer format.
pub fn newer_format(layout: &Layout) -> Option<u32> {
    let text = read_regular::read_text(&layout.description()).ok()?;
    let mut lines = checksummed_text::unseal(&text)?.lines();
    let format = lines.find_map(|line| line.strip_prefix("format "))?;
    format.parse().ok().filter(|found| *found > STORE_FORMAT)
}

/// Refuses a store of a newer format, of which not even the lock may be touched.
///
/// # Errors
/// It is one.
pub fn refuse_newer(layout: &Layout) -> Result<()> {
    let newer = newer_format(layout);
    let refusal = |found| Error::store_too_new(layout.dir(), found, STORE_FORMAT);
    newer.map_or(Ok(()), |found| Err(refusal(found)))
}

fn parse(text: &str) -> Option<Description> {
    let text = checksummed_text::unseal(text)?;
    let value = |key: &str| {
        text.lines()
            .find_map(|line| line.strip_prefix(key)?.strip_prefix(' '))
    };
    let pair = |text: &str| {
        text.split_once(' ')
            .and_then(|(dev, ino)| Some((dev.parse().ok()?, ino.parse().ok()?)))
    };
    let parent = value("parent").and_then(pair).unwrap_or_default();
    Some(Description {
        format: value("format")?.parse().ok()?,
        root: percent_decode(value("root")?)?,
        created_ms: value("created")?.parse().ok()?,
        identity: Identity {
            root: pair(value("identity")?)?,
            parent,
        },
        forced: text.lines().any(|line| line == "forced"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_description_comes_back_and_garbage_is_none() {
        let made = Description::of_root(
            Path::new("/a b/\u{fc}"),
            5,
            Identity {
                root: (1, 2),
                parent: (3, 4),
            },
            true,
        );
        assert_eq!(parse(&Description::render(&made)), Some(made.clone()));
        let text = Description::render(&made);
        for at in 0..text.len() {
            let mut flipped = text.clone().into_bytes();
            flipped[at] ^= 1;
            let parsed = String::from_utf8(flipped)
                .ok()
                .and_then(|flipped| parse(&flipped));
            assert_eq!(parsed, None, "flipped at {at}");
        }
        for garbage in ["", "\0\0\0", "format 1\n", "format x\nroot %zz\n"] {
            assert_eq!(parse(garbage), None, "{garbage:?}");
        }
    }
}
