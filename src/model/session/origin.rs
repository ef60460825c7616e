//! Where an imported checkpoint comes from.

use std::fmt;

use crate::base::json::{Deserialize, JsonSchema, Serialize};
use crate::base::text::{escape, percent_decode};

/// Machine and root of the store in which a checkpoint was made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OriginStore {
    pub host: String,
    /// Path of the working directory there.
    pub root: String,
}

impl fmt::Display for OriginStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", escape(&self.host), escape(&self.root))
    }
}

impl OriginStore {
    /// Returns both as two components of a ref: every byte but letters, digits and `-` is encoded,
    /// so that git accepts any.
    pub fn to_ref(&self) -> String {
        format!(
            "{}/{}",
            encode_component(&self.host),
            encode_component(&self.root)
        )
    }

    /// Reads the form of [`Self::to_ref`].
    pub fn of_ref(text: &str) -> Option<Self> {
        let (host, root) = text.split_once('/')?;
        let decode = |part: &str| String::from_utf8(percent_decode(part)?).ok();
        let read = Self {
            host: decode(host)?,
            root: decode(root)?,
        };
        (read.to_ref() == text).then_some(read)
    }
}

/// Encodes any text as one component of a ref.
pub fn encode_component(text: &str) -> String {
    let byte = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    };
    // A component may not be empty.
    match text {
        "" => "%00".to_owned(),
        text => text.bytes().map(byte).collect(),
    }
}
