//! Opens the user's browser.

use std::fs::{DirBuilder, File};
use std::io::Write as _;
use std::path::PathBuf;

use crate::base::random_name::random_hex;
use crate::shell::environment;

/// Opens an address in the user's browser, by a file that only the user can read: other users see the
/// words of every program, and the address is a secret. The file goes with what is returned.
pub fn open_in_browser(url: &str) -> Option<PrivateFile> {
    let page = format!(
        "<!doctype html><meta charset=\"utf-8\"><meta name=\"referrer\" content=\"no-referrer\">\
         <meta http-equiv=\"refresh\" content=\"0;url={url}\"><title>checkpoint</title>\n"
    );
    let folder = environment::temporary_dir().join(format!("checkpoint-ui-{}", random_hex()));
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(&folder).ok()?;
    let file = PrivateFile(folder.join("checkpoint.html"));
    let mut out = File::create_new(&file.0).ok()?;
    out.write_all(page.as_bytes()).ok()?;
    open::that_detached(&file.0).ok()?;
    Some(file)
}

/// A file that goes with its folder when this is dropped.
#[derive(Debug)]
pub struct PrivateFile(PathBuf);

impl Drop for PrivateFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
        let _ = self.0.parent().map(std::fs::remove_dir);
    }
}
