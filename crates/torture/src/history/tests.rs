//! The rules of a block, one by one.

use super::{History, Pending, Shown};
use crate::stamp::Stamp;
use crate::wrong::{Violation, ViolationKind};
use tailcut_base::fdp::HandleId;
use tailcut_base::{Class, Op};
use tailcut_host::{Bytes, Mirror, Request};

/// A host with a history.
struct Host(History);

impl Host {
    fn new() -> Host {
        Host(History::new(4))
    }

    fn begin(&mut self, op: Op, fua: bool) -> Pending {
        let class = Class::DEFAULT;
        let blocks = u32::from(op != Op::Flush);
        let data = Vec::<()>::new();
        let request = Request {
            id: 0,
            op,
            fua,
            class,
            fail_fast: false,
            mirror: Mirror::Any,
            handle: HandleId::FIRST,
            block: 0,
            blocks,
            data,
        };
        self.0.submitted(&request).0
    }

    fn end(&mut self, pending: &Pending) {
        self.0.answered(pending, true);
    }

    fn done(&mut self, op: Op) -> u32 {
        let pending = self.begin(op, false);
        self.end(&pending);
        pending.first
    }

    fn returns(&mut self, pending: &Pending, version: u32) -> Result<Shown, Violation> {
        let block = match version {
            0 => Bytes::default(),
            version => Stamp { block: 0, version }.content(),
        };
        let result = self.0.read(pending, &[block]);
        self.end(pending);
        result
    }

    /// The violation by a read that returns this version now, if any.
    fn sees(&mut self, version: u32) -> Option<ViolationKind> {
        let pending = self.begin(Op::Read, false);
        self.returns(&pending, version).err().map(|wrong| wrong.kind)
    }
}

#[test]
fn a_read_returns_the_last_write() {
    let mut host = Host::new();
    assert_eq!(host.sees(0), None);
    let (first, second) = (host.done(Op::Write), host.done(Op::Write));
    assert_eq!(host.sees(first), Some(ViolationKind::Stale));
    assert_eq!(host.sees(second), None);
    assert_eq!(host.sees(second + 1), Some(ViolationKind::Invented));
    host.done(Op::Trim);
    assert_eq!(host.sees(0), None);
    assert_eq!(host.sees(second), Some(ViolationKind::Resurrected));
}

#[test]
fn requests_in_flight_together_have_no_order_until_a_read_shows_one() {
    let mut host = Host::new();
    let (a, b) = (host.begin(Op::Write, false), host.begin(Op::Write, false));
    let early = host.begin(Op::Read, false);
    host.end(&a);
    host.end(&b);
    let late = host.begin(Op::Read, false);
    assert_eq!(host.returns(&late, a.first).err(), None);
    assert_eq!(host.sees(b.first), Some(ViolationKind::Stale), "a came later: it was seen after both");
    assert_eq!(host.returns(&early, 0).err(), None, "it had begun before either was answered");
}

#[test]
fn who_keeps_order_returns_what_was_submitted_last() {
    let overtaken = |history: History| {
        let mut host = Host(history);
        let (a, b) = (host.begin(Op::Write, false), host.begin(Op::Write, false));
        let read = host.begin(Op::Read, false);
        let later = host.begin(Op::Write, false);
        let sees = |version| Host(host.0.clone()).returns(&read, version).err().map(|wrong| wrong.kind);
        [0, a.first, b.first, later.first].map(sees)
    };
    assert_eq!(overtaken(History::new(4)), [None; 4]);
    let stale = Some(ViolationKind::Stale);
    assert_eq!(overtaken(History::new(4).in_order()), [stale, stale, None, None]);
}

#[test]
fn a_power_cut_leaves_what_is_durable_or_something_later() {
    let mut host = Host::new();
    let first = host.done(Op::Write);
    host.done(Op::Flush);
    let (second, third) = (host.done(Op::Write), host.done(Op::Write));
    for (version, wrong) in [(0, Some(ViolationKind::Lost)), (first, None), (second, None), (third, None)] {
        let mut host = Host(host.0.clone());
        host.0.power_cut();
        assert_eq!(host.sees(version), wrong);
    }
}

#[test]
fn what_a_power_cut_has_left_stays() {
    let mut host = Host::new();
    let (first, second) = (host.done(Op::Write), host.done(Op::Write));
    host.0.power_cut();
    assert_eq!(host.sees(first), None);
    assert!(host.sees(second).is_some() && host.sees(0).is_some());
    host.0.power_cut();
    assert!(host.sees(second).is_some() && host.sees(0).is_some());
    assert_eq!(host.sees(first), None);
}

#[test]
fn zeros_after_a_trim_tell_nothing_of_what_was_there_before() {
    let mut host = Host::new();
    let first = host.done(Op::Write);
    host.0.power_cut();
    host.done(Op::Trim);
    assert_eq!(host.sees(0), None);
    host.0.power_cut();
    assert_eq!(host.sees(first), None, "the trim was not flushed");
}

#[test]
fn force_unit_access_is_durable_when_it_is_answered() {
    let mut host = Host::new();
    let write = host.begin(Op::Write, true);
    host.end(&write);
    host.0.power_cut();
    assert_eq!(host.sees(0), Some(ViolationKind::Lost));
    assert_eq!(host.sees(write.first), None);
}

#[test]
fn a_write_that_failed_may_have_happened_or_not() {
    let mut host = Host::new();
    let write = host.begin(Op::Write, true);
    host.0.answered(&write, false);
    for version in [0, write.first] {
        assert_eq!(Host(host.0.clone()).sees(version), None);
    }
}
