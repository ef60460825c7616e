//! The journal of a restore: it is read back whole, and damage is refused or changes nothing in it.

use checkpoint::model::checkpoint::record::Verb;
use checkpoint::model::restore_plan::RestoreScope;
use checkpoint::store::small_files::journal::{Journal, JournalStage, parse, render};
use xxhash_rust::xxh3::xxh3_64;

use super::draw::Draw;

pub fn check(data: &[u8]) {
    let summed = [data, format!("sum {:016x}\n", xxh3_64(data)).as_bytes()].concat();
    for bytes in [data, &summed] {
        if let Some(journal) = parse(bytes) {
            assert_eq!(parse(render(&journal).as_bytes()), Some(journal));
        }
    }
    let mut draw = Draw::new(data);
    let journal = drawn(&mut draw);
    let mut text = render(&journal).into_bytes();
    assert_eq!(parse(&text).as_ref(), Some(&journal));
    let at = usize::try_from(draw.number()).expect("64 bits") % text.len();
    assert_eq!(parse(&text[..at]), None, "cut at {at}");
    text[at] ^= draw.byte();
    assert!(
        parse(&text).is_none_or(|read| read == journal),
        "misread with another byte at {at}"
    );
}

fn drawn(draw: &mut Draw<'_>) -> Journal {
    Journal {
        stage: [
            JournalStage::Preparing,
            JournalStage::Applying,
            JournalStage::Finished,
        ][draw.below(3)],
        verb: [Verb::Restore, Verb::Undo, Verb::Redo, Verb::Resume][draw.below(4)],
        target: draw.id(),
        safety: draw.id(),
        scope: RestoreScope {
            paths: draw.several(Draw::path),
            overlay: draw.flag(),
            special_bits: draw.flag(),
            within: draw.scope(),
            filter: draw.filter(),
        },
        staging: format!("{:016x}", draw.number()),
        filling: draw.flag().then(|| format!("{:016x}", draw.number())),
        settles: draw.flag(),
    }
}
