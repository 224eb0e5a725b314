//! Flexible Data Placement: the data of each handle lies apart, and is attributed to it.

use crate::superblocks::drive;
use crate::writer::{ReadsBesideWrites, Writer, hot_and_cold, uniform};
use tailcut_base::cause::HeldUpBy;
use tailcut_base::control::{Control, ControlReply};
use tailcut_base::fdp::{EventType, GroupId, HandleId, HandleStatus, Isolation, PlacementId, Statistics};
use tailcut_base::random::Stream;
use tailcut_base::{Cause, Device, Nanos, Op, Spans};
use tailcut_ssd::config::{FdpConfig, VictimPolicy};
use tailcut_ssd::precondition::PreparedState;
use tailcut_ssd::{Figures, SsdConfig};

pub(crate) fn with_handles(handles: u32, isolation: Isolation) -> SsdConfig {
    let mut config = drive();
    (config.fdp.handles, config.fdp.isolation) = (handles, isolation);
    config.gc.victim = VictimPolicy::Greedy;
    config.buffer.size += u64::from(handles * config.superblock.program) * config.geometry.page_bytes;
    assert_eq!(config.check_fdp(), Ok(()));
    config
}

/// A handle in the first group.
fn of_first(handle: u32) -> PlacementId {
    PlacementId::new(GroupId::FIRST, HandleId::new(handle))
}

fn status(writer: &mut Writer, handle: u32) -> HandleStatus {
    status_of(writer, of_first(handle))
}

pub(crate) fn status_of(writer: &mut Writer, of: PlacementId) -> HandleStatus {
    match writer.ssd.control(writer.now(), Control::HandleStatus(of)) {
        ControlReply::HandleStatus(status) => status,
        other => panic!("{other:?}"),
    }
}

/// The same with reclaim units of the size and the handles of `fdp`.
pub(crate) fn placed_by(fdp: FdpConfig) -> SsdConfig {
    let mut config = with_handles(fdp.streams(), Isolation::Initially);
    config.fdp = fdp;
    config.geometry.pages = 24;
    config.ftl.spare = config.ftl.spare.max(crate::drives::least_spare(&config));
    assert_eq!(config.check_fdp(), Ok(()));
    config
}

/// Figures after the data has been overwritten several times: a tenth of the pages gets nine tenths of the
/// writes.
fn skewed(config: &SsdConfig, apart: bool) -> (Writer, Figures) {
    let mut writer = Writer::new(config, PreparedState::Empty, 1);
    let pages = writer.pages();
    // Data that is there from the start has a handle as well.
    let mut next = 0..pages;
    let hot = pages / 10;
    writer.write(pages, |_| next.next().map(|page| (page, u8::from(apart && page >= hot))).expect("a page"));
    writer.write(4 * pages, hot_and_cold(pages, 0.1, 0.9, apart));
    let figures = writer.write(2 * pages, hot_and_cold(pages, 0.1, 0.9, apart));
    writer.ssd.check();
    (writer, figures)
}

#[test]
fn hot_and_cold_data_in_reclaim_units_of_their_own_is_moved_less() {
    let amplification = |config: &SsdConfig, apart| skewed(config, apart).1.write_amplification();
    let together = amplification(&with_handles(2, Isolation::Initially), false);
    let initially = amplification(&with_handles(2, Isolation::Initially), true);
    let persistently = amplification(&with_handles(2, Isolation::Persistently), true);
    // What collection moves is mixed again unless it is isolated, and it moves more than the host writes.
    // Even then the gain is small: greedy victims are as full in all handles, so none gets more of the spare
    // space.
    assert!(initially < together, "{initially} apart, {together} together");
    assert!(persistently < together - 0.3, "{persistently} isolated, {together} together");
}

/// The loads of a cache: large objects in order all over the drive but for a small part, which small ones are
/// written to at random. What is in order costs no copies unless it is mixed with the rest.
#[test]
fn data_written_in_order_is_not_moved_at_all_if_it_is_apart() {
    let figures = |isolation, apart: bool| {
        let mut writer = Writer::new(&with_handles(2, isolation), PreparedState::Empty, 1);
        let pages = writer.pages();
        let (small, mut next, mut number) = (pages / 25, pages / 25, 0);
        let mut place = move |random: &mut Stream| {
            number += 1;
            if number % 2 == 0 {
                return (random.below(small), u8::from(apart));
            }
            next = if next + 1 == pages { small } else { next + 1 };
            (next, 0)
        };
        writer.write(6 * pages, &mut place);
        let figures = writer.write(2 * pages, &mut place);
        writer.ssd.check();
        figures
    };
    let together = figures(Isolation::Initially, false).write_amplification();
    for isolation in [Isolation::Initially, Isolation::Persistently] {
        let apart = figures(isolation, true);
        let amplification = apart.write_amplification();
        assert!(amplification < 1.1, "{isolation}: {amplification}, together {together}");
        assert!(together > 1.3, "{together} together");
        let [large, small] = [0, 1].map(|handle| apart.handles[handle]);
        assert!(large.moved < large.written / 50, "{isolation}: {large:?} {small:?}");
    }
}

