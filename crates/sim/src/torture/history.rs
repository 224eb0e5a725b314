//! What the host did and what it may see: the checker of content. It knows requests and answers, and
//! nothing of what is tortured.
//!
//! Each block is a register. A read may return what a write has written that was submitted before the
//! read was answered, unless another write came in between: submitted after the one was answered,
//! and answered before the read was submitted. Requests that were in flight together may have been carried out in
//! either order; but once a read has told the order, it stays. A write that was answered with an error
//! may have happened or not.
//!
//! Of a subject that *keeps order* more is asked than of a disk: requests for one block take effect in
//! the order in which they were submitted, answered or not. So a read returns what the last write before
//! it has written, or a later one, and never an earlier one.
//!
//! A power cut leaves of each block any version that is not older than the last durable one: written
//! with force unit access, or answered before a flush was submitted that was answered. What it has left it has left: reads
//! afterwards agree with each other, also across the next power cut. Trims count as writes of zeros.

use super::stamp::{Content, Stamp};
use super::wrong::{Wrong, WrongKind};
use std::collections::BTreeSet;
use tailcut_base::Op;
use tailcut_host::{Bytes, Request};

/// A moment in the order of submissions and answers.
type Moment = u64;

/// What the host may see.
#[derive(Clone, Debug)]
pub struct History {
    blocks: Vec<Vec<Version>>,
    /// The last version of each block that was durable at a power cut.
    durable: Vec<u32>,
    /// When the requests in flight were submitted.
    in_flight: BTreeSet<Moment>,
    now: Moment,
    versions: u32,
    keeps_order: bool,
    /// A write that is not answered may still fail, of which a part may show already.
    writes_may_fail: bool,
}

/// Something that was, is or will be in a block.
#[derive(Clone, Debug)]
struct Version {
    number: u32,
    is_zeros: bool,
    submitted: Moment,
    /// [`Moment::MAX`] until it is answered.
    answered: Moment,
    /// It has certainly happened.
    is_certain: bool,
    is_durable: bool,
    /// A power cut may have left it; exactly one of those that are carried is there.
    is_carried: bool,
    /// A read that was answered then has shown that this version came later.
    past: Option<(Moment, u32)>,
}

impl Version {
    fn zeros() -> Version {
        Version {
            number: 0,
            is_zeros: true,
            submitted: 0,
            answered: 0,
            is_certain: true,
            is_durable: true,
            is_carried: true,
            past: None,
        }
    }
}

/// A request of the host in flight.
#[derive(Clone, Debug)]
pub struct Pending {
    /// What for.
    pub op: Op,
    /// First block.
    pub block: u64,
    /// Number of blocks.
    pub blocks: u32,
    fua: bool,
    submitted: Moment,
    /// The version of its first block; the others follow.
    first: u32,
}

/// What a read has shown beside being right.
#[derive(Clone, Copy, Debug, Default)]
pub struct Shown {
    /// Blocks that a write in flight is about to change.
    pub contested: u64,
    /// Blocks that had been open between versions, and are not any more.
    pub decided: u64,
    /// Blocks that had been trimmed.
    pub trimmed: u64,
}

impl History {
    /// Of so many blocks, all zeros.
    pub fn new(blocks: u64) -> History {
        let durable = vec![0; blocks as usize];
        let blocks = vec![vec![Version::zeros()]; blocks as usize];
        let (in_flight, now, versions) = (BTreeSet::new(), 0, 0);
        History { blocks, durable, in_flight, now, versions, keeps_order: false, writes_may_fail: false }
    }

    /// Of a subject that keeps order.
    pub fn in_order(self) -> History {
        History { keeps_order: true, ..self }
    }

    /// From now on writes may be answered with errors: only what has been answered hides what came before.
    pub fn let_writes_fail(&mut self) {
        self.writes_may_fail = true;
    }

    /// How many blocks there are.
    pub fn blocks(&self) -> u64 {
        self.blocks.len() as u64
    }

