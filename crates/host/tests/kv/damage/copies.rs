//! Damage on a disk with two copies of each block.

use super::super::harness::settings;
use super::{SEGMENT, SEGMENTS, Store, closed, finds, noise};
use tailcut_base::random::Stream;
use tailcut_host::Bytes;
use tailcut_host::kv::{Append, Damage, DamageKind, Keep, Settings};
use tailcut_host::mutation::Invariant;

/// One of the two copies of everything on flash is corrupt.
#[test]
fn another_copy_is_read_and_replaces_the_bad_one() {
    let check = || {
        for keep in [Keep::Everything, Keep::WhatIsUsed] {
            let mut store = closed(Settings { append: Append::AtOnce, ..settings(keep) }, 4);
            store.disk.shape.copies = 2;
            for block in (2..SEGMENT * SEGMENTS).filter(|block| (1..SEGMENT - 1).contains(&(block % SEGMENT)))
            {
                store.disk.bad_copies.insert((block, 0), noise(block));
            }
            store.reopen().expect("there is another copy");
            assert_eq!(store.check(), (0, 0));
            let before = store.disk.bad_copies.len();
            store.settle();
            assert_eq!(store.check(), (0, 0));
            let (after, figures) = (store.disk.bad_copies.len(), *store.engine.figures());
            assert!(
                after < before && figures.repaired > 0 && figures.damaged == 0,
                "{after} of {before}: {figures:?}"
            );
            assert!(
                store.damages.iter().all(|damage| damage.what == DamageKind::Copy),
                "{:?}",
                store.damages
            );
            // Segment cleaning also reads from the other copy.
            (0..900).for_each(|_| store.step());
            assert_eq!(store.check().0, 0);
        }
    };
    finds(Invariant::OtherCopiesAreRead, check);
}

/// One of the two copies of each block is corrupt, at random: neither copy has an intact segment, nor an
/// intact record of several blocks.
#[test]
fn blocks_of_several_copies_are_combined() {
    let check = || {
        for (keep, seed, is_closed) in
            [(Keep::Everything, 4, true), (Keep::Everything, 5, false), (Keep::WhatIsUsed, 6, true)]
        {
            let mut store = closed(Settings { append: Append::AtOnce, ..settings(keep) }, seed);
            if !is_closed {
                store.reopen().expect("it is whole");
                (0..150).for_each(|_| store.step());
                store.rest();
                store.disk.lose_power();
            }
            store.disk.shape.copies = 2;
            let mut random = Stream::new(seed, "copies");
            for block in (2..SEGMENT * SEGMENTS).filter(|block| (1..SEGMENT - 1).contains(&(block % SEGMENT)))
            {
                // The damaged byte may lie outside the record that owns the rest of the block.
                let mut bad = if random.below(3) == 0 { noise(block) } else { store.disk.read(block) };
                bad.as_mut_slice()[random.below(4096) as usize] ^= 1;
                store.disk.bad_copies.insert((block, random.below(2) as u8), bad);
            }
            store.reopen().expect("all is there");
            assert_eq!(store.check(), (0, 0), "{keep:?} {is_closed}");
            store.settle();
            let (after, figures) = (store.disk.bad_copies.len(), *store.engine.figures());
            assert!(figures.repaired > 0 && figures.damaged == 0, "{after}: {figures:?}");
            let is_repair = |damage: &Damage| matches!(damage.what, DamageKind::Copy | DamageKind::Summary);
            assert!(store.damages.iter().all(is_repair), "{:?}", store.damages);
            // Segment cleaning also reads from both copies.
            (0..900).for_each(|_| store.step());
            assert_eq!(store.check().0, 0);
        }
    };
    finds(Invariant::OtherCopiesAreRead, check);
}

/// One of the two copies is zeros or noise at both ends of all segments and in the superblocks: zeros there
/// could be mistaken for unused segments.
#[test]
fn ends_of_segments_and_superblocks_are_read_from_another_copy() {
    let check = || {
        for keep in [Keep::Everything, Keep::WhatIsUsed] {
            for is_zeros in [true, false] {
                let mut store = closed(Settings { append: Append::AtOnce, ..settings(keep) }, 4);
                store.disk.shape.copies = 2;
                let is_end = |block: &u64| *block < 2 || [0, SEGMENT - 1].contains(&(block % SEGMENT));
                for block in (0..SEGMENT * SEGMENTS).filter(is_end) {
                    let bad = if is_zeros { Bytes::ZEROS } else { noise(block) };
                    store.disk.bad_copies.insert((block, 0), bad);
                }
                store.reopen().expect("there is another copy");
                assert_eq!(store.check(), (0, 0), "{keep:?} {is_zeros}");
                let kinds: Vec<DamageKind> = store.damages.iter().map(|damage| damage.what).collect();
                assert!(kinds.contains(&DamageKind::Copy), "{kinds:?}");
                assert!(kinds.iter().all(|kind| *kind == DamageKind::Copy), "{kinds:?}");
                // The next open may read either copy.
                store.settle();
                store.close();
                store.disk.bad_copies.retain(|(block, _), _| *block >= 2 && block % SEGMENT == 0);
                store.reopen().expect("a store");
                assert_eq!(store.check(), (0, 0), "{keep:?} {is_zeros}");
            }
        }
    };
    finds(Invariant::OtherCopiesAreRead, check);
}

/// The first blocks of long summaries are corrupt in one copy. Opening reads the other one and repairs the
/// first, at the place of the summary.
#[test]
fn a_summary_is_repaired_where_it_is() {
    let mut store = Store::new(Settings { append: Append::AtOnce, ..settings(Keep::Everything) }, 4);
    (0..4000).for_each(|number| store.put_bytes(number, 8));
    store.close();
    store.disk.shape.copies = 2;
    // The last block of a segment is the end of its summary, which others tell of.
    let first_blocks: Vec<u64> = (1..SEGMENTS).map(|segment| segment * SEGMENT + SEGMENT - 2).collect();
    for &block in &first_blocks {
        store.disk.bad_copies.insert((block, 0), noise(block));
    }
    store.reopen().expect("there is another copy");
    store.settle();
    assert_eq!(store.check(), (0, 0));
    let damages = store.damages.iter().filter(|damage| damage.what == DamageKind::Copy);
    let named: Vec<u64> = damages.map(|damage| damage.block).collect();
    assert!(!named.is_empty() && named.iter().all(|block| block % SEGMENT >= SEGMENT / 2), "{named:?}");
    let is_repaired = |block: &&u64| !store.disk.bad_copies.contains_key(&(**block, 0));
    let repaired = first_blocks.iter().filter(is_repaired).count();
    assert!(repaired >= named.len(), "{repaired} of {} that were read", named.len());
}
