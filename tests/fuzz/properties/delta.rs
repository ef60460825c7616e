//! Deltas: a result has the declared size.

use checkpoint::store::objects::pack::delta;

use super::draw::Draw;

pub fn check(data: &[u8]) {
    let mut draw = Draw::new(data);
    let repeats = 1 + draw.below(32);
    let base = draw.bytes().repeat(repeats);
    let instructions = draw.rest();
    if let Ok(made) = delta::apply(&base, instructions) {
        assert_eq!(
            delta::sizes(instructions),
            Ok((base.len() as u64, made.len() as u64))
        );
    }
}
