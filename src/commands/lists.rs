//! List arguments: `@FILE` reads one item per line, `-` reads standard input.

use std::ffi::OsString;
use std::io::{ErrorKind, Read as _};
use std::path::Path;

use crate::base::text::escape_path;
use crate::error::sentence::Sentence;
use crate::error::{Code, Error, Result};

/// Expands each list in place. Items end with a newline, or with NUL if the list contains one.
///
/// # Errors
/// A file cannot be read, or there is nothing in the lists.
pub fn expand(typed: &[OsString]) -> Result<Vec<Vec<u8>>> {
    let mut all = Vec::new();
    for item in typed {
        match item.as_encoded_bytes() {
            b"-" => all.extend(items(&content(Path::new("-"))?)),
            [b'@', ..] => all.extend(items(&content(file_named(item)?)?)),
            plain => all.push(plain.to_vec()),
        }
    }
    if all.is_empty() && !typed.is_empty() {
        return Err(Error::usage("the list names no path"));
    }
    Ok(all)
}

/// Whether a word names a list, and not a checkpoint: `@`, `@~2` and `@:PATH` do.
pub fn is_list(word: &[u8]) -> bool {
    matches!(word, [b'@', first, ..] if !b"~:".contains(first))
}

/// Reads a file, or standard input for `-`.
///
/// # Errors
/// The file cannot be read.
pub fn content(file: &Path) -> Result<Vec<u8>> {
    if file != Path::new("-") {
        return std::fs::read(file).map_err(|cause| match cause.kind() {
            ErrorKind::NotFound => Error::new(
                Code::NOTHING_FOUND,
                format!("{} does not exist", escape_path(file)),
            )
            .next(Sentence::text(
                "nothing was changed; the name is relative to the current directory, not to -C, \
                     a path that begins with @ is typed with ./ before it, \
                     and a checkpoint whose reason does is named by its id",
            )),
            _ => Error::io("read", file)(cause),
        });
    }
    let mut bytes = Vec::new();
    let read = std::io::stdin().lock().read_to_end(&mut bytes);
    read.map_err(Error::io("read", Path::new("standard input")))?;
    Ok(bytes)
}

fn file_named(item: &OsString) -> Result<&Path> {
    let name = item.to_str().and_then(|item| item.strip_prefix('@'));
    let name = name.ok_or_else(|| Error::usage("the name of a list of paths is not UTF-8"))?;
    Ok(Path::new(name))
}

fn items(bytes: &[u8]) -> Vec<Vec<u8>> {
    let end = if bytes.contains(&0) { 0 } else { b'\n' };
    let lines = bytes.split(|byte| *byte == end);
    let whole = lines.map(|line| {
        if end == 0 {
            line
        } else {
            line.strip_suffix(b"\r").unwrap_or(line)
        }
    });
    whole
        .filter(|line| !line.is_empty())
        .map(<[u8]>::to_vec)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::items;

    #[test]
    fn a_list_has_one_item_a_line_or_ends_them_with_nul() {
        assert_eq!(
            items(b"a\n\r\nb c\r\nd"),
            [b"a".to_vec(), b"b c".to_vec(), b"d".to_vec()]
        );
        assert_eq!(items(b"a\nb\0c\r\0"), [b"a\nb".to_vec(), b"c\r".to_vec()]);
        assert_eq!(items(b""), Vec::<Vec<u8>>::new());
    }
}
