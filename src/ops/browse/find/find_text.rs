//! `find --text`: the files and checkpoints that contain a text. Each content is read once.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::convert::Infallible;

use crate::base::text::escape_bytes;
use crate::base::threads::{self, work_queue};
use crate::error::{Error, Result, Sentence};
use crate::model::json::text_of;
use crate::model::state::entry::{FILE_BITS, TYPE_BITS};
use crate::model::{ObjectId, PathPattern, RelPath};
use crate::ops::browse::find::find_path::{below, not_found};
use crate::ops::browse::find::find_pattern;
use crate::ops::browse::find::text_search::{Needle, Search};
use crate::ops::browse::history::Version;
use crate::ops::browse::list::reader_warnings;
use crate::ops::{Context, FindOutcome, FoundText, History, Period, TextMatch, Warning};
use crate::store::{ObjectError, Store};

/// Maximum number of lines reported per file; more are only counted.
const LINES_TOLD: usize = 1000;
/// Default limit on matches, so that a frequent text does not fill the memory.
const USUAL_LIMIT: usize = 100;

/// A path with the same content in consecutive checkpoints.
struct ContentSpan<'h> {
    path: &'h RelPath,
    blob: ObjectId,
    first: usize,
    last: usize,
}

/// Finds literal bytes in the files that the pattern names, or in all.
pub fn find_text(
    context: &Context,
    text: &[u8],
    typed: Option<&[u8]>,
    limit: Option<usize>,
    period: Period,
) -> Result<(FindOutcome, Vec<Warning>)> {
    if text.is_empty() {
        return Err(Error::usage("the text to look for is empty"));
    }
    let pattern = match typed {
        Some(typed) => find_pattern::parse(&context.root, typed)?,
        None => PathPattern::of_path(context.root.current().clone()),
    };
    let (store, inventory) = context.read()?;
    let history = History::read(&store, &inventory.checkpoints, &pattern);
    let mut spans = spans(&history);
    spans.retain(|span| {
        let mut held_by = history.checkpoints[span.first..=span.last].iter();
        held_by.any(|checkpoint| period.holds(checkpoint))
    });
    let blobs: BTreeSet<ObjectId> = spans.iter().map(|span| span.blob).collect();
    let needle = Needle::new(text);
    let (found, damaged) = search(&store, &blobs.into_iter().collect::<Vec<_>>(), &needle);
    let mut warnings = reader_warnings(context, &store, &inventory)?;
    warnings.extend(history.warnings.iter().cloned());
    warnings.extend(spans.iter().filter_map(|span| {
        let why = format!("{}: {}", span.path, damaged.get(&span.blob)?);
        Some(Warning::PassedOver {
            id: history.checkpoints[span.last].id,
            why,
        })
    }));
    spans.retain(|span| found.contains(&span.blob));
    if spans.is_empty() {
        let unread = inventory.damaged.len() + history.warnings.len() + damaged.len();
        let below = below(&context.root, typed.unwrap_or_default()).unwrap_or_default();
        let what = format!(
            "no checkpoint has '{}' in a file{below}",
            escape_bytes(text)
        );
        let hint = Sentence::text("the text is matched exactly, including case");
        return Err(not_found(what, hint, unread));
    }
    spans.sort_by(|a, b| b.last.cmp(&a.last).then_with(|| a.path.cmp(b.path)));
    let limit = limit.unwrap_or(USUAL_LIMIT);
    let more = spans.len().saturating_sub(limit);
    let matches = spans.into_iter().take(limit).map(|span| {
        Ok(TextMatch {
            path: span.path.clone(),
            blob_id: span.blob,
            first_in: history.checkpoints[span.first].clone(),
            last_in: history.checkpoints[span.last].clone(),
            found: search_one(&store, span.blob, &needle, LINES_TOLD)?,
        })
    });
    let outcome = FindOutcome {
        text: Some(text_of(text)),
        pattern: typed.map(text_of),
        matches: matches.collect::<Result<_>>()?,
        more,
        ..FindOutcome::default()
    };
    Ok((outcome, warnings))
}

fn spans(history: &History) -> Vec<ContentSpan<'_>> {
    let content = |version: Version| {
        version
            .filter(|(mode, _)| mode & TYPE_BITS == FILE_BITS)
            .map(|(_, blob)| blob)
    };
    let mut spans: Vec<ContentSpan<'_>> = Vec::new();
    for (path, steps) in &history.steps {
        let after = steps.iter().skip(1).map(|step| step.at);
        for (step, end) in steps.iter().zip(after.chain([history.checkpoints.len()])) {
            let Some(blob) = content(step.after) else {
                continue;
            };
            let (first, last) = (step.at, end.saturating_sub(1));
            match spans.last_mut() {
                // Only the mode changed.
                Some(it) if it.path == path && it.blob == blob && it.last + 1 == first => {
                    it.last = last;
                }
                _ => spans.push(ContentSpan {
                    path,
                    blob,
                    first,
                    last,
                }),
            }
        }
    }
    spans
}

type Searched = (HashSet<ObjectId>, HashMap<ObjectId, String>);

/// Returns the contents that have the text, and those that could not be read.
fn search(store: &Store, blobs: &[ObjectId], needle: &Needle) -> Searched {
    let mut parts: Vec<Searched> = (0..threads::workers())
        .map(|_| Searched::default())
        .collect();
    let in_order = blobs.iter().rev().copied().collect();
    let Ok(_) = work_queue::run(
        parts.iter_mut().collect(),
        in_order,
        &|(hits, damaged), blob, _| {
            match search_one(store, blob, needle, 1) {
                Ok(found) if found.is_empty() => {}
                Ok(_) => drop(hits.insert(blob)),
                Err(damage) => drop(damaged.insert(blob, damage.to_string())),
            }
            Ok::<_, Infallible>(())
        },
    );
    let (hits, damaged): (Vec<_>, Vec<_>) = parts.into_iter().unzip();
    (
        hits.into_iter().flatten().collect(),
        damaged.into_iter().flatten().collect(),
    )
}

fn search_one(
    store: &Store,
    blob: ObjectId,
    needle: &Needle,
    keep: usize,
) -> Result<FoundText, ObjectError> {
    let mut search = Search::new(needle, keep);
    store.objects().stream_blob(&blob, &mut search)?;
    Ok(search.finish())
}
