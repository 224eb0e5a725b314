//! Invalid metadata with a valid checksum must lead to an error or an unreadable item; never to a panic, and
//! never to a value that was not written for its key.

use super::damage::{SEGMENT, SEGMENTS, Store, closed};
use super::harness::settings;
use super::random::cases;
use proptest::prelude::*;
use tailcut_host::BLOCK_BYTES;
use tailcut_host::kv::hash::KeyHash;
use tailcut_host::kv::log::SegmentId;
use tailcut_host::kv::log::format::{End, EndOf, Entry, Foot, Head, OpenEnd, Part, Superblock, summary};
use tailcut_host::kv::record::{Salt, Stamp, checksum_of, header_checksum};
use tailcut_host::kv::{Append, Header, Keep, Settings, State};

/// Invalid metadata with a valid checksum.
#[derive(Clone, Debug)]
pub(super) enum Wrong {
    /// Some field of both superblocks gets another value.
    Superblock(u8, u64),
    /// The header or footer of a segment.
    End(u64, End),
    /// A summary with some of its entries, and others.
    Summary(u64, Vec<(u64, u32, u32, bool)>, u64),
    /// A record somewhere in a segment, in front of arbitrary bytes.
    Record(u64, u64, Header),
}

/// A number that is small, large, or near a valid one.
fn any_number() -> impl Strategy<Value = u64> {
    prop_oneof![
        0u64..50,
        any::<u64>(),
        any::<u32>().prop_map(u64::from),
        (0u64..80).prop_map(|low| 1 << 32 | low)
    ]
}

fn any_end() -> impl Strategy<Value = End> {
    let head = (any_number(), any_number(), any::<bool>())
        .prop_map(|(sequence, durable, is_cut)| End::Head(Head { sequence, durable, is_cut }));
    let foot = (any_number(), any_number(), any::<u32>(), any_number(), any::<bool>()).prop_map(
        |(sequence, entries, checksum, buried, has_hole)| {
            End::Foot(Foot { sequence, entries: entries as u32, checksum, buried, has_hole })
        },
    );
    prop_oneof![3 => head, 3 => foot, 1 => (any_number(), any::<u32>()).prop_map(|(sequence, durable)| End::Open(OpenEnd { sequence, durable })), 1 => any_number().prop_map(End::Free)]
}

fn any_header() -> impl Strategy<Value = Header> {
    let header = (any_number(), any::<u8>(), any::<u8>(), any::<u32>(), any_number(), any_number());
    header.prop_map(|(value, key, state, expires, cas, home)| Header {
        value: value as u32,
        key,
        state: State(state),
        flags: 0,
        expires,
        accessed: 0,
        cas,
        home,
    })
}

fn any_wrong() -> impl Strategy<Value = Wrong> {
    let entry = (any_number(), any_number(), any_number(), any::<bool>());
    let entry = entry.prop_map(|(hash, unit, bytes, is)| (hash, unit as u32, bytes as u32, is));
    prop_oneof![
        2 => (0u8..13, any_number()).prop_map(|(field, value)| Wrong::Superblock(field, value)),
        3 => (1..SEGMENTS, any_end()).prop_map(|(segment, end)| Wrong::End(segment, end)),
        3 => (1..SEGMENTS, prop::collection::vec(entry, 0..5), any_number())
            .prop_map(|(segment, entries, buried)| Wrong::Summary(segment, entries, buried)),
        3 => (1..SEGMENTS, 3u64..SEGMENT * 256 - 20, any_header())
            .prop_map(|(segment, unit, header)| Wrong::Record(segment, unit, header)),
    ]
}

fn superblock_of(store: &Store) -> Superblock {
    let both = (0..2).filter_map(|block| Superblock::decode(&store.disk.read(block)).ok());
    both.max_by_key(|superblock| superblock.count).expect("a store")
}

fn head_of(store: &Store, name: u128, segment: u64) -> Option<Head> {
    let of = EndOf { store: name, number: SegmentId::new(segment as u32) };
    match End::first(&store.disk.read(segment * SEGMENT), of) {
        End::Head(head) => Some(head),
        _ => None,
    }
}

/// Overwrites bytes of a segment.
fn write(store: &mut Store, mut at: u64, bytes: &[u8]) {
    for &byte in bytes {
        let mut block = store.disk.read(at / BLOCK_BYTES);
        block.as_mut_slice()[(at % BLOCK_BYTES) as usize] = byte;
        store.disk.set(at / BLOCK_BYTES, block);
        at += 1;
    }
}

