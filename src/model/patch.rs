//! Patches of text as `diff` prints them: read, and applied to contents.

use crate::base::Malformed;
use crate::base::git_quoting::unquoted;

/// The changes of a patch within one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilePatch {
    /// The path after the change, without the letter in front.
    pub path: Vec<u8>,
    hunks: Vec<Hunk>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Hunk {
    /// Lines before it in the former content.
    start: usize,
    before: Vec<Vec<u8>>,
    after: Vec<Vec<u8>>,
}

/// Reads a patch.
///
/// # Errors
/// It is none, or does more than to change lines within files.
pub fn parse(bytes: &[u8]) -> Result<Vec<FilePatch>, Malformed> {
    let mut files: Vec<FilePatch> = Vec::new();
    let mut lines = bytes.split_inclusive(|byte| *byte == b'\n').peekable();
    while let Some(line) = lines.next() {
        let text = line.trim_ascii_end();
        let does_more = [
            b"new file".as_slice(),
            b"deleted file",
            b"rename ",
            b"copy ",
            b"old mode",
            b"GIT binary",
            b"Binary files",
        ];
        if does_more.iter().any(|start| line.starts_with(start)) || text.ends_with(b" /dev/null") {
            return Err("it does more than to change lines within files".into());
        }
        if let Some(named) = line.strip_prefix(b"+++ ") {
            let path = path_of(named)?;
            files.push(FilePatch {
                path,
                hunks: Vec::new(),
            });
        } else if line.starts_with(b"@@ ") {
            let file = files.last_mut().ok_or("a hunk is of no file")?;
            let (mut hunk, mut left) = head_of(line)?;
            let mut last = b' ';
            while left != (0, 0) || lines.peek().is_some_and(|line| line.starts_with(b"\\")) {
                let line = lines.next().ok_or("a hunk is cut")?;
                last = take(line, last, &mut hunk, &mut left)?;
            }
            file.hunks.push(hunk);
        }
    }
    if files.is_empty() || files.iter().any(|file| file.hunks.is_empty()) {
        return Err("it holds no change of lines".into());
    }
    Ok(files)
}

/// Reads the first line of a hunk; returns the hunk, and how many lines of either side are to come.
fn head_of(line: &[u8]) -> Result<(Hunk, (usize, usize)), Malformed> {
    let text = String::from_utf8_lossy(line);
    let mut words = text.split(' ').skip(1);
    let mut range = |sign: char| {
        let (start, count) = {
            let word = words.next()?.strip_prefix(sign)?;
            word.split_once(',').unwrap_or((word, "1"))
        };
        Some((start.parse::<usize>().ok()?, count.parse::<usize>().ok()?))
    };
    let (before, after) = range('-')
        .zip(range('+'))
        .ok_or("the head of a hunk is odd")?;
    let hunk = Hunk {
        // An empty side begins after the line that is named.
        start: before.0.saturating_sub(usize::from(before.1 > 0)),
        ..Hunk::default()
    };
    Ok((hunk, (before.1, after.1)))
}

/// Adds a line to a hunk; `last` is the sign of the line before. Returns its sign.
fn take(
    line: &[u8],
    last: u8,
    hunk: &mut Hunk,
    left: &mut (usize, usize),
) -> Result<u8, Malformed> {
    let (sign, rest) = match line {
        // Editors remove the blank of an empty line.
        b"\n" => (b' ', line),
        [sign, rest @ ..] => (*sign, rest),
        [] => return Err("a hunk is cut".into()),
    };
    if sign == b'\\' {
        // The line before has no end.
        let drop_end = |lines: &mut Vec<Vec<u8>>| lines.last_mut().and_then(Vec::pop);
        let _ = (last != b'+').then(|| drop_end(&mut hunk.before));
        let _ = (last != b'-').then(|| drop_end(&mut hunk.after));
        return Ok(sign);
    }
    if !b" -+".contains(&sign) {
        return Err("a line of a hunk has no sign".into());
    }
    let long = || Malformed::from("a hunk has more lines than its head says");
    if sign != b'+' {
        left.0 = left.0.checked_sub(1).ok_or_else(long)?;
        hunk.before.push(rest.to_vec());
    }
    if sign != b'-' {
        left.1 = left.1.checked_sub(1).ok_or_else(long)?;
        hunk.after.push(rest.to_vec());
    }
    Ok(sign)
}

/// Reads the name of a file, which may be quoted as C does.
fn path_of(named: &[u8]) -> Result<Vec<u8>, Malformed> {
    // A tab ends a name with blanks, which may be its last.
    let mut parts = named.split(|byte| b"\t\r\n".contains(byte));
    let plain = parts.next().unwrap_or_default();
    let mut path = unquoted(named.trim_ascii_end()).unwrap_or_else(|| plain.to_vec());
    match path.iter().position(|byte| *byte == b'/') {
        Some(slash) if slash + 1 < path.len() => Ok(path.split_off(slash + 1)),
        _ => Err("the name of a file has no letter in front".into()),
    }
}

impl FilePatch {
    /// Applies the changes to a content.
    ///
    /// # Errors
    /// The content is not what they were made from, at the lines that they name.
    pub fn apply(&self, content: &[u8]) -> Result<Vec<u8>, Malformed> {
        let lines: Vec<&[u8]> = content.split_inclusive(|byte| *byte == b'\n').collect();
        let (mut patched, mut at) = (Vec::with_capacity(content.len()), 0);
        for hunk in &self.hunks {
            let end = hunk.start.saturating_add(hunk.before.len());
            let found = lines.get(hunk.start..end).filter(|_| hunk.start >= at);
            if !found.is_some_and(|found| found.iter().zip(&hunk.before).all(|(a, b)| a == b)) {
                let line = hunk.start + 1;
                return Err(format!("it is not at line {line} as the patch has it").into());
            }
            patched.extend(lines[at..hunk.start].concat());
            patched.extend(hunk.after.concat());
            at = end;
        }
        patched.extend(lines[at..].concat());
        Ok(patched)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::tests::rows;

    const TABLES: &str = include_str!("tests/patch.json");
    use crate::base::git_quoting::quoted;

    const HEAD: &str = "diff --git a/f b/f\nindex 1..2 100644\n--- a/f\n+++ b/f\n";

    fn applied(hunks: &str, content: &str) -> Result<String, Malformed> {
        let patch = parse(format!("{HEAD}{hunks}").as_bytes())?;
        assert_eq!((patch.len(), &*patch[0].path), (1, &b"f"[..]));
        let patched = patch[0].apply(content.as_bytes())?;
        Ok(String::from_utf8(patched).expect("text"))
    }

    #[test]
    fn lines_are_changed_where_they_are_as_the_patch_has_them() {
        for (hunks, before, after) in rows(TABLES, "applied") {
            assert_eq!(applied(hunks, before).ok().as_deref(), after, "{hunks}");
        }
    }

    #[test]
    fn what_is_no_patch_of_lines_is_refused() {
        for text in rows::<&str>(TABLES, "refused") {
            assert!(parse(text.as_bytes()).is_err(), "{text}");
        }
    }

    #[test]
    fn names_are_read_as_they_are_written() {
        for path in [
            &b"a b"[..],
            b"tab\there",
            b"quo\"te\\",
            b"caf\xc3\xa9/\xff",
            b"\n\x01",
            b"blank ",
        ] {
            let line = format!("{}\t\n", quoted("b/", path));
            assert_eq!(path_of(line.as_bytes()).as_deref(), Ok(path));
        }
    }
}
