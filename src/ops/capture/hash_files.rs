//! Reads every file of a listing whose blob id is unknown, on several threads if worthwhile.

use std::collections::HashSet;
use std::sync::Arc;

use crate::base::WorkPhase;
use crate::base::threads::{self, work_queue};
use crate::error::Result;
use crate::model::stat_cache::cached_block::may_be_half_written;
use crate::model::state::entry::STREAM_FROM_BYTES;
use crate::model::{
    BlockPlace, CachedListing, ListedDir, ListedFile, ListedUncaptured, Listing, Name, ObjectId,
    RelPath, Stat, WhyNot,
};
use crate::ops::capture::sink::{KeyWatch, Sink};
use crate::ops::{Admission, Context, ThreadSink, Warning};
use crate::worktree::rules::rule_set::may_be_secret;
use crate::worktree::scan::read::{read_file, read_in};
use crate::worktree::sys::{Access, Dir};
use crate::worktree::{BlobSink, ReadOutcome, WorkTree};

/// Size of a thread's batch: at most this many files, or about this many bytes.
const BATCH_FILES: usize = 128;
const BATCH_BYTES: u64 = 2 << 20;
/// Below both of these a second thread is not worthwhile.
const ALONE_FILES: u64 = 64;
const ALONE_BYTES: u64 = 1 << 20;

/// Files of one directory.
struct Batch<'l> {
    dir: usize,
    /// The directory in the stat cache.
    cached: Option<BlockPlace>,
    path: RelPath,
    files: &'l mut [ListedFile],
    bytes: u64,
}

/// A fact about a file that the listing did not have.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct FileFact {
    dir: usize,
    name: Name,
    fate: FileFate,
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum FileFate {
    Unsteady,
    Gone,
    NotCaptured(WhyNot),
}

/// Reads files with unknown ids and records the result of each. Files that vanished are removed
/// from the listing.
pub fn hash_files(
    context: &Context,
    worktree: &WorkTree,
    admission: &Admission<'_>,
    listing: &mut Listing,
    sink: &mut Sink<'_, '_>,
    warnings: &mut Vec<Warning>,
) -> Result<()> {
    let paths = paths_with_unknown(listing);
    if paths.is_empty() {
        return Ok(());
    }
    let before = EarlierScan {
        started_ns: listing.started_ns,
        cached: listing.cached.clone(),
    };
    let mut batches = Vec::new();
    let mut paths = paths.into_iter().peekable();
    for (index, dir) in listing.dirs.iter_mut().enumerate() {
        if let Some((_, path)) = paths.next_if(|(dir, _)| *dir == index) {
            let files = dir.files.listed_mut();
            let cached = dir.cached.as_ref().map(|before| before.place);
            split((index, cached), &path, files, &mut batches);
        }
    }
    let mut met = read_batches(context, worktree, admission, before, batches, sink)?;
    met.sort_unstable();
    for of_one_dir in met.chunk_by(|a, b| a.dir == b.dir) {
        settle(listing, of_one_dir, warnings);
    }
    Ok(())
}

fn paths_with_unknown(listing: &mut Listing) -> Vec<(usize, RelPath)> {
    let has_unknown =
        |dir: &mut ListedDir| dir.files.listed_mut().iter().any(|file| file.id.is_none());
    let dirs: Vec<usize> = (0..listing.dirs.len())
        .filter(|index| has_unknown(&mut listing.dirs[*index]))
        .collect();
    dirs.into_iter()
        .map(|index| (index, listing.path_of(index)))
        .collect()
}

fn split<'l>(
    (dir, cached): (usize, Option<BlockPlace>),
    path: &RelPath,
    mut files: &'l mut [ListedFile],
    batches: &mut Vec<Batch<'l>>,
) {
    while !files.is_empty() {
        let (mut count, mut bytes) = (0, 0);
        while count < files.len() && count < BATCH_FILES && bytes < BATCH_BYTES {
            bytes += if files[count].id.is_none() {
                files[count].stat.size_bytes
            } else {
                0
            };
            count += 1;
        }
        let (batch, rest) = files.split_at_mut(count);
        files = rest;
        batches.push(Batch {
            dir,
            cached,
            path: path.clone(),
            files: batch,
            bytes,
        });
    }
}

fn read_batches(
    context: &Context,
    worktree: &WorkTree,
    admission: &Admission<'_>,
    before: EarlierScan,
    mut batches: Vec<Batch<'_>>,
    sink: &mut Sink<'_, '_>,
) -> Result<Vec<FileFact>> {
    let bytes = batches.iter().map(|batch| batch.bytes).sum();
    let unknown =
        |batch: &Batch<'_>| batch.files.iter().filter(|file| file.id.is_none()).count() as u64;
    let files = batches.iter().map(unknown).sum();
    context.progress.begin(WorkPhase::Reading, files, bytes);
    let alone = files < ALONE_FILES && bytes < ALONE_BYTES;
    let workers = if alone {
        1
    } else {
        threads::workers().min(batches.len())
    };
    // The largest files come first, so that no thread ends alone with one. Batches are taken from
    // the end.
    batches.sort_by_key(|batch| batch.bytes >= STREAM_FROM_BYTES);
    let reader = BatchReader {
        context,
        worktree,
        admission,
        before,
    };
    let sinks = sink.split(workers)?;
    let met = work_queue::run(
        sinks,
        batches,
        &|sink: &mut ThreadSink<'_, '_>, batch, _| reader.read(batch, sink),
    )?;
    Ok(met.into_iter().flatten().collect())
}

struct BatchReader<'r> {
    context: &'r Context,
    worktree: &'r WorkTree,
    admission: &'r Admission<'r>,
    before: EarlierScan,
}

