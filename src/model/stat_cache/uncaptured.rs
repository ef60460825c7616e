//! Uncaptured items in the stat cache: name, kind and reason of each, in sequence.

use crate::model::{ListedUncaptured, WhyNot};

/// Reasons without a text, in the order of their numbers on disk.
const PLAIN: [WhyNot; 13] = [
    WhyNot::Fifo,
    WhyNot::Socket,
    WhyNot::Device,
    WhyNot::TooLarge,
    WhyNot::ReservedName,
    WhyNot::Mount,
    WhyNot::Collision,
    WhyNot::Gitlink,
    WhyNot::DotGit,
    WhyNot::Database,
    WhyNot::Worktree,
    WhyNot::Cache,
    WhyNot::GitDir,
];
const UNREADABLE: u8 = 100;
const LEFT_OUT: u8 = 101;
const SECRET: u8 = 102;

pub fn render(items: &[ListedUncaptured], out: &mut Vec<u8>) {
    for item in items {
        put(out, &item.name);
        out.push(u8::from(item.is_dir));
        let (number, text) = match &item.why {
            WhyNot::Unreadable(text) => (UNREADABLE, text.as_str()),
            WhyNot::LeftOut(text) => (LEFT_OUT, text.as_str()),
            WhyNot::Secret(text) => (SECRET, text.as_str()),
            plain => (number_of(plain), ""),
        };
        out.push(number);
        put(out, text.as_bytes());
    }
}

fn number_of(why: &WhyNot) -> u8 {
    let found = PLAIN.iter().position(|plain| plain == why);
    found
        .and_then(|at| u8::try_from(at).ok())
        .unwrap_or(u8::MAX)
}

/// Parses the output of [`render`]; `None` if it is invalid.
pub fn parse(mut bytes: &[u8]) -> Option<Vec<ListedUncaptured>> {
    let mut items = Vec::new();
    while !bytes.is_empty() {
        let name = take(&mut bytes)?.into();
        let ([is_dir, number], rest) = bytes.split_first_chunk::<2>()?;
        bytes = rest;
        let text = String::from_utf8(take(&mut bytes)?.to_vec()).ok()?;
        let why = match *number {
            UNREADABLE => WhyNot::Unreadable(text),
            LEFT_OUT => WhyNot::LeftOut(text),
            SECRET => WhyNot::Secret(text),
            plain => PLAIN.get(usize::from(plain))?.clone(),
        };
        items.push(ListedUncaptured {
            name,
            why,
            is_dir: *is_dir == 1,
        });
    }
    Some(items)
}

/// Writes bytes after a four-byte length; no name or rule is longer.
fn put(out: &mut Vec<u8>, bytes: &[u8]) {
    let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
    out.extend(length.to_le_bytes());
    out.extend(bytes);
}

fn take<'b>(bytes: &mut &'b [u8]) -> Option<&'b [u8]> {
    let (length, rest) = bytes.split_first_chunk::<4>()?;
    let (taken, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
    *bytes = rest;
    Some(taken)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_comes_back() {
        let texts = [
            WhyNot::Unreadable("a".into()),
            WhyNot::LeftOut("*.o".into()),
            WhyNot::Secret(".env".into()),
        ];
        let items: Vec<ListedUncaptured> = PLAIN
            .into_iter()
            .chain(texts)
            .zip(0_u8..)
            .map(|(why, at)| ListedUncaptured {
                name: vec![0xff, at].into(),
                why,
                is_dir: at % 2 == 0,
            })
            .collect();
        let mut bytes = Vec::new();
        render(&items, &mut bytes);
        assert_eq!(parse(&bytes).as_ref(), Some(&items));
        for cut in 1..bytes.len() {
            assert_ne!(parse(&bytes[..cut]).as_ref(), Some(&items), "cut at {cut}");
        }
    }
}
