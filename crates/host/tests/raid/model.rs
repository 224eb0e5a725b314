//! A model of every block's possible contents.

use tailcut_host::{Block, Bytes};

/// Numbered versions with distinct contents; 0 is a block of zeros.
#[derive(Clone, Debug)]
pub(crate) struct Model {
    blocks: Vec<History>,
    next: u64,
}

#[derive(Clone, Debug)]
struct History {
    /// Submitted versions, in order.
    versions: Vec<u64>,
    /// Earlier versions can no longer reappear.
    floor: usize,
    /// Position in the history of the last acknowledged write.
    acknowledged: usize,
}

impl Model {
    pub(crate) fn new(blocks: u64) -> Model {
        let history = History { versions: vec![0], floor: 0, acknowledged: 0 };
        Model { blocks: vec![history; blocks as usize], next: 1 }
    }

    /// Submits a write; returns its content.
    pub(crate) fn write(&mut self, block: u64) -> Bytes {
        let version = self.next;
        self.next += 1;
        self.blocks[block as usize].versions.push(version);
        content(block, version)
    }

    /// Submits a trim.
    pub(crate) fn trim(&mut self, block: u64) {
        self.blocks[block as usize].versions.push(0);
    }

    /// Current position in a block's history.
    pub(crate) fn mark(&self, block: u64) -> usize {
        self.blocks[block as usize].versions.len() - 1
    }

    /// Acknowledges all submissions up to `mark`.
    pub(crate) fn acknowledge(&mut self, block: u64, mark: usize, is_durable: bool) {
        let history = &mut self.blocks[block as usize];
        history.acknowledged = history.acknowledged.max(mark);
        if is_durable {
            history.floor = history.floor.max(mark);
        }
    }

    /// Acknowledged positions of all blocks.
    pub(crate) fn acknowledged(&self) -> Vec<usize> {
        self.blocks.iter().map(|history| history.acknowledged).collect()
    }

    /// Makes everything up to these positions durable.
    pub(crate) fn flushed(&mut self, marks: &[usize]) {
        for (history, &mark) in self.blocks.iter_mut().zip(marks) {
            history.floor = history.floor.max(mark);
        }
    }

    /// The data that a read submitted now must return.
    pub(crate) fn expected(&self, block: u64) -> Bytes {
        content(block, *self.blocks[block as usize].versions.last().expect("there is one"))
    }

    /// A block was found to hold `found` after a power cut; from now on that is its content.
    pub(crate) fn settle(&mut self, block: u64, found: &Bytes) -> Result<(), String> {
        let history = &mut self.blocks[block as usize];
        let allowed = &history.versions[history.floor..];
        let version = allowed.iter().rev().find(|&&version| same(&content(block, version), found));
        let Some(&version) = version else {
            let found = &found.as_slice()[..16];
            return Err(format!("block {block} holds {found:?}, and may hold versions {allowed:?}"));
        };
        *history = History { versions: vec![version], floor: 0, acknowledged: 0 };
        Ok(())
    }
}

pub(crate) fn same(one: &Bytes, other: &Bytes) -> bool {
    one.as_slice() == other.as_slice()
}

fn content(block: u64, version: u64) -> Bytes {
    if version == 0 {
        return Bytes::default();
    }
    let mut bytes = [0; 64];
    bytes[..8].copy_from_slice(&version.to_le_bytes());
    bytes[8..16].copy_from_slice(&block.to_le_bytes());
    for (at, byte) in bytes.iter_mut().enumerate().skip(16) {
        *byte = (version.wrapping_mul(0x9E37_79B9) >> (at % 24)) as u8;
    }
    Bytes::encode(&bytes)
}
