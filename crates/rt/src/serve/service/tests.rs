//! The work of an iteration is bounded, whatever clients request: measured in operations of the drive,
//! without a clock.

use super::*;
use crate::drive::{Drive, Extent};
use crate::reactor::EventLoop;
use rustix::event::{EventfdFlags, eventfd};
use rustix::net::sockopt::set_socket_send_buffer_size;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use std::cell::Cell;
use std::io::{ErrorKind, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use tailcut_base::control::{Control, ControlReply};
use tailcut_base::device::Identify;
use tailcut_base::{Nanos, Op, Spans, Status};
use tailcut_host::wire::nbd::standard::*;
use tailcut_host::{BLOCK_SECTORS, Block, Bytes, Request, Response};

/// A drive that completes requests at once and keeps no data, but counts operations. Every other block is a
/// hole.
#[derive(Debug, Default)]
struct Counting {
    extents: Cell<u64>,
    trimmed: u64,
    polls: u64,
    ready: Answers,
    /// Readable after a completion, until it is armed again.
    wakes: Option<OwnedFd>,
    /// Status of the next flushes, the last one first; then they succeed.
    flushes: Vec<Status>,
}

const BLOCKS: u64 = 1 << 30;

impl Drive for Counting {
    fn identify(&self) -> Identify {
        Identify {
            model: "counting".into(),
            sectors: BLOCKS * BLOCK_SECTORS,
            page_sectors: BLOCK_SECTORS as u32,
            queue_depth: 64,
            max_sectors: 32 * BLOCK_SECTORS as u32,
            block_sectors: BLOCK_SECTORS as u32,
            volatile_cache: false,
            handles: 1,
        }
    }

    fn trims_to_zeros(&self) -> bool {
        true
    }

    fn submit(&mut self, _: Time, request: Request<Bytes>) {
        let Request { id, op, blocks, mut data, .. } = request;
        self.trimmed += if op == Op::Trim { u64::from(blocks) } else { 0 };
        if op == Op::Read {
            data = vec![Bytes::encode(b"content"); blocks as usize];
        }
        let status = if op == Op::Flush { self.flushes.pop() } else { None }.unwrap_or(Status::Success);
        let (busy_for, spans) = (Nanos::ZERO, Spans::new());
        self.ready.responses.push(Response { id, status, data, busy_for, spans });
    }

    fn control(&mut self, _: Time, call: Control) {
        self.ready.replies.push((call, ControlReply::Unsupported));
    }

    fn poll(&mut self, _: Time, answers: &mut Answers) {
        self.polls += 1;
        answers.responses.append(&mut self.ready.responses);
    }

    fn next_event(&self) -> Time {
        Time::NEVER
    }

    fn wakes(&self) -> Option<BorrowedFd<'_>> {
        self.wakes.as_ref().map(OwnedFd::as_fd)
    }

    fn extent(&self, block: u64, _: u64) -> Extent {
        self.extents.set(self.extents.get() + 1);
        Extent { blocks: 1, is_allocated: block.is_multiple_of(2), is_zero: !block.is_multiple_of(2) }
    }
}

impl Steered for Counting {}

fn service() -> (Service<Counting>, Arc<Mailbox<Message>>) {
    service_of(Counting::default())
}

fn service_of(drive: Counting) -> (Service<Counting>, Arc<Mailbox<Message>>) {
    let mailbox = Arc::new(Mailbox::new().expect("descriptors"));
    let limits = Limits { patience: Nanos::secs(3600), ..Limits::default() };
    let (open_connections, live) = (Arc::default(), Arc::default());
    let service =
        Service::new(drive, None, Clock::start(), limits, Arc::clone(&mailbox), open_connections, live);
    (service.expect("descriptors"), mailbox)
}

/// A client in the transmission phase, with structured replies and `base:allocation`.
fn client(mailbox: &Mailbox<Message>) -> UnixStream {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let (ours, theirs) = socketpair(AddressFamily::UNIX, SocketType::STREAM, flags, None).expect("sockets");
    set_socket_send_buffer_size(&theirs, 4096).expect("replies that nobody reads stay with the server");
    let rules = Rules {
        bytes: BLOCKS * 4096,
        is_read_only: false,
        zeroes_fast: true,
        has_structured_replies: true,
        has_allocation: true,
    };
    let arrival = Arrival { socket: theirs, rules, class: Class::DEFAULT, leftover: Vec::new() };
    mailbox.post(Message::Arrival(arrival));
    UnixStream::from(ours)
}