/// What tells whether one read of a file settles its content.
struct EarlierScan {
    /// When this scan began.
    started_ns: i64,
    cached: Option<Arc<CachedListing>>,
}

impl EarlierScan {
    /// Whether a write may be under way, and no earlier scan found the same. What is in the stat
    /// cache was read before this scan began.
    fn leaves_open(
        &self,
        dir: Option<&BlockPlace>,
        name: &[u8],
        stat: &Stat,
        id: ObjectId,
    ) -> bool {
        let earlier = || self.cached.as_ref()?.earlier_read(dir?, name, stat);
        may_be_half_written(stat, self.started_ns) && earlier() != Some(id)
    }
}

impl BatchReader<'_> {
    fn read(&self, batch: Batch<'_>, sink: &mut dyn BlobSink) -> Result<Vec<FileFact>> {
        let dir = self
            .worktree
            .root()
            .open_below(&batch.path, Access::Search)
            .ok();
        let mut met = Vec::new();
        for file in batch.files {
            if file.id.is_some() {
                continue;
            }
            let fate = self.read_one(
                dir.as_ref(),
                (batch.cached.as_ref(), &batch.path),
                file,
                sink,
            )?;
            self.context.progress.add(1, 0);
            self.context.check_interrupt()?;
            met.extend(fate.map(|fate| FileFact {
                dir: batch.dir,
                name: file.name.clone(),
                fate,
            }));
        }
        Ok(met)
    }

    fn read_one(
        &self,
        dir: Option<&Dir>,
        (cached, path): (Option<&BlockPlace>, &RelPath),
        file: &mut ListedFile,
        sink: &mut dyn BlobSink,
    ) -> Result<Option<FileFate>> {
        let mut watch = KeyWatch {
            interrupt: &self.context.interrupt,
            progress: &self.context.progress,
            admission: self.admission,
            dir: path,
            name: &file.name,
            sink,
            saw_key: false,
        };
        let read = match dir {
            Some(dir) => read_in(self.worktree, dir, path, &file.name, file, &mut watch)?,
            None => read_file(self.worktree, path, &file.name, file, &mut watch)?,
        };
        // The reason for admitting it may be gone next time, so it is read again. If the name
        // tells, the rules decide.
        let is_unsure = watch.saw_key && !may_be_secret(path.name(), &file.name);
        Ok(match read {
            ReadOutcome::Captured {
                id,
                stat,
                kind,
                racy,
            } => {
                (file.id, file.stat, file.kind) = (Some(id), stat, kind);
                let is_open = || self.before.leaves_open(cached, &file.name, &stat, id);
                file.racy = racy || is_unsure || is_open();
                racy.then_some(FileFate::Unsteady)
            }
            ReadOutcome::Vanished | ReadOutcome::NotAFile => Some(FileFate::Gone),
            ReadOutcome::Unreadable(why) => Some(FileFate::NotCaptured(WhyNot::Unreadable(why))),
            ReadOutcome::Refused(why) => Some(FileFate::NotCaptured(why)),
        })
    }
}

/// Applies the results of one directory to the listing.
fn settle(listing: &mut Listing, met: &[FileFact], warnings: &mut Vec<Warning>) {
    let Some(index) = met.first().map(|first| first.dir) else {
        return;
    };
    let mut out = HashSet::new();
    for FileFact { name, fate, .. } in met {
        match fate {
            FileFate::Unsteady => {
                warnings.push(Warning::ChangedWhileRead {
                    path: listing.path_of(index).join(name),
                });
                continue;
            }
            FileFate::Gone => {}
            FileFate::NotCaptured(why) => {
                let item = ListedUncaptured {
                    name: name.clone(),
                    why: why.clone(),
                    is_dir: false,
                };
                listing.dirs[index].uncaptured.push(item);
            }
        }
        out.insert(&**name);
    }
    if !out.is_empty() {
        let dir = &mut listing.dirs[index];
        dir.decided_by_names = false;
        dir.files
            .make_listed()
            .retain(|file| !out.contains(&*file.name));
        dir.uncaptured.sort_by(|a, b| a.name.cmp(&b.name));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::stat_cache::cache_writer;
    use crate::model::{Files, Kind};
    use crate::store::small_files::stat_cache::ReadBlocks;
    use xxhash_rust::xxh3::xxh3_64;

    #[test]
    fn a_second_read_that_finds_the_same_under_the_same_stamps_settles_it() {
        let [one, other] = [1, 2].map(|byte| ObjectId::from_bytes([byte; 20]));
        let stat = Stat {
            size_bytes: 1 << 30,
            mtime_ns: 5,
            ..Stat::default()
        };
        let mut listing = Listing::of_empty_root(Stat::default(), 9);
        let name = b"large".as_slice();
        listing.dirs[0].files = vec![ListedFile {
            name: name.into(),
            kind: Kind::File,
            stat,
            id: Some(one),
            racy: true,
        }]
        .into();
        let new = cache_writer::write(&listing, None, 0, &xxh3_64).unwrap();
        let cached = CachedListing::new(new.root, Box::new(ReadBlocks(Arc::new(new.bytes))));
        let place = cached.root.place;
        let files = Files::cached(cached.block(&place).unwrap());
        assert_eq!(files.get(name).unwrap().id, None);
        let before = EarlierScan {
            started_ns: 9,
            cached: Some(Arc::new(cached)),
        };
        assert!(!before.leaves_open(Some(&place), name, &stat, one));
        assert!(before.leaves_open(Some(&place), name, &stat, other));
        assert!(before.leaves_open(Some(&place), b"other", &stat, one));
        assert!(before.leaves_open(None, name, &stat, one));
        let later = Stat {
            ctime_ns: 1,
            ..stat
        };
        assert!(before.leaves_open(Some(&place), name, &later, one));
    }
}
