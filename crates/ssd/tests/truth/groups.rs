//! Reclaim groups: each is written and collected on dies of its own, and can be full while the drive is not.

use crate::placement::{placed_by, statistics_are_those_of_the_flash, status_of, with_handles};
use crate::writer::{ReadsBesideWrites, Writer};
use tailcut_base::control::{Control, ControlReply};
use tailcut_base::fdp::{Event, EventType, GroupId, HandleId, Isolation, PlacementId};
use tailcut_base::ids::Id;
use tailcut_base::random::Stream;
use tailcut_base::{Cause, Device, Nanos, Op, Status};
use tailcut_ssd::SsdConfig;
use tailcut_ssd::config::FdpConfig;
use tailcut_ssd::flash::LogicalPage;
use tailcut_ssd::precondition::PreparedState;

/// Data placement with two handles that are isolated initially, in this many groups.
fn in_groups(groups: u32) -> FdpConfig {
    FdpConfig { handles: 2, groups, ..FdpConfig::OFF }
}

/// A handle of the first group.
fn of_first(handle: HandleId) -> PlacementId {
    PlacementId::new(GroupId::FIRST, handle)
}

/// The first handle of a group.
fn first_of(group: GroupId) -> PlacementId {
    PlacementId::new(group, HandleId::FIRST)
}

const SECOND_GROUP: GroupId = GroupId::new(1);
const SECOND: HandleId = HandleId::new(1);

/// The group of the flash that holds a page; `None` if the page is in the buffer or nowhere.
fn group_of(writer: &Writer, page: u64) -> Option<u64> {
    let each = writer.ssd.planes() / writer.ssd.config().fdp.groups;
    let plane = writer.ssd.plane_of_page(LogicalPage::new(page))?;
    Some(u64::from(plane.get() / each))
}

/// Asserts that pages on flash are in the groups that `group` names.
fn are_in(writer: &Writer, group: impl Fn(u64) -> u64) -> usize {
    let found: Vec<(u64, u64)> =
        (0..writer.pages()).filter_map(|page| Some((page, group_of(writer, page)?))).collect();
    for &(page, found) in &found {
        assert_eq!(found, group(page), "page {page}");
    }
    found.len()
}

#[test]
fn data_stays_on_the_dies_of_its_group_and_isolated_data_apart() {
    for (groups, superblocks, isolation) in [
        (2, 1, Isolation::Initially),
        (2, 2, Isolation::Persistently),
        (4, 1, Isolation::Persistently),
        (4, 4, Isolation::Initially),
    ] {
        let fdp = FdpConfig { isolation, superblocks, ..in_groups(groups) };
        let handles = fdp.handles;
        let mut writer = Writer::new(&placed_by(fdp.clone()), PreparedState::Empty, 3);
        let pages = writer.pages();
        let group = |page: u64| page % u64::from(groups);
        for _ in 0..5 {
            writer.write(pages, |random| {
                let page = random.below(pages);
                (
                    page,
                    PlacementId::new(GroupId::new(group(page) as u32), HandleId::new(random.below(2) as u32))
                        .stream(handles),
                )
            });
            writer.ssd.check();
        }
        assert!(are_in(&writer, group) as u64 > pages * 9 / 10);
        let all = GroupId::first(groups as usize).flat_map(|group| {
            HandleId::first(handles as usize).map(move |handle| PlacementId::new(group, handle))
        });
        for of in all {
            let status = status_of(&mut writer, of);
            assert!(status.collected > 3 && status.moved > 0, "handle {of}: {status:?}");
        }
        statistics_are_those_of_the_flash(&mut writer);
    }
}

#[test]
fn a_page_that_is_written_again_moves_to_the_group_that_was_named_last() {
    let mut writer =
        Writer::new(&placed_by(FdpConfig { handles: 1, ..in_groups(2) }), PreparedState::Empty, 1);
    let pages = writer.pages() / 2;
    writer.write(2 * pages, |random| (random.below(pages), random.below(2) as u8));
    // Every page is written twice, so that many are in the buffer while they change their group.
    let mut next = 0..2 * pages;
    writer.write(2 * pages, |_| next.next().map(|n| (n / 2, ((n / 2 + n + 1) % 2) as u8)).expect("a page"));
    writer.come_to_rest();
    writer.ssd.check();
    let found = are_in(&writer, |page| page % 2) as u64;
    assert!(found > pages * 9 / 10, "{found} of {pages}");
}