/// Sends `count` requests of one kind.
fn flood(client: &mut UnixStream, command: u16, length: u32, count: usize) {
    let payload = vec![0; if command == NBD_CMD_WRITE { length as usize } else { 0 }];
    let request = |cookie| {
        let header = Header { flags: 0, command, cookie, offset: 0, length };
        [&header.encode()[..], &payload].concat()
    };
    let requests: Vec<u8> = (0..count as u64).flat_map(request).collect();
    client.write_all(&requests).expect("a socket takes some requests");
}

/// True if a reply has arrived.
fn is_answered(client: &mut UnixStream) -> bool {
    match client.read(&mut [0; 16 << 10]) {
        Ok(count) => count > 0,
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::WouldBlock);
            false
        }
    }
}

const POLL_EVERY: u32 = Service::<Counting>::POLL_EVERY;

impl Service<Counting> {
    fn turn(&mut self) {
        self.iterate(self.clock.now());
    }

    fn rest(&mut self) {
        let now = self.clock.now();
        reactor::park(self, now);
    }

    fn poll(&mut self) {
        reactor::poll(self, Some(Nanos::ZERO));
    }

    fn finds_work(&mut self) -> bool {
        let now = self.clock.now();
        self.has_work(now)
    }

    /// Runs an iteration; returns its cost at the drive: extents looked up, blocks trimmed, polls.
    fn counted_turn(&mut self) -> (u64, u64, u64) {
        let before = (self.drive.extents.get(), self.drive.trimmed, self.drive.polls);
        self.turn();
        let after = (self.drive.extents.get(), self.drive.trimmed, self.drive.polls);
        let cost = (after.0 - before.0, after.1 - before.1, after.2 - before.2);
        assert!(cost.0 < 128, "{} extents were looked at in one turn", cost.0);
        assert!(cost.1 <= 1 << 20, "{} blocks were trimmed in one turn", cost.1);
        assert!(cost.2 <= 17, "the drive was polled {} times in one turn", cost.2);
        cost
    }

    /// Runs iterations until `client` has a reply; returns their number.
    fn turns_until_answered(&mut self, client: &mut UnixStream) -> usize {
        for turns in 1..10_000 {
            self.counted_turn();
            self.rest();
            if is_answered(client) {
                return turns;
            }
        }
        panic!("nobody answers")
    }
}

/// A service with clients that have each sent many requests of one kind and read no replies.
fn among_hostile(
    clients: usize,
    command: u16,
    length: u32,
    each: usize,
) -> (Service<Counting>, Arc<Mailbox<Message>>, Vec<UnixStream>) {
    let (mut service, mailbox) = service();
    let mut hostile: Vec<UnixStream> = (0..clients).map(|_| client(&mailbox)).collect();
    hostile.iter_mut().for_each(|client| flood(client, command, length, each));
    service.counted_turn();
    assert_eq!(service.connected(), clients);
    (service, mailbox, hostile)
}

/// An honest client gets its reply after one poll and an iteration or two, however many others flood the
/// server.
fn an_honest_read_is_answered_soon(clients: usize, command: u16, length: u32, each: usize) {
    let (mut service, mailbox, hostile) = among_hostile(clients, command, length, each);
    for _ in 0..100 {
        service.counted_turn();
        service.rest();
    }
    let mut honest = client(&mailbox);
    // Outside the blocks that the others write, and those that the ordering of overlapping requests conflates
    // with them.
    let offset = (1 << 41) + 100 * 4096;
    let read = Header { flags: 0, command: NBD_CMD_READ, cookie: 0, offset, length: 4096 };
    honest.write_all(&read.encode()).expect("an empty socket");
    let turns = service.turns_until_answered(&mut honest);
    assert!(turns <= POLL_EVERY as usize + 2, "it waited for {turns} turns");
    drop(hostile);
}

/// The descriptor of a drive is reset only before the service sleeps, which it does not while it busy-polls.
#[test]
fn a_completion_is_seen_once_by_a_service_that_busy_polls() {
    let wakes = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).expect("a descriptor");
    let completion = wakes.try_clone().expect("a descriptor");
    let (mut service, _mailbox) = service_of(Counting { wakes: Some(wakes), ..Counting::default() });
    for _ in 0..3 {
        rustix::io::write(&completion, &1_u64.to_ne_bytes()).expect("room for a count");
        service.poll();
        assert!(service.finds_work(), "a completion");
        service.counted_turn();
        service.poll();
        assert!(!service.finds_work(), "nothing since");
    }
}

