//! Reads names and object ids from git's index file, versions 2, 3 and 4.

use crate::base::Malformed;
use crate::model::ObjectId;

/// The names of one index file.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct IndexNames {
    /// In file order; a path in conflict appears up to three times.
    pub paths: Vec<Box<[u8]>>,
    /// Those that are nested repositories (gitlinks).
    pub repositories: Vec<Box<[u8]>>,
    /// Blob ids of the others, if SHA-1.
    pub blobs: Vec<ObjectId>,
    /// Tree ids of the cache-tree extension, if SHA-1.
    pub trees: Vec<ObjectId>,
    /// Of a split index: id of the shared index file with the other names.
    pub shared: Option<[u8; 20]>,
}

/// Length in bytes of the stat data before an entry's object id.
const STAT_LEN: usize = 40;
const SHA1_LEN: usize = 20;
const SHA256_LEN: usize = 32;
const FLAG_EXTENDED: u16 = 0x4000;
/// Upper bound on a name in bytes; longer than any path that a system call takes.
const MAX_NAME_LEN: usize = 1 << 16;
/// Upper bound on all names in bytes: a hostile file of version 4 could expand to much more than
/// its own size.
const MAX_NAMES_LEN: usize = 1 << 30;

const MODE_TREE: u32 = 0o040_000;
const MODE_REPOSITORY: u32 = 0o160_000;

/// Parses an index file.
///
/// # Errors
/// Why the bytes are no known index, in words.
pub fn parse(bytes: &[u8]) -> Result<IndexNames, Malformed> {
    // The file does not name the hash of its repository; with the wrong one parsing fails.
    parse_with(bytes, SHA1_LEN).or_else(|why| parse_with(bytes, SHA256_LEN).map_err(|_| why))
}

fn parse_with(bytes: &[u8], id_len: usize) -> Result<IndexNames, Malformed> {
    let body_len = bytes.len().checked_sub(id_len).ok_or("it is too short")?;
    let mut reader = IndexReader {
        bytes: &bytes[..body_len],
        at: 0,
    };
    if reader.take(4)? != b"DIRC" {
        return Err("it does not begin with DIRC".into());
    }
    let version = reader.u32()?;
    if !(2..=4).contains(&version) {
        return Err(format!("its version {version} is unknown").into());
    }
    let count = reader.u32()?;
    let mut names = IndexNames::default();
    let mut name = Vec::new();
    let mut total_len = 0;
    for _ in 0..count {
        let (mode, id) = read_entry(&mut reader, version, id_len, &mut name)?;
        total_len += name.len();
        if total_len > MAX_NAMES_LEN {
            return Err("its names are too long".into());
        }
        names.add(&name, mode, id);
    }
    (names.shared, names.trees) = read_extensions(&mut reader, id_len)?;
    Ok(names)
}

impl IndexNames {
    fn add(&mut self, name: &[u8], mode: u32, id: &[u8]) {
        // A sparse index has entries for whole directories; in a split one, replaced entries have
        // no name.
        if name.is_empty() || mode == MODE_TREE {
            return;
        }
        self.paths.push(name.into());
        if mode == MODE_REPOSITORY {
            self.repositories.push(name.into());
        } else {
            self.blobs
                .extend(<[u8; SHA1_LEN]>::try_from(id).map(ObjectId::from_bytes));
        }
    }
}

