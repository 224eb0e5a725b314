use super::*;
use tailcut_base::control::ControlReply;
use tailcut_base::fdp::HandleId;
use tailcut_base::random::Stream;
use tailcut_base::{Device, Submit};
use tailcut_host::Block;
use tailcut_ssd::{Preset, SsdConfig};

fn config() -> SsdConfig {
    let mut config = Preset::G.config();
    config.control_api = true;
    config
}

fn ssd() -> Ssd {
    Ssd::new(&config(), 1, false)
}

fn request(id: u32, op: Op, block: u64, blocks: u32, data: Vec<Bytes>) -> Request<Bytes> {
    Request {
        id,
        op,
        fua: false,
        class: Class::DEFAULT,
        fail_fast: false,
        mirror: Mirror::Any,
        handle: HandleId::FIRST,
        block,
        blocks,
        data,
    }
}

fn content(number: u64) -> Bytes {
    Bytes::encode(&number.to_le_bytes())
}

/// Polls whenever the drive is due, until the first completion.
fn answer(drive: &mut EmulatedSsd, now: &mut Time) -> Response<Bytes> {
    let mut answers = Answers::default();
    while answers.responses.is_empty() {
        *now = (*now).max(drive.next_event());
        assert_ne!(*now, Time::NEVER, "the drive has something to do");
        drive.poll(*now, &mut answers);
    }
    assert_eq!(answers.responses.len(), 1);
    answers.responses.remove(0)
}

#[test]
fn answers_come_when_the_model_says() {
    let mut drive = EmulatedSsd::inline(ssd());
    let mut model = ssd();
    let mut now = Time(1000);
    for (id, op) in [(3, Op::Write), (4, Op::Flush), (900_000, Op::Read)] {
        let data = if op == Op::Write { vec![content(1); 2] } else { Vec::new() };
        let asked = request(id, op, 5, 2, data);
        assert_eq!(model.submit(now, &asked.command(CommandId(0))), Submit::Accepted);
        drive.submit(now, asked);
        let mut completions = Vec::new();
        while model.advance(Time(u64::MAX), &mut completions) {}
        let response = answer(&mut drive, &mut now);
        assert_eq!((response.id, response.status), (id, Status::Success));
        assert_eq!((now, response.spans), (completions[0].at, completions[0].spans));
        assert_eq!(response.data, if op == Op::Read { vec![content(1); 2] } else { Vec::new() });
    }
    assert_eq!(drive.lateness().histogram().max(), Nanos::ZERO);
}

#[test]
fn what_is_taken_late_is_late() {
    let mut drive = EmulatedSsd::inline(ssd());
    drive.submit(Time(0), request(1, Op::Read, 0, 1, Vec::new()));
    let due = {
        let mut exact = EmulatedSsd::inline(ssd());
        let mut now = Time(0);
        exact.submit(now, request(1, Op::Read, 0, 1, Vec::new()));
        answer(&mut exact, &mut now);
        now
    };
    let mut answers = Answers::default();
    drive.poll(due + Nanos(700), &mut answers);
    assert_eq!(drive.lateness().histogram().max(), Nanos(700));
    assert_eq!(answers.responses[0].spans.of(Cause::Poll), Nanos(700));
    assert_eq!(answers.responses[0].spans.total(), due.since(Time(0)) + Nanos(700));
}

#[test]
fn reads_return_what_was_written_before_them() {
    let mut drive = EmulatedSsd::inline(ssd());
    let (depth, blocks) = (drive.disk().depth as usize, 3000);
    let mut random = Stream::new(7, "emulated");
    let (mut model, mut now, mut answers) = (vec![Bytes::ZEROS; blocks], Time(0), Answers::default());
    let mut expected: Vec<Option<Vec<Bytes>>> = vec![None; depth];
    let mut free: Vec<u32> = (0..depth as u32).collect();
    let mut done = 0;
    for step in 0..20_000u64 {
        now += Nanos(random.below(3000));
        if let Some(id) = free.pop() {
            let block = random.below(blocks as u64);
            let count = 1 + random.below((blocks as u64 - block).min(8));
            let range = block as usize..(block + count) as usize;
            let (op, data) = match random.below(5) {
                0 | 1 => (Op::Read, Vec::new()),
                2 | 3 => (Op::Write, vec![content(step + 1); count as usize]),
                _ => (Op::Trim, Vec::new()),
            };
            let mut returned = Vec::new();
            match op {
                Op::Read => returned = model[range].to_vec(),
                Op::Write => model[range].clone_from_slice(&data),
                _ => model[range].fill(Bytes::ZEROS),
            }
            expected[id as usize] = Some(returned);
            drive.submit(now, request(id, op, block, count as u32, data));
        }
        drive.poll(now, &mut answers);
        for response in answers.responses.drain(..) {
            let expected = expected[response.id as usize].take();
            assert_eq!((response.status, Some(response.data)), (Status::Success, expected));
            free.push(response.id);
            done += 1;
        }
    }
    assert!(done > 2000, "{done}");
}

