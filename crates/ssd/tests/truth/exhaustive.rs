//! All sequences of operations up to a small length, on drives of two logical pages.

use crate::drives;
use crate::naive::Pair;
use tailcut_base::{Nanos, Op};
use tailcut_ssd::SsdConfig;
use tailcut_ssd::config::{CommitPolicy, VictimPolicy};

/// Possible operations on two pages of two sectors: operation, first sector, sectors, FUA.
const ALPHABET: [(Op, u64, u32, bool); 10] = [
    (Op::Read, 0, 4, false),
    (Op::Read, 2, 1, false),
    (Op::Write, 0, 2, false),
    (Op::Write, 2, 2, false),
    (Op::Write, 0, 4, true),
    (Op::Write, 1, 1, false),
    (Op::Write, 1, 2, false),
    (Op::Trim, 0, 2, false),
    (Op::Trim, 0, 4, false),
    (Op::Flush, 0, 0, false),
];

const LENGTH: u32 = 4;

/// Two logical pages on blocks of two pages, so that a few writes fill the drive.
fn drive(buffer_pages: u64, capacitor: bool) -> SsdConfig {
    let mut config = drives::plane(6, 2);
    config.geometry.page_bytes = 1024;
    config.ftl.spare = 1_000_000 - 2 * 1_000_000 / 12 - 1;
    config.buffer.size = 1024 * buffer_pages;
    config.buffer.capacitor = capacitor;
    config.check_space().expect("room to work");
    config
}

/// Runs all sequences, once with all commands at the same time, and once with a gap in which some phases
/// complete and others do not; each after enough writes to start collection.
fn all_sequences(config: &SsdConfig) {
    let letters = ALPHABET.len() as u64;
    for gap in [Nanos::ZERO, Nanos::micros(90)] {
        for sequence in 0..letters.pow(LENGTH) {
            let mut pair = Pair::new(config, 1);
            assert_eq!(pair.pages(), 2);
            for n in 0..9 {
                pair.submit(Op::Write, n % 2 * 2, 2, false, 0);
            }
            pair.drain();
            for place in 0..LENGTH {
                let (op, sector, sectors, fua) = ALPHABET[(sequence / letters.pow(place) % letters) as usize];
                pair.submit(op, sector, sectors, fua, 0);
                pair.pass(gap);
            }
            pair.finish();
        }
    }
}

#[test]
fn every_short_sequence_is_right_in_write_through_mode() {
    all_sequences(&drive(0, false));
}

#[test]
fn every_short_sequence_is_right_with_a_buffer_of_one_page() {
    all_sequences(&drive(1, false));
}

#[test]
fn every_short_sequence_is_right_with_a_durable_buffer_that_holds_pages_back() {
    let mut config = drive(2, true);
    config.buffer.flush_above = 500_000;
    config.schedule.commit = CommitPolicy::Vas;
    config.gc.victim = VictimPolicy::Fifo;
    all_sequences(&config);
}
