//! A device of constant latency, for stores.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use tailcut_base::{Nanos, Status, Time};
use tailcut_workload::lsm::Store;
use tailcut_workload::lsm::tree::LEVELS;
use tailcut_workload::{DrivenRequest, Request, Source};

/// Runs a store on a device that completes each request after `latency`, and passes each request to `watch`.
pub(super) fn run(store: &mut Store, latency: Nanos, watch: &mut dyn FnMut(&Store, &Request)) -> Time {
    let mut answers: BinaryHeap<Reverse<(Time, u64, u64)>> = BinaryHeap::new();
    let (mut asked, mut now, mut number) = (Vec::<DrivenRequest>::new(), Time::ZERO, 0);
    loop {
        store.advance(now, &mut asked);
        for DrivenRequest { request, token } in asked.drain(..) {
            assert_eq!(request.due, now, "a request is asked for when its moment has come");
            watch(store, &request);
            answers.push(Reverse((now + latency, number, token)));
            number += 1;
        }
        let answer = answers.peek().map_or(Time::NEVER, |Reverse((at, ..))| *at);
        let next = store.next_event();
        if answer.min(next) == Time::NEVER {
            return now;
        }
        now = answer.min(next);
        if answer <= next {
            let Reverse((_, _, token)) = answers.pop().expect("there is one");
            store.answered(now, token, Status::Success);
        }
    }
}

/// Entries of all files.
pub(super) fn entries(store: &Store) -> u64 {
    (0..LEVELS).flat_map(|level| store.tree().level(level)).map(|table| table.span.entries).sum()
}
