//! Pages that a reset spoils and their recovery: no data is lost, and every page used up is counted.

use crate::preemption::{LINK, PROGRAM_RESET, READ_ON_CHIP, drive};
use crate::script::{Mix, Played, Sent, play, read, write};
use std::collections::BTreeMap;
use tailcut_base::control::{Control, ControlReply};
use tailcut_base::{Device, Nanos, Time};
use tailcut_ssd::SsdConfig;
use tailcut_ssd::config::Handling;
use tailcut_ssd::flash::timing::CellKind;
use tailcut_ssd::precondition::PreparedState;
use tailcut_ssd::probe::Outcome;
use tailcut_ssd::request::Kind;

const CELLS: [CellKind; 3] = [CellKind::Slc, CellKind::Mlc, CellKind::Tlc];

/// An empty one-plane drive whose programs and erases are reset.
fn resetting(cell: CellKind, pages: u32) -> SsdConfig {
    let mut config = drive(Handling::Reset);
    config.geometry.pages = pages;
    config.timing.cell = cell;
    config
}

/// Writes pages 0, 1, 2, … with pauses, and reads the previously programmed page while page `victim` is being
/// programmed; finally reads all pages.
fn spoil(config: &SsdConfig, victim: u64) -> (Played, Time) {
    let pause = Nanos::millis(1);
    let writes = (0..9).map(|page| write(Time::ZERO + pause * (page + 1), page));
    let reads = (0..9).map(|page| read(Time::ZERO + pause * 20 + Nanos(page), page, 3));
    let mut script: Vec<Sent> = writes.chain(reads).collect();
    let undisturbed = play(config, PreparedState::Empty, &script);
    let at = undisturbed.of(victim as u32)[0].command_end + Nanos(10_000);
    script.push(read(at, victim - 1, 1));
    // Includes reads of the word line's pages while they are being moved to another.
    script.extend((0..victim).map(|page| read(at + Nanos(30_000), page, 3)));
    (play(config, PreparedState::Empty, &script), at)
}

#[test]
fn a_reset_program_spoils_its_word_line_and_nothing_is_lost() {
    for (cell, pages) in CELLS.into_iter().flat_map(|cell| [12, 7].map(|pages| (cell, pages))) {
        let config = resetting(cell, pages);
        let bits = cell as u32 + 1;
        for victim in 1..7 {
            let (played, at) = spoil(&config, u64::from(victim));
            let line = victim / bits * bits;
            let end = (line + bits).min(pages);
            let label = format!("page {victim} of {pages}, {cell}");
            let counts = played.counts();
            assert_eq!(counts.program_resets, 1, "{label}");
            assert_eq!(counts.pages_spoiled, u64::from(end - victim), "{label}");
            assert_eq!(counts.pages_restored, u64::from(victim - line), "{label}");
            // If the page read is in the same word line, it is spoiled as well: then the controller's copy
            // serves the read, at the same time.
            assert_eq!(played.latency(played.number(at)), PROGRAM_RESET + READ_ON_CHIP + LINK, "{label}");
            let again = played.first(Kind::UserWrite, at).members[0];
            assert_eq!(
                (again.logical.get(), again.physical.get()),
                (u64::from(victim), u64::from(end)),
                "{label}: the next word line"
            );
            let used = 9 + counts.pages_restored + counts.pages_spoiled;
            assert_eq!(played.figures().write_amplification(), used as f64 / 9.0, "{label}");
        }
    }
}

/// Per-block totals from the chip records.
#[derive(Default)]
struct Book {
    /// Pages used in each block since its last erase.
    used: BTreeMap<u64, u64>,
    /// Erases of each block, including those that were reset.
    wear: BTreeMap<u64, u32>,
    programmed: u64,
    spoiled: u64,
    erased: u64,
    resets: u64,
}

impl Book {
    fn of(played: &Played, config: &SsdConfig) -> Book {
        let (pages, bits) = (u64::from(config.geometry.pages), config.timing.cell as u64 + 1);
        let mut book = Book::default();
        for record in played.records().iter().filter(|r| !r.kind.is_read()) {
            for member in &record.members {
                let (block, offset) = (member.physical.get() / pages, member.physical.get() % pages);
                let used = book.used.entry(block).or_default();
                match (record.kind, record.outcome) {
                    (Kind::Erase, outcome) => {
                        *book.wear.entry(block).or_default() += 1;
                        if outcome == Outcome::Done {
                            book.erased += std::mem::take(used);
                        } else {
                            book.resets += 1;
                        }
                    }
                    (_, Outcome::Done) => {
                        assert_eq!(*used, offset, "pages are programmed in order");
                        *used += 1;
                        book.programmed += 1;
                    }
                    (_, Outcome::Reset) => {
                        assert_eq!(*used, offset);
                        *used = (offset / bits * bits + bits).min(pages);
                        book.spoiled += *used - offset;
                    }
                }
            }
        }
        book
    }

