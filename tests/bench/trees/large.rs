//! Tree c: few large files, half of them incompressible, half of them real text.

use std::fs::File;
use std::io::{BufWriter, Read as _, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use super::{captured, packages, project};
use crate::args::Args;
use crate::place::Place;

const TEXT: [&str; 10] = [
    "js", "ts", "mjs", "cjs", "json", "md", "css", "map", "rs", "txt",
];

pub fn make(root: &Path, args: &Args, place: &Place, list: &Path) -> Result<String> {
    let (pairs, bytes) = if args.small {
        (2, 2_000_000)
    } else {
        (10, 50_000_000)
    };
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    for number in 0..pairs {
        write_noise(&root.join(format!("noise-{number}.bin")), bytes, &mut state)?;
    }
    let sources = sources(args, place, list)?;
    let mut text = Text {
        sources: &sources,
        next: 0,
        rest: Vec::new(),
    };
    for number in 0..pairs {
        text.write(&root.join(format!("text-{number}.txt")), bytes)?;
    }
    Ok(format!(
        "{pairs} incompressible files and {pairs} of real text"
    ))
}

/// Makes a directory with one text file.
///
/// # Errors
/// It cannot be written.
pub fn make_text(root: &Path, bytes: usize, args: &Args, place: &Place, list: &Path) -> Result<()> {
    crate::place::make_dir(root)?;
    let sources = sources(args, place, list)?;
    Text {
        sources: &sources,
        next: 0,
        rest: Vec::new(),
    }
    .write(&root.join("text.txt"), bytes)
}

/// The text files of tree b, or of this project where there is no tree b.
fn sources(args: &Args, place: &Place, list: &Path) -> Result<Vec<PathBuf>> {
    let b = place.tree("b");
    let made_b = place.top().join("trees/b.ready").exists();
    let root = if made_b {
        b
    } else {
        let own = place.tree("text");
        if packages::make(&own, args, place).is_err() {
            project::copy_to(&own)?;
        }
        own
    };
    let is_text = |path: &PathBuf| {
        path.extension()
            .and_then(|e| e.to_str())
            .is_some_and(|e| TEXT.contains(&e))
    };
    let paths = captured(&root, list)?.into_iter().filter(is_text);
    Ok(paths
        .map(|path| root.join(path))
        .filter(|path| path.symlink_metadata().is_ok_and(|m| m.is_file()))
        .collect())
}

/// Writes noise: xorshift from a fixed seed, the same bytes everywhere, and incompressible.
fn write_noise(path: &Path, bytes: usize, state: &mut u64) -> Result<()> {
    let doing = || format!("cannot write {}", path.display());
    let mut file = BufWriter::with_capacity(1 << 20, File::create(path).with_context(doing)?);
    for _ in 0..bytes / 8 {
        *state ^= *state << 13;
        *state ^= *state >> 7;
        *state ^= *state << 17;
        file.write_all(&state.to_le_bytes()).with_context(doing)?;
    }
    file.flush().with_context(doing)
}

/// Text of files one after the other, repeated from the beginning if they do not suffice.
struct Text<'a> {
    sources: &'a [PathBuf],
    next: usize,
    rest: Vec<u8>,
}

impl Text<'_> {
    fn write(&mut self, path: &Path, bytes: usize) -> Result<()> {
        while self.rest.len() < bytes {
            let source = &self.sources[self.next % self.sources.len()];
            self.next += 1;
            let mut file =
                File::open(source).with_context(|| format!("cannot open {}", source.display()))?;
            file.read_to_end(&mut self.rest)
                .with_context(|| format!("cannot read {}", source.display()))?;
        }
        let rest = self.rest.split_off(bytes);
        crate::place::write(path, &self.rest)?;
        self.rest = rest;
        Ok(())
    }
}
