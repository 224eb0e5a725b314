//! What every block of the array may hold.

use tailcut_host::{Block, Bytes};

/// Versions are numbers that are told apart by content; 0 is a block of zeros.
#[derive(Clone, Debug)]
pub struct Model {
    blocks: Vec<History>,
    next: u64,
}

#[derive(Clone, Debug)]
struct History {
    /// What was submitted, in order.
    versions: Vec<u64>,
    /// All before this one have been replaced for good.
    floor: usize,
    /// Ends of writes: the last that was acknowledged.
    acknowledged: usize,
}

impl Model {
    pub fn new(blocks: u64) -> Model {
        let history = History { versions: vec![0], floor: 0, acknowledged: 0 };
        Model { blocks: vec![history; blocks as usize], next: 1 }
    }

    /// A write is submitted; returns its content.
    pub fn write(&mut self, block: u64) -> Bytes {
        let version = self.next;
        self.next += 1;
        self.blocks[block as usize].versions.push(version);
        content(block, version)
    }

    /// A trim is submitted.
    pub fn trim(&mut self, block: u64) {
        self.blocks[block as usize].versions.push(0);
    }

    /// Where the history of a block stands.
    pub fn mark(&self, block: u64) -> usize {
        self.blocks[block as usize].versions.len() - 1
    }

    /// What was submitted up to `mark` has been acknowledged.
    pub fn acknowledge(&mut self, block: u64, mark: usize, is_durable: bool) {
        let history = &mut self.blocks[block as usize];
        history.acknowledged = history.acknowledged.max(mark);
        if is_durable {
            history.floor = history.floor.max(mark);
        }
    }

    /// What has been acknowledged so far.
    pub fn acknowledged(&self) -> Vec<usize> {
        self.blocks.iter().map(|history| history.acknowledged).collect()
    }

    /// All of that is durable now.
    pub fn flushed(&mut self, marks: &[usize]) {
        for (history, &mark) in self.blocks.iter_mut().zip(marks) {
            history.floor = history.floor.max(mark);
        }
    }

    /// What a read must return that is submitted now.
    pub fn expected(&self, block: u64) -> Bytes {
        content(block, *self.blocks[block as usize].versions.last().expect("there is one"))
    }

    /// After a power cut a block was seen to hold `found`, which stays.
    pub fn settle(&mut self, block: u64, found: &Bytes) -> Result<(), String> {
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

pub fn same(one: &Bytes, other: &Bytes) -> bool {
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
