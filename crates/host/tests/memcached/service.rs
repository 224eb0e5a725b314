//! The engine and its sessions give the same replies as the reference store, whether items are in memory or
//! must be read from disk.

use super::NOW;
use super::dialogues;
use super::requests::{Request, any_requests};
use super::session::Session;
use crate::kv::disk::TestDisk;
use proptest::prelude::*;
use tailcut_base::random::Stream;
use tailcut_base::{Nanos, Time};
use tailcut_host::kv::session::latency::{Kind, Source};
use tailcut_host::kv::session::{Service, ServiceSettings};
use tailcut_host::kv::{Append, Engine, Keep, OpenMode, Opening, Settings};
use tailcut_host::wire::memcached::Reason;

/// A service with one client and an optional disk.
struct Client {
    service: Service,
    disk: Option<TestDisk>,
    name: u32,
    /// Input that was sent but not accepted yet.
    input: Vec<u8>,
    received: Vec<u8>,
    closed: Option<Reason>,
    random: Stream,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Where {
    Memory,
    Disk {
        is_durable: bool,
    },
    /// With so little memory that items are evicted to disk.
    MostlyDisk,
    /// As `MostlyDisk`, with small segments.
    SmallSegments,
}

/// CAS values of a store's first run on a disk start here.
const FIRST_CAS: u64 = 1 << 40;

impl Client {
    fn new(place: Where, seed: u64) -> Client {
        let is_small = matches!(place, Where::MostlyDisk | Where::SmallSegments);
        let settings = Settings {
            memory: if is_small { 1 << 20 } else { 20 << 20 },
            most_item: if is_small { 1 << 16 } else { (1 << 20) + 1024 },
            keep: Keep::Everything,
            may_evict_store: false,
            append: Append::AtOnce,
            admission: tailcut_host::kv::AdmissionSettings::NONE,
            segment_blocks: if place == Where::SmallSegments { 32 } else { 1024 },
            patience: Nanos::millis(1),
        };
        let is_durable = place == Where::Disk { is_durable: true };
        let (engine, disk) = match place {
            Where::Memory => (Engine::in_memory(settings, seed), None),
            _ => {
                let mut disk = TestDisk::new(1024 * 40, true, seed);
                (open(settings, &mut disk, OpenMode::Create { store: 1, seed }), Some(disk))
            }
        };
        let mut service = Service::new(
            engine,
            ServiceSettings { most_item: 1 << 20, is_durable, client_memory: 64 << 20, process: 1 },
        );
        service.tick(Time(1), NOW);
        let name = service.open();
        let (input, received, random) = (Vec::new(), Vec::new(), Stream::new(seed, "client"));
        Client { service, disk, name, input, received, closed: None, random }
    }

    fn make_durable(&mut self) {
        let point = self.service.engine_mut().sync();
        while self.service.engine().durable() < point || !self.service.engine().is_idle() {
            self.turn();
        }
    }

    /// Stops the server, starts it again and connects. Recovery from the disk is still pending.
    fn start_again(&mut self) {
        self.make_durable();
        let disk = self.disk.as_mut().expect("it has one");
        let engine = open(*self.service.engine().settings(), disk, OpenMode::Open);
        let settings =
            ServiceSettings { most_item: 1 << 20, is_durable: false, client_memory: 64 << 20, process: 1 };
        self.service = Service::new(engine, settings);
        self.service.tick(Time(1), NOW);
        (self.name, self.closed) = (self.service.open(), None);
        self.input.clear();
    }

    fn send(&mut self, bytes: &[u8]) {
        self.input.extend_from_slice(bytes);
        self.work();
    }

    fn work(&mut self) {
        while self.service.can_accept(self.name) && self.closed.is_none() && !self.input.is_empty() {
            let before = self.input.len();
            let most = self.random.below(3000) as usize + 1;
            let mut input = &self.input[..self.input.len().min(most.max(2100))];
            let offered = input.len();
            self.service.receive(self.name, &mut input);
            let taken = offered - input.len();
            self.input.drain(..taken);
            self.collect();
            if self.input.len() == before {
                break;
            }
        }
        self.collect();
    }

