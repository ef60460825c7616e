//! Answers that are too long: lists are cut at a cursor, everything else where it is largest.

use serde_json::{Value, json};

/// Upper bound on an answer as text, in characters.
pub const LONGEST_TEXT: usize = 25_000;
/// Items that are left of a list, and characters of a text, where an answer is still too long.
const ITEMS_LEFT: usize = 10;
const CHARACTERS_LEFT: usize = 1_000;

/// Cuts an answer to a page: of the list of one of `keys` from `from` on, at most `limit` items.
/// Returns where the next page begins, if there is one.
pub fn page(document: &mut Value, keys: &[&str], from: u64, limit: Option<u64>) -> Option<u64> {
    let place = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    let lists = keys.iter().copied();
    let key = lists.max_by_key(|key| document["data"][*key].as_array().map_or(0, Vec::len));
    let all = key.and_then(|key| document["data"][key].as_array().cloned());
    let (Some(key), Some(all)) = (key, all) else {
        shorten(document);
        return None;
    };
    let from = place(from).min(all.len());
    let mut end = from
        .saturating_add(limit.map_or(usize::MAX, place))
        .min(all.len());
    loop {
        document["data"][key] = all[from..end].into();
        let is_short = length(document) <= LONGEST_TEXT;
        if is_short || end <= from + 1 {
            break;
        }
        end = from + (end - from) / 2;
    }
    let next = (end < all.len()).then_some(end as u64);
    if let Some(next) = next {
        let (number, all) = (end - from, all.len());
        let message = format!("{number} of {all} {key}; cursor {next} goes on");
        warn(document, &message);
    }
    shorten(document);
    next
}

/// Cuts a list beside which something else is paged, and then the whole answer if it is too long.
pub fn cut_list(document: &mut Value, key: &str, limit: u64) {
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let count = document["data"][key].as_array().map_or(0, Vec::len);
    let list = document["data"][key].as_array_mut();
    if let Some(list) = list.filter(|_| count > limit) {
        list.truncate(limit);
        let message = format!("{limit} of {count} {key}; all of them are listed without a patch");
        warn(document, &message);
    }
    shorten(document);
}

/// Adds to the warnings of an answer that it was cut.
pub fn warn(document: &mut Value, message: &str) {
    let warning =
        json!({"code": "cut", "message": message, "path": null, "path_hex": null, "command": null});
    if let Some(warnings) = document["warnings"].as_array_mut() {
        warnings.push(warning);
    }
}

/// Cuts every list and text of an answer that is still too long.
fn shorten(document: &mut Value) {
    for (items, characters) in [
        (ITEMS_LEFT * 10, CHARACTERS_LEFT * 10),
        (ITEMS_LEFT, CHARACTERS_LEFT),
        (1, CHARACTERS_LEFT / 10),
    ] {
        if length(document) <= LONGEST_TEXT {
            return;
        }
        let is_cut = cut(&mut document["data"], items, characters)
            | cut(&mut document["error"], items, characters);
        if is_cut {
            warn(document, "longer lists and texts are cut");
        }
    }
}

fn cut(value: &mut Value, items: usize, characters: usize) -> bool {
    match value {
        Value::Array(list) => {
            let is_long = list.len() > items;
            list.truncate(items);
            list.iter_mut()
                .fold(is_long, |done, item| cut(item, items, characters) | done)
        }
        Value::Object(object) => object
            .iter_mut()
            .fold(false, |done, (_, item)| cut(item, items, characters) | done),
        Value::String(text) => {
            let end = text.char_indices().nth(characters).map(|(at, _)| at);
            end.map(|end| text.truncate(end)).is_some()
        }
        _ => false,
    }
}

pub fn length(document: &Value) -> usize {
    document.to_string().chars().count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(count: usize, width: usize) -> Value {
        let items: Vec<Value> = (0..count)
            .map(|at| json!({"at": at, "text": "x".repeat(width)}))
            .collect();
        json!({"data": {"items": items, "left_alone": []}, "error": null, "warnings": []})
    }

    #[test]
    fn pages_hold_every_item_once_and_are_short() {
        for (count, width, limit) in [
            (0, 1, None),
            (3, 1, Some(1)),
            (900, 200, None),
            (50, 9_000, Some(7)),
        ] {
            let (mut seen, mut from) = (Vec::new(), Some(0));
            while let Some(at) = from {
                let mut page_of = document(count, width);
                from = page(&mut page_of, &["items"], at, limit);
                assert!(length(&page_of) <= LONGEST_TEXT);
                assert_eq!(
                    page_of["warnings"]
                        .as_array()
                        .is_some_and(|w| !w.is_empty()),
                    from.is_some()
                );
                seen.extend(
                    page_of["data"]["items"]
                        .as_array()
                        .expect("a list")
                        .iter()
                        .map(|item| item["at"].clone()),
                );
            }
            let all: Vec<Value> = (0..count).map(Value::from).collect();
            assert_eq!(seen, all);
        }
    }

    #[test]
    fn what_is_not_paged_is_cut_too() {
        let mut long = document(1, 100_000);
        long["data"]["left_alone"] = (0..50_000).collect::<Vec<u32>>().into();
        assert_eq!(page(&mut long, &["none"], 0, None), None);
        assert!(length(&long) <= LONGEST_TEXT);
        assert_eq!(long["warnings"][0]["code"], "cut");
    }

    #[test]
    fn a_list_beside_what_is_paged_has_a_bound() {
        let mut three = document(3, 1);
        cut_list(&mut three, "items", 3);
        assert_eq!(three, document(3, 1));
        cut_list(&mut three, "items", 2);
        assert_eq!(three["data"]["items"].as_array().map(Vec::len), Some(2));
        assert_eq!(three["warnings"][0]["code"], "cut");
    }

    #[test]
    fn an_item_too_long_for_a_page_is_one_by_itself() {
        let mut long = document(3, 60_000);
        assert_eq!(page(&mut long, &["items"], 1, None), Some(2));
        assert_eq!(long["data"]["items"].as_array().map(Vec::len), Some(1));
    }
}
