//! What holds of an array.

use super::{Array, Kind};
use crate::Block;

impl<B: Block> Array<B> {
    /// What holds between any two events: lists, counts and maps agree, and no resource is held by two
    /// owners or by none. Walks everything in memory, including the map of a log.
    ///
    /// # Errors
    /// The first invariant that is broken.
    pub fn check(&self) -> Result<(), String> {
        self.core.check()?;
        match &self.layout {
            Kind::Raid(raid) => raid.check(),
            Kind::Log(log) => log.check(),
            Kind::Epochs(epochs) => epochs.check(),
        }
    }

    /// What holds, beyond [`Array::check`], while no request of the host is unanswered, no drive has a
    /// request or a control call, and no timer is set: nothing waits, and everything that was allocated for
    /// work is released.
    ///
    /// # Errors
    /// The first invariant that is broken.
    pub fn check_at_rest(&self) -> Result<(), String> {
        self.check()?;
        self.core.check_at_rest()?;
        match &self.layout {
            Kind::Raid(raid) => raid.check_at_rest(),
            Kind::Log(log) => log.check_at_rest(),
            Kind::Epochs(epochs) => epochs.check_at_rest(),
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::Fingerprint;
    use crate::array::{ArrayConfig, LayoutKind};
    use crate::disk::{Disk, Mirror, Request, Response};
    use std::collections::BTreeSet;
    use tailcut_base::config::Choice;
    use tailcut_base::control::ControlReply;
    use tailcut_base::fdp::HandleId;
    use tailcut_base::{Class, Nanos, Op, Spans, Status, Time};

    /// An array over drives that answer in turn, with everything that has been asked of it.
    pub(in crate::array) struct Served {
        pub array: Array<Fingerprint>,
        now: Time,
        /// The handle that the next requests of the host name.
        handle: HandleId,
        /// The handle of every request to a drive, with its operation.
        named: Vec<(Op, HandleId)>,
    }

    impl Served {
        pub(crate) fn new(layout: LayoutKind) -> Served {
            Served::over(layout, 1)
        }

        /// Over drives with this number of reclaim unit handles.
        fn over(layout: LayoutKind, handles: u32) -> Served {
            let config = ArrayConfig { layout, drives: 4, ..ArrayConfig::default() };
            let disk =
                Disk { blocks: 40_000, depth: 4, most_blocks: 64, volatile_cache: true, copies: 1, handles };
            let array = Array::fresh(&config, &vec![disk; 4]);
            Served { array, now: Time::ZERO, handle: HandleId::FIRST, named: Vec::new() }
        }

        /// The handles that its writes have named, in order and each once.
        fn handles_named(&self) -> Vec<u32> {
            let writes = self.named.iter().filter(|(op, _)| *op == Op::Write);
            let handles: BTreeSet<u32> = writes.map(|(_, handle)| handle.get()).collect();
            handles.into_iter().collect()
        }

        /// One that has written, and rests.
        pub(crate) fn rested(layout: LayoutKind) -> Served {
            Served::new(layout).written()
        }

        fn written(self) -> Served {
            let mut served = self;
            for block in 0..200 {
                served.submit(Op::Write, block * 7 % 150);
                served.array.check().expect("its invariants hold while it works");
            }
            served.rest();
            served
        }

        pub(crate) fn submit(&mut self, op: Op, block: u64) {
            let data = if op == Op::Write { vec![Fingerprint(7)] } else { Vec::new() };
            let (class, mirror) = (Class::DEFAULT, Mirror::Any);
            let request = Request {
                id: 0,
                op,
                fua: false,
                class,
                fail_fast: false,
                mirror,
                handle: self.handle,
                block,
                blocks: 1,
                data,
            };
            self.now += Nanos::micros(1);
            while self.array.submit(self.now, request.clone()).is_err() {
                assert!(self.step(), "a request is taken at last");
            }
        }

        /// Answers the next request to a drive, or lets a timer expire; false if there is none.
        fn step(&mut self) -> bool {
            for (drive, call) in std::mem::take(self.array.controls()) {
                self.array.control_answered(self.now, drive, call, ControlReply::Unsupported);
            }
            self.array.answers().clear();
            if self.array.sent().is_empty() {
                let next = self.array.next_event();
                self.now = if next == Time::NEVER { return false } else { self.now.max(next) };
                self.array.advance(self.now);
                return true;
            }
            let (drive, request) = self.array.sent().remove(0);
            self.named.push((request.op, request.handle));
            let Request { id, op, blocks, mut data, .. } = request;
            if op == Op::Read {
                data.resize(blocks as usize, Fingerprint(7));
            }
            self.now += Nanos::micros(10);
            let spans = Spans::new();
            let response = Response { id, status: Status::Success, data, busy_for: Nanos::ZERO, spans };
            self.array.answered(self.now, drive, response);
            true
        }

        pub(crate) fn rest(&mut self) {
            while self.step() {}
        }

        /// Asserts that a checker names a fault that is planted.
        pub(crate) fn finds(&mut self, fault: impl FnOnce(&mut Array<Fingerprint>), expected: &str) {
            self.array.check_at_rest().expect("all invariants hold at rest");
            fault(&mut self.array);
            let found = self.array.check_at_rest().expect_err("the fault is found");
            assert!(found.contains(expected), "{found}");
        }
    }

    #[test]
    fn an_array_that_works_is_not_at_rest_and_breaks_nothing_else() {
        for layout in LayoutKind::all().iter().copied() {
            let mut served = Served::new(layout);
            served.submit(Op::Write, 3);
            served.array.check().expect("its invariants hold while it works");
            served.array.check_at_rest().expect_err("it has a request");
            served.rest();
            served.array.check_at_rest().unwrap_or_else(|error| panic!("{layout}: {error}"));
        }
    }

    #[test]
    fn each_kind_of_write_names_a_handle_of_its_own() {
        for layout in LayoutKind::all().iter().copied() {
            let of = |handles: u32| {
                let served = Served::over(layout, handles).written();
                let is_first = |(op, handle): &(Op, HandleId)| *op == Op::Write || *handle == HandleId::FIRST;
                assert!(served.named.iter().all(is_first), "{layout}: only writes name handles");
                served.handles_named()
            };
            let named = of(8);
            match layout {
                LayoutKind::Raid0 => assert_eq!(named, [0]),
                LayoutKind::Raid4 | LayoutKind::Raid5 => assert_eq!(named, [0, 1], "{layout}"),
                // Nothing was moved yet.
                _ => assert!(named.contains(&0) && !named.contains(&1), "{layout}: {named:?}"),
            }
            assert_eq!(of(1), [0], "{layout}");
            assert!(of(2).iter().all(|&handle| handle < 2), "{layout}");
        }
    }

    /// The handles of drives with this number of them that data is written by when the host names `of_host`.
    fn passed_on(layout: LayoutKind, handles: u32, of_host: HandleId) -> Vec<u32> {
        let mut served = Served::over(layout, handles);
        served.handle = of_host;
        let mut named = served.written().handles_named();
        // Those of the array itself: parity or moved blocks, and metadata.
        let own: &[u32] = match layout {
            LayoutKind::Raid0 => &[],
            LayoutKind::Epochs => &[2],
            _ => &[1, 2],
        };
        named.retain(|handle| !own.contains(handle));
        named
    }

    #[test]
    fn the_handle_of_the_host_is_passed_on_to_the_drives() {
        for layout in LayoutKind::all().iter().copied() {
            let offered = |handles: u32| Served::over(layout, handles).array.disk().handles;
            let expected = match layout {
                LayoutKind::Raid0 => [1, 2, 3, 8],
                LayoutKind::Epochs => [1, 1, 2, 7],
                LayoutKind::Raid4 | LayoutKind::Raid5 => [1, 1, 1, 6],
                _ => [1; 4],
            };
            assert_eq!([1, 2, 3, 8].map(offered), expected, "{layout}");
            let of = |of_host: u32| passed_on(layout, 8, HandleId::new(of_host));
            match layout {
                LayoutKind::Raid0 => assert_eq!([0, 1, 7, 8].map(of), [[0], [1], [7], [0]]),
                LayoutKind::Epochs => assert_eq!([0, 1, 2, 6, 7].map(of), [[0], [1], [3], [7], [0]]),
                LayoutKind::Raid4 | LayoutKind::Raid5 => {
                    assert_eq!([0, 1, 5, 6].map(of), [[0], [3], [7], [0]], "{layout}");
                }
                _ => assert_eq!([0, 1, 7].map(of), [[0]; 3], "{layout}"),
            }
        }
    }

    #[test]
    fn a_request_that_is_never_answered_is_found() {
        let mut served = Served::rested(LayoutKind::Raid5);
        let lost = Request {
            id: 0,
            op: Op::Read,
            fua: false,
            class: Class::DEFAULT,
            fail_fast: false,
            mirror: Mirror::Any,
            handle: HandleId::FIRST,
            block: 0,
            blocks: 1,
            data: Vec::new(),
        };
        served.finds(|array| _ = array.core.requests.open(Time::ZERO, lost), "requests of the host");
    }
}
