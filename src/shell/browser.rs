//! Opens the user's browser.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::PathBuf;

use crate::shell::environment;

/// Opens an address in the user's browser, by a file that only the user can read: other users see the
/// words of every program, and the address is a secret. The file goes with what is returned.
pub fn open_in_browser(url: &str) -> Option<PrivateFile> {
    let page = format!(
        "<!doctype html><meta charset=\"utf-8\"><meta name=\"referrer\" content=\"no-referrer\">\
         <meta http-equiv=\"refresh\" content=\"0;url={url}\"><title>checkpoint</title>\n"
    );
    let name = format!("checkpoint-ui-{}.html", std::process::id());
    let file = PrivateFile(environment::temporary_dir().join(name));
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut out = options.open(&file.0).ok()?;
    out.write_all(page.as_bytes()).ok()?;
    open::that_detached(&file.0).ok()?;
    Some(file)
}

/// A file that goes when this is dropped.
#[derive(Debug)]
pub struct PrivateFile(PathBuf);

impl Drop for PrivateFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}