#[test]
fn a_shutdown_waits_for_room_and_tells_of_a_flush_that_failed() {
    let full = Status::NoSpace;
    for (flushes, expected) in
        [(vec![], None), (vec![full; 3], None), (vec![Status::MediaError, full], Some(Status::MediaError))]
    {
        let (mut service, mailbox) = service_of(Counting { flushes, ..Counting::default() });
        mailbox.stop();
        while service.stopping != Stopping::Done {
            service.poll();
            service.turn();
        }
        assert_eq!(service.figures.failed_flush(), expected);
        assert!(service.drive.flushes.is_empty(), "all of them were sent");
    }
    // Without time left, the drive is full at the end.
    let (mut service, _mailbox) = service_of(Counting { flushes: vec![full; 9], ..Counting::default() });
    service.stopping = Stopping::Until(Time(service.clock.now().0));
    while service.stopping != Stopping::Done {
        service.turn();
    }
    assert_eq!(service.figures.failed_flush(), Some(full));
}

#[test]
fn block_status_of_others_holds_up_no_read() {
    an_honest_read_is_answered_soon(24, NBD_CMD_BLOCK_STATUS, 64 << 20, 1024);
}

#[test]
fn trims_of_others_hold_up_no_read() {
    an_honest_read_is_answered_soon(24, NBD_CMD_TRIM, 0xFFFF_F000, 1024);
}

#[test]
fn overlapping_writes_of_others_hold_up_no_read() {
    an_honest_read_is_answered_soon(24, NBD_CMD_WRITE, 1, 1000);
}

/// A client that repeats block status requests does not precede other clients that wait for one.
#[test]
fn block_status_is_answered_in_turns() {
    let (mut service, mailbox, hostile) = among_hostile(8, NBD_CMD_BLOCK_STATUS, 64 << 20, 1024);
    let mut modest = client(&mailbox);
    flood(&mut modest, NBD_CMD_BLOCK_STATUS, 64 << 20, 1);
    let turns = service.turns_until_answered(&mut modest);
    assert!(turns <= POLL_EVERY as usize + hostile.len() + 2, "it waited for {turns} turns");
}

#[test]
fn what_clients_asked_for_who_have_gone_is_not_looked_up() {
    let (mut service, _, hostile) = among_hostile(24, NBD_CMD_BLOCK_STATUS, 64 << 20, 1024);
    drop(hostile);
    for _ in 0..=2 * POLL_EVERY {
        service.counted_turn();
        if service.connected() > 0 {
            service.rest();
        }
    }
    assert_eq!(service.connected(), 0);
    let looked_at = service.drive.extents.get();
    assert!(looked_at < u64::from(2 * POLL_EVERY + 1) * 128, "{looked_at} extents for nobody");
}

#[test]
fn a_wish_to_stop_is_heard_after_a_few_turns_and_ends_what_is_asked_for() {
    let (mut service, mailbox, hostile) = among_hostile(24, NBD_CMD_BLOCK_STATUS, 64 << 20, 1024);
    service.counted_turn();
    mailbox.stop();
    let mut turns = 0;
    while service.stopping == Stopping::Not {
        turns += 1;
        service.counted_turn();
        service.rest();
    }
    assert!(turns <= POLL_EVERY + 1, "it took {turns} turns to hear it");
    service.turn();
    assert_eq!(service.counted_turn().0, 0, "nothing is taken any more");
    drop(hostile);
}

/// Without this charge, a client that reads no replies costs more than its share of the memory.
#[test]
fn replies_are_charged_to_who_has_them_coming() {
    for (command, length, least) in [(NBD_CMD_BLOCK_STATUS, 64 << 20, 64 * 8), (NBD_CMD_READ, 1, 4096)] {
        let (mut service, _, hostile) = among_hostile(1, command, length, 1000);
        // The socket takes some of the replies; the rest stays with the server.
        for _ in 0..1000 {
            service.counted_turn();
        }
        let ConnectionSlot { connection, held, .. } = &service.slots[0];
        let replies = u64::from(connection.as_ref().expect("it is there").under_way);
        assert!(replies > 0 && *held >= replies * least, "{replies} replies, and {held} bytes charged");
        drop(hostile);
        service.rest();
        service.counted_turn();
        assert_eq!(service.connected(), 0);
    }
}

/// A write that is refused, and whose data never arrives.
#[test]
fn who_goes_in_the_middle_of_a_refused_write_leaves_nothing_taken() {
    let (mut service, mailbox) = service();
    let mut gone = client(&mailbox);
    let header = Header { flags: 1 << 15, command: NBD_CMD_WRITE, cookie: 0, offset: 0, length: 8192 };
    gone.write_all(&[&header.encode()[..], &[0; 100]].concat()).expect("an empty socket");
    drop(gone);
    for _ in 0..4 {
        service.rest();
        service.turn();
        if service.connected() == 0 {
            return;
        }
    }
    panic!("its slot is still taken");
}
