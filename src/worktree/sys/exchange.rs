//! Exchanges two names where the system has no call for it.

use std::io;

use super::Dir;

/// Suffix of the temporary name used while two names are exchanged by renames.
pub const SWAP_SUFFIX: &[u8] = b".swap";

/// Exchanges two names by three renames, for systems and file systems that have no call for it.
///
/// Not atomic: `theirs` is missing for a moment. A process killed then leaves the old `theirs` in
/// `our_dir`, named `our` plus `.swap`.
pub fn exchange_by_renames(
    our_dir: &Dir,
    our: &[u8],
    their_dir: &Dir,
    theirs: &[u8],
) -> io::Result<()> {
    let aside = [our, SWAP_SUFFIX].concat();
    their_dir.rename_no_replace(theirs, our_dir, &aside)?;
    if let Err(error) = our_dir.rename_no_replace(our, their_dir, theirs) {
        our_dir.rename_no_replace(&aside, their_dir, theirs)?;
        return Err(error);
    }
    our_dir.rename_no_replace(&aside, our_dir, our)
}