    fn collect(&mut self) {
        self.service.send_queue(self.name).empty_into(&mut self.received);
        self.closed = self.closed.or(self.service.closing(self.name));
    }

    /// The disk may complete a request, and the service runs once.
    fn turn(&mut self) {
        let Some(disk) = &mut self.disk else { return };
        match self.random.below(8) {
            0 => self.service.recover(),
            1 => drop(self.service.engine_mut().recover(1)),
            _ => {}
        }
        while let Some(request) = self.service.next_request() {
            disk.submit(request);
        }
        if let Some(response) = disk.answer() {
            self.service.respond(response);
        }
        self.service.turn(&mut Vec::new());
        self.work();
    }

    /// Runs until all requests are answered.
    fn settle(&mut self) {
        self.work();
        for _ in 0..50_000 {
            let is_quiet =
                self.disk.as_ref().is_none_or(TestDisk::is_idle) && self.service.engine().is_idle();
            if is_quiet && self.service.can_accept(self.name) && self.service.is_answered(self.name) {
                return;
            }
            if self.closed.is_some() {
                return;
            }
            self.turn();
        }
        panic!("a client is answered");
    }
}

fn open(settings: Settings, disk: &mut TestDisk, making: OpenMode) -> Engine {
    let mut opening = Opening::new(settings, disk.shape.clone(), making);
    while !opening.is_done() {
        while let Some(request) = opening.next_request() {
            disk.submit(request);
        }
        disk.answer().into_iter().for_each(|response| opening.respond(response));
    }
    opening.end().expect("a store")
}

/// An item of 60,000 bytes: enough of these push all other items out of memory.
fn filler() -> Vec<u8> {
    [b"ms filler 60000\r\n", &vec![b'x'; 60_000][..], b"\r\n"].concat()
}

/// Compares replies, except memory statistics and the version, which legitimately differ.
fn is_alike(ours: &[u8], theirs: &[u8]) -> bool {
    let (ours, theirs) = (ours.split(|&byte| byte == b'\n'), theirs.split(|&byte| byte == b'\n'));
    let mut theirs = theirs.filter(|line| !is_own(line));
    ours.filter(|line| !is_own(line)).all(|line| {
        let other = theirs.next();
        other == Some(line)
            || line.starts_with(b"ME ") && other.is_some_and(|other| other.starts_with(b"ME "))
    }) && theirs.next().is_none()
}

fn is_own(line: &[u8]) -> bool {
    let own: [&[u8]; 5] = [b"STAT ", b"VERSION ", b"MEMLIMIT", b"OK", b"END"];
    own.iter().any(|start| line.starts_with(start))
}

fn check(requests: &[Vec<u8>], place: Where, seed: u64) -> Result<(), TestCaseError> {
    let cas = if place == Where::Memory { 0 } else { FIRST_CAS };
    let (mut client, mut session) = (Client::new(place, seed), Session::with_cas(NOW, false, cas));
    for (at, request) in requests.iter().enumerate() {
        session.receive(request);
        client.send(request);
        let pushes = if place == Where::MostlyDisk && at % 4 == 3 { 40 } else { 0 };
        for _ in 0..pushes {
            // Terminates an unfinished command.
            [&b"\r\n"[..], &filler()].iter().for_each(|bytes| session.receive(bytes));
            [&b"\r\n"[..], &filler()].iter().for_each(|bytes| client.send(bytes));
            client.settle();
        }
    }
    client.settle();
    compare((&client.received, client.closed), &session)
}

/// The replies and the end of the connection must match the reference.
pub(super) fn compare(
    (ours, closed): (&[u8], Option<Reason>),
    session: &Session,
) -> Result<(), TestCaseError> {
    let theirs = &session.sent;
    let same = ours.iter().zip(theirs).take_while(|(ours, theirs)| ours == theirs).count().saturating_sub(60);
    let behind = |text: &[u8]| text[same..text.len().min(same + 200)].escape_ascii().to_string();
    prop_assert!(is_alike(ours, theirs), "  ours ...{}\ntheirs ...{}", behind(ours), behind(theirs));
    prop_assert_eq!(closed, session.closed);
    Ok(())
}

/// As [`check`], with a restart in the middle that must not be noticeable: later requests are answered while
/// recovery is in progress.
fn check_restarted(before: &[Vec<u8>], after: &[Vec<u8>], seed: u64) -> Result<(), TestCaseError> {
    let place = Where::SmallSegments;
    let (mut client, mut session) = (Client::new(place, seed), Session::with_cas(NOW, false, FIRST_CAS));
    (0..8).for_each(|_| push(&mut client, &mut session));
    for request in before {
        session.receive(request);
        client.send(request);
        push(&mut client, &mut session);
    }
    (0..20).for_each(|_| push(&mut client, &mut session));
    client.settle();
    let has_gone = session.closed.is_some();
    client.start_again();
    session.start_again(2 * FIRST_CAS);
    // A client that disconnected early may have forgotten all earlier requests.
    let mut waited = has_gone || after.is_empty();
    for request in after {
        session.receive(request);
        client.send(request);
        waited |= client.service.engine().recovered().is_some();
        for _ in 0..client.random.below(4) {
            client.turn();
        }
    }
    client.settle();
    prop_assert!(waited, "it is answered before all is found");
    compare((&client.received, client.closed), &session)
}

/// Terminates an unfinished command and half fills a segment.
fn push(client: &mut Client, session: &mut Session) {
    for bytes in [&b"\r\n"[..], &filler()] {
        session.receive(bytes);
        client.send(bytes);
    }
    client.settle();
    client.make_durable();
}

/// Without delayed flushes: with one, memcached brings back items that an immediate flush has removed.
pub(super) fn bytes_of(requests: Vec<Request>) -> Vec<Vec<u8>> {
    let all = requests.into_iter().map(|Request(bytes)| bytes);
    all.filter(|bytes| !bytes.starts_with(b"flush_all ")).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn in_memory_it_answers_as_the_reference(requests in any_requests(), seed in any::<u64>()) {
        check(&bytes_of(requests), Where::Memory, seed)?;
    }

    #[test]
    fn on_a_disk_it_answers_as_the_reference(requests in any_requests(), seed in any::<u64>(), is_durable in any::<bool>()) {
        check(&bytes_of(requests), Where::Disk { is_durable }, seed)?;
    }

    #[test]
    fn items_that_have_left_memory_are_the_same(requests in any_requests(), seed in any::<u64>()) {
        let mut requests = bytes_of(requests);
        requests.retain(|bytes| is_kept_on_disk(bytes));
        check(&requests, Where::MostlyDisk, seed)?;
    }

    #[test]
    fn items_that_were_not_found_yet_are_the_same(
        before in any_requests(),
        after in any_requests(),
        seed in any::<u64>(),
    ) {
        let (mut before, mut after) = (bytes_of(before), bytes_of(after));
        before.retain(|bytes| is_kept_on_disk(bytes));
        after.retain(|bytes| is_kept_on_disk(bytes));
        check_restarted(&before, &after, seed)?;
    }
}

/// Whether an item was read while it was only on flash is not recorded.
fn is_kept_on_disk(bytes: &[u8]) -> bool {
    bytes.len() < 10_000 && !bytes.windows(2).any(|pair| pair == b" h")
}

#[test]
fn dialogues_are_answered_as_written() {
    for dialogue in dialogues::all() {
        let requests: Vec<Vec<u8>> = dialogue
            .turns
            .iter()
            .map(|(sent, _)| sent.iter().flat_map(|line| dialogues::bytes(line)).collect())
            .collect();
        for place in [Where::Memory, Where::Disk { is_durable: false }] {
            if let Err(why) = check(&requests, place, 1) {
                panic!("{}: {why}", dialogue.name);
            }
        }
    }
}

/// Replies behind an item that must be read wait for it, and their memory is bounded.
#[test]
fn answers_that_wait_for_others_are_bounded() {
    let mut client = Client::new(Where::MostlyDisk, 1);
    client.send(b"set far 0 0 3\r\nfar\r\n");
    for _ in 0..40 {
        client.send(&filler());
        client.settle();
        client.send(b"\r\n");
    }
    client.received.clear();
    let asked = 1000;
    client.send(&[&b"get far\r\n"[..], &b"mg filler v\r\n".repeat(asked)].concat());
    assert!(client.received.is_empty() && client.input.len() > 900 * 13, "{} bytes left", client.input.len());
    client.settle();
    while !client.input.is_empty() {
        client.settle();
    }
    let answer = [&b"VA 60000\r\n"[..], &vec![b'x'; 60_000], b"\r\n"].concat();
    let expected = [&b"VALUE far 0 3\r\nfar\r\nEND\r\n"[..], &answer.repeat(asked)].concat();
    assert!(client.received == expected);
}

/// Items being read are bounded by their bytes as well as their number, and all arrive eventually.
#[test]
fn items_under_way_are_bounded() {
    let mut client = Client::new(Where::MostlyDisk, 1);
    let (asked, bytes) = (100, 50_000);
    let item = |number: usize| vec![b'a' + (number % 26) as u8; bytes];
    for number in 0..asked {
        client.send(&[format!("ms far{number} {bytes}\r\n").as_bytes(), &item(number), b"\r\n"].concat());
        client.settle();
    }
    (0..40).for_each(|_| {
        client.send(&filler());
        client.settle();
        client.send(b"\r\n");
    });
    client.received.clear();
    let gets: Vec<String> = (0..asked).map(|number| format!("mg far{number} v\r\n")).collect();
    client.send(gets.concat().as_bytes());
    let left = client.input.iter().filter(|&&byte| byte == b'\n').count();
    // Each counts as the largest possible item, 64 KiB.
    assert_eq!(asked - left, (4 << 20) / (64 << 10));
    while !client.input.is_empty() {
        client.settle();
    }
    client.settle();
    let answer = |number| [format!("VA {bytes}\r\n").as_bytes(), &item(number), b"\r\n"].concat();
    assert!(client.received == (0..asked).flat_map(answer).collect::<Vec<u8>>());
}

#[test]
fn what_cannot_be_made_durable_is_not_acknowledged() {
    let mut client = Client::new(Where::Disk { is_durable: true }, 1);
    client.send(b"set a 0 0 1\r\n1\r\n");
    client.settle();
    assert_eq!(std::mem::take(&mut client.received), b"STORED\r\n");
    client.disk.as_mut().expect("it has one").fails_writes = true;
    client.send(b"set a 0 0 1\r\n2\r\nget a\r\n");
    client.settle();
    assert_eq!(client.received.escape_ascii().to_string(), "SERVER_ERROR the disk has failed\\r\\n");
    assert!(client.closed.is_some());
    client.name = client.service.open();
    (client.closed, client.received) = (None, Vec::new());
    client.send(b"set a 0 0 1\r\n3\r\n");
    client.settle();
    assert!(client.received.starts_with(b"SERVER_ERROR "), "{}", client.received.escape_ascii());
}

/// A disk without space has not failed: clients stay connected, and a reply never claims durability that it
/// lacks.
#[test]
fn a_full_disk_is_an_error_and_ends_no_connection() {
    let mut client = Client::new(Where::Disk { is_durable: true }, 1);
    client.send(b"set a 0 0 1\r\n1\r\nset b 0 0 1\r\n1\r\n");
    client.settle();
    client.received.clear();
    client.disk.as_mut().expect("it has one").refuses_writes = true;
    client.send(b"set a 0 0 1\r\n2\r\ndelete b\r\nset c 0 0 1 noreply\r\n2\r\nflush_all\r\nmn\r\n");
    // Writes without space are retried forever, so the engine never becomes idle.
    (0..300).for_each(|_| client.turn());
    let answer = client.received.escape_ascii().to_string();
    let errors = answer.matches("SERVER_ERROR the drive").count();
    assert!(errors == 3 && answer.ends_with("\\r\\nMN\\r\\n"), "{answer}");
    assert!(client.closed.is_none());
}

/// A refused change has no effect: if a deletion cannot be made durable, it does not happen in memory either.
#[test]
fn a_durable_store_on_a_full_disk_refuses_before_it_changes_anything() {
    let mut client = Client::new(Where::Disk { is_durable: true }, 1);
    client.send(b"set a 0 0 1\r\n1\r\nset b 0 0 1\r\n1\r\n");
    client.settle();
    client.disk.as_mut().expect("it has one").refuses_writes = true;
    client.send(b"set a 0 0 1\r\n2\r\n");
    (0..300).for_each(|_| client.turn());
    assert!(client.service.engine().is_full());
    client.received.clear();
    client.send(b"delete b\r\nmd b\r\ntouch b 5\r\nincr b 1\r\nset b 0 0 1\r\n2\r\nflush_all\r\nget b\r\n");
    (0..300).for_each(|_| client.turn());
    let answer = String::from_utf8_lossy(&client.received).into_owned();
    let full = "SERVER_ERROR the drive is full\r\n".repeat(6);
    assert_eq!(answer, format!("{full}VALUE b 0 1\r\n1\r\nEND\r\n"));
}

/// No reply is contradicted by a restart, and existing items stay readable.
#[test]
fn a_store_on_a_failed_disk_refuses_every_change() {
    let mut client = Client::new(Where::Disk { is_durable: false }, 1);
    client.send(b"set a 0 0 1\r\n1\r\n");
    client.make_durable();
    client.disk.as_mut().expect("it has one").fails_writes = true;
    client.send(b"set b 0 0 1\r\n2\r\n");
    while !client.service.engine().has_failed() {
        client.service.engine_mut().sync();
        client.turn();
    }
    client.received.clear();
    client.send(b"set c 0 0 1\r\n3\r\ndelete a\r\nmd a\r\nflush_all\r\nflush_all 10\r\nget a\r\n");
    client.settle();
    let refused = "SERVER_ERROR the drive takes no writes\r\n".repeat(5);
    let expected = format!("{refused}VALUE a 0 1\r\n1\r\nEND\r\n");
    assert_eq!(String::from_utf8_lossy(&client.received), expected);
}

/// Late replies to a disconnected client are dropped, even if another client has its slot.
#[test]
fn late_answers_to_who_was_given_up_are_nobodys() {
    let mut client = Client::new(Where::Disk { is_durable: true }, 1);
    client.disk.as_mut().expect("it has one").fails_writes = true;
    client.send(b"set a 0 0 1\r\n1\r\nset b 0 0 1\r\n2\r\nset c 0 0 1\r\n3\r\n");
    client.settle();
    assert!(client.closed.is_some());
    client.service.close(client.name);
    client.name = client.service.open();
    (client.closed, client.received) = (None, Vec::new());
    client.send(b"mn\r\nget d\r\n");
    (0..200).for_each(|_| client.turn());
    assert_eq!(client.received.escape_ascii().to_string(), "MN\\r\\nEND\\r\\n");
}

/// Latencies measured so far, as (kind, source, count, maximum in ns).
fn measured(client: &mut Client) -> Vec<(Kind, Source, u64, u64)> {
    let latencies = client.service.take_latencies();
    latencies.iter().map(|(kind, source, of)| (kind, source, of.count(), of.max().0)).collect()
}

#[test]
fn commands_are_measured_by_what_they_are_and_where_the_item_was() {
    let mut client = Client::new(Where::Memory, 7);
    client.service.tick(Time(1000), NOW);
    client.send(
        b"set n 0 0 1\r\n1\r\nget n m n\r\nincr n 1\r\ntouch m 0\r\nmd m\r\nmg n v\r\nstats\r\nset x \
        0 0 2\r\n",
    );
    // A command is complete once its data arrives.
    client.service.tick(Time(1500), NOW);
    client.send(b"ab\r\n");
    client.service.tick(Time(1900), NOW);
    client.service.turn(&mut Vec::new());
    let all = [
        (Kind::Get, Source::Memory, 3, 900),
        (Kind::Get, Source::Miss, 1, 900),
        (Kind::Store, Source::Memory, 2, 900),
        (Kind::Count, Source::Memory, 1, 900),
        (Kind::Touch, Source::Miss, 1, 900),
        (Kind::Delete, Source::Miss, 1, 900),
    ];
    assert_eq!(measured(&mut client), all);
}

#[test]
fn what_is_read_from_flash_takes_until_it_is_there() {
    let mut client = Client::new(Where::MostlyDisk, 7);
    client.send(b"set a 0 0 1\r\n1\r\n");
    for number in 0..120 {
        client.send(&[format!("ms filler{number} 60000\r\n").as_bytes(), &[b'x'; 60_000], b"\r\n"].concat());
        // The disk receives its pending writes.
        (0..8).for_each(|_| client.turn());
        client.settle();
    }
    client.service.turn(&mut Vec::new());
    measured(&mut client);
    client.service.tick(Time(5000), NOW);
    client.send(b"get a nothing\r\n");
    client.service.turn(&mut Vec::new());
    assert_eq!(measured(&mut client), [(Kind::Get, Source::Miss, 1, 0)]);
    client.service.tick(Time(9000), NOW);
    client.settle();
    client.service.turn(&mut Vec::new());
    assert_eq!(measured(&mut client), [(Kind::Get, Source::Flash, 1, 4000)]);
}

#[test]
fn what_has_to_be_durable_takes_until_it_is() {
    let mut client = Client::new(Where::Disk { is_durable: true }, 7);
    client.service.tick(Time(5000), NOW);
    client.send(b"set a 0 0 1\r\n1\r\n");
    client.service.tick(Time(9000), NOW);
    client.settle();
    client.service.turn(&mut Vec::new());
    assert_eq!(measured(&mut client), [(Kind::Store, Source::Memory, 1, 4000)]);
}

#[test]
fn counters_by_prefix_are_those_of_memcached() {
    let mut client = Client::new(Where::Memory, 1);
    let requests: &[u8] =
        b"set user:1 0 0 1\r\nx\r\nstats detail on\r\nset user:1 0 0 1\r\nx\r\nadd user:1 0 0 1\r\ny\r\n\
        get user:1 user:2 plain a:b:c\r\nmg user:1 v\r\nms user:3 1\r\nz\r\ndelete user:1\r\ndelete b:1\r\n\
        gat 0 user:3\r\nstats detail dump\r\nstats detail off\r\nget user:3\r\nstats detail dump\r\n\
        stats reset\r\nstats detail dump\r\n";
    client.send(requests);
    client.settle();
    let sent = String::from_utf8(client.received.clone()).expect("text");
    // The replies of memcached 1.6.45, in the order of the prefixes, which is any there.
    let dump = "PREFIX a get 1 hit 0 set 0 del 0\r\nPREFIX b get 0 hit 0 set 0 del 1\r\n\
        PREFIX user get 3 hit 2 set 2 del 1\r\nEND\r\n";
    let end = format!("{dump}OK\r\nVALUE user:3 0 1\r\nz\r\nEND\r\n{dump}RESET\r\nEND\r\n");
    assert!(sent.ends_with(&end), "{sent}");
}

#[test]
fn hits_and_misses_are_counted_as_by_memcached() {
    let mut client = Client::new(Where::Memory, 1);
    client.send(
        b"gat 0 nokey\r\nset t 0 0 1\r\nx\r\ngat 0 t\r\nmg t T30\r\nmg u N30\r\nmg t\r\nget t\r\nmd t \
            I\r\nmd t\r\n\
        md none\r\nma c N0\r\nma c\r\nma none\r\nincr u 1\r\nma c C99\r\n",
    );
    client.settle();
    let counted = client.service.statistics();
    let of_gets = (counted.cmd_get, counted.get_hits, counted.get_misses);
    let of_touches = (counted.cmd_touch, counted.touch_hits, counted.touch_misses);
    let of_others = (counted.delete_hits, counted.delete_misses, counted.incr_hits, counted.incr_misses);
    // The counters of memcached 1.6.45 after the same commands.
    assert_eq!((of_gets, of_touches, of_others), ((3, 3, 0), (3, 2, 1), (1, 1, 1, 1)));
    // In the tables, what retrieves is a get.
    assert_eq!((counted.gets(), counted.gets_found(), counted.touches()), (6, 5, 0));
}