#[test]
fn a_drive_with_handles_that_nobody_names_is_one_without() {
    let amplification = |config: &SsdConfig| {
        let mut writer = Writer::new(config, PreparedState::Steady, 1);
        let pages = writer.pages();
        writer.write(2 * pages, uniform(pages));
        writer.write(pages, uniform(pages)).write_amplification()
    };
    let (without, with) = (amplification(&drive()), amplification(&with_handles(2, Isolation::Initially)));
    // What is left in the open superblock counts as free on a drive without handles.
    assert!((with / without - 1.0).abs() < 0.03, "{with} with, {without} without");
}

#[test]
fn what_is_moved_is_counted_for_the_handle_that_wrote_it() {
    let (mut writer, _) = skewed(&with_handles(2, Isolation::Persistently), true);
    let [hot, cold] = [0, 1].map(|handle| status(&mut writer, handle));
    assert!(hot.host_written > 3 * cold.host_written, "{hot:?} {cold:?}");
    assert!(hot.collected > 0 && hot.moved > 0, "{hot:?}");
    let ControlReply::PlacementStatistics(Statistics { host_written, media_written, media_erased }) =
        writer.ssd.control(writer.now(), Control::PlacementStatistics)
    else {
        panic!("a drive with placement has statistics")
    };
    let programmed = hot.host_written + cold.host_written + hot.moved + cold.moved;
    assert!(media_written >= programmed && media_written < programmed * 101 / 100, "all but padding");
    // Some of it is still in the buffer, or was overwritten there.
    assert!(host_written >= hot.host_written + cold.host_written);
    let block = 24 * 8 * writer.ssd.config().geometry.page_bytes;
    assert!(media_erased > 0 && media_erased.is_multiple_of(block), "whole blocks: {media_erased}");
}

#[test]
fn the_data_of_isolated_handles_never_shares_a_reclaim_unit() {
    // The drive asserts it of each reclaim unit; nothing is known of what was filled in advance.
    for (superblocks, isolation) in [1, 2, 4].into_iter().flat_map(|superblocks| {
        [Isolation::Initially, Isolation::Persistently].map(|isolation| (superblocks, isolation))
    }) {
        let config = placed_by(FdpConfig { handles: 4, groups: 1, isolation, superblocks });
        let mut writer = Writer::new(&config, PreparedState::Empty, 3);
        let pages = writer.pages();
        for _ in 0..5 {
            writer.write(pages, |random| (random.below(pages), (random.below(4)) as u8));
            writer.ssd.check();
        }
        let collected = (0..4).map(|handle| status(&mut writer, handle).collected).sum::<u64>();
        assert!(collected > 30, "{superblocks} {isolation}: {collected} reclaim units collected");
        statistics_are_those_of_the_flash(&mut writer);
    }
}

/// What the endurance group counts is what was programmed and erased, handle by handle.
pub(crate) fn statistics_are_those_of_the_flash(writer: &mut Writer) {
    let ControlReply::PlacementStatistics(Statistics { host_written, media_written, media_erased }) =
        writer.ssd.control(writer.now(), Control::PlacementStatistics)
    else {
        panic!("a drive with placement has statistics")
    };
    let (figures, config) = (writer.ssd.figures(writer.now()), writer.ssd.config().clone());
    let page = config.geometry.page_bytes;
    assert_eq!(media_written, (figures.counts.programmed_user + figures.counts.programmed_gc) * page);
    assert_eq!(media_erased, figures.counts.erases * u64::from(config.geometry.pages) * page);
    let streams = 0..config.fdp.streams() as u8;
    let handles = streams.map(|stream| {
        let of = PlacementId::of_stream(stream, config.fdp.handles);
        status_of(writer, of)
    });
    let [written, moved] =
        handles.fold([0, 0], |[written, moved], of| [written + of.host_written, moved + of.moved]);
    assert_eq!(written, figures.counts.programmed_user * page);
    // Padding counts as collection's, and has no handle.
    assert!(moved <= figures.counts.programmed_gc * page && host_written >= written);
    let erased: u64 = writer.ssd.figures(writer.now()).counts.erases;
    assert!(erased > 0, "nothing was erased");
}