    fn tick(&mut self) -> Moment {
        self.now += 1;
        self.now
    }

    /// Gives a write its content; to be called before it is submitted, and before [`History::submitted`].
    pub fn content(&self, block: u64, blocks: u32) -> Vec<Bytes> {
        let stamp = |index: u32| {
            Stamp { block: block + u64::from(index), version: self.versions + 1 + index }.content()
        };
        (0..blocks).map(stamp).collect()
    }

    /// A request was submitted. Tells whether another write of one of its blocks is in flight.
    pub fn submitted<B>(&mut self, request: &Request<B>) -> (Pending, bool) {
        let (op, block, blocks, fua) = (request.op, request.block, request.blocks, request.fua);
        let submitted = self.tick();
        self.in_flight.insert(submitted);
        let first = self.versions + 1;
        let mut is_contested = false;
        if matches!(op, Op::Write | Op::Trim) {
            self.versions += blocks;
            for index in 0..blocks {
                let versions = &mut self.blocks[(block + u64::from(index)) as usize];
                is_contested |= versions.iter().any(|version| version.answered == Moment::MAX);
                versions.push(Version {
                    number: first + index,
                    is_zeros: op == Op::Trim,
                    submitted,
                    answered: Moment::MAX,
                    is_certain: false,
                    is_durable: false,
                    is_carried: false,
                    past: None,
                });
            }
        }
        (Pending { op, block, blocks, fua, submitted, first }, is_contested)
    }

    /// A request was answered; of a read, [`History::read`] is to be asked before.
    pub fn answered(&mut self, pending: &Pending, success: bool) {
        let now = self.tick();
        self.in_flight.remove(&pending.submitted);
        match pending.op {
            Op::Read => {}
            Op::Flush if success => self.flushed(pending.submitted),
            Op::Flush => {}
            Op::Write | Op::Trim => {
                for index in 0..pending.blocks {
                    let versions = &mut self.blocks[(pending.block + u64::from(index)) as usize];
                    let version = versions.iter_mut().find(|v| v.number == pending.first + index);
                    let version = version.expect("what is not answered is not forgotten");
                    version.answered = now;
                    version.is_certain = success;
                    version.is_durable = success && pending.fua;
                }
                self.forget(pending.block..pending.block + u64::from(pending.blocks));
            }
        }
    }

    /// What was answered by then is durable.
    fn flushed(&mut self, by: Moment) {
        for version in self.blocks.iter_mut().flatten() {
            version.is_durable |= version.is_certain && version.answered < by;
        }
        self.forget(0..self.blocks.len() as u64);
    }

    /// Forgets what neither a read in flight nor a later one may return, whatever happens.
    fn forget(&mut self, blocks: std::ops::Range<u64>) {
        let oldest = self.in_flight.first().copied().unwrap_or(Moment::MAX);
        for versions in &mut self.blocks[blocks.start as usize..blocks.end as usize] {
            let bar = versions.iter().filter(|version| version.is_durable && version.answered < oldest);
            let bar = bar.map(|version| version.submitted).max().unwrap_or(0);
            versions.retain(|version| version.answered >= bar);
        }
    }

    /// A read has returned `data`.
    ///
    /// # Errors
    /// When it may not have.
    pub fn read(&mut self, pending: &Pending, data: &[Bytes]) -> Result<Shown, Wrong> {
        let now = self.tick();
        if data.len() != pending.blocks as usize {
            let message = format!("a read of {} blocks returned {}", pending.blocks, data.len());
            return Err(Wrong { kind: WrongKind::Invented, message });
        }
        let mut shown = Shown::default();
        for (block, content) in (pending.block..).zip(data) {
            self.seen(block, Stamp::read(content), pending.submitted, now, &mut shown)?;
        }
        Ok(shown)
    }

