use super::*;
use tailcut_base::Class;
use tailcut_base::fdp::HandleId;
use tailcut_host::{Block, Mirror};

/// A drive that completes requests on command.
#[derive(Default)]
struct Scripted {
    /// Requests in flight.
    asked: Vec<Request<Bytes>>,
    ended: Vec<Response<Bytes>>,
}

impl Scripted {
    fn end(&mut self, id: u32, status: Status) {
        let at = self.asked.iter().position(|request| request.id == id).expect("it was asked for");
        let Request { id, data, .. } = self.asked.remove(at);
        self.ended.push(Response { id, status, data, busy_for: Nanos::ZERO, spans: Spans::new() });
    }
}

impl Drive for Scripted {
    fn identify(&self) -> Identify {
        let model = String::from("scripted");
        let (sectors, page_sectors, queue_depth, max_sectors, block_sectors) = (800, 8, 16, 64, 8);
        let volatile_cache = true;
        Identify {
            model,
            sectors,
            page_sectors,
            queue_depth,
            max_sectors,
            block_sectors,
            volatile_cache,
            handles: 1,
        }
    }

    fn trims_to_zeros(&self) -> bool {
        true
    }

    fn submit(&mut self, _: Time, request: Request<Bytes>) {
        self.asked.push(request);
    }

    fn control(&mut self, _: Time, _: Control) {}

    fn poll(&mut self, _: Time, answers: &mut Answers) {
        answers.responses.append(&mut self.ended);
    }

    fn next_event(&self) -> Time {
        Time::NEVER
    }
}

const FLUSH: (Op, bool) = (Op::Flush, false);
const READ: (Op, bool) = (Op::Read, false);
const WRITE: (Op, bool) = (Op::Write, false);
const FUA: (Op, bool) = (Op::Write, true);
const TRIM: (Op, bool) = (Op::Trim, false);

fn submit(drive: &mut FailStop<Scripted>, id: u32, (op, fua): (Op, bool)) {
    let data = if op == Op::Write { vec![Bytes::encode(b"content")] } else { Vec::new() };
    let (class, fail_fast, mirror) = (Class::DEFAULT, false, Mirror::Any);
    let blocks = u32::from(op != Op::Flush);
    drive.submit(
        Time::ZERO,
        Request { id, op, fua, class, fail_fast, mirror, handle: HandleId::FIRST, block: 0, blocks, data },
    );
}

/// Completions that are available now.
fn answers(drive: &mut FailStop<Scripted>) -> Vec<(u32, Status)> {
    let mut answers = Answers::default();
    drive.poll(Time::ZERO, &mut answers);
    answers.responses.iter().map(|response| (response.id, response.status)).collect()
}

/// Completes a request with this status, and returns the completions that follow.
fn end(drive: &mut FailStop<Scripted>, id: u32, status: Status) -> Vec<(u32, Status)> {
    drive.inner_mut().end(id, status);
    answers(drive)
}

#[test]
fn after_a_flush_that_failed_only_reads_are_served() {
    for (op, text) in [(FLUSH, "scripted: a flush failed"), (FUA, "scripted: a durable write failed")] {
        let mut drive = FailStop::new(Scripted::default());
        submit(&mut drive, 1, op);
        assert_eq!(drive.failure(), None);
        assert_eq!(end(&mut drive, 1, Status::MediaError), [(1, Status::MediaError)]);
        for (id, op) in [(2, WRITE), (3, FLUSH), (4, TRIM), (5, FUA)] {
            submit(&mut drive, id, op);
            assert!(!drive.arm() && drive.next_event() == Time::ZERO, "the answer is ready");
            assert_eq!(answers(&mut drive), [(id, Status::MediaError)]);
        }
        submit(&mut drive, 6, READ);
        assert_eq!(end(&mut drive, 6, Status::Success), [(6, Status::Success)]);
        assert!(drive.failure().is_some_and(|why| why.starts_with(text)), "{:?}", drive.failure());
    }
}

/// The system reports an error to only one of them, which may be either.
#[test]
fn of_flushes_that_are_under_way_together_all_fail() {
    let mut drive = FailStop::new(Scripted::default());
    for (id, op) in [(1, FLUSH), (2, FLUSH), (3, FUA), (4, WRITE)] {
        submit(&mut drive, id, op);
    }
    assert_eq!(end(&mut drive, 2, Status::Success), []);
    assert_eq!(end(&mut drive, 3, Status::Success), []);
    assert_eq!(end(&mut drive, 4, Status::Success), [(4, Status::Success)]);
    let all = [(1, Status::MediaError), (2, Status::MediaError), (3, Status::MediaError)];
    assert_eq!(end(&mut drive, 1, Status::MediaError), all);
}

#[test]
fn a_flush_that_was_under_way_when_another_failed_is_not_believed() {
    let mut drive = FailStop::new(Scripted::default());
    submit(&mut drive, 1, FLUSH);
    submit(&mut drive, 2, FLUSH);
    assert_eq!(end(&mut drive, 1, Status::Gone), [(1, Status::Gone)]);
    assert_eq!(end(&mut drive, 2, Status::Success), [(2, Status::MediaError)]);
}

#[test]
fn a_flush_waits_only_for_those_that_were_under_way_with_it() {
    let mut drive = FailStop::new(Scripted::default());
    submit(&mut drive, 1, FLUSH);
    assert_eq!(end(&mut drive, 1, Status::Success), [(1, Status::Success)]);
    submit(&mut drive, 2, FLUSH);
    submit(&mut drive, 3, FLUSH);
    assert_eq!(end(&mut drive, 3, Status::Success), []);
    submit(&mut drive, 4, FLUSH);
    assert_eq!(end(&mut drive, 2, Status::Success), [(3, Status::Success)]);
    assert_eq!(end(&mut drive, 4, Status::Success), [(2, Status::Success), (4, Status::Success)]);
}

#[test]
fn what_is_refused_or_fails_before_a_flush_is_the_business_of_who_asked() {
    let mut drive = FailStop::new(Scripted::default());
    for (id, op, status) in [(1, WRITE, Status::MediaError), (2, FUA, Status::WriteProtected)] {
        submit(&mut drive, id, op);
        assert_eq!(end(&mut drive, id, status), [(id, status)]);
    }
    submit(&mut drive, 3, FLUSH);
    assert_eq!(end(&mut drive, 3, Status::Success), [(3, Status::Success)]);
}

/// The page cache reports the failed writeback of an earlier write with a durable write.
#[test]
fn behind_a_cache_a_durable_write_that_is_refused_is_a_failed_flush() {
    let mut drive = FailStop::behind_a_cache(Scripted::default());
    submit(&mut drive, 0, FUA);
    assert_eq!(end(&mut drive, 0, Status::NoSpace), [(0, Status::NoSpace)]);
    assert_eq!(drive.failure(), None, "there is no room for this write, and nothing else is lost");
    submit(&mut drive, 1, FUA);
    assert_eq!(end(&mut drive, 1, Status::WriteProtected), [(1, Status::WriteProtected)]);
    submit(&mut drive, 2, FLUSH);
    assert_eq!(answers(&mut drive), [(2, Status::MediaError)]);
}
