//! The text at the start of a git bundle of version 2: prerequisites and refs.
//!
//! Source: gitformat-bundle(5).

use std::collections::HashSet;
use std::fmt;
use std::io::{BufRead, Read as _};

use crate::base::Malformed;
use crate::base::text::{escape, escape_bytes, percent_decode};
use crate::model::session::provenance::encode_component;
use crate::model::{ObjectId, OriginStore};
use crate::store::runs::run_refs;

const SIGNATURE: &str = "# v2 git bundle\n";
/// Beginning of a ref whose name says where the checkpoints come from.
const ORIGIN: &str = "refs/origin/";
/// Longest line that is read, in bytes.
const LONGEST_LINE: u64 = 16 << 10;
/// Longest header that is read, in bytes: memory must not grow with a hostile one.
const LONGEST_HEADER: usize = 64 << 20;
/// Beginning of a ref whose name has the reason that a checkpoint was given later.
const REASON: &str = "refs/reasons/";

/// What a bundle declares.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BundleHeader {
    /// Commits that the receiver must have.
    pub prerequisites: Vec<ObjectId>,
    pub refs: Vec<BundleRef>,
}

/// A ref in a bundle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BundleRef {
    Checkpoint(ObjectId),
    /// The meta of a checkpoint.
    Meta(ObjectId, ObjectId),
    Pin(ObjectId),
    Run(String, ObjectId),
    /// The reason that a checkpoint was given later.
    Reason(ObjectId, String),
    /// Where all of them come from; the value is any of the commits.
    Origin(OriginStore, ObjectId),
    /// Where one comes from that its sender had imported.
    OriginOf(OriginStore, ObjectId),
    /// `HEAD` or a branch, for plain git alone.
    Branch(&'static str, ObjectId),
}

/// The reason why a header was refused.
#[derive(Debug)]
pub enum HeaderError {
    Flaw(Malformed),
    Io(std::io::Error),
}

impl<T: Into<Malformed>> From<T> for HeaderError {
    fn from(why: T) -> Self {
        Self::Flaw(why.into())
    }
}

impl BundleHeader {
    /// The ids of all checkpoints.
    pub fn checkpoints(&self) -> impl Iterator<Item = ObjectId> {
        self.refs.iter().filter_map(|one| match one {
            BundleRef::Checkpoint(id) => Some(*id),
            _ => None,
        })
    }

    /// The runs with their newest transitions.
    pub fn runs(&self) -> impl Iterator<Item = (String, ObjectId)> {
        self.refs.iter().filter_map(|one| match one {
            BundleRef::Run(id, tip) => Some((id.clone(), *tip)),
            _ => None,
        })
    }

    pub fn origin(&self) -> Option<&OriginStore> {
        self.refs.iter().find_map(|one| match one {
            BundleRef::Origin(origin, _) => Some(origin),
            _ => None,
        })
    }

    /// Reads a header up to the pack.
    ///
    /// # Errors
    /// The input cannot be read, or it is no bundle of version 2 with refs of checkpoints alone.
    pub fn read(input: &mut dyn BufRead) -> Result<Self, HeaderError> {
        if line(input)? != SIGNATURE.as_bytes() {
            return Err("it does not begin as a git bundle of version 2".into());
        }
        let (mut header, mut read, mut names) = (Self::default(), 0, HashSet::new());
        while read < LONGEST_HEADER {
            let line = line(input)?;
            read += line.len();
            let line = line.strip_suffix(b"\n").ok_or("its header is cut short")?;
            if line.is_empty() {
                return Ok(header);
            }
            let shown = || format!("its header has the line '{}'", escape_bytes(line));
            let text = std::str::from_utf8(line).map_err(|_| shown())?;
            if let Some(rest) = text.strip_prefix('-') {
                let id = rest.split(' ').next().and_then(ObjectId::from_hex);
                header.prerequisites.push(id.ok_or_else(shown)?);
                continue;
            }
            let (id, name) = text.split_once(' ').ok_or_else(shown)?;
            let id = ObjectId::from_hex(id).ok_or_else(shown)?;
            if !names.insert(name.to_owned()) {
                return Err(
                    format!("its header has a ref twice: '{name}'", name = escape(name)).into(),
                );
            }
            let known = BundleRef::of(name, id);
            if matches!(known, Some(BundleRef::Origin(..))) && header.origin().is_some() {
                return Err("its header has two origins".into());
            }
            header.refs.push(known.ok_or_else(|| {
                format!(
                    "it has the ref '{}', which is none of checkpoints",
                    escape_bytes(name.as_bytes())
                )
            })?);
        }
        Err("its header is too long".into())
    }
}

fn line(input: &mut dyn BufRead) -> Result<Vec<u8>, HeaderError> {
    let mut line = Vec::new();
    let read = input.take(LONGEST_LINE).read_until(b'\n', &mut line);
    read.map_err(HeaderError::Io)?;
    Ok(line)
}

