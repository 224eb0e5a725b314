//! A drive's predictions for incoming commands, compared with the actual completions.

use crate::drives;
use crate::host::command;
use tailcut_base::random::Stream;
use tailcut_base::{Command, CommandId, Completion, Device, Nanos, Op, Submit, Time};
use tailcut_ssd::flash::timing::CellKind;
use tailcut_ssd::precondition::PreparedState;
use tailcut_ssd::{CacheConfig, Precondition, Prediction, Service, Ssd, SsdConfig, WaitPrediction};

/// A drive that records its predictions.
struct Asked {
    ssd: Ssd,
    now: Time,
    sent: u32,
    done: Vec<Completion>,
    said: Vec<Prediction>,
}

impl Asked {
    fn new(config: &SsdConfig, state: PreparedState) -> Asked {
        config.check_space().expect("a drive with room to work");
        let mut ssd = Ssd::new(config, 1, true);
        ssd.precondition(&Precondition { state, fill: 1_000_000 }, 1);
        ssd.track_behaviour();
        Asked { ssd, now: Time::ZERO, sent: 0, done: Vec::new(), said: Vec::new() }
    }

    /// Sends a command; returns its number.
    fn send(&mut self, op: Op, page: u64) -> u32 {
        let command = Command { id: CommandId(self.sent), ..command(op, page, 1) };
        assert_eq!(self.ssd.submit(self.now, &command), Submit::Accepted);
        self.ssd.take_predictions(&mut self.said);
        self.sent += 1;
        self.sent - 1
    }

    fn step(&mut self) {
        self.now = self.ssd.next_event();
        assert_ne!(self.now, Time::NEVER, "something will happen");
        while !self.ssd.advance(self.now, &mut self.done) {}
        self.ssd.take_predictions(&mut self.said);
    }

    fn end(&mut self, number: u32) -> Time {
        while !self.done.iter().any(|done| done.id.0 == number) {
            self.step();
        }
        self.done.iter().find(|done| done.id.0 == number).expect("it has ended").at
    }

    /// Advances the time by `time`.
    fn pass(&mut self, time: Nanos) {
        let until = self.now + time;
        while self.ssd.next_event() <= until {
            self.step();
        }
        self.now = until;
    }

    fn said(&self, number: u32) -> Option<Prediction> {
        self.said.iter().find(|said| said.id.0 == number).copied()
    }
}

/// Four channels of one plane, with programs of 100 and 300 µs and a buffer of four pages, all of which are
/// programmed at once.
fn drive() -> SsdConfig {
    let mut config = drives::plane(32, 8);
    config.geometry.channels = 4;
    config.ftl.spare = 600_000;
    config.timing.cell = CellKind::Mlc;
    config.timing.program = [100, 300].map(Nanos::micros).to_vec();
    (config.buffer.size, config.buffer.flush_above) = (4 * 512, 0);
    config.queue.firmware = Nanos(1_500);
    config.cache = CacheConfig { size: 64 * 512, ahead: 1, streams: 16 };
    config
}

#[test]
fn hits_are_known_at_once_and_end_when_they_are_said_to() {
    let mut asked = Asked::new(&drive(), PreparedState::Sequential);
    let first = asked.send(Op::Read, 50);
    asked.end(first);
    assert_eq!(asked.said(first), None, "nothing is known of flash yet");
    for count in 0..6 {
        let sent = asked.now;
        let hit = asked.send(Op::Read, 50);
        let said = asked.said(hit).expect("it is a hit");
        assert_eq!((said.of, said.known), (Service::Memory, sent + Nanos(1_500)));
        let ends = asked.end(hit);
        assert_eq!(said.ends, (count >= 3).then_some(ends));
    }
    assert_eq!(asked.ssd.prediction_accuracy()[Service::Memory as usize].error(), 0.0);
}

#[test]
fn a_page_that_is_being_read_ahead_arrives_when_it_is_said_to() {
    let mut asked = Asked::new(&drive(), PreparedState::Sequential);
    for page in 0..8 {
        // Each read after the third hits the cache, and each plans a read-ahead of the next page.
        let read = asked.send(Op::Read, page);
        asked.end(read);
        asked.pass(Nanos::micros(100));
    }
    let read = asked.send(Op::Read, 8);
    asked.pass(Nanos::micros(7));
    let meets = asked.send(Op::Read, 9);
    let said = asked.said(meets).expect("the drive knows when it has begun");
    assert_eq!(said.of, Service::Ahead);
    assert_eq!(said.ends, Some(asked.end(meets)));
    asked.end(read);
}

