//! Base85, in the lines of a binary patch of git.

/// Digits of base85, in the order of git.
const BASE85: &[u8; 85] =
    b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~";
/// Bytes encoded on one line of a binary patch.
const BASE85_LINE_BYTES: usize = 52;

/// Adds `data` to a patch, line by line.
pub fn push_lines(patch: &mut Vec<u8>, data: &[u8]) {
    for line in data.chunks(BASE85_LINE_BYTES) {
        patch.push(length_letter(line.len()));
        for group in line.chunks(4) {
            let mut word = [0; 4];
            word[..group.len()].copy_from_slice(group);
            patch.extend_from_slice(&digits(u32::from_be_bytes(word)));
        }
        patch.push(b'\n');
    }
}

/// Encodes a line's length: `A` for 1 to `Z` for 26, `a` for 27 to `z` for 52.
fn length_letter(len: usize) -> u8 {
    let len = u8::try_from(len).unwrap_or_default();
    if len <= 26 {
        b'A' + len - 1
    } else {
        b'a' + len - 27
    }
}

fn digits(mut value: u32) -> [u8; 5] {
    let mut digits = [0; 5];
    for digit in digits.iter_mut().rev() {
        *digit = BASE85[value as usize % 85];
        value /= 85;
    }
    digits
}

#[cfg(test)]
mod tests {
    use super::push_lines;

    fn lines(data: &[u8]) -> String {
        let mut patch = Vec::new();
        push_lines(&mut patch, data);
        String::from_utf8(patch).unwrap()
    }

    #[test]
    fn the_empty_stream_looks_as_git_writes_it() {
        // The zlib stream of nothing, part of every binary patch that adds a file.
        assert_eq!(
            lines(&[0x78, 0x01, 0x03, 0, 0, 0, 0, 0x01]),
            "HcmV?d00001\n"
        );
    }

    #[test]
    fn a_line_holds_52_bytes() {
        let shown = lines(&[0xff; 53]);
        let lengths: Vec<(char, usize)> = shown
            .lines()
            .map(|l| (l.chars().next().unwrap(), l.len()))
            .collect();
        assert_eq!(lengths, [('z', 66), ('A', 6)]);
        assert!(shown.starts_with("z|NsC0|NsC0"), "{shown}");
    }
}
