//! The id of a git object: 20 bytes, 40 hex digits. Computes no hashes.

use std::fmt;

use crate::base::json::Deserialize;

/// A git object id (SHA-1). Ordered bytewise, as git orders pack indexes. The default is that of no
/// object.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Deserialize)]
#[serde(try_from = "String")]
pub struct ObjectId([u8; 20]);

impl ObjectId {
    /// Number of digits of the short form (`a1b2c3d4`).
    pub const SHORT_DIGITS: usize = 8;

    pub fn from_bytes(bytes: [u8; 20]) -> Self {
        Self(bytes)
    }

    /// Converts exactly 20 bytes; `None` otherwise.
    pub fn from_slice(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(Self)
    }

    /// Parses exactly 40 hex digits of either case; `None` otherwise.
    pub fn from_hex(text: &str) -> Option<Self> {
        let mut bytes = [0; 20];
        hex::decode_to_slice(text, &mut bytes).ok()?;
        Some(Self(bytes))
    }

    /// Whether its hex digits begin with these, in lower case.
    pub fn begins_with(&self, digits: &str) -> bool {
        let digit = |at: usize| {
            let byte = self.0.get(at / 2)?;
            char::from_digit(
                u32::from(if at.is_multiple_of(2) {
                    byte >> 4
                } else {
                    byte & 15
                }),
                16,
            )
        };
        digits
            .chars()
            .enumerate()
            .all(|(at, wanted)| digit(at) == Some(wanted))
    }

    pub fn as_bytes(&self) -> &[u8; 20] {
        &self.0
    }

    /// Returns all 40 digits in lower case.
    pub fn to_hex(self) -> String {
        self.to_string()
    }

    /// Returns the first eight digits, as `create` prints them.
    pub fn short(self) -> String {
        let mut text = self.to_hex();
        text.truncate(Self::SHORT_DIGITS);
        text
    }
}

impl TryFrom<String> for ObjectId {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        Self::from_hex(&text).ok_or("it is no id of an object")
    }
}

impl fmt::Display for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut digits = [0; 40];
        hex::encode_to_slice(self.0, &mut digits).map_err(|_| fmt::Error)?;
        f.write_str(str::from_utf8(&digits).map_err(|_| fmt::Error)?)
    }
}

impl fmt::Debug for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.short())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_forty_hex_digits_make_an_id() {
        let hex = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";
        let id = ObjectId::from_hex(hex).unwrap();
        assert_eq!(id.to_hex(), hex);
        assert!((0..=40).all(|digits| id.begins_with(&hex[..digits])));
        assert!(!id.begins_with(&format!("{hex}0")) && !id.begins_with("4b82e"));
        assert_eq!(ObjectId::from_hex(hex).unwrap().short(), "4b825dc6");
        for bad in [
            "",
            "4b825dc6",
            &hex[..39],
            &format!("{hex}0"),
            &hex.replace('4', "g"),
        ] {
            assert_eq!(ObjectId::from_hex(bad), None, "{bad}");
        }
    }
}