#[test]
fn a_trim_of_the_whole_drive_is_one_answer() {
    let mut drive = EmulatedSsd::inline(ssd());
    let (blocks, mut now) = (drive.disk().blocks, Time(0));
    assert!(blocks > u64::from(drive.disk().most_blocks), "it takes several commands");
    drive.submit(now, request(1, Op::Write, blocks - 1, 1, vec![content(1)]));
    answer(&mut drive, &mut now);
    assert_eq!((drive.allocated(), drive.extent(0, blocks).blocks), (1, blocks - 1));
    drive.submit(now, request(2, Op::Trim, 0, blocks as u32, Vec::new()));
    let response = answer(&mut drive, &mut now);
    assert_eq!((response.id, response.status, drive.allocated()), (2, Status::Success, 0));
    let mut answers = Answers::default();
    while drive.next_event() != Time::NEVER {
        drive.poll(drive.next_event(), &mut answers);
    }
    assert!(answers.responses.is_empty(), "it is answered once");
}

#[test]
fn the_control_interface_is_the_simulated_drives() {
    let mut drive = EmulatedSsd::inline(ssd());
    drive.control(Time(5), Control::FreeBlocks);
    let mut answers = Answers::default();
    assert_eq!(drive.next_event(), Time::ZERO);
    drive.poll(Time(5), &mut answers);
    assert_eq!(answers.replies, [(Control::FreeBlocks, ssd().control(Time(5), Control::FreeBlocks))]);
    assert_ne!(answers.replies[0].1, ControlReply::Unsupported);
}

/// Waits for completions, as a server does.
fn wait(drive: &mut EmulatedSsd, clock: Clock, answers: &mut Answers) {
    drive.poll(clock.now(), answers);
    if answers.responses.is_empty() && answers.replies.is_empty() && drive.arm() {
        let wakes = drive.wakes().expect("its thread rings");
        let mut descriptors = [rustix::event::PollFd::new(&wakes, rustix::event::PollFlags::IN)];
        rustix::event::poll(&mut descriptors, None).expect("it is rung");
    }
}

#[test]
fn a_drive_on_its_own_core_answers_all_that_it_is_asked() {
    let waits = [Waiting::Spin, Waiting::Sleep { spin: Nanos(20_000) }, Waiting::Sleep { spin: Nanos::ZERO }];
    for waiting in waits {
        let clock = Clock::start();
        let options = CoreOptions { core: None, waiting, is_idle_priority: false };
        let mut drive = EmulatedSsd::on_own_core(ssd(), clock, options).expect("a thread");
        let (mut answers, mut done, mut replies) = (Answers::default(), 0, 0);
        let (mut free, count): (Vec<u32>, u32) = ((0..8).collect(), 400);
        for _ in 0..100 {
            drive.control(clock.now(), Control::FreeBlocks);
        }
        let mut asked = 0;
        while done < count || replies < 100 {
            while asked < count
                && let Some(id) = free.pop()
            {
                let (op, data) = if asked % 2 == 0 {
                    (Op::Write, vec![content(asked.into())])
                } else {
                    (Op::Read, Vec::new())
                };
                drive.submit(clock.now(), request(id, op, u64::from(asked / 2), 1, data));
                asked += 1;
            }
            wait(&mut drive, clock, &mut answers);
            replies += answers.replies.drain(..).count();
            done += answers.responses.len() as u32;
            assert!(answers.responses.iter().all(|response| response.status == Status::Success));
            free.extend(answers.responses.drain(..).map(|response| response.id));
        }
        assert!(drive.lateness().histogram().count() <= u64::from(count));
    }
}

