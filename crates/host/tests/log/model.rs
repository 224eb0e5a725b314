//! What each block of an array may hold.

use std::collections::{BTreeMap, BTreeSet};

/// The values that were submitted for a block, in order; 0 is a block of zeros.
#[derive(Default)]
struct Block {
    versions: Vec<u64>,
    /// Versions before this one are gone for good.
    durable: usize,
    /// Versions up to this one have been answered.
    answered: usize,
}

/// All blocks.
#[derive(Default)]
pub struct Model {
    blocks: BTreeMap<u64, Block>,
    refused: BTreeSet<u64>,
}

impl Model {
    fn block(&mut self, block: u64) -> &mut Block {
        self.blocks.entry(block).or_insert_with(|| Block { versions: vec![0], durable: 0, answered: 0 })
    }

    /// A write was submitted; returns the number of the version.
    pub fn submitted(&mut self, block: u64, value: u64) -> usize {
        let block = self.block(block);
        block.versions.push(value);
        block.versions.len() - 1
    }

    /// What a read that is submitted now returns.
    pub fn current(&mut self, block: u64) -> u64 {
        *self.block(block).versions.last().expect("there is always one")
    }

    /// A version was refused: the block still holds an earlier one, or holds it all the same.
    pub fn refused(&mut self, block: u64) {
        self.refused.insert(block);
    }

    /// True when it is known what a block holds.
    pub fn is_known(&self, block: u64) -> bool {
        !self.refused.contains(&block)
    }

    /// A version was answered.
    pub fn answered(&mut self, block: u64, version: usize) {
        let block = self.block(block);
        block.answered = block.answered.max(version);
    }

    /// A version is durable.
    pub fn durable(&mut self, block: u64, version: usize) {
        let block = self.block(block);
        block.durable = block.durable.max(version);
    }

    /// What a flush that is submitted now makes durable.
    pub fn answered_now(&self) -> Vec<(u64, usize)> {
        self.blocks.iter().map(|(&block, of)| (block, of.answered)).collect()
    }

    /// After a power cut a block holds `value`.
    pub fn survived(&mut self, at: u64, value: u64) {
        let block = self.block(at);
        let allowed = &block.versions[block.durable..];
        assert!(
            allowed.contains(&value),
            "block {at} holds {value} after a power cut, not one of {allowed:?}"
        );
        *block = Block { versions: vec![value], durable: 0, answered: 0 };
    }
}