#[test]
fn a_write_that_meets_a_full_buffer_has_room_when_it_is_said_to() {
    let mut asked = Asked::new(&drive(), PreparedState::Empty);
    // Programs of every kind of page have been observed.
    for page in 0..32 {
        let write = asked.send(Op::Write, page);
        asked.end(write);
        asked.pass(Nanos::millis(1));
    }
    assert_eq!(asked.said, [], "all of them found room");
    let burst: Vec<u32> = (40..44).map(|page| asked.send(Op::Write, page)).collect();
    asked.pass(Nanos::micros(50));
    assert!(
        burst.iter().all(|&write| asked.said(write).is_none() && asked.done.iter().any(|d| d.id.0 == write))
    );
    let writes: Vec<u32> = (44..52).map(|page| asked.send(Op::Write, page)).collect();
    // The next four reuse the room of programs in progress: exact to the ns, except for the order of their
    // data.
    for &write in &writes[..4] {
        let said = asked.said(write).expect("there is no room");
        assert_eq!(said.of, Service::Room);
        let (ends, is) = (said.ends.expect("programs are under way"), asked.end(write));
        assert!(ends.0.abs_diff(is.0) < 5_000, "{ends:?} for {is:?}");
    }
    // The last four wait for programs that had not started yet, so the kind of their pages was unknown.
    for &write in &writes[4..] {
        let (ends, is) =
            (asked.said(write).and_then(|said| said.ends).expect("a round later"), asked.end(write));
        assert!(ends.0.abs_diff(is.0) < 300_000, "{ends:?} for {is:?}");
    }
}

#[test]
fn what_is_said_of_a_waiting_write_gets_better() {
    let mut asked = Asked::new(&drive(), PreparedState::Empty);
    for page in 0..32 {
        let write = asked.send(Op::Write, page);
        asked.end(write);
        asked.pass(Nanos::millis(1));
    }
    let writes: Vec<u32> = (40..52).map(|page| asked.send(Op::Write, page)).collect();
    let last = writes[11];
    let mut wait_predictions = Vec::new();
    while asked.ssd.wait_prediction(asked.now, CommandId(last), 51) != WaitPrediction::HasRoom {
        wait_predictions.push(asked.ssd.wait_prediction(asked.now, CommandId(last), 51));
        asked.step();
    }
    let end = asked.end(last);
    let errors: Vec<u64> = wait_predictions
        .iter()
        .filter_map(|wait_prediction| match wait_prediction {
            WaitPrediction::Ends(at) => Some(at.0.abs_diff(end.0)),
            _ => None,
        })
        .collect();
    assert!(errors.len() > 10 && *errors.last().expect("some") < 1_000, "{errors:?}");
    assert_eq!(asked.ssd.wait_prediction(asked.now, CommandId(last), 51), WaitPrediction::HasRoom);
}

/// Without collection, the prediction made when a write arrives is off by at most one program of the slowest
/// kind for each round of programs that it must wait for, plus one.
#[test]
fn the_error_of_what_is_said_of_room_is_bounded() {
    for seed in 0..12 {
        let mut random = Stream::new(seed, "test.room");
        let mut config = drive();
        config.geometry.blocks = 200;
        config.ftl.spare = 100_000;
        config.buffer.size = 512 * (1 + random.below(12));
        config.buffer.capacitor = true;
        let width = 4.min(config.buffer.size / 512) as usize;
        config.queue.depth = 32;
        let mut asked = Asked::new(&config, PreparedState::Empty);
        let (mut page, mut waiting) = (0, Vec::new());
        while page < 2000 {
            for _ in 0..random.below(20) {
                if asked.sent as usize - asked.done.len() < 30 {
                    page += 1;
                    waiting.push(asked.sent as usize - asked.done.len());
                    asked.send(Op::Write, page);
                }
            }
            asked.pass(Nanos::micros(random.below(1000)));
        }
        let done: std::collections::BTreeMap<u32, Time> =
            asked.done.iter().map(|done| (done.id.0, done.at)).collect();
        let mut count = 0;
        for said in &asked.said {
            if let (Some(ends), Some(is)) = (said.ends, done.get(&said.id.0)) {
                count += 1;
                let error = ends.0.abs_diff(is.0);
                let rounds = waiting[said.id.0 as usize].div_ceil(width) as u64;
                assert!(error < (1 + rounds) * 300_000, "seed {seed}: {error} ns, {rounds} rounds");
            }
        }
        assert!(count > 100, "seed {seed}: {count}");
        let room = asked.ssd.prediction_accuracy()[Service::Room as usize];
        assert!(room.error() < 100_000.0, "seed {seed}: {} ns of {}", room.error(), room.mean());
    }
}
