//! `checkpoint find`.

use std::ffi::OsString;
use std::num::NonZeroUsize;

use crate::ops::browse::find::find_path::FindOptions;
use crate::ops::browse::find::find_text::FindTextOptions;

/// Find the checkpoints that hold or changed a path, or hold a text
///
/// PATTERN is a path from the root, a directory, or a pattern with * ? [ as in
/// an ignore file: such a pattern without a slash means the name in any
/// directory.
#[derive(Clone, Debug, clap::Args)]
pub struct FindArgs {
    /// Which paths; with --text only these are searched
    #[arg(value_name = "PATTERN", required_unless_present = "text")]
    pub pattern: Option<OsString>,
    /// Look for this text in the files of all checkpoints
    #[arg(long, value_name = "STRING")]
    pub text: Option<OsString>,
    /// Tell at most so many; with --text 100 unless this says more
    #[arg(short = 'n', long, value_name = "N")]
    pub limit: Option<NonZeroUsize>,
}

/// The two searches.
pub enum FindTarget {
    Path(FindOptions),
    Text(FindTextOptions),
}

impl From<&FindArgs> for FindTarget {
    fn from(args: &FindArgs) -> Self {
        let bytes = |text: &OsString| text.as_encoded_bytes().to_vec();
        let (pattern, limit) = (args.pattern.as_ref().map(bytes), args.limit.map(NonZeroUsize::get));
        match &args.text {
            Some(text) => Self::Text(FindTextOptions { text: bytes(text), pattern, limit }),
            None => Self::Path(FindOptions { pattern: pattern.unwrap_or_default(), limit }),
        }
    }
}
