//! Commands between arbitrary steps of recovery, and power loss during recovery.

use super::harness::{Harness, settings};
use super::random::cases;
use proptest::prelude::*;
use tailcut_host::kv::{Append, Keep, Settings};

#[derive(Clone, Copy, Debug)]
enum Step {
    Put(u64),
    /// Writes this many items.
    Fill(u64),
    Append(u64),
    Remove(u64),
    Look(u64),
    /// Waits for an item while other operations continue.
    Ask(u64),
    /// Recovers this many records.
    Recover(usize),
    /// The disk completes this many requests.
    Answer(u64),
    Sync,
    FlushAll,
    /// Power is lost.
    Cut,
    /// Power is lost, and a byte in the last block of a segment has changed: in its summary, if it has one.
    Damage(u64, usize),
    /// A clean shutdown.
    End,
}

fn any_step() -> impl Strategy<Value = Step> {
    let key = || 0u64..12;
    prop_oneof![
        6 => key().prop_map(Step::Put),
        3 => (5u64..30).prop_map(Step::Fill),
        2 => key().prop_map(Step::Append),
        4 => key().prop_map(Step::Remove),
        6 => key().prop_map(Step::Look),
        3 => key().prop_map(Step::Ask),
        6 => (1usize..30).prop_map(Step::Recover),
        6 => (0u64..12).prop_map(Step::Answer),
        2 => Just(Step::Sync),
        1 => Just(Step::FlushAll),
        2 => Just(Step::Cut),
        1 => (1u64..16, 0usize..1000).prop_map(|(segment, byte)| Step::Damage(segment, byte)),
        1 => Just(Step::End),
    ]
}

fn any_settings() -> impl Strategy<Value = Settings> {
    let keeps = prop_oneof![Just(Keep::Everything), Just(Keep::WhatIsUsed)];
    let appends = prop_oneof![Just(Append::AtOnce), Just(Append::OnLeaving)];
    (keeps, appends).prop_map(|(keep, append)| Settings { append, ..settings(keep) })
}

impl Harness {
    fn carry_out(&mut self, step: Step) {
        match step {
            Step::Put(key) => self.put(key),
            Step::Fill(count) => {
                for number in 0..count {
                    self.put(number % 12);
                    self.run(number % 2);
                }
            }
            Step::Append(key) => self.append(key),
            Step::Remove(key) => _ = self.remove(key),
            Step::Look(key) => drop(self.check(key, true)),
            Step::Ask(key) => self.ask(key),
            Step::Recover(most) => drop(self.engine.recover(most)),
            Step::Answer(count) => self.run(count),
            Step::Sync => self.sync(),
            Step::FlushAll => self.flush_all(),
            Step::Cut => self.begin_again(true),
            Step::Damage(segment, byte) => {
                self.disk.lose_power();
                self.disk.flip(segment * 16 + 15, byte);
                self.begin_again(true);
            }
            Step::End => self.begin_again(false),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 20 * cases(), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_found_is_what_was_written_last(
        settings in any_settings(),
        volatile_cache in any::<bool>(),
        before in 0u64..200,
        steps in prop::collection::vec(any_step(), 1..120),
        seed in any::<u64>(),
    ) {
        // A cache's writes before the test reach flash at once in any case.
        let at_once = Settings { append: Append::AtOnce, ..settings };
        let mut harness = Harness::new(at_once, 16 * 60, volatile_cache, seed);
        (0..before).for_each(|number| {
            harness.put(number % 12);
            harness.run(2);
        });
        harness.settings = settings;
        harness.begin_again(seed % 2 == 0);
        for step in steps {
            // Recovery advances only in steps of its own.
            harness.recovers_every = u64::MAX;
            harness.carry_out(step);
        }
        harness.recovers_every = 1;
        harness.check_all();
        harness.settle();
        harness.begin_again(true);
        harness.check_all();
    }
}

/// There is room for a tombstone, so the delete must not be refused.
#[test]
fn an_item_that_recovery_has_not_found_can_be_deleted() {
    let mut harness =
        Harness::new(Settings { append: Append::AtOnce, ..settings(Keep::Everything) }, 16 * 60, true, 3);
    for number in 0..300 {
        harness.put(number % 100);
        harness.run(2);
    }
    harness.sync();
    harness.settle();
    harness.recovers_every = u64::MAX;
    harness.begin_again(true);
    assert!(harness.engine.recovered().is_some(), "nothing is recovered yet");
    for number in 0..100 {
        assert!(harness.remove(number), "item {number}");
    }
    harness.recovers_every = 1;
    harness.check_all();
}