    fn seen(
        &mut self,
        block: u64,
        content: Content,
        since: Moment,
        now: Moment,
        shown: &mut Shown,
    ) -> Result<(), Wrong> {
        let versions = &self.blocks[block as usize];
        let number = match content {
            Content::Foreign { claims, differs_at } => {
                let message = format!(
                    "block {block} holds bytes that begin like version {} of block {} and differ at byte {differs_at}",
                    claims.version, claims.block
                );
                return Err(Wrong { kind: WrongKind::Invented, message });
            }
            Content::Written(stamp) if stamp.block != block => {
                let message =
                    format!("block {block} holds version {} of block {}", stamp.version, stamp.block);
                return Err(Wrong { kind: WrongKind::Misplaced, message });
            }
            Content::Written(stamp) => Some(stamp.version),
            Content::Zeros => None,
        };
        let is_it = |version: &Version| match number {
            Some(number) => version.number == number,
            None => version.is_zeros,
        };
        let is_possible = |version: &Version| is_it(version) && self.possible(versions, version, since);
        if !versions.iter().any(is_possible) {
            return Err(self.explain(block, number, since));
        }
        shown.contested += u64::from(versions.iter().any(|version| version.answered == Moment::MAX));
        shown.decided += u64::from(versions.iter().filter(|version| version.is_carried).count() > 1);
        shown.trimmed += u64::from(number.is_none() && versions.iter().any(|v| v.is_zeros && v.number > 0));
        self.learn(block, is_it, since, now);
        Ok(())
    }

    /// What a read has shown: what came before, and which version a power cut has left.
    fn learn(&mut self, block: u64, is_it: impl Fn(&Version) -> bool, since: Moment, now: Moment) {
        let versions = &mut self.blocks[block as usize];
        let mut shown = versions.iter().filter(|version| is_it(version));
        if let (Some(number), None) = (shown.next().map(|version| version.number), shown.next()) {
            for version in versions.iter_mut().filter(|version| version.number != number) {
                if version.answered < since && version.past.is_none() {
                    version.past = Some((now, number));
                }
            }
        }
        // Zeros may also come from a trim since.
        let mut shown = versions.iter().filter(|version| is_it(version)).peekable();
        if shown.peek().is_some() && shown.all(|version| version.is_carried) {
            versions.retain(|version| !version.is_carried || is_it(version));
            decide(versions);
        }
    }

    /// True when a read that was submitted at `since` may return `version` now.
    fn possible(&self, versions: &[Version], version: &Version, since: Moment) -> bool {
        let is_over = |later: &Version| {
            let has_ended = later.is_certain && version.answered < later.submitted && later.answered < since;
            has_ended || self.hides(later, version, since)
        };
        version.past.is_none_or(|(shown, _)| shown >= since) && !versions.iter().any(is_over)
    }

    /// True when requests take effect in order and `later` comes between `version` and a read that was
    /// submitted at `since`.
    fn hides(&self, later: &Version, version: &Version, since: Moment) -> bool {
        let happens = later.is_certain || later.answered == Moment::MAX && !self.writes_may_fail;
        self.keeps_order && happens && version.submitted < later.submitted && later.submitted < since
    }

    fn explain(&self, block: u64, number: Option<u32>, since: Moment) -> Wrong {
        let versions = &self.blocks[block as usize];
        let name = |version: &&Version| match (version.is_zeros, version.number) {
            (true, 0) => String::from("zeros (never written)"),
            (true, number) => format!("zeros (trim {number})"),
            (false, number) => format!("version {number}"),
        };
        let allowed: Vec<&Version> =
            versions.iter().filter(|version| self.possible(versions, version, since)).collect();
        let names: Vec<String> = allowed.iter().map(name).collect();
        let found = number.map_or(String::from("zeros"), |number| format!("version {number}"));
        let message = format!("block {block} holds {found}; allowed: {}", names.join(", "));
        let durable = versions.iter().filter(|version| version.is_durable).map(|version| version.number);
        let durable = durable.fold(self.durable[block as usize], u32::max);
        let kind = match number {
            Some(number) if number > self.versions => WrongKind::Invented,
            Some(_) if allowed.iter().all(|version| version.is_zeros && version.number > 0) => {
                WrongKind::Resurrected
            }
            number if number.unwrap_or(0) < durable => WrongKind::Lost,
            _ => WrongKind::Stale,
        };
        Wrong { kind, message }
    }

