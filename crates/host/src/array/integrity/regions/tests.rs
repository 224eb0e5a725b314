use super::*;
use crate::array::MemberId;

const IDLE: Nanos = Nanos(100);

fn unknown(most: usize) -> (Area, Regions) {
    let area = Area::of(3000);
    (area, Regions::new(Owner::new(1, MemberId::new(1)), &area, most))
}

/// Three clean regions at time 100.
fn at_rest() -> (Area, Regions) {
    let (area, mut regions) = unknown(10);
    regions.begin_blank(&area);
    write_mark(&area, &mut regions, true);
    assert!(regions.admit(Time(0), IDLE, some(0..3)), "nothing that a mark vouches for");
    regions.ended(Time(0), some(0..3));
    assert_eq!(regions.due(), Time(100));
    assert_eq!(regions.begin_cleaning(Time(100), IDLE).len(), 3);
    assert_eq!(regions.cleaned(Time(101), IDLE, &area, true), 3);
    write_mark(&area, &mut regions, true);
    assert_eq!((regions.is_at_rest(), regions.due()), (true, Time::NEVER));
    (area, regions)
}

fn write_mark(area: &Area, regions: &mut Regions, is_good: bool) {
    assert_eq!(regions.next_mark(area), Some(MarkId::new(0)));
    assert_eq!(regions.next_mark(area), None, "one at a time");
    regions.marked(is_good);
}

fn marks(area: &Area, regions: &Regions) -> Vec<bool> {
    regions.marks(area, MarkId::new(0)).map(|generation| generation != Generation::NONE).collect()
}

fn some(of: std::ops::Range<u32>) -> impl Iterator<Item = RegionId> + Clone {
    of.map(RegionId::new)
}

#[test]
fn a_write_waits_for_the_marks_of_all_its_regions() {
    let (area, mut regions) = at_rest();
    assert_eq!(marks(&area, &regions), [true; 3]);
    assert!(!regions.admit(Time(200), IDLE, some(0..2)));
    assert!(!regions.admit(Time(200), IDLE, some(1..2)), "the mark has not been written");
    assert_eq!(regions.next_mark(&area), Some(MarkId::new(0)));
    assert_eq!(marks(&area, &regions), [false, false, true]);
    // Another write arrives while the marks are being written: it needs the next mark write.
    assert!(!regions.admit(Time(201), IDLE, some(2..3)));
    regions.marked(true);
    assert!(regions.admit(Time(202), IDLE, some(0..2)) && !regions.admit(Time(202), IDLE, some(1..3)));
    write_mark(&area, &mut regions, true);
    assert!(regions.admit(Time(203), IDLE, some(1..3)));
    assert_eq!(regions.next_mark(&area), None);
}

#[test]
fn marks_that_could_not_be_written_are_wanted_again() {
    let (area, mut regions) = at_rest();
    assert!(!regions.admit(Time(200), IDLE, some(0..1)));
    write_mark(&area, &mut regions, false);
    assert!(!regions.admit(Time(201), IDLE, some(0..1)));
    write_mark(&area, &mut regions, true);
    assert!(regions.admit(Time(202), IDLE, some(0..1)));
}

#[test]
fn a_region_is_clean_when_nobody_has_written_it_for_long_enough() {
    let (area, mut regions) = at_rest();
    assert!(!regions.admit(Time(200), IDLE, some(0..2)));
    write_mark(&area, &mut regions, true);
    assert!(regions.admit(Time(210), IDLE, some(0..2)));
    assert_eq!(regions.due(), Time(300));
    assert_eq!(regions.begin_cleaning(Time(300), IDLE), [], "in flight");
    assert_eq!(regions.due(), Time(400));
    regions.ended(Time(310), some(0..2));
    assert_eq!(regions.begin_cleaning(Time(400), IDLE), [], "too early");
    assert_eq!(regions.begin_cleaning(Time(500), IDLE).len(), 2);
    // A write arrives while the checksums are being written.
    assert!(regions.admit(Time(510), IDLE, some(1..2)));
    assert_eq!(marks(&area, &regions), [false, false, true]);
    assert_eq!(regions.cleaned(Time(520), IDLE, &area, true), 1);
    assert_eq!(marks(&area, &regions), [true, false, true]);
    assert_eq!((regions.dirty(), regions.due()), (1, Time(620)));
}

