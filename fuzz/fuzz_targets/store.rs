//! Superblocks, ends of segments, summaries and records of a key-value store, replaced by others with right
//! checksums. The first byte chooses what the store keeps, the second its seed; the rest is read as a list of
//! replacements. The store may be refused, keys may be lost; nothing panics and no value is returned that was
//! not written for its key.

#![no_main]

#[path = "../../crates/host/tests/kv/damage/mod.rs"]
#[allow(dead_code, unused_imports)]
mod damage;
#[path = "../../crates/host/tests/kv/disk.rs"]
#[allow(dead_code, unused_imports)]
mod disk;
#[path = "../../crates/host/tests/kv/model.rs"]
#[allow(dead_code, unused_imports)]
mod model;
#[path = "../../crates/host/tests/kv/random.rs"]
#[allow(dead_code, unused_imports)]
mod random;
#[path = "../../crates/host/tests/kv/harness.rs"]
#[allow(dead_code, unused_imports)]
mod harness;
#[path = "../../crates/host/tests/kv/wrong.rs"]
#[allow(dead_code, unused_imports)]
mod wrong;

use damage::{SEGMENT, SEGMENTS, closed};
use libfuzzer_sys::fuzz_target;
use harness::settings;
use tailcut_host::kv::log::format::{End, Foot, Head, OpenEnd};
use tailcut_host::kv::{Append, Header, Keep, Settings, State};
use wrong::{Wrong, use_again};

/// Numbers from bytes; zeros when there are none left.
struct Numbers<'i>(&'i [u8]);

impl Numbers<'_> {
    fn byte(&mut self) -> u8 {
        let Some((&first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        first
    }

    /// Small, or of 8 bytes.
    fn number(&mut self) -> u64 {
        match self.byte() {
            0xFF => u64::from_le_bytes(std::array::from_fn(|_| self.byte())),
            0xFE => u64::from(u32::from_le_bytes(std::array::from_fn(|_| self.byte()))),
            small => u64::from(small),
        }
    }

    fn end(&mut self) -> End {
        let (kind, sequence) = (self.byte(), self.number());
        let is = kind & 0x80 != 0;
        match kind & 3 {
            0 => End::Head(Head { sequence, durable: self.number(), is_cut: is }),
            1 => {
                let (entries, checksum, buried) = (self.number() as u32, self.number() as u32, self.number());
                End::Foot(Foot { sequence, entries, checksum, buried, has_hole: is })
            }
            2 => End::Open(OpenEnd { sequence, durable: self.number() as u32 }),
            _ => End::Free(sequence),
        }
    }

    fn wrong(&mut self) -> Wrong {
        let (kind, segment) = (self.byte() & 3, 1 + self.number() % (SEGMENTS - 1));
        match kind {
            0 => Wrong::Superblock(self.byte() % 13, self.number()),
            1 => Wrong::End(segment, self.end()),
            2 => {
                let entries = (0..self.byte() % 5)
                    .map(|_| (self.number(), self.number() as u32, self.number() as u32, self.byte() & 1 == 1))
                    .collect();
                Wrong::Summary(segment, entries, self.number())
            }
            _ => {
                let unit = 3 + self.number() % (SEGMENT * 256 - 23);
                let header = Header {
                    value: self.number() as u32,
                    key: self.byte(),
                    state: State(self.byte()),
                    flags: 0,
                    expires: self.number() as u32,
                    accessed: 0,
                    cas: self.number(),
                    home: self.number(),
                };
                Wrong::Record(segment, unit, header)
            }
        }
    }
}

fuzz_target!(|input: &[u8]| {
    let [keep, seed, rest @ ..] = input else { return };
    let keep = if keep & 1 == 0 { Keep::Everything } else { Keep::WhatIsUsed };
    let mut store = closed(Settings { append: Append::AtOnce, ..settings(keep) }, (*seed % 4).into());
    let mut numbers = Numbers(rest);
    let mut wrongs = Vec::new();
    while !numbers.0.is_empty() && wrongs.len() < 8 {
        wrongs.push(numbers.wrong());
    }
    use_again(&mut store, &wrongs);
});