    /// The power is gone: of each block there is any version that is not older than the last durable
    /// one, and what is there stays.
    pub fn power_cut(&mut self) {
        let now = self.tick();
        self.in_flight.clear();
        for (versions, last) in self.blocks.iter_mut().zip(&mut self.durable) {
            let durable: Vec<(u32, Moment)> =
                versions.iter().filter(|v| v.is_durable).map(|v| (v.number, v.submitted)).collect();
            *last = durable.iter().map(|&(number, _)| number).fold(*last, u32::max);
            versions.retain(|version| {
                let is_before = |&(number, submitted): &(u32, Moment)| {
                    version.answered < submitted || version.past.is_some_and(|(_, later)| later == number)
                };
                !durable.iter().any(is_before)
            });
            for version in versions.iter_mut() {
                (version.submitted, version.answered) = (now, now);
                (version.is_certain, version.is_durable) = (false, false);
                (version.is_carried, version.past) = (true, None);
            }
            decide(versions);
        }
    }
}

/// When all that a power cut may have left is the same, that is what is there.
fn decide(versions: &mut Vec<Version>) {
    let mut carried = versions.iter().filter(|version| version.is_carried);
    let Some(number) = carried.next().map(|version| version.number) else { return };
    let are_zeros = versions.iter().all(|version| !version.is_carried || version.is_zeros);
    if carried.next().is_none() || are_zeros {
        versions.retain(|version| !version.is_carried || version.number == number);
        let left = versions.iter_mut().find(|version| version.is_carried).expect("it is there");
        (left.is_certain, left.is_durable) = (true, true);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailcut_base::Class;

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
            let request = Request { id: 0, op, fua, class, fail_fast: false, block: 0, blocks, data };
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

        fn returns(&mut self, pending: &Pending, version: u32) -> Result<Shown, Wrong> {
            let block = match version {
                0 => Bytes::default(),
                version => Stamp { block: 0, version }.content(),
            };
            let result = self.0.read(pending, &[block]);
            self.end(pending);
            result
        }

        /// What is wrong with a read that returns this now.
        fn sees(&mut self, version: u32) -> Option<WrongKind> {
            let pending = self.begin(Op::Read, false);
            self.returns(&pending, version).err().map(|wrong| wrong.kind)
        }
    }

    #[test]
    fn a_read_returns_the_last_write() {
        let mut host = Host::new();
        assert_eq!(host.sees(0), None);
        let (first, second) = (host.done(Op::Write), host.done(Op::Write));
        assert_eq!(host.sees(first), Some(WrongKind::Stale));
        assert_eq!(host.sees(second), None);
        assert_eq!(host.sees(second + 1), Some(WrongKind::Invented));
        host.done(Op::Trim);
        assert_eq!(host.sees(0), None);
        assert_eq!(host.sees(second), Some(WrongKind::Resurrected));
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
        assert_eq!(host.sees(b.first), Some(WrongKind::Stale), "a came later: it was seen after both");
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
        let stale = Some(WrongKind::Stale);
        assert_eq!(overtaken(History::new(4).in_order()), [stale, stale, None, None]);
    }

    #[test]
    fn a_power_cut_leaves_what_is_durable_or_something_later() {
        let mut host = Host::new();
        let first = host.done(Op::Write);
        host.done(Op::Flush);
        let (second, third) = (host.done(Op::Write), host.done(Op::Write));
        for (version, wrong) in [(0, Some(WrongKind::Lost)), (first, None), (second, None), (third, None)] {
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
        assert_eq!(host.sees(0), Some(WrongKind::Lost));
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
}