#[test]
fn a_full_group_refuses_what_is_new_to_it_and_nothing_else() {
    for (handles, groups, isolation) in [(1, 2, Isolation::Initially), (2, 4, Isolation::Persistently)] {
        let config = placed_by(FdpConfig { handles, isolation, ..in_groups(groups) });
        let mut writer = Writer::new(&config, PreparedState::Empty, 1);
        let (pages, share) = (writer.pages(), writer.pages() / u64::from(groups));
        let written = (0..pages).take_while(|&page| writer.try_write(page, 0) == Status::Success).count();
        let written = written as u64;
        assert!(written >= share && written < share * 3 / 2, "{written} of a share of {share} pages");
        for page in 0..written {
            writer.read(page, 1);
        }
        assert_eq!(writer.try_write(written, 0), Status::NoSpace);
        assert!(writer.ssd.read_only().is_none());
        // What it holds can be written again, for as long as one likes.
        for handle in HandleId::first(handles as usize) {
            let stream = of_first(handle).stream(handles);
            let mut random = Stream::new(7, "test.full");
            for _ in 0..4 * share {
                assert_eq!(writer.try_write(random.below(written), stream), Status::Success);
            }
        }
        writer.ssd.check();
        assert_eq!(writer.try_write(written, 0), Status::NoSpace);
        // Others have room, and a page that leaves makes room for one.
        let other = first_of(SECOND_GROUP).stream(handles);
        for page in written..written + share / 2 {
            assert_eq!(writer.try_write(page, other), Status::Success);
        }
        writer.trim(5);
        assert_eq!(
            [pages - 1, pages - 2].map(|page| writer.try_write(page, 0)),
            [Status::Success, Status::NoSpace]
        );
        assert_eq!(writer.try_write(6, other), Status::Success);
        writer.come_to_rest();
        writer.write(200, |random| (written + random.below(share / 2), other));
        writer.come_to_rest();
        assert_eq!(writer.try_write(pages - 2, 0), Status::Success, "page 6 has left");
        writer.ssd.check();
    }
}

#[test]
fn a_prepared_drive_has_an_equal_part_of_the_addresses_in_each_group() {
    for state in [PreparedState::Sequential, PreparedState::Steady] {
        for (groups, superblocks) in [(2, 1), (4, 2)] {
            let mut writer =
                Writer::new(&placed_by(FdpConfig { superblocks, ..in_groups(groups) }), state, 1);
            writer.ssd.check();
            let pages = writer.pages();
            let group = |page: u64| page * u64::from(groups) / pages;
            assert_eq!(are_in(&writer, group) as u64, pages);
            // All of it can be overwritten where it is.
            writer.write(2 * pages, |random| {
                let page = random.below(pages);
                (page, PlacementId::new(GroupId::new(group(page) as u32), SECOND).stream(2))
            });
            are_in(&writer, group);
            writer.ssd.check();
        }
    }
}

#[test]
fn groups_that_do_nothing_but_divide_amplify_as_the_whole_drive() {
    let amplification = |groups: u32| {
        let mut config = with_handles(2, Isolation::Initially);
        config.fdp.groups = groups;
        config.buffer.size *= 2;
        let mut writer = Writer::new(&config, PreparedState::Steady, 1);
        let pages = writer.pages();
        let place = |random: &mut Stream| {
            let page = random.below(pages);
            (page, first_of(GroupId::new((page * u64::from(groups) / pages) as u32)).stream(2))
        };
        writer.write(3 * pages, place);
        writer.write(pages, place).write_amplification()
    };
    let (whole, divided) = (amplification(1), amplification(2));
    assert!((divided / whole - 1.0).abs() < 0.05, "{whole} in one group, {divided} in two");
}

