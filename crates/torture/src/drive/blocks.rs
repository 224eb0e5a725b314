//! What is in blocks: durable, in the cache, or not to be read.

use super::Drive;
use super::command::Working;
use crate::mutant::Mutant;
use tailcut_host::Bytes;
use tailcut_host::array::superblock::SUPERBLOCK_BLOCKS;

impl Drive {
    pub(super) fn write(&mut self, working: &Working, index: u32) {
        let mut block = working.request.block + u64::from(index);
        if let Some((victim, pick)) = working.misdirect
            && victim == index
        {
            block = SUPERBLOCK_BLOCKS + u64::from(pick) % (self.model.blocks - SUPERBLOCK_BLOCKS);
        }
        self.writes += 1;
        if self.mutant == Some(Mutant::DropsWrites) && self.writes.is_multiple_of(17) {
            return;
        }
        self.arrive(block, working.request.data[index as usize].clone(), working.request.fua);
    }

    /// A failed write leaves the old content, the new one or none.
    pub(super) fn botch(&mut self, block: u64, content: &Bytes) {
        match self.random.below(3) {
            0 => {}
            1 => self.arrive(block, content.clone(), false),
            _ => {
                self.cached.remove(&block);
                self.forgotten.remove(&block);
                self.unreadable.insert(block);
            }
        }
    }

    pub(super) fn arrive(&mut self, block: u64, content: Bytes, fua: bool) {
        self.arrivals += 1;
        let lies = self.mutant == Some(Mutant::LiesAboutFlush);
        if self.model.volatile_cache && (!fua || lies) {
            self.cached.entry(block).or_default().push((self.arrivals, content));
        } else {
            self.cached.remove(&block);
            self.settle(block, content);
        }
    }

    pub(super) fn settle(&mut self, block: u64, content: Bytes) {
        self.durable[block as usize] = content;
        self.unreadable.remove(&block);
        self.forgotten.remove(&block);
    }

    /// What a read finds; nothing where it cannot be read.
    pub(crate) fn content(&self, block: u64) -> Option<Bytes> {
        match self.cached.get(&block).and_then(|versions| versions.last()) {
            Some((_, content)) => Some(content.clone()),
            None if self.unreadable.contains(&block) => None,
            None => Some(self.forgotten.get(&block).unwrap_or(&self.durable[block as usize]).clone()),
        }
    }

    /// What had arrived by then is durable.
    pub(super) fn flush(&mut self, arrived: u64) {
        if self.mutant == Some(Mutant::LiesAboutFlush) {
            return;
        }
        for (block, mut versions) in std::mem::take(&mut self.cached) {
            let later = versions.partition_point(|&(at, _)| at <= arrived);
            let rest = versions.split_off(later);
            if let Some((_, content)) = versions.pop() {
                self.settle(block, content);
            }
            if !rest.is_empty() {
                self.cached.insert(block, rest);
            }
        }
    }
}
