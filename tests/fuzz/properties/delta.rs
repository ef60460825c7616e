//! Deltas: a result has the declared size, and a delta of ours gives the target back.

use checkpoint::store::gc::delta_make;
use checkpoint::store::objects::pack::delta;

use super::draw::Draw;

pub fn check(data: &[u8]) {
    let mut draw = Draw::new(data);
    let repeats = 1 + draw.below(32);
    let base = draw.bytes().repeat(repeats);
    let mut target = base.clone();
    for (at, length, new) in draw.several(|draw| (draw.byte(), draw.byte(), draw.bytes())) {
        let from = usize::from(at) * target.len() / 256;
        let end = (from + usize::from(length)).min(target.len());
        target.splice(from..end, new.iter().copied());
    }
    if let Some(made) = delta_make::make(&base, &target, 2 * target.len() + 64) {
        assert_eq!(delta::apply(&base, &made), Ok(target));
    }
    let instructions = draw.rest();
    if let Ok(made) = delta::apply(&base, instructions) {
        assert_eq!(
            delta::sizes(instructions),
            Ok((base.len() as u64, made.len() as u64))
        );
    }
}