/// Reads of the lower half beside writes of the upper half; the share of reads that waited for programs or
/// collection of a chip.
fn share_of_reads_that_wait(config: &SsdConfig, stream: u8) -> f64 {
    let mut writer = Writer::new(config, PreparedState::Steady, 1);
    let pages = writer.pages();
    let half = pages / 2;
    writer.write(pages, |random| (half + random.below(half), stream));
    // What the lower half had in the buffer is on flash by now.
    let load = ReadsBesideWrites { requests: 20_000, gap: Nanos::micros(60), stream };
    let reads = writer
        .read_beside_writes(&load, |op, random| random.below(half) + if op == Op::Read { 0 } else { half });
    let causes =
        [Cause::ChipGcRead, Cause::ChipGcProgram, Cause::ChipErase, Cause::ChipSuspend, Cause::ChipUserWrite];
    let waits = |spans: &tailcut_base::Spans| causes.iter().any(|&cause| spans.of(cause) > Nanos::ZERO);
    reads.iter().filter(|read| waits(&read.spans)).count() as f64 / reads.len() as f64
}

#[test]
fn reads_of_one_group_never_wait_for_programs_and_collection_of_another() {
    let mut config = placed_by(FdpConfig { isolation: Isolation::Persistently, ..in_groups(1) });
    config.queue.depth = 64;
    let together = share_of_reads_that_wait(&config, 1);
    config.fdp.groups = 2;
    config.buffer.size *= 2;
    let apart = share_of_reads_that_wait(&config, PlacementId::new(SECOND_GROUP, SECOND).stream(2));
    assert!(together > 0.1 && apart == 0.0, "{together} of the reads wait in one group, {apart} in two");
}

#[test]
fn events_and_updates_name_the_group() {
    let mut writer =
        Writer::new(&placed_by(FdpConfig { superblocks: 4, ..in_groups(2) }), PreparedState::Empty, 1);
    let (unknown, known) = (4, PlacementId::new(SECOND_GROUP, SECOND));
    let named = of_first(HandleId::new(4));
    writer.write(24 * 40, |random| (random.below(1000), unknown));
    let events = writer.ssd.placement_events(true);
    let is_unknown = |event: &Event| event.of == EventType::InvalidIdentifier && event.placement == named;
    assert!(events.iter().all(is_unknown));
    assert!(!events.is_empty() && status_of(&mut writer, PlacementId::FIRST).host_written > 0);
    assert_eq!(status_of(&mut writer, first_of(SECOND_GROUP)).host_written, 0);
    let unit = status_of(&mut writer, known).available;
    while status_of(&mut writer, known).available == unit {
        writer.write(24, |random| (random.below(10_000), known.stream(2)));
    }
    assert_eq!(status_of(&mut writer, of_first(SECOND)).available, unit);
    assert_eq!(writer.ssd.control(writer.now(), Control::UpdateHandle(known)), ControlReply::Done);
    let last = writer.ssd.placement_events(true).pop().expect("an event");
    assert_eq!((last.of, last.placement), (EventType::NotFullyWritten, known));
    for other in [first_of(GroupId::new(2)), of_first(HandleId::new(2))] {
        for call in [Control::UpdateHandle(other), Control::HandleStatus(other)] {
            assert_eq!(writer.ssd.control(writer.now(), call), ControlReply::Invalid);
        }
    }
    writer.ssd.check();
}

#[test]
fn what_cannot_be_divided_is_refused_with_the_remedy() {
    let problem = |change: &dyn Fn(&mut SsdConfig)| {
        let mut config = with_handles(2, Isolation::Initially);
        config.buffer.size = 1 << 30;
        change(&mut config);
        config.check_fdp().expect_err("it cannot be divided").to_string()
    };
    let message = problem(&|config| config.fdp.groups = 3);
    assert!(message.contains("4 dies") && message.contains("set groups = 2,"), "{message}");
    let message = problem(&|config| (config.geometry.channels, config.fdp.groups) = (3, 4));
    assert!(message.contains("6 dies") && message.contains("set groups = 2,"), "{message}");
    let message = problem(&|config| (config.buffer.size, config.fdp.groups) = (1 << 16, 4));
    assert!(message.contains("8 handles gather 24 pages"), "{message}");
    let message = problem(&|config| {
        config.fdp = FdpConfig { handles: 1, groups: 2, isolation: Isolation::Persistently, superblocks: 1 };
    });
    assert!(message.contains("one handle"), "{message}");
    // As many blocks of each die are open, whatever the number of groups.
    let kept =
        |groups| SsdConfig { fdp: in_groups(groups), ..with_handles(2, Isolation::Initially) }.blocks_kept();
    assert_eq!(kept(1), kept(4));
}
