//! Opens the user's browser.

use std::fs::{DirBuilder, File};
use std::io::Write as _;
use std::path::PathBuf;

use crate::base::random_name::random_hex;
use crate::base::read_regular;
use crate::shell::environment;

/// Folder and name of the file.
const PREFIX: &str = "checkpoint-ui-";
const NAME: &str = "checkpoint.html";

/// Opens an address in the user's browser, by a file that only the user can read: other users see the
/// words of every program, and the address is a secret. The file goes with what is returned.
pub fn open_in_browser(url: &str) -> Option<PrivateFile> {
    let page = format!(
        "<!doctype html><meta charset=\"utf-8\"><meta name=\"referrer\" content=\"no-referrer\">\
         <meta http-equiv=\"refresh\" content=\"0;url={url}\"><title>checkpoint</title>\n"
    );
    let folder = environment::temporary_dir().join(format!("{PREFIX}{}", random_hex()));
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(&folder).ok()?;
    let path = folder.join(NAME);
    let mut file = PrivateFile(File::create_new(&path).ok()?, path);
    let _ = file.0.lock_shared();
    file.0.write_all(page.as_bytes()).ok()?;
    open::that_detached(&file.1).ok()?;
    Some(file)
}

/// Removes what killed servers left: its lock is free.
pub fn sweep() {
    let all = std::fs::read_dir(environment::temporary_dir());
    for folder in all.into_iter().flatten().flatten() {
        let is_named_so = folder.file_name().to_string_lossy().starts_with(PREFIX);
        let is_one = is_named_so && folder.file_type().is_ok_and(|kind| kind.is_dir());
        let path = folder.path().join(NAME);
        let left = is_one.then(|| read_regular::open(&path).ok()).flatten();
        let left = left.filter(|file| file.try_lock().is_ok());
        drop(left.map(|file| PrivateFile(file, path)));
    }
}

/// A file, locked, that goes with its folder when this is dropped.
#[derive(Debug)]
pub struct PrivateFile(File, PathBuf);

impl Drop for PrivateFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.1);
        let _ = self.1.parent().map(std::fs::remove_dir);
    }
}