/// Reads one entry, replaces the previous name in `name` with its own, and returns mode and id.
fn read_entry<'b>(
    reader: &mut IndexReader<'b>,
    version: u32,
    id_len: usize,
    name: &mut Vec<u8>,
) -> Result<(u32, &'b [u8]), Malformed> {
    let start = reader.at;
    let stat_data = reader.take(STAT_LEN)?;
    let mode = u32::from_be_bytes([stat_data[24], stat_data[25], stat_data[26], stat_data[27]]);
    let id = reader.take(id_len)?;
    let flags = reader.u16()?;
    if flags & FLAG_EXTENDED != 0 {
        if version < 3 {
            return Err("an entry has flags that its version does not know".into());
        }
        reader.u16()?;
    }
    if version == 4 {
        let dropped = reader.varint()?;
        let kept = name
            .len()
            .checked_sub(dropped)
            .ok_or("an entry drops more of a name than there is")?;
        name.truncate(kept);
        name.extend_from_slice(reader.until_nul()?);
    } else {
        name.clear();
        name.extend_from_slice(reader.until_nul()?);
        // One to eight NULs pad an entry to a multiple of eight bytes.
        let rest = (8 - (reader.at - start) % 8) % 8;
        if reader.take(rest)?.iter().any(|byte| *byte != 0) {
            return Err("an entry is not padded with NULs".into());
        }
    }
    if name.len() > MAX_NAME_LEN {
        return Err("a name is too long".into());
    }
    Ok((mode, id))
}

/// Checks that extensions fill the file to its end; returns the shared file id of a split index,
/// and cached trees.
fn read_extensions(
    reader: &mut IndexReader<'_>,
    id_len: usize,
) -> Result<(Option<[u8; 20]>, Vec<ObjectId>), Malformed> {
    let (mut shared, mut trees) = (None, Vec::new());
    while reader.at < reader.bytes.len() {
        let signature = reader.take(4)?;
        let is_split = signature == b"link";
        let is_optional = signature[0].is_ascii_uppercase();
        if !is_split && !is_optional && signature != b"sdir" {
            return Err("it needs an extension that is unknown".into());
        }
        let len = usize::try_from(reader.u32()?).map_err(|_| "an extension is too long")?;
        let content = reader.take(len)?;
        if signature == b"TREE" && id_len == SHA1_LEN {
            trees = cached_trees(content);
        }
        if is_split {
            let id = content
                .get(..id_len)
                .ok_or("its link to a shared index is too short")?;
            let id = <[u8; 20]>::try_from(id)
                .map_err(|_| "a split index with SHA-256 is not supported")?;
            shared = (id != [0; 20]).then_some(id);
        }
    }
    Ok((shared, trees))
}

/// Returns the ids in a cache-tree extension, as far as it is valid: for each directory its name, a
/// NUL, the number of its entries in decimal, a space, that of its subtrees, a newline, and the id,
/// unless the first number is negative.
fn cached_trees(content: &[u8]) -> Vec<ObjectId> {
    let mut reader = IndexReader {
        bytes: content,
        at: 0,
    };
    let mut trees = Vec::new();
    while reader.at < content.len() {
        let Ok(_name) = reader.until_nul() else { break };
        let Some(len) = content[reader.at..].iter().position(|byte| *byte == b'\n') else {
            break;
        };
        let Ok(counts) = reader.take(len + 1) else {
            break;
        };
        if counts.starts_with(b"-") {
            continue;
        }
        let Some(id) = reader
            .take(SHA1_LEN)
            .ok()
            .and_then(|id| <[u8; SHA1_LEN]>::try_from(id).ok())
        else {
            break;
        };
        trees.push(ObjectId::from_bytes(id));
    }
    trees
}

struct IndexReader<'b> {
    bytes: &'b [u8],
    at: usize,
}

