//! The remotes of a store: one file, replaced atomically, and the refs of what was fetched.

use std::collections::BTreeMap;
use std::{fmt, io};

use crate::base::random_name::{is_random_hex, random_hex};
use crate::base::text::percent_decode;
use crate::error::Result;
use crate::model::ObjectId;
use crate::model::session::provenance::encode_component;
use crate::store::files::{atomic_file, checksummed_text, scratch};
use crate::store::layout::NAME_DIGITS;
use crate::store::refs::ref_files;
use crate::store::{Layout, LockedStore, RefValue};

/// Folder of the lines on a server.
const LINES: &str = "refs/lines/";
const LONGEST_NAME: usize = 64;

/// A remote of a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remote {
    pub name: String,
    pub url: String,
    /// Names under which this store has lines there, the present one first.
    pub devices: Vec<String>,
}

impl Remote {
    pub fn new(name: String, url: String) -> Self {
        let devices = vec![random_hex()];
        Self { name, url, devices }
    }

    /// Begins a line of its own, beside those before.
    pub fn begin_line(&mut self) {
        self.devices.insert(0, random_hex());
    }
}

/// The name of a line: hash of its directory, and device.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LineName(String);

impl LineName {
    pub fn new(dir_hash: &str, device: &str) -> Self {
        Self(format!("{dir_hash}/{device}"))
    }

    /// Reads the name of a ref on a server among those of lines. Git brings also what has a name that
    /// we never give, so that a bad one has to be named.
    pub fn of_ref(name: &str) -> Option<Self> {
        name.strip_prefix(LINES).map(|name| Self(name.to_owned()))
    }

    /// Reads what [`fmt::Display`] writes.
    pub fn of_text(text: &str) -> Option<Self> {
        let (hash, device) = text.split_once('/')?;
        let is_hash = hash.len() == NAME_DIGITS && is_random_hex(hash.as_bytes());
        let is_lower = !text.bytes().any(|byte| byte.is_ascii_uppercase());
        let is_line = is_hash && is_random_hex(device.as_bytes()) && is_lower;
        is_line.then(|| Self(text.to_owned()))
    }

    /// Names what this line had at a carrier, once the line itself went back behind it.
    #[must_use]
    pub fn at(&self, carrier: ObjectId) -> Self {
        let hash = self.0.split('/').next().unwrap_or_default();
        Self::new(hash, &carrier.to_hex()[..NAME_DIGITS])
    }

    /// The ref on a server.
    pub fn on_server(&self) -> String {
        format!("{LINES}{}", self.0)
    }

    /// The ref of what was fetched, in the store.
    fn here(&self, remote: &str) -> String {
        format!("{}{}", folder(remote), self.0)
    }
}

impl fmt::Display for LineName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn folder(remote: &str) -> String {
    format!("refs/remotes/{remote}/")
}

/// Whether a text may name a remote.
pub fn is_legal(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    let begins = name
        .bytes()
        .next()
        .is_some_and(|byte| byte.is_ascii_alphanumeric());
    begins && name.len() <= LONGEST_NAME && name.bytes().all(is_plain)
}

/// # Errors
/// An existing file cannot be read or is invalid.
pub fn read(layout: &Layout) -> io::Result<Vec<Remote>> {
    Ok(checksummed_text::read(&layout.remotes(), parse_line)?.unwrap_or_default())
}

fn parse_line(line: &str) -> Option<Remote> {
    let mut parts = line.split(' ');
    let name = parts.next().filter(|name| is_legal(name))?.to_owned();
    let url = String::from_utf8(percent_decode(parts.next()?)?).ok()?;
    let devices: Vec<String> = parts.map(str::to_owned).collect();
    let is_sound = !devices.is_empty() && devices.iter().all(|one| is_random_hex(one.as_bytes()));
    is_sound.then_some(Remote { name, url, devices })
}

/// Reads the newest carriers of what was fetched from a remote.
///
/// # Errors
/// The refs cannot be read.
pub fn fetched(layout: &Layout, remote: &str) -> Result<BTreeMap<LineName, ObjectId>> {
    lines_in(layout, &folder(remote))
}

/// Reads the lines in a folder of refs.
pub(super) fn lines_in(layout: &Layout, folder: &str) -> Result<BTreeMap<LineName, ObjectId>> {
    let mut found = BTreeMap::new();
    for (name, id) in ref_files::packed(layout, folder)? {
        let line = name.strip_prefix(folder).and_then(LineName::of_text);
        found.extend(line.map(|line| (line, id)));
    }
    for hash in ref_files::list(&layout.dir().join(folder))? {
        for device in ref_files::list(&hash.path())? {
            let text = (hash.file_name(), device.file_name());
            let text = (text.0.to_str().zip(text.1.to_str())).map(|(a, b)| format!("{a}/{b}"));
            let line = text.as_deref().and_then(LineName::of_text);
            let value = ref_files::read_file(&device.path())?;
            if let (Some(line), Some(RefValue::Id(id))) = (line, value) {
                found.insert(line, id);
            }
        }
    }
    Ok(found)
}

impl LockedStore<'_> {
    /// # Errors
    /// The file cannot be written; then it is as before.
    pub fn write_remotes(&self, remotes: &[Remote]) -> Result<()> {
        let line = |remote: &Remote| {
            let url = encode_component(&remote.url);
            format!("{} {url} {}\n", remote.name, remote.devices.join(" "))
        };
        let lines: String = remotes.iter().map(line).collect();
        let path = self.store().layout().remotes();
        atomic_file::replace(&path, checksummed_text::seal(&lines).as_bytes())
    }

    /// Notes what was fetched.
    ///
    /// # Errors
    /// The ref cannot be written.
    pub fn write_fetched(&self, remote: &str, line: &LineName, tip: ObjectId) -> Result<()> {
        ref_files::write_named(self.store().layout(), &line.here(remote), tip)
    }

    /// Forgets a line that was fetched.
    ///
    /// # Errors
    /// The ref cannot be removed.
    pub fn remove_fetched(&self, remote: &str, line: &LineName) -> Result<()> {
        let (layout, name) = (self.store().layout(), line.here(remote));
        ref_files::remove_packed(layout, &[name.clone()].into())?;
        atomic_file::remove_if_there(&layout.dir().join(name)).map(drop)
    }

    /// Removes the repository by which git talked to a remote.
    ///
    /// # Errors
    /// It cannot be removed.
    pub fn remove_transport(&self, remote: &str) -> Result<()> {
        scratch::remove_all(&self.store().layout().transport(remote))
    }
}
