//! The state document, for values other than files: one JSON object, given whole or key by key.

use serde_json::{Map, Value};

use crate::base::Malformed;
use crate::base::json::parse;

/// The values of a document, by their keys.
pub type Values = Map<String, Value>;

/// Returns the values of a stored document; `None` if it is unreadable.
pub fn values(bytes: &[u8]) -> Option<Values> {
    serde_json::from_slice(bytes).ok()
}

/// The object as stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateDocument {
    pub bytes: Vec<u8>,
    /// Top-level keys, in order.
    pub keys: Vec<String>,
}

impl StateDocument {
    /// Makes a document. `whole` is an object from a file, kept byte for byte if nothing is added;
    /// `pairs` are `KEY=JSON`, the last one per key wins. `None` if nothing is given.
    ///
    /// # Errors
    /// The invalid input, in words.
    pub fn of(whole: Option<&[u8]>, pairs: &[String]) -> Result<Option<Self>, Malformed> {
        let mut object = match whole {
            None if pairs.is_empty() => return Ok(None),
            None => Map::new(),
            Some(bytes) => match parse(bytes) {
                Ok(Value::Object(object)) => object,
                Ok(_) => return Err("the state is not a JSON object".into()),
                Err(why) => return Err(format!("the state is not JSON: {why}").into()),
            },
        };
        for pair in pairs {
            let (key, value) = pair
                .split_once('=')
                .filter(|(key, _)| !key.is_empty())
                .ok_or_else(|| format!("'{pair}' is not KEY=JSON"))?;
            let value = parse(value.as_bytes()).map_err(|_| {
                format!("the value of '{key}' is not JSON; a text needs quotes: '{key}=\"…\"'")
            })?;
            object.insert(key.to_owned(), value);
        }
        let keys = object.keys().cloned().collect();
        let bytes = match whole {
            Some(bytes) if pairs.is_empty() => bytes.to_vec(),
            _ => format!("{}\n", Value::Object(object)).into_bytes(),
        };
        Ok(Some(Self { bytes, keys }))
    }

    /// Returns the keys of a stored document; none if it is unreadable.
    pub fn keys_of(bytes: &[u8]) -> Vec<String> {
        Self::of(Some(bytes), &[])
            .ok()
            .flatten()
            .map(|document| document.keys)
            .unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(whole: Option<&str>, pairs: &[&str]) -> Result<Option<(String, Vec<String>)>, Malformed> {
        let pairs: Vec<String> = pairs.iter().map(|pair| (*pair).to_owned()).collect();
        let document = StateDocument::of(whole.map(str::as_bytes), &pairs)?;
        Ok(document.map(|document| (String::from_utf8(document.bytes).unwrap(), document.keys)))
    }

    #[test]
    fn a_file_is_kept_to_the_byte_and_pairs_are_put_over_it() {
        let file = "{ \"b\" : 1,\n\"a\": [2] }";
        let keys = vec!["b".to_owned(), "a".to_owned()];
        let found = of(Some(file), &[]);
        assert_eq!(found, Ok(Some((file.to_owned(), keys.clone()))));
        assert_eq!(
            of(Some(file), &["b=\"x=y\""]),
            Ok(Some(("{\"b\":\"x=y\",\"a\":[2]}\n".to_owned(), keys)))
        );
        assert_eq!(
            of(None, &["a=1", "a=null"]),
            Ok(Some(("{\"a\":null}\n".to_owned(), vec!["a".to_owned()])))
        );
        assert_eq!(of(None, &[]), Ok(None));
    }

    #[test]
    fn what_is_no_object_and_no_pair_is_refused_with_the_reason() {
        for (whole, pairs) in [
            (Some("[1]"), vec![]),
            (Some("{"), vec![]),
            (None, vec!["a"]),
            (None, vec!["=1"]),
            (None, vec!["a=x"]),
        ] {
            assert!(of(whole, &pairs).is_err(), "{whole:?} {pairs:?}");
        }
    }
}
