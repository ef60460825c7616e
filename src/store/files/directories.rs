//! Creates private directories of a store, whatever the umask.

use std::fs::DirBuilder;
use std::io::ErrorKind;
use std::path::Path;

use crate::error::{Error, Result};

/// Creates a directory and its missing parents, each 0700. An existing one is left as it is.
pub fn create_private(path: &Path) -> Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    match create_one(path) {
        Ok(()) => make_private(path),
        Err(e) if e.kind() == ErrorKind::AlreadyExists && path.is_dir() => Ok(()),
        Err(e) if e.kind() == ErrorKind::NotFound => {
            let above = path.parent().filter(|above| !above.as_os_str().is_empty());
            create_private(above.ok_or_else(|| Error::io("create", path)(e))?)?;
            create_one(path)
                .or_else(|e| if path.is_dir() { Ok(()) } else { Err(e) })
                .map_err(Error::io("create", path))?;
            make_private(path)
        }
        Err(e) => Err(Error::io("create", path)(e)),
    }
}

/// Creates one directory in a parent that must exist.
///
/// # Errors
/// `NotFound` if the parent is gone.
pub fn create_private_in(above: &Path, path: &Path) -> Result<()> {
    match create_one(path) {
        Ok(()) => make_private(path),
        Err(e) if e.kind() == ErrorKind::AlreadyExists && path.is_dir() => Ok(()),
        Err(e) => Err(Error::io(
            "create",
            if e.kind() == ErrorKind::NotFound {
                above
            } else {
                path
            },
        )(e)),
    }
}

fn create_one(path: &Path) -> std::io::Result<()> {
    #[cfg_attr(not(unix), expect(unused_mut, reason = "only Unix has modes to set"))]
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

#[cfg(unix)]
/// Gives a directory of the store the mode 0700.
pub fn make_private(path: &Path) -> Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let found = std::fs::metadata(path).map_err(Error::io("look at", path))?;
    if found.permissions().mode() & 0o7777 == 0o700 {
        return Ok(());
    }
    let permissions = std::fs::Permissions::from_mode(0o700);
    std::fs::set_permissions(path, permissions).map_err(Error::io("set the mode of", path))
}

#[cfg(not(unix))]
/// Other systems keep a user's own folders private by inheritance.
pub fn make_private(_path: &Path) -> Result<()> {
    Ok(())
}