    fn blocks_with(&self, pages: u64) -> u64 {
        self.used.values().filter(|&&used| used == pages).count() as u64
    }
}

fn check_book(config: &SsdConfig, played: &mut Played) {
    let (book, counts) = (Book::of(played, config), played.counts());
    let used_now: u64 = book.used.values().sum();
    assert_eq!(counts.programmed_user + counts.programmed_gc, book.programmed);
    assert_eq!(counts.pages_spoiled, book.spoiled);
    // Every page used up was programmed or spoiled, once between two erases.
    assert_eq!(book.programmed + book.spoiled, used_now + book.erased);
    let blocks = u64::from(config.geometry.blocks);
    let free = blocks - book.used.len() as u64 + book.blocks_with(0);
    assert_eq!(played.ssd.control(Time::ZERO, Control::FreeBlocks), ControlReply::Blocks(free));
    let closed = played.ssd.valid_pages_of_closed_blocks();
    assert_eq!(closed.len() as u64, book.blocks_with(u64::from(config.geometry.pages)));
    assert_eq!(counts.erase_resets, book.resets);
    let wear = |block| book.wear.get(&block).copied().unwrap_or(0);
    let (least, mean, most) = played.ssd.wear();
    let all: Vec<u32> = (0..u64::from(config.geometry.blocks)).map(wear).collect();
    assert_eq!((Some(least), Some(most)), (all.iter().min().copied(), all.iter().max().copied()));
    assert_eq!((mean * blocks as f64).round() as u64, all.iter().map(|&w| u64::from(w)).sum::<u64>());
    assert_eq!(played.figures().worn(), counts.erases + counts.erase_resets);
    check_cost(config, played);
}

/// The extra writes caused by resets are bounded by the host's writes.
fn check_cost(config: &SsdConfig, played: &Played) {
    let (counts, bits) = (played.counts(), config.timing.cell as u64 + 1);
    let needed = counts.host_pages_written + counts.pages_restored;
    // A write to a page that is being rewritten may save that program.
    assert!(counts.programmed_user <= needed, "{counts:?}");
    assert!(counts.programmed_user + played.figures().buffer_write_hits >= needed, "{counts:?}");
    let fresh = counts.host_pages_written + counts.programmed_gc;
    assert!(counts.program_resets <= u64::from(config.preempt.resets) * fresh, "{counts:?}");
    assert!(counts.pages_restored <= (bits - 1) * counts.program_resets, "{counts:?}");
}

#[test]
fn every_page_that_is_used_up_was_programmed_or_spoiled() {
    for (cell, pages) in CELLS.into_iter().flat_map(|cell| [8, 9].map(|pages| (cell, pages))) {
        for resets in [1, 3] {
            let mut config = resetting(cell, pages);
            config.preempt.resets = resets;
            config.ftl.spare = 350_000;
            config.schedule.write_patience = Nanos::micros(400);
            let load = Mix { reads_in_flight: 1, writes_in_flight: 1, class: 1, writes: 150 };
            let mut played = load.play(&config);
            let counts = played.counts();
            assert!(counts.program_resets > 0 && counts.erase_resets > 0, "{cell} {counts:?}");
            assert!(counts.pages_restored > 0 || cell == CellKind::Slc);
            check_book(&config, &mut played);
        }
    }
}

#[test]
fn nothing_is_spoiled_that_was_promised_to_be_durable() {
    let mut config = resetting(CellKind::Tlc, 12);
    config.buffer.capacitor = false;
    for victim in 1..7 {
        let counts = spoil(&config, victim).0.counts();
        // The first page of a word line can be reset; programs of the others share the word line with an
        // acknowledged page, so they are suspended.
        let is_first = victim % 3 == 0;
        assert_eq!((counts.program_resets, counts.program_suspends), if is_first { (1, 0) } else { (0, 1) });
        assert_eq!(counts.pages_restored, 0);
    }
}
