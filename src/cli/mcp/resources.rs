//! What can be read by its address: the list, a checkpoint, a file of it, a workflow.

use std::ffi::OsString;

use serde_json::Value;

use crate::base::text::percent_decode;
use crate::cli::mcp::front::{Front, RunningWork};

const SCHEME: &str = "checkpoint://";
/// Upper bound on a file that is read as a resource, in bytes; the tool reads longer ones in parts.
const LARGEST_FILE: u64 = 4 << 20;
/// Checkpoints in the list.
const MOST_LISTED: usize = 1_000;

/// A kind of resource: address, name, type and meaning.
pub struct ResourceSpec {
    pub address: &'static str,
    pub name: &'static str,
    pub mime_type: &'static str,
    pub description: &'static str,
}

pub const LIST: ResourceSpec = ResourceSpec {
    address: "checkpoint://list",
    name: "checkpoints",
    mime_type: JSON,
    description: "The checkpoints of the directory, newest first",
};

pub const TEMPLATES: [ResourceSpec; 3] = [
    ResourceSpec {
        address: "checkpoint://{id}",
        name: "checkpoint",
        mime_type: JSON,
        description: "A checkpoint: what it holds and what changed in it",
    },
    ResourceSpec {
        address: "checkpoint://{id}/{+path}",
        name: "file",
        mime_type: "application/octet-stream",
        description: "A file as a checkpoint holds it",
    },
    ResourceSpec {
        address: "checkpoint://workflow/{id}",
        name: "workflow",
        mime_type: JSON,
        description: "A workflow: its phases and how far each has come",
    },
];

const JSON: &str = "application/json";

/// The content of a resource.
#[derive(Debug)]
pub enum Content {
    Text(&'static str, String),
    /// Base64.
    Binary(String),
}

/// Reads a resource.
///
/// # Errors
/// There is none at this address, in words.
pub fn read(front: &Front, uri: &str, running: &RunningWork) -> Result<Content, UnknownResource> {
    let unknown = || UnknownResource("there is no such resource".to_owned());
    let rest = uri.strip_prefix(SCHEME).ok_or_else(unknown)?;
    let word = |text: &str| {
        let text = percent_decode(text).and_then(|bytes| String::from_utf8(bytes).ok());
        text.filter(|text| !text.is_empty() && !text.starts_with('-') && !text.contains('\0'))
            .ok_or_else(unknown)
    };
    let words: Vec<OsString> = match rest.split_once('/') {
        None if rest == "list" => {
            vec!["list".into(), format!("--limit={MOST_LISTED}").into()]
        }
        None => vec!["show".into(), word(rest)?.into()],
        Some(("workflow", id)) => {
            let run = format!("--workflow={}", word(id)?);
            vec!["workflow".into(), "status".into(), run.into()]
        }
        Some((id, path)) => {
            let bytes = format!("--bytes={LARGEST_FILE}");
            let path = percent_decode(path).and_then(|bytes| String::from_utf8(bytes).ok());
            let path = path.filter(|path| !path.is_empty() && !path.contains('\0'));
            let path = path.ok_or_else(unknown)?;
            vec![
                "cat".into(),
                bytes.into(),
                word(id)?.into(),
                "--".into(),
                path.into(),
            ]
        }
    };
    let (_, document) = front.run(front.dirs.usual(), &words, running);
    if document["ok"] != true {
        let message = document["error"]["message"].as_str().unwrap_or_default();
        return Err(UnknownResource(message.to_owned()));
    }
    if words[0] != "cat" {
        return Ok(Content::Text(JSON, document.to_string()));
    }
    content_of(&document["data"])
}

fn content_of(file: &Value) -> Result<Content, UnknownResource> {
    if file["size_bytes"]
        .as_u64()
        .is_some_and(|size| size > LARGEST_FILE)
    {
        let what = "the file is larger than 4 MiB; the tool checkpoint_read reads it in parts";
        return Err(UnknownResource(what.to_owned()));
    }
    if let Some(text) = file["text"].as_str() {
        return Ok(Content::Text("text/plain", text.to_owned()));
    }
    let hex = file["hex"].as_str().unwrap_or_default().as_bytes();
    let digit = |hex: u8| char::from(hex).to_digit(16).unwrap_or_default();
    let bytes = hex
        .chunks_exact(2)
        .map(|pair| digit(pair[0]) << 4 | digit(pair[1]));
    Ok(Content::Binary(base64(&bytes.collect::<Vec<u32>>())))
}

/// Why a resource cannot be read.
#[derive(Debug)]
pub struct UnknownResource(pub String);

/// Encodes bytes as in RFC 4648, section 4.
fn base64(bytes: &[u32]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let byte = |at: usize| group.get(at).copied().unwrap_or_default();
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for at in 0..4 {
            let letter = LETTERS[(bits >> (18 - 6 * at) & 63) as usize];
            text.push(if at > group.len() {
                '='
            } else {
                char::from(letter)
            });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::base64;

    #[test]
    fn base64_is_as_in_the_standard() {
        for (text, encoded) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ] {
            let bytes: Vec<u32> = text.bytes().map(u32::from).collect();
            assert_eq!(base64(&bytes), encoded);
        }
    }
}
