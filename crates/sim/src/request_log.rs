//! Every request of a run, column by column, for programs that look at the requests themselves.

use crate::world::{Finished, Observer};
use tailcut_base::cause::{CAUSES, HeldUp, HeldUpBy};
use tailcut_base::config::Choice;
use tailcut_base::{Cause, Spans, Status};

/// An observer that keeps the requests of the measurement: a list for each thing that is known of them, all
/// of one length, in the order of their ends. Times are in ns of virtual time.
///
/// A request takes 59 bytes, and 8 more for each cause that some request waited for. There are no more of
/// them than `most`.
#[derive(Clone, Debug)]
pub struct RequestLog {
    most: usize,
    /// Requests that were not kept because there were too many.
    pub left_out: u64,
    /// Number of the request in the run, from 0.
    pub number: Vec<u64>,
    /// Number of the source that it came from, in the order of the report's sources.
    pub source: Vec<u32>,
    /// What the request did, as a number: [`Op::index`](tailcut_base::Op::index).
    pub op: Vec<u8>,
    /// Latency class of the request, 1 to 5.
    pub class: Vec<u8>,
    /// Status of the completion, as an index of [`STATUSES`].
    pub status: Vec<u8>,
    /// Number of the request's first sector, of 512 bytes.
    pub sector: Vec<u64>,
    /// Number of sectors of 512 bytes.
    pub sectors: Vec<u32>,
    /// When the request was due, from which its latency counts, in ns of virtual time.
    pub due: Vec<u64>,
    /// When the device accepted the request, in ns of virtual time.
    pub submitted: Vec<u64>,
    /// When the host saw the completion, in ns of virtual time.
    pub completed: Vec<u64>,
    /// The time from `due` to `completed` in ns: the sum of all waits.
    pub latency: Vec<u64>,
    /// The time spent on each [`Cause`], in ns. Empty for a cause for which no request waited.
    waits: [Vec<u64>; CAUSES],
    /// What held each request up longest, as an index of [`held_up_names`]. Empty if no request waited for
    /// data of a reclaim unit handle.
    pub held_up_by: Vec<u8>,
    /// For how long, in ns; as long as `held_up_by`.
    pub held_up: Vec<u64>,
}

/// What may hold a request up, in the order of the numbers in [`RequestLog::held_up_by`]: nothing, and then
/// by [`HeldUpBy::index`].
pub fn held_up_names() -> Vec<String> {
    let names = (0..HeldUpBy::COUNT).map(|index| HeldUpBy::at(index).to_string());
    std::iter::once(String::new()).chain(names).collect()
}

/// See [`held_up_names`].
fn held_up_number(held_up: HeldUp) -> u8 {
    held_up.by().map_or(0, |by| 1 + by.index() as u8)
}

/// Every status, in the order of its numbers in [`RequestLog::status`].
pub const STATUSES: [Status; 7] = [
    Status::Success,
    Status::InvalidField,
    Status::WriteProtected,
    Status::MediaError,
    Status::Contended,
    Status::Gone,
    Status::NoSpace,
];

impl RequestLog {
    /// Nothing kept yet, and never more than `most` requests.
    pub fn new(most: usize) -> RequestLog {
        RequestLog {
            most,
            left_out: 0,
            number: Vec::new(),
            source: Vec::new(),
            op: Vec::new(),
            class: Vec::new(),
            status: Vec::new(),
            sector: Vec::new(),
            sectors: Vec::new(),
            due: Vec::new(),
            submitted: Vec::new(),
            completed: Vec::new(),
            latency: Vec::new(),
            waits: [const { Vec::new() }; CAUSES],
            held_up_by: Vec::new(),
            held_up: Vec::new(),
        }
    }

    /// Number of requests that are kept.
    pub fn len(&self) -> usize {
        self.number.len()
    }

    /// True if no request is kept.
    pub fn is_empty(&self) -> bool {
        self.number.is_empty()
    }

    /// How long each request waited for `cause`; none where no request did.
    pub fn waits(&self, cause: Cause) -> Option<&[u64]> {
        Some(self.waits[cause as usize].as_slice()).filter(|waits| !waits.is_empty())
    }

    /// Takes the list of [`RequestLog::waits`] out, as it was filled.
    pub fn take_waits(&mut self, cause: Cause) -> Option<Vec<u64>> {
        Some(std::mem::take(&mut self.waits[cause as usize])).filter(|waits| !waits.is_empty())
    }

    fn add_waits(&mut self, spans: &Spans) {
        let rows = self.number.len();
        let by = held_up_number(spans.held_up());
        if by > 0 || !self.held_up.is_empty() {
            // Requests before the first one that was held up were not.
            self.held_up_by.resize(rows, 0);
            self.held_up.resize(rows, 0);
            self.held_up_by.push(by);
            self.held_up.push(spans.held_up().time().0);
        }
        for (column, &nanos) in self.waits.iter_mut().zip(spans.nanos()) {
            if column.is_empty() && nanos > 0 {
                // The first request with this cause: earlier ones have not waited for it.
                *column = vec![0; rows];
            }
            if nanos > 0 || !column.is_empty() {
                column.push(nanos);
            }
        }
    }
}

