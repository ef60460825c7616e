//! `checkpoint cat`.

use std::ffi::OsString;

use crate::ops::browse::cat::CatOptions;

/// Print the bytes of one file of a checkpoint
///
/// The selector may have colons of its own, as a time has: of all colons that
/// make a selector and a file that its checkpoint holds, the last one counts.
/// Of a symlink its text is printed.
#[derive(Clone, Debug, clap::Args)]
pub struct CatArgs {
    /// A selector, a colon, and a path relative to the root
    #[arg(value_name = "SEL:PATH")]
    pub what: OsString,
}

impl CatArgs {
    pub fn resolve(&self) -> CatOptions {
        CatOptions { what: self.what.clone().into_encoded_bytes() }
    }
}