#[test]
fn a_reclaim_unit_of_several_superblocks_is_written_and_emptied_as_one() {
    for superblocks in [2, 8] {
        let config =
            placed_by(FdpConfig { handles: 2, groups: 1, isolation: Isolation::Initially, superblocks });
        let mut writer = Writer::new(&config, PreparedState::Empty, 1);
        let superblock = 4 * 24 * config.geometry.page_bytes;
        let unit = u64::from(superblocks) * superblock;
        // Pages of the buffer are programmed by 24; what is written fills less than the reclaim unit.
        writer.write(24 * 6, |random| (random.below(10_000), 1));
        let available = status(&mut writer, 1).available;
        assert!(available < unit && available >= unit - 6 * 24 * config.geometry.page_bytes);
        assert_eq!(available > superblock, superblocks > 2, "{available} of {unit}");
        // Data in order leaves reclaim units without a valid page: all blocks of one are erased.
        let pages = writer.pages();
        let mut next = 0;
        let order = |_: &mut Stream| {
            next = (next + 1) % pages;
            (next, 1)
        };
        let figures = writer.write(3 * pages, order);
        let [user, moved] = [figures.counts.programmed_user, figures.counts.programmed_gc];
        assert!(moved * 20 < user, "hardly anything is left to be moved: {moved} of {user}");
        // Those that were emptied last are still being erased.
        let blocks = u64::from(4 * superblocks) * figures.counts.collections;
        let erases = figures.counts.erases;
        assert!(erases <= blocks && erases > blocks / 2, "{erases} of {blocks} blocks erased");
        writer.ssd.check();
    }
}

#[test]
fn drives_with_large_reclaim_units_can_be_prepared() {
    for (state, superblocks) in
        [PreparedState::Sequential, PreparedState::Steady].into_iter().flat_map(|s| [(s, 1), (s, 2), (s, 8)])
    {
        let config =
            placed_by(FdpConfig { handles: 2, groups: 1, isolation: Isolation::Initially, superblocks });
        let mut writer = Writer::new(&config, state, 1);
        writer.ssd.check();
        let pages = writer.pages();
        writer.write(pages / 2, uniform(pages));
        writer.ssd.check();
    }
}

#[test]
fn reclaim_units_that_do_not_divide_the_drive_are_refused() {
    let mut config = with_handles(2, Isolation::Initially);
    for (blocks, superblocks, remedy) in [(256, 3, 2), (252, 8, 4), (256, 64, 0)] {
        (config.geometry.blocks, config.fdp.superblocks) = (blocks, superblocks);
        match config.check_fdp() {
            Ok(()) => assert_eq!(remedy, 0),
            Err(problem) => {
                let message = problem.to_string();
                assert!(message.contains(&format!("set superblocks = {remedy},")), "{message}");
            }
        }
    }
    (config.fdp.handles, config.fdp.superblocks) = (1, 2);
    assert!(config.check_fdp().is_err(), "one handle has no reclaim units");
}

#[test]
fn an_updated_handle_writes_to_another_reclaim_unit() {
    let mut writer = Writer::new(&with_handles(2, Isolation::Initially), PreparedState::Empty, 1);
    let unit = status(&mut writer, 1).available;
    assert!(unit > 0 && unit.is_multiple_of(4 * 24 * writer.ssd.config().geometry.page_bytes), "{unit}");
    writer.write(24 * 28, |random| (random.below(100_000), 1));
    let before = status(&mut writer, 1);
    assert!(before.available > 0 && before.available < unit, "{before:?}");
    let update = Control::UpdateHandle(of_first(1));
    assert_eq!(writer.ssd.control(writer.now(), update), ControlReply::Done);
    assert_eq!(status(&mut writer, 1).available, unit, "a whole one");
    let events = writer.ssd.placement_events(true);
    assert_eq!(events.iter().map(|event| event.of).collect::<Vec<_>>(), [EventType::NotFullyWritten]);
    writer.write(24 * 8, |random| (random.below(100_000), 1));
    assert!(status(&mut writer, 1).available > before.available);
    // A reclaim unit that nothing has been written to stays.
    assert_eq!(writer.ssd.control(writer.now(), Control::UpdateHandle(of_first(0))), ControlReply::Done);
    assert_eq!(writer.ssd.placement_events(true).len(), 1);
    let unknown = Control::UpdateHandle(of_first(2));
    assert_eq!(writer.ssd.control(writer.now(), unknown), ControlReply::Invalid);
    writer.ssd.check();
}