impl<D> Observer<D> for RequestLog {
    fn request(&mut self, request: &Finished<&Spans>) {
        self.add(request);
    }
}

impl RequestLog {
    /// Keeps a request if it counts and there is room.
    pub fn add(&mut self, request: &Finished<&Spans>) {
        if !request.counts {
            return;
        }
        if self.number.len() == self.most {
            self.left_out += 1;
            return;
        }
        self.add_waits(request.spans);
        self.number.push(request.number);
        self.source.push(request.source);
        self.op.push(request.op.index() as u8);
        self.class.push(request.class.number());
        self.status.push(request.status as u8);
        self.sector.push(request.sector);
        self.sectors.push(request.sectors);
        self.due.push(request.due.0);
        self.submitted.push(request.submitted.0);
        self.completed.push(request.completed.0);
        self.latency.push(request.latency.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailcut_base::fdp::{GroupId, HandleId, PlacementId};
    use tailcut_base::{Class, CommandId, Nanos, Op, Time};

    fn end(columns: &mut RequestLog, number: u64, waits: &[(Cause, u64)], counts: bool) {
        let mut spans = Spans::new();
        waits.iter().for_each(|&(cause, nanos)| spans.add(cause, Nanos(nanos)));
        columns.add(&Finished {
            number,
            id: CommandId(0),
            source: 1,
            op: Op::Write,
            fua: false,
            class: Class::DEFAULT,
            status: Status::MediaError,
            sector: 8 * number,
            sectors: 8,
            due: Time(100),
            submitted: Time(110),
            completed: Time(100 + spans.total().0),
            latency: spans.total(),
            spans: &spans,
            counts,
        });
    }

    #[test]
    fn columns_are_of_one_length_whenever_a_cause_appears() {
        let mut columns = RequestLog::new(10);
        end(&mut columns, 0, &[(Cause::Cell, 5)], true);
        end(&mut columns, 1, &[(Cause::Cell, 5), (Cause::ChipErase, 90)], true);
        end(&mut columns, 2, &[], true);
        assert_eq!(columns.waits(Cause::Cell), Some(&[5, 5, 0][..]));
        assert_eq!(columns.waits(Cause::ChipErase), Some(&[0, 90, 0][..]));
        assert_eq!(columns.waits(Cause::Link), None, "nobody has waited for it");
        assert_eq!(columns.latency, [5, 95, 0]);
        assert_eq!((columns.op[0], columns.source[0], columns.sector[2]), (1, 1, 16));
        assert_eq!(STATUSES[usize::from(columns.status[0])], Status::MediaError);
        assert_eq!(columns.take_waits(Cause::Cell).map(|waits| waits.len()), Some(3));
        assert!(columns.held_up_by.is_empty() && columns.held_up.is_empty());
    }

    #[test]
    fn what_held_a_request_up_is_kept_from_the_first_that_was() {
        let names = held_up_names();
        assert_eq!((names.len(), names[1].as_str()), (1 + HeldUpBy::COUNT, "programs of handle 0"));
        let mut columns = RequestLog::new(10);
        end(&mut columns, 0, &[(Cause::Cell, 5)], true);
        let mut spans = Spans::new();
        let placement = PlacementId::new(GroupId::new(1), HandleId::new(3));
        spans.hold_up(HeldUp::new(HeldUpBy::collection(placement), Nanos(70)));
        columns.add_waits(&spans);
        columns.number.push(1);
        end(&mut columns, 2, &[(Cause::Cell, 5)], true);
        let by: Vec<&str> = columns.held_up_by.iter().map(|&by| names[usize::from(by)].as_str()).collect();
        assert_eq!(by, ["", "collection of handle 3 of group 1", ""]);
        assert_eq!(columns.held_up, [0, 70, 0]);
    }

    #[test]
    fn what_does_not_count_and_what_is_too_much_is_not_kept() {
        let mut columns = RequestLog::new(2);
        end(&mut columns, 0, &[], false);
        assert!(columns.is_empty());
        (1..=5).for_each(|number| end(&mut columns, number, &[(Cause::Cell, 1)], true));
        assert_eq!((columns.number.as_slice(), columns.left_out), (&[1, 2][..], 3));
        assert_eq!(columns.waits(Cause::Cell), Some(&[1, 1][..]));
    }

    #[test]
    fn statuses_stand_in_the_order_of_their_numbers() {
        assert!(STATUSES.iter().enumerate().all(|(place, &status)| status as usize == place));
    }
}