impl BundleRef {
    /// Reads a ref; `None` if it is none of checkpoints.
    pub fn of(name: &str, value: ObjectId) -> Option<Self> {
        let id_after = |folder: &str| ObjectId::from_hex(name.strip_prefix(folder)?);
        if let Some(id) = id_after("refs/checkpoints/") {
            return (id == value).then_some(Self::Checkpoint(id));
        }
        if let Some(id) = id_after("refs/pins/") {
            return (id == value).then_some(Self::Pin(id));
        }
        if let Some(id) = id_after("refs/meta/") {
            return Some(Self::Meta(id, value));
        }
        if let Some(id) = run_refs::id_in(name) {
            return Some(Self::Run(id.to_owned(), value));
        }
        if let Some(reason) = name.strip_prefix(REASON) {
            let (id, reason) = reason.split_once('/')?;
            let id = ObjectId::from_hex(id).filter(|id| *id == value)?;
            let decoded = String::from_utf8(percent_decode(reason)?).ok()?;
            return (encode_component(&decoded) == reason).then_some(Self::Reason(id, decoded));
        }
        if let Some(origin) = name.strip_prefix(ORIGIN) {
            let ending = format!("/{value}");
            return match origin.strip_suffix(&ending) {
                Some(origin) => Some(Self::OriginOf(OriginStore::of_ref(origin)?, value)),
                None => Some(Self::Origin(OriginStore::of_ref(origin)?, value)),
            };
        }
        ["HEAD", "refs/heads/main"]
            .into_iter()
            .find(|branch| *branch == name)
            .map(|branch| Self::Branch(branch, value))
    }

    /// The checkpoint that it says something of; `None` for runs, branches and the common origin.
    pub fn checkpoint(&self) -> Option<ObjectId> {
        match self {
            Self::Checkpoint(id)
            | Self::Pin(id)
            | Self::Reason(id, _)
            | Self::Meta(id, _)
            | Self::OriginOf(_, id) => Some(*id),
            Self::Run(..) | Self::Origin(..) | Self::Branch(..) => None,
        }
    }

    pub fn value(&self) -> ObjectId {
        match self {
            Self::Checkpoint(id)
            | Self::Pin(id)
            | Self::Reason(id, _)
            | Self::Meta(_, id)
            | Self::Run(_, id)
            | Self::Origin(_, id)
            | Self::OriginOf(_, id)
            | Self::Branch(_, id) => *id,
        }
    }
}

impl fmt::Display for BundleRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Checkpoint(id) => write!(f, "refs/checkpoints/{id}"),
            Self::Meta(id, _) => write!(f, "refs/meta/{id}"),
            Self::Pin(id) => write!(f, "refs/pins/{id}"),
            Self::Reason(id, reason) => write!(f, "{REASON}{id}/{}", encode_component(reason)),
            Self::Run(id, _) => f.write_str(&run_refs::name_of(id)),
            Self::Origin(origin, _) => write!(f, "{ORIGIN}{}", origin.to_ref()),
            Self::OriginOf(origin, id) => write!(f, "{ORIGIN}{}/{id}", origin.to_ref()),
            Self::Branch(name, _) => f.write_str(name),
        }
    }
}

impl fmt::Display for BundleHeader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(SIGNATURE)?;
        for id in &self.prerequisites {
            writeln!(f, "-{id} checkpoint")?;
        }
        for one in &self.refs {
            writeln!(f, "{} {one}", one.value())?;
        }
        f.write_str("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::tests::id;

    fn read(text: &str) -> Result<BundleHeader, String> {
        BundleHeader::read(&mut text.as_bytes()).map_err(|why| match why {
            HeaderError::Flaw(why) => why.to_string(),
            HeaderError::Io(why) => panic!("{why}"),
        })
    }

    #[test]
    fn a_header_comes_back_as_it_was_written() {
        let origin = OriginStore {
            host: "a b/é..lock".to_owned(),
            root: "/home/x/~^:?*[\\ .lock".to_owned(),
        };
        let header = BundleHeader {
            prerequisites: vec![id(1), id(2)],
            refs: vec![
                BundleRef::Branch("HEAD", id(3)),
                BundleRef::Checkpoint(id(3)),
                BundleRef::Meta(id(3), id(4)),
                BundleRef::Pin(id(3)),
                BundleRef::Reason(id(3), "other / words".to_owned()),
                BundleRef::Run("run-1".to_owned(), id(5)),
                BundleRef::OriginOf(origin.clone(), id(3)),
                BundleRef::Origin(origin, id(3)),
            ],
        };
        assert_eq!(read(&header.to_string()), Ok(header));
    }

    #[test]
    fn other_refs_and_other_files_are_refused() {
        let with = |line: &str| read(&format!("{SIGNATURE}{line}\n\n"));
        let names = "refs/heads/other|--upload-pack=touch x|refs/checkpoints/../../x|\
            refs/workflows/../x|refs/tags/v1|refs/meta/short";
        for name in names.split('|') {
            let said = with(&format!("{} {name}", id(3))).expect_err(name);
            assert!(said.contains("none of checkpoints"), "{said}");
        }
        let other = format!("{} refs/checkpoints/{}", id(3), id(4));
        assert!(with(&other).is_err());
        for text in ["", "# v3 git bundle\n\n", "PACK", SIGNATURE] {
            assert!(read(text).is_err(), "{text}");
        }
        assert!(read(&format!("{SIGNATURE}{}\n\n", "x".repeat(1 << 20))).is_err());
    }
}
