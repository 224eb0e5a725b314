//! The records of a segment that has no summary.

use super::fetch::{is_intact, key_in, record_in};
use super::hash::KeyHash;
use super::log::format::{Entry, Head};
use super::place::UNIT;
use super::record::{Header, State};
use crate::block::Bytes;
use crate::disk::BLOCK_BYTES;

/// All records in the blocks of that use of a segment whose checksums are right, and what its foot would say is buried
/// ([`super::log::format::Foot::buried`]). `seed` is that of the store's hashes.
pub(super) fn search(seed: u64, sequence: u64, blocks: &[Bytes]) -> (Vec<Entry>, u64) {
    let end = blocks.len() * BLOCK_BYTES as usize;
    let (mut entries, mut buried) = (Vec::new(), 0);
    let mut at = Head::BYTES;
    while at + Header::BYTES <= end {
        let header = record_in(blocks, at, sequence, (end - at) as u64);
        let Some(header) = header.filter(|header| is_intact(blocks, at, header)) else {
            at += UNIT as usize;
            continue;
        };
        let is_tombstone = header.state.has(State::TOMBSTONE);
        let mut room = [0; 256];
        let key = key_in(blocks, at, &header, &mut room);
        let hash = match is_tombstone {
            true => KeyHash(u128::from_le_bytes(key.try_into().unwrap_or_default())),
            false => KeyHash::of(seed, key),
        };
        if is_tombstone {
            buried = buried.max(header.cas);
        }
        let (unit, bytes) = ((at as u64 / UNIT) as u32, header.record_bytes() as u32);
        entries.push(Entry { hash, unit, bytes, expires: header.expires, is_tombstone });
        at += bytes as usize;
    }
    (entries, buried)
}
