//! A model of each block's possible contents.

use std::collections::{BTreeMap, BTreeSet};

/// The values submitted for a block, in order; 0 is a block of zeros.
#[derive(Default)]
struct Block {
    versions: Vec<u64>,
    /// Earlier versions can no longer reappear.
    durable: usize,
    /// Versions up to this one have been acknowledged.
    answered: usize,
}

/// All blocks.
#[derive(Default)]
pub(super) struct Model {
    blocks: BTreeMap<u64, Block>,
    refused: BTreeSet<u64>,
}

impl Model {
    fn block(&mut self, block: u64) -> &mut Block {
        self.blocks.entry(block).or_insert_with(|| Block { versions: vec![0], durable: 0, answered: 0 })
    }

    /// Records the submission of a write; returns its version number.
    pub(super) fn submitted(&mut self, block: u64, value: u64) -> usize {
        let block = self.block(block);
        block.versions.push(value);
        block.versions.len() - 1
    }

    /// The value that a read submitted now returns.
    pub(super) fn current(&mut self, block: u64) -> u64 {
        *self.block(block).versions.last().expect("there is always one")
    }

    /// A write was refused: the block may hold an earlier version, or this one nevertheless.
    pub(super) fn refused(&mut self, block: u64) {
        self.refused.insert(block);
    }

    /// True if the block's content is known.
    pub(super) fn is_known(&self, block: u64) -> bool {
        !self.refused.contains(&block)
    }

    /// Acknowledges a version.
    pub(super) fn answered(&mut self, block: u64, version: usize) {
        let block = self.block(block);
        block.answered = block.answered.max(version);
    }

    /// Makes a version durable.
    pub(super) fn durable(&mut self, block: u64, version: usize) {
        let block = self.block(block);
        block.durable = block.durable.max(version);
    }

    /// The versions that a flush submitted now makes durable.
    pub(super) fn answered_now(&self) -> Vec<(u64, usize)> {
        self.blocks.iter().map(|(&block, of)| (block, of.answered)).collect()
    }

    /// A block holds `value` after a power cut.
    pub(super) fn survived(&mut self, at: u64, value: u64) {
        let block = self.block(at);
        let allowed = &block.versions[block.durable..];
        assert!(
            allowed.contains(&value),
            "block {at} holds {value} after a power cut, not one of {allowed:?}"
        );
        *block = Block { versions: vec![value], durable: 0, answered: 0 };
    }
}