#[test]
fn a_stalled_drive_fetches_nothing_until_its_end_and_the_time_is_attributed() {
    let mut drive = EmulatedSsd::inline(ssd());
    let script = vec![(Nanos::millis(1), Incident::Stall(Nanos::millis(5)))];
    drive.schedule(Time::ZERO, Schedule::new(script, None));
    let (mut now, mut plain) = (Time(1000), Nanos::ZERO);
    for (id, at) in [(1, Time(1000)), (2, Time::ZERO + Nanos::millis(2)), (3, Time::ZERO + Nanos::millis(20))]
    {
        drive.submit(at, request(id, Op::Read, u64::from(id) * 8, 1, Vec::new()));
        now = now.max(at);
        let response = answer(&mut drive, &mut now);
        let held = response.spans.of(Cause::Tag);
        assert_eq!(response.spans.total(), now.since(at), "every nanosecond has a cause");
        match id {
            1 => plain = now.since(at),
            2 => assert!(held == Nanos::millis(4) && now.since(at) >= held + plain, "{held:?}"),
            _ => assert_eq!(held, Nanos::ZERO),
        }
    }
}

#[test]
fn a_delayed_drive_keeps_order_and_content() {
    let mut drive = EmulatedSsd::inline(ssd());
    let script = vec![
        (Nanos::ZERO, Incident::Delay(Nanos::millis(3))),
        (Nanos::secs(1), Incident::Delay(Nanos::ZERO)),
    ];
    drive.schedule(Time::ZERO, Schedule::new(script, None));
    drive.submit(Time(10), request(1, Op::Write, 5, 1, vec![content(7)]));
    drive.submit(Time(20), request(2, Op::Read, 5, 1, Vec::new()));
    let (mut now, mut answers) = (Time(20), Answers::default());
    while answers.responses.len() < 2 {
        now = now.max(drive.next_event());
        drive.poll(now, &mut answers);
    }
    let read = answers.responses.iter().find(|response| response.id == 2).expect("a response");
    assert_eq!(read.data, vec![content(7)]);
    assert!(answers.responses.iter().all(|response| response.spans.of(Cause::Tag) == Nanos::millis(3)));
    let later = Time::ZERO + Nanos::secs(2);
    drive.submit(later, request(3, Op::Read, 5, 1, Vec::new()));
    now = later;
    assert_eq!(answer(&mut drive, &mut now).spans.of(Cause::Tag), Nanos::ZERO);
}

#[test]
fn stalls_of_a_personality_come_without_end() {
    let stalls = tailcut_ssd::presets::Personality::ThermalStall.stalls(1);
    let mut drive = EmulatedSsd::inline(ssd());
    drive.schedule(Time::ZERO, Schedule::new(Vec::new(), stalls));
    let (mut now, mut held) = (Time::ZERO, 0);
    for id in 0..20_000 {
        drive.submit(now, request(id, Op::Read, 0, 1, Vec::new()));
        let spans = answer(&mut drive, &mut now).spans;
        held += u32::from(spans.of(Cause::Tag) > Nanos::millis(5));
        now += Nanos::micros(400);
    }
    assert!((5..=20).contains(&held), "{held} of the stalls of ten seconds hold a read");
}

#[test]
fn a_shutdown_ends_a_stall() {
    let mut drive = EmulatedSsd::inline(ssd());
    let script = vec![
        (Nanos::ZERO, Incident::Stall(Nanos::secs(3600))),
        (Nanos::secs(9), Incident::Stall(Nanos::secs(3600))),
    ];
    drive.schedule(Time::ZERO, Schedule::new(script, None));
    drive.submit(Time(10), request(1, Op::Write, 5, 1, vec![content(7)]));
    drive.abandon_trims();
    let mut now = Time(20);
    assert_eq!(answer(&mut drive, &mut now).status, Status::Success);
    assert!(now < Time::ZERO + Nanos::secs(1), "{now:?}");
}