impl<'b> IndexReader<'b> {
    fn take(&mut self, len: usize) -> Result<&'b [u8], Malformed> {
        let end = self.at.checked_add(len).ok_or("it is cut off")?;
        let taken = self.bytes.get(self.at..end).ok_or("it is cut off")?;
        self.at = end;
        Ok(taken)
    }

    fn u32(&mut self) -> Result<u32, Malformed> {
        let bytes = self.take(4)?;
        Ok(u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
    }

    fn u16(&mut self) -> Result<u16, Malformed> {
        let bytes = self.take(2)?;
        Ok(u16::from_be_bytes([bytes[0], bytes[1]]))
    }

    /// Returns the bytes before the next NUL, and consumes that too.
    fn until_nul(&mut self) -> Result<&'b [u8], Malformed> {
        let len = self.bytes[self.at..]
            .iter()
            .position(|byte| *byte == 0)
            .ok_or("a name does not end")?;
        Ok(&self.take(len + 1)?[..len])
    }

    /// Reads a number as in git's offset deltas: seven bits a byte, highest first, each further
    /// byte adding one.
    fn varint(&mut self) -> Result<usize, Malformed> {
        let mut byte = self.take(1)?[0];
        let mut value = usize::from(byte & 0x7f);
        while byte & 0x80 != 0 {
            byte = self.take(1)?[0];
            value = value
                .checked_add(1)
                .and_then(|value| value.checked_mul(128))
                .ok_or("a number is too large")?
                + usize::from(byte & 0x7f);
        }
        Ok(value)
    }
}

#[cfg(test)]
mod tests {
    use crate::cases::properties;
    use proptest::prelude::*;

    use super::*;

    /// Makes an index of version 2 or 4 with the given names, as git would write it.
    fn index(version: u32, names: &[&str]) -> Vec<u8> {
        let mut bytes = [b"DIRC".as_slice(), &version.to_be_bytes()].concat();
        bytes.extend(u32::try_from(names.len()).unwrap().to_be_bytes());
        let mut previous = "";
        for name in names {
            let start = bytes.len();
            let mut stat_data = [0; STAT_LEN];
            stat_data[24..28].copy_from_slice(&0o100_644_u32.to_be_bytes());
            bytes.extend(stat_data);
            bytes.extend([7; SHA1_LEN]);
            bytes.extend(u16::try_from(name.len()).unwrap().to_be_bytes());
            if version == 4 {
                let kept = previous
                    .bytes()
                    .zip(name.bytes())
                    .take_while(|(a, b)| a == b)
                    .count();
                bytes.push(u8::try_from(previous.len() - kept).unwrap());
                bytes.extend(&name.as_bytes()[kept..]);
                bytes.push(0);
            } else {
                bytes.extend(name.as_bytes());
                let len = (bytes.len() - start + 8) & !7;
                bytes.resize(start + len, 0);
            }
            previous = name;
        }
        bytes.extend([b"TREE".as_slice(), &3_u32.to_be_bytes(), b"abc"].concat());
        bytes.extend([9; SHA1_LEN]);
        bytes
    }

    #[test]
    fn names_come_out_and_a_cut_is_refused() {
        let names = ["a", "a/b", "abcdefgh", "dist/index.js"];
        for version in [2, 3, 4] {
            let bytes = index(version, &names);
            let parsed = parse(&bytes).unwrap();
            assert!(
                parsed
                    .paths
                    .iter()
                    .map(|path| &**path)
                    .eq(names.iter().map(|name| name.as_bytes())),
                "{version}"
            );
            for len in 0..bytes.len() {
                // A cut between two extensions goes unnoticed, but loses no name.
                let cut = parse(&bytes[..len]);
                assert!(
                    cut.is_err() || cut == Ok(parse(&bytes).unwrap()),
                    "version {version} cut to {len}"
                );
            }
        }
    }

    proptest! {
        #![proptest_config(properties(2_000))]

        #[test]
        fn damage_never_panics(version in 2_u32..=4, hits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..8)) {
            let mut bytes = index(version, &["a/b/c", "a/b/d", "x"]);
            for (place, value) in hits {
                let at = place.index(bytes.len());
                bytes[at] = value;
            }
            let _ = parse(&bytes);
        }

        #[test]
        fn garbage_never_panics(tail in prop::collection::vec(any::<u8>(), 0..400), version in 0_u32..6, count in any::<u32>()) {
            let bytes = [b"DIRC".as_slice(), &version.to_be_bytes(), &count.to_be_bytes(), &tail].concat();
            let _ = parse(&bytes);
        }
    }
}
