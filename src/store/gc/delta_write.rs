//! Writes versions of a large file: the newest whole, each older one as a delta of the next newer.

use std::sync::Arc;

use crate::error::{Error, Result};
use crate::store::gc::delta_make;
use crate::store::gc::delta_plan::LONGEST_CHAIN;
use crate::store::gc::pack_usage::PackUsage;
use crate::store::gc::rejected_bases::Pair;
use crate::store::gc::repack_plan::BlobVersion;
use crate::store::objects::odb::Objects;
use crate::store::objects::pack::pack_delta;
use crate::store::objects::pack::pack_list::Pack;
use crate::store::objects::pack::pack_writer::PackWriter;

pub struct RunWriter<'a> {
    pub objects: &'a Objects,
    pub survey: &'a PackUsage,
    /// Pairs for which the delta did not pay off.
    pub rejected_bases: Vec<Pair>,
}

/// The previous, newer version, the possible base of the next.
struct DeltaBase<'v> {
    version: &'v BlobVersion,
    /// Compressed bytes of the last whole version.
    whole_room: u64,
    /// Length of its chain of deltas.
    depth: usize,
    content: Option<Arc<Vec<u8>>>,
}

impl RunWriter<'_> {
    /// # Errors
    /// A version cannot be read, or the pack cannot be written.
    pub fn write(&mut self, writer: &mut PackWriter<'_>, run: &[BlobVersion]) -> Result<()> {
        let mut newer: Option<DeltaBase<'_>> = None;
        for version in run {
            newer = Some(match newer {
                Some(newer) if newer.depth < LONGEST_CHAIN => {
                    self.write_next(writer, version, newer)?
                }
                _ => self.write_whole(writer, version, None)?,
            });
        }
        Ok(())
    }

    fn write_next<'v>(
        &mut self,
        writer: &mut PackWriter<'_>,
        version: &'v BlobVersion,
        newer: DeltaBase<'v>,
    ) -> Result<DeltaBase<'v>> {
        let (id, newer_id) = (version.entry.id, newer.version.entry.id);
        let depth = newer.depth + 1;
        if version.base == Some(newer_id) {
            let pack = self.pack_of(version)?;
            let reader = pack.reader().map_err(|cause| pack.unreadable(cause))?;
            let (_, header) = pack_delta::base_of(reader, version.entry.offset)
                .map_err(|c| pack.unreadable(c))?;
            writer.copy_delta(reader, &version.entry, version.end, &header, &newer_id)?;
            return Ok(DeltaBase {
                version,
                depth,
                whole_room: newer.whole_room,
                content: None,
            });
        }
        let base = match newer.content {
            Some(content) => content,
            None => self.content(newer.version)?,
        };
        let content = self.content(version)?;
        // The sizes of delta and whole are compared compressed.
        let whole_room = if version.base.is_none() {
            version.end - version.entry.offset
        } else {
            newer.whole_room
        };
        let delta = delta_make::make(&base, &content, content.len() / 2);
        drop(base);
        if let Some(delta) = delta
            && writer.add_delta(id, &newer_id, &delta, whole_room / 2)?
        {
            return Ok(DeltaBase {
                version,
                depth,
                whole_room: newer.whole_room,
                content: Some(content),
            });
        }
        self.rejected_bases.push((newer_id, id));
        self.write_whole(writer, version, Some(content))
    }

    fn write_whole<'v>(
        &self,
        writer: &mut PackWriter<'_>,
        version: &'v BlobVersion,
        content: Option<Arc<Vec<u8>>>,
    ) -> Result<DeltaBase<'v>> {
        let id = version.entry.id;
        if version.base.is_none() {
            let pack = self.pack_of(version)?;
            let reader = pack.reader().map_err(|cause| pack.unreadable(cause))?;
            writer.copy_entry(reader, &version.entry, version.end)?;
        } else {
            let (kind, content) = self.objects.read_any(&id)?;
            writer.rewrite(id, kind, &content)?;
        }
        Ok(DeltaBase {
            version,
            whole_room: version.end - version.entry.offset,
            depth: 0,
            content,
        })
    }

    /// Reads a version by its checksum alone: the result is read back and hashed at the end.
    fn content(&self, version: &BlobVersion) -> Result<Arc<Vec<u8>>> {
        if version.base.is_none()
            && let Ok(reader) = self.pack_of(version)?.reader()
            && let Ok((_, content)) =
                reader.content_by_crc(version.entry.offset, version.end, version.entry.crc)
        {
            return Ok(Arc::new(content));
        }
        Ok(Arc::new(self.objects.read_any(&version.entry.id)?.1))
    }

    fn pack_of(&self, version: &BlobVersion) -> Result<&Pack> {
        let gone = || Error::damaged(version.pack.clone(), "it was not looked at");
        self.survey
            .get(&version.pack)
            .map(|found| &*found.pack)
            .ok_or_else(gone)
    }
}