fn make_wrong(store: &mut Store, name: u128, wrong: &Wrong) {
    match wrong {
        &Wrong::Superblock(field, value) => {
            for block in 0..2 {
                let Ok(mut superblock) = Superblock::decode(&store.disk.read(block)) else { continue };
                let Superblock { part, .. } = superblock;
                match field {
                    0 => superblock.seed = value,
                    1 => superblock.segment_blocks = value as u32,
                    2 => superblock.segments = value as u32,
                    3 => superblock.run = value as u32,
                    4 => superblock.count = value,
                    5 => superblock.flushed = value,
                    6 => superblock.part = Part { number: value as u32, ..part },
                    7 => superblock.part = Part { of: value as u32, ..part },
                    8 => superblock.doubted = value,
                    9 => superblock.durable = value,
                    10 => superblock.blocks = value,
                    11 => superblock.used = value as u32,
                    _ => superblock.store = u128::from(value),
                }
                store.disk.set(block, superblock.encode());
            }
        }
        &Wrong::End(segment, end) => {
            let bytes = end.encode(EndOf { store: name, number: SegmentId::new(segment as u32) });
            let is_first = matches!(end, End::Head(_) | End::Free(_));
            let end = (segment + 1) * SEGMENT * BLOCK_BYTES - End::BYTES as u64;
            write(store, if is_first { segment * SEGMENT * BLOCK_BYTES } else { end }, &bytes);
        }
        Wrong::Summary(segment, entries, buried) => {
            let of = EndOf { store: name, number: SegmentId::new(*segment as u32) };
            let Some(head) = head_of(store, name, *segment) else { return };
            let foot = Foot { sequence: head.sequence, buried: *buried, ..Foot::default() };
            let entries: Vec<Entry> = entries
                .iter()
                .map(|&(hash, unit, bytes, is_tombstone)| Entry {
                    hash: KeyHash(u128::from(hash) << 64),
                    unit,
                    bytes,
                    expires: 0,
                    is_tombstone,
                })
                .collect();
            let blocks = summary(&entries, foot, of);
            let first = (segment + 1) * SEGMENT - blocks.len() as u64;
            (first..).zip(blocks).for_each(|(block, bytes)| store.disk.set(block, bytes));
        }
        Wrong::Record(segment, unit, header) => {
            let Some(head) = head_of(store, name, *segment) else { return };
            let at = segment * SEGMENT * BLOCK_BYTES + unit * 16;
            let salt = Salt::of(name, SegmentId::new(*segment as u32));
            let within = SEGMENT * BLOCK_BYTES - unit * 16;
            let stamp = Stamp::new(head.sequence, salt, within, header.key.into());
            let bytes = |from: u64, count: u64| -> Vec<u8> {
                let end = (segment + 1) * SEGMENT * BLOCK_BYTES;
                let byte =
                    |at: u64| store.disk.read(at / BLOCK_BYTES).as_slice()[(at % BLOCK_BYTES) as usize];
                (from..(from + count).min(end)).map(byte).collect()
            };
            let key = bytes(at + Header::BYTES as u64, header.key.into());
            let sum = header_checksum(header, &stamp, [&key[..]].into_iter());
            let sums = (sum, checksum_of([].into_iter()));
            let words = header.words_on_flash(&stamp, sums);
            let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
            write(store, at, &bytes);
        }
    }
}

/// Writes `wrongs` to the disk of a closed store and uses the store again, if it opens.
pub(super) fn use_again(store: &mut Store, wrongs: &[Wrong]) {
    let name = superblock_of(store).store;
    wrongs.iter().for_each(|wrong| make_wrong(store, name, wrong));
    if store.reopen().is_ok() {
        store.look_at_all();
        (0..300).for_each(|_| store.step());
        store.look_at_all();
        store.close();
        if store.reopen().is_ok() {
            store.look_at_all();
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 20 * cases(), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_wrong_under_a_right_checksum_is_an_error_and_no_panic(
        keep in prop_oneof![Just(Keep::Everything), Just(Keep::WhatIsUsed)],
        seed in any::<u64>(),
        wrongs in prop::collection::vec(any_wrong(), 1..6),
    ) {
        let mut store = closed(Settings { append: Append::AtOnce, ..settings(keep) }, seed);
        use_again(&mut store, &wrongs);
    }
}

#[test]
fn a_superblock_with_a_wrong_field_is_refused_in_words() {
    let mut store = closed(Settings { append: Append::AtOnce, ..settings(Keep::Everything) }, 1);
    let name = superblock_of(&store).store;
    make_wrong(&mut store, name, &Wrong::Superblock(1, 0));
    let error = store.reopen().expect_err("segments of no blocks").to_string();
    assert!(error.contains("segments of less than two blocks"), "{error}");
}

/// 2³⁸ units of 16 bytes can be addressed, 2²⁶ segments of 16 blocks.
#[test]
fn a_superblock_of_more_segments_than_can_be_addressed_is_refused() {
    for (segments, problem) in
        [(1 << 26, "segments beyond its end"), ((1 << 26) + 1, "more segments than can be addressed")]
    {
        let mut store = closed(Settings { append: Append::AtOnce, ..settings(Keep::Everything) }, 1);
        let name = superblock_of(&store).store;
        make_wrong(&mut store, name, &Wrong::Superblock(2, segments));
        let error = store.reopen().expect_err(problem).to_string();
        assert!(error.contains(problem), "{error}");
    }
}
