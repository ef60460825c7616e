//! Loose objects as files: lists, locates and reads them.

use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::model::ObjectId;
use crate::store::files::read_regular;
use crate::store::objects::deflate;
use crate::store::objects::object_hash::hash_object;
use crate::store::{AnyObject, ObjectKind, ReadFailure};

/// Largest loose object that is read into memory; git streams larger files into packs.
const LARGEST_LOOSE_BYTES: u64 = 2 << 30;
/// Longest header (kind, blank, size, NUL), in bytes.
const LONGEST_HEADER_BYTES: usize = 32;

/// The path of a loose object.
pub fn path_of(objects_dir: &Path, id: &ObjectId) -> PathBuf {
    let digits = id.to_hex();
    objects_dir.join(&digits[..2]).join(&digits[2..])
}

/// The existing fan-out directories, by the first byte of their ids.
///
/// # Errors
/// The objects directory cannot be listed; a missing one is empty.
pub fn fan_out(objects_dir: &Path) -> Result<[bool; 256]> {
    let mut present = [false; 256];
    for name in names_in(objects_dir)? {
        let digits = name.as_bytes();
        let hex = digits.len() == 2
            && digits
                .iter()
                .all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
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
    for (first, _) in fan_out(objects_dir)?
        .iter()
        .enumerate()
        .filter(|(_, present)| **present)
    {
        let digits = format!("{first:02x}");
        let names = names_in(&objects_dir.join(&digits))?;
        ids.extend(
            names
                .iter()
                .filter_map(|name| ObjectId::from_hex(&format!("{digits}{name}"))),
        );
    }
    ids.sort_unstable();
    Ok(ids)
}

/// Reads the kind and content of a loose object.
///
/// It does not use libgit2, which loops forever on a truncated loose object.
///
/// # Errors
/// The object is missing, damaged, or does not match its name.
pub fn read(objects_dir: &Path, id: &ObjectId) -> Result<AnyObject, ReadFailure> {
    let stream =
        read_regular::read(&path_of(objects_dir, id)).map_err(|cause| cause.to_string())?;
    let mut bytes = deflate::inflate_unsized(&stream, LARGEST_LOOSE_BYTES)?;
    let nul = bytes
        .iter()
        .take(LONGEST_HEADER_BYTES)
        .position(|byte| *byte == 0)
        .ok_or("it has no header")?;
    let content = bytes.split_off(nul + 1);
    let header = std::str::from_utf8(&bytes[..nul]).map_err(|_| "it has a garbled header")?;
    let (kind, size) = header.split_once(' ').ok_or("it has a garbled header")?;
    if size.parse() != Ok(content.len()) {
        return Err("it has another size than it declares".into());
    }
    let kind: ObjectKind = kind.parse().map_err(|_| "it has an unknown kind")?;
    match hash_object(kind, &content) {
        Ok(found) if found == *id => Ok((kind, content)),
        Ok(found) => Err(format!("its content hashes to {found}").into()),
        Err(collision) => Err(collision.to_string().into()),
    }
}

/// The UTF-8 names in a directory; a missing directory has none.
///
/// # Errors
/// The directory cannot be listed.
pub fn names_in(directory: &Path) -> Result<Vec<String>> {
    let listing = match std::fs::read_dir(directory) {
        Ok(listing) => listing,
        Err(cause)
            if matches!(
                cause.kind(),
                std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory
            ) =>
        {
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
