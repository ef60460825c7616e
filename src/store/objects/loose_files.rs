//! Loose objects as files: which there are, where, and what one of them holds.

use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::model::state::object_id::ObjectId;
use crate::store::files::read_regular;
use crate::store::objects::deflate::zlib;
use crate::store::objects::hash::object_hash::{ObjectHasher, ObjectKind};

/// A loose object of this size is not read into memory: git streams larger files into packs.
const LARGEST_BYTES: u64 = 2 << 30;
/// Kind, blank, size, NUL.
const HEADER_BYTES: usize = 32;

/// Where the loose object of that id would lie.
pub fn path_of(objects_dir: &Path, id: &ObjectId) -> PathBuf {
    let digits = id.to_hex();
    objects_dir.join(&digits[..2]).join(&digits[2..])
}

/// The fan-out directories that exist, by their first byte.
///
/// # Errors
/// The objects directory cannot be listed; one that is missing has none.
pub fn fan_out(objects_dir: &Path) -> Result<[bool; 256]> {
    let mut present = [false; 256];
    for name in names_in(objects_dir)? {
        let digits = name.as_bytes();
        let hex = digits.len() == 2 && digits.iter().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        if let (true, Ok(first)) = (hex, usize::from_str_radix(&name, 16)) {
            present[first] = true;
        }
    }
    Ok(present)
}

/// The ids of all loose objects, sorted.
///
/// # Errors
/// A directory cannot be listed.
pub fn list(objects_dir: &Path) -> Result<Vec<ObjectId>> {
    let mut ids = Vec::new();
    for (first, _) in fan_out(objects_dir)?.iter().enumerate().filter(|(_, present)| **present) {
        let digits = format!("{first:02x}");
        let names = names_in(&objects_dir.join(&digits))?;
        ids.extend(names.iter().filter_map(|name| ObjectId::from_hex(&format!("{digits}{name}"))));
    }
    ids.sort_unstable();
    Ok(ids)
}

/// Kind and content of the loose object of that id; the kind is `None` for a tag, which is no part of any checkpoint.
///
/// libgit2 is not asked: a loose object that is cut short makes it turn round and round for ever.
///
/// # Errors
/// Says in words why it cannot be had: it is gone, damaged, or is something else than its name says.
pub fn read(objects_dir: &Path, id: &ObjectId) -> std::result::Result<(Option<ObjectKind>, Vec<u8>), String> {
    let stream = read_regular::read(&path_of(objects_dir, id)).map_err(|cause| cause.to_string())?;
    let mut bytes = zlib::inflate_unsized(&stream, LARGEST_BYTES)?;
    let nul = bytes.iter().take(HEADER_BYTES).position(|byte| *byte == 0).ok_or("it has no header")?;
    let content = bytes.split_off(nul + 1);
    let header = std::str::from_utf8(&bytes[..nul]).map_err(|_| "it has a garbled header")?;
    let (kind, size) = header.split_once(' ').ok_or("it has a garbled header")?;
    if size.parse() != Ok(content.len()) {
        return Err("it has another size than it declares".into());
    }
    let mut hasher = ObjectHasher::named(kind, content.len() as u64);
    hasher.update(&content);
    match hasher.finish() {
        Ok(found) if found == *id => Ok((ObjectKind::from_name(kind), content)),
        Ok(found) => Err(format!("its content hashes to {found}")),
        Err(collision) => Err(collision.to_string()),
    }
}

/// The names in a directory that are text; a directory that is not there has none.
///
/// # Errors
/// It cannot be listed.
pub fn names_in(directory: &Path) -> Result<Vec<String>> {
    let listing = match std::fs::read_dir(directory) {
        Ok(listing) => listing,
        Err(cause) if matches!(cause.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory) => {
            return Ok(Vec::new());
        }
        Err(cause) => return Err(Error::io("list", directory)(cause)),
    };
    let mut names = Vec::new();
    for entry in listing {
        let entry = entry.map_err(Error::io("list", directory))?;
        names.extend(entry.file_name().into_string());
    }
    Ok(names)
}