#[test]
fn what_may_not_be_durable_stays_dirty() {
    let (area, mut regions) = at_rest();
    assert!(!regions.admit(Time(200), IDLE, some(0..1)));
    write_mark(&area, &mut regions, true);
    let first = regions.generation(RegionId::new(0));
    assert_eq!(regions.begin_cleaning(Time(400), IDLE).len(), 1);
    assert_eq!(regions.cleaned(Time(410), IDLE, &area, false), 0);
    assert_eq!(marks(&area, &regions), [false, true, true]);
    assert_eq!(regions.begin_cleaning(Time(510), IDLE).len(), 1);
    assert_eq!(regions.generation(RegionId::new(0)), first.next().next(), "each writing has its own");
}

#[test]
fn a_drive_that_takes_no_writes_is_left_alone_until_the_next_write() {
    let (area, mut regions) = at_rest();
    assert!(!regions.admit(Time(200), IDLE, some(0..1)));
    write_mark(&area, &mut regions, true);
    for round in 1..=TRIES {
        assert_ne!(regions.due(), Time::NEVER, "round {round}");
        let now = regions.due();
        assert_eq!(regions.begin_cleaning(now, IDLE).len(), 1);
        assert_eq!(regions.cleaned(now, IDLE, &area, false), 0);
    }
    assert_eq!((regions.due(), regions.dirty()), (Time::NEVER, 1));
    assert!(regions.admit(Time(9000), IDLE, some(0..1)));
    assert_eq!(regions.due(), Time(9100));
}

#[test]
fn after_a_flush_that_failed_no_region_becomes_clean() {
    let (area, mut regions) = at_rest();
    assert!(!regions.admit(Time(200), IDLE, some(0..1)));
    write_mark(&area, &mut regions, true);
    assert_eq!(regions.begin_cleaning(Time(400), IDLE).len(), 1);
    regions.stop();
    assert_eq!(regions.cleaned(Time(410), IDLE, &area, true), 0, "its flush came too late");
    assert_eq!((regions.due(), regions.dirty()), (Time::NEVER, 1));
}

#[test]
fn what_marks_say_counts_when_an_array_is_opened() {
    let (area, mut regions) = unknown(10);
    let said = [Generation::NONE, Generation::NONE.next(), Generation::NONE];
    regions.restore(Time(50), &area, MarkId::new(0), Some(said.into_iter()));
    assert_eq!(regions.next_clean(RegionId::new(0)), Some(RegionId::new(1)));
    assert_eq!(regions.next_clean(RegionId::new(2)), None);
    assert!(regions.is_at_rest() && regions.next_mark(&area).is_none());
    assert!(regions.admit(Time(60), IDLE, some(0..1)) && !regions.admit(Time(60), IDLE, some(1..2)));
}

#[test]
fn marks_that_cannot_be_read_are_written_before_their_regions_are() {
    let (area, mut regions) = unknown(10);
    regions.restore(Time(50), &area, MarkId::new(0), None::<std::iter::Empty<Generation>>);
    assert_eq!(regions.next_clean(RegionId::new(0)), None);
    assert!(!regions.admit(Time(60), IDLE, some(0..1)));
    write_mark(&area, &mut regions, true);
    assert_eq!(marks(&area, &regions), [false; 3]);
    assert!(regions.admit(Time(70), IDLE, some(0..1)));
}

#[test]
fn of_too_many_dirty_regions_the_first_come_to_rest_at_once() {
    let (_, mut regions) = unknown(2);
    assert!(regions.admit(Time(0), IDLE, some(0..2)));
    assert_eq!(regions.due(), Time(100));
    assert!(regions.admit(Time(10), IDLE, some(2..3)));
    assert_eq!(regions.due(), Time(10));
    assert_eq!(regions.begin_cleaning(Time(10), IDLE), [], "all are being written");
    assert_eq!(regions.due(), Time(110));
    regions.ended(Time(20), some(0..3));
    assert_eq!(regions.begin_cleaning(Time(30), IDLE), [RegionId::new(0)]);
}