#[test]
fn an_unknown_handle_is_an_event_and_the_first() {
    let mut writer = Writer::new(&with_handles(2, Isolation::Initially), PreparedState::Empty, 1);
    writer.write(24 * 8, |random| (random.below(1000), 7));
    assert!(status(&mut writer, 0).host_written > 0);
    let events = writer.ssd.placement_events(true);
    assert!(events.len() > 1 && events.len() <= 63, "{}", events.len());
    assert!(
        events
            .iter()
            .all(|event| event.of == EventType::InvalidIdentifier && event.placement.handle().get() == 7)
    );
}

#[test]
fn handles_that_are_updated_all_the_time_do_not_stop_the_drive() {
    let mut config = with_handles(4, Isolation::Persistently);
    config.ftl.spare = crate::drives::least_spare(&config);
    let mut writer = Writer::new(&config, PreparedState::Sequential, 5);
    let pages = writer.pages();
    let mut refused = 0;
    for round in 0..400 {
        writer.write(pages / 100, |random| (random.below(pages), (random.below(4)) as u8));
        let update = Control::UpdateHandle(of_first(round % 4));
        refused += u32::from(writer.ssd.control(writer.now(), update) == ControlReply::Invalid);
    }
    writer.ssd.check();
    assert!(refused < 400, "no update was possible");
}

#[test]
fn a_drive_without_placement_knows_no_handles() {
    let mut writer = Writer::new(&drive(), PreparedState::Empty, 1);
    for call in
        [Control::HandleStatus(of_first(0)), Control::UpdateHandle(of_first(0)), Control::PlacementStatistics]
    {
        assert_eq!(writer.ssd.control(writer.now(), call), ControlReply::Unsupported);
    }
    writer.write(24 * 8, |random| (random.below(1000), 7));
    assert!(writer.ssd.placement_events(true).is_empty() && writer.ssd.placement_events(false).is_empty());
}

/// Reads beside random writes of the second handle, on a drive whose first handle only has old data.
#[test]
fn what_a_read_waits_for_names_the_handle_whose_data_it_is() {
    let mut config = with_handles(2, Isolation::Persistently);
    config.queue.depth = 64;
    let mut writer = Writer::new(&config, PreparedState::Empty, 1);
    let pages = writer.pages();
    let mut next = 0..pages;
    let written = pages / 2;
    // The upper half is of the second handle, and is overwritten until it is collected.
    writer.write(pages, |_| next.next().map(|page| (page, u8::from(page >= written))).expect("a page"));
    writer.write(2 * pages, |random| (written + random.below(pages - written), 1));
    let load = ReadsBesideWrites { requests: 40_000, gap: Nanos::micros(40), stream: 1 };
    let reads = writer.read_beside_writes(&load, |op, random| match op {
        Op::Read => random.below(pages),
        _ => written + random.below(pages - written),
    });
    let of = |spans: &Spans, causes: &[Cause]| causes.iter().map(|&cause| spans.of(cause)).sum::<Nanos>();
    let collection = [Cause::ChipGcRead, Cause::ChipGcProgram, Cause::ChipErase, Cause::ChipSuspend];
    let (mut by_collection, mut by_programs) = (0, 0);
    for read in &reads {
        let held_up = read.spans.held_up();
        let waited = of(&read.spans, &collection) + of(&read.spans, &[Cause::ChipUserWrite]);
        assert!(held_up.time() <= waited, "{held_up:?} of {waited}");
        assert_eq!(held_up.by().is_some(), waited > Nanos::ZERO, "{held_up:?} of {waited}");
        assert!(held_up.by().is_none_or(|by| by.placement() == of_first(1)), "{held_up:?}");
        let is_collection = held_up.by().is_some_and(HeldUpBy::is_collection);
        assert!(!is_collection || of(&read.spans, &collection) >= held_up.time());
        (by_collection, by_programs) = match held_up.by() {
            Some(_) if is_collection => (by_collection + 1, by_programs),
            Some(_) => (by_collection, by_programs + 1),
            None => (by_collection, by_programs),
        };
    }
    assert!(by_collection > 1000 && by_programs > 100, "{by_collection} {by_programs} of {}", reads.len());
}
