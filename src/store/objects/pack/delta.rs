//! Applies git's deltas: content made from a base and instructions. Reads no pack.

use crate::base::Malformed;

/// Upper bound on a base or result, in bytes: git makes no deltas of files beyond 512 MiB.
const LARGEST_RESULT_BYTES: u64 = 1 << 30;

/// Applies a delta to its base.
///
/// # Errors
/// The delta is malformed or for another base.
pub fn apply(base: &[u8], delta: &[u8]) -> Result<Vec<u8>, Malformed> {
    let mut rest = delta;
    if size(&mut rest)? != base.len() as u64 {
        return Err("a delta is for another base".into());
    }
    let wanted = size(&mut rest)?;
    if wanted > LARGEST_RESULT_BYTES {
        return Err(format!("a delta declares {wanted} bytes").into());
    }
    let mut made = Vec::with_capacity(room(wanted, base.len()));
    while let Some((op, tail)) = rest.split_first() {
        rest = tail;
        let part = if op & 0x80 != 0 {
            copied(*op, &mut rest, base)?
        } else {
            inserted(*op, &mut rest)?
        };
        made.extend_from_slice(part);
        if made.len() as u64 > wanted {
            break;
        }
    }
    if made.len() as u64 == wanted {
        Ok(made)
    } else {
        Err("a delta does not make what it declares".into())
    }
}

/// Initial capacity: most results are as large as their base, and a declared size is not trusted.
fn room(wanted: u64, base_len: usize) -> usize {
    usize::try_from(wanted)
        .unwrap_or(usize::MAX)
        .min(base_len.saturating_mul(2))
}

/// Reads the sizes of base and result at the start of a delta.
///
/// # Errors
/// The sizes are malformed.
pub fn sizes(delta: &[u8]) -> Result<(u64, u64), Malformed> {
    let mut rest = delta;
    Ok((size(&mut rest)?, size(&mut rest)?))
}

fn copied<'b>(op: u8, rest: &mut &[u8], base: &'b [u8]) -> Result<&'b [u8], Malformed> {
    let mut number = |bits: std::ops::Range<u32>| {
        let mut value = 0_usize;
        for (at, bit) in bits.enumerate() {
            if op & 1 << bit != 0 {
                value |= usize::from(next(rest)?) << (8 * at);
            }
        }
        Ok::<_, Malformed>(value)
    };
    let start = number(0..4)?;
    let len = match number(4..7)? {
        0 => 0x10000,
        len => len,
    };
    base.get(start..start + len)
        .ok_or_else(|| "a delta copies from outside its base".into())
}

fn inserted<'d>(op: u8, rest: &mut &'d [u8]) -> Result<&'d [u8], Malformed> {
    let (part, tail) = rest
        .split_at_checked(usize::from(op))
        .filter(|_| op != 0)
        .ok_or("a delta is cut short")?;
    *rest = tail;
    Ok(part)
}

fn size(rest: &mut &[u8]) -> Result<u64, Malformed> {
    let (mut value, mut shift) = (0_u64, 0_u32);
    loop {
        let byte = next(rest)?;
        if shift > 56 {
            return Err("a delta declares an impossible size".into());
        }
        value |= u64::from(byte & 0x7f) << shift;
        shift += 7;
        if byte & 0x80 == 0 {
            return Ok(value);
        }
    }
}

fn next(rest: &mut &[u8]) -> Result<u8, Malformed> {
    let (first, tail) = rest.split_first().ok_or("a delta is cut short")?;
    *rest = tail;
    Ok(*first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_and_insertions_make_the_content() {
        // Makes thirteen bytes from ten: copy 4 from 2, insert "new", copy 6 from 0.
        let delta = [10, 13, 0x91, 2, 4, 3, b'n', b'e', b'w', 0x90, 6];
        assert_eq!(apply(b"0123456789", &delta).unwrap(), b"2345new012345");
    }

    #[test]
    fn no_garbage_makes_it_panic() {
        let good = [10, 13, 0x91, 2, 4, 3, b'n', b'e', b'w', 0x90, 6];
        for at in 0..good.len() {
            assert!(apply(b"0123456789", &good[..at]).is_err(), "cut at {at}");
            for bit in 0..8 {
                let mut bad = good;
                bad[at] ^= 1 << bit;
                let _ = apply(b"0123456789", &bad);
            }
        }
        assert!(
            apply(
                b"x",
                &[
                    1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff
                ]
            )
            .is_err()
        );
        assert!(apply(b"x", &[1, 1, 0]).is_err());
    }
}
