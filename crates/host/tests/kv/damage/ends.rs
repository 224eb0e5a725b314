//! Segments whose two ends are damaged.

use super::super::harness::settings;
use super::{Harm, KEYS, SEGMENT, SEGMENTS, Store};
use tailcut_host::Bytes;
use tailcut_host::kv::{Append, Keep, Settings};

/// Zeros at both ends of a segment, which would pass for one that was never used, and perhaps a damaged
/// record: the superblock knows how far segments have been used, and which was the latest.
#[test]
fn a_segment_is_missed_if_both_of_its_ends_are_zeros() {
    for keep in [Keep::Everything, Keep::WhatIsUsed] {
        for (puts, segment) in
            [60, 400, 4000].into_iter().flat_map(|puts| (1..SEGMENTS).map(move |s| (puts, s)))
        {
            let mut store = Store::new(Settings { append: Append::AtOnce, ..settings(keep) }, 4);
            (0..puts).for_each(|number| store.put(number * 7 % KEYS));
            store.close();
            store.damages.clear();
            let was_used = store.disk.read((segment + 1) * SEGMENT - 1) != Bytes::ZEROS;
            [0, SEGMENT - 1].iter().for_each(|block| store.harm(segment * SEGMENT + block, Harm::Zeros));
            if segment.is_multiple_of(2) {
                store.harm(segment * SEGMENT + 1, Harm::Flip(0));
            }
            let what = format!("{keep:?}, {puts} puts, segment {segment}");
            store.reopen().expect("a store");
            store.settle();
            let (lost, _) = store.check();
            assert_eq!(!store.damages.is_empty(), was_used, "{what}: {:?}", store.damages);
            assert!(was_used || lost == 0, "{what}");
            (0..20).for_each(|number| store.put(number));
            store.close();
            store.damages.clear();
            store.reopen().expect("a store");
            store.settle();
            store.check();
            assert!(store.damages.is_empty(), "{what}: {:?}", store.damages);
        }
    }
}
