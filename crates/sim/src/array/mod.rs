//! An array of simulated drives, as one device in virtual time.
//!
//! The array is the machine of `tailcut_host`, which also serves in real time; here its drives are
//! simulated SSDs. Data are fingerprints, kept beside each drive: a drive carries requests for one
//! block out in the order in which it is given them, so the content is known at that moment.

mod contents;
mod members;
mod preparation;

pub use members::{Member, Members};
pub use preparation::Fill;

use contents::Contents;
use tailcut_base::control::{Control, ControlReply};
use tailcut_base::device::{Identify, content};
use tailcut_base::timers::Timers;
use tailcut_base::{Command, CommandId, Completion, Device, Nanos, Op, Spans, Status, Submit, Time};
use tailcut_host::array::{Array, ArrayConfig};
use tailcut_host::{BLOCK_SECTORS, Fingerprint, Request, Response};
use tailcut_ssd::{Probe, Ssd};

/// An array and its drives.
#[derive(Debug)]
pub struct SimulatedArray<P: Probe = ()> {
    array: Array<Fingerprint>,
    drives: Vec<Ssd<P>>,
    members: Members,
    /// Of each member.
    contents: Vec<Contents>,
    /// The next event of each drive, and behind them that of the array.
    timers: Timers,
    /// Completions that the host has not been told of.
    ready: Vec<Completion>,
    /// The moment of those.
    ready_at: Time,
    /// Of a drive, while they are handed over.
    completions: Vec<Completion>,
    memory: Vec<Vec<Fingerprint>>,
    model: String,
}

impl<P: Probe> SimulatedArray<P> {
    /// An array over these new drives, which keep no fingerprints themselves; or over the NVM sets of the only
    /// one.
    pub fn new(config: &ArrayConfig, drives: Vec<Ssd<P>>) -> SimulatedArray<P> {
        let members = Members::of(config, &drives);
        let disks = members.disks(&drives);
        let model = format!("{} over {} {}", config.layout, members.name(), drives[0].identify().model);
        SimulatedArray {
            array: Array::fresh(config, &disks),
            contents: disks.iter().map(|disk| Contents::new(disk.blocks)).collect(),
            timers: Timers::new(drives.len() + 1),
            drives,
            members,
            ready: Vec::new(),
            ready_at: Time::ZERO,
            completions: Vec::new(),
            memory: Vec::new(),
            model,
        }
    }

    /// The array.
    pub fn array(&self) -> &Array<Fingerprint> {
        &self.array
    }

    /// The drives.
    pub fn drives(&self) -> &[Ssd<P>] {
        &self.drives
    }

    /// Tells the drives, which have been prepared, what the array wants of them.
    pub fn start(&mut self) {
        self.pump(Time::ZERO);
    }

    /// The drives, without the array.
    pub fn into_drives(self) -> Vec<Ssd<P>> {
        self.drives
    }

    /// Hands on what the array has come up with.
    #[inline]
    fn pump(&mut self, now: Time) {
        loop {
            let sent = std::mem::take(self.array.sent());
            for (member, request) in sent {
                self.send(now, member, request);
            }
            let answers = std::mem::take(self.array.answers());
            for answer in answers {
                self.tell(now, answer);
            }
            if self.array.controls().is_empty() {
                break;
            }
            self.make_calls(now);
        }
        self.timers.set_or_clear(self.drives.len(), self.array.next_event());
    }

    /// Makes the calls that the array wants; drives reply at once.
    fn make_calls(&mut self, now: Time) {
        for (member, call) in std::mem::take(self.array.controls()) {
            let Member { drive, set, .. } = self.members.get(member);
            let reply = self.drives[drive].control_set(now, set, call);
            self.timers.set_or_clear(drive, self.drives[drive].next_event());
            self.array.control_answered(now, member, call, reply);
        }
    }

    /// Hands a request to a member.
    fn send(&mut self, now: Time, member: usize, request: Request<Fingerprint>) {
        let Member { drive, first_sector, .. } = self.members.get(member);
        let command = Command {
            id: CommandId(request.id),
            op: request.op,
            fua: request.fua,
            class: request.class,
            fail_fast: request.fail_fast,
            stream: 0,
            sector: first_sector + request.block * BLOCK_SECTORS,
            sectors: request.blocks * BLOCK_SECTORS as u32,
            content: 0,
        };
        let answer = self.drives[drive].submit(now, &command);
        assert_eq!(answer, Submit::Accepted, "the array keeps to what its drives say of themselves");
        self.members.asked(member, request.id);
        self.contents[member].submitted(request);
        self.timers.set_or_clear(drive, self.drives[drive].next_event());
    }

    /// Tells the host.
    fn tell(&mut self, now: Time, answer: Response<Fingerprint>) {
        let pages = answer.data.iter().zip(0u32..);
        let content = match answer.status {
            Status::Success => pages.fold(0, |sum, (block, index)| content::fold(sum, index, block.0)),
            _ => 0,
        };
        let (id, status, spans) = (CommandId(answer.id), answer.status, answer.spans);
        self.ready_at = now;
        self.ready.push(Completion { id, status, at: now, content, busy_for: Nanos::ZERO, spans });
        let mut memory = answer.data;
        memory.clear();
        self.memory.push(memory);
    }

    /// Serves the next event, which is due at `now`.
    fn serve(&mut self, now: Time, slot: usize) {
        if slot == self.drives.len() {
            self.array.advance(now);
        } else {
            self.serve_drive(now, slot);
        }
        self.pump(now);
    }

    fn serve_drive(&mut self, now: Time, drive: usize) {
        let mut completions = std::mem::take(&mut self.completions);
        while !self.drives[drive].advance(now, &mut completions) {}
        for completion in completions.drain(..) {
            let member = self.members.of_request(drive, completion.id);
            let data = self.contents[member].completed(completion.id);
            let (id, status, busy_for) = (completion.id.0, completion.status, completion.busy_for);
            let spans = completion.spans;
            self.array.answered(now, member, Response { id, status, data, busy_for, spans });
        }
        self.completions = completions;
        self.timers.set_or_clear(drive, self.drives[drive].next_event());
    }

    /// What a command is to the array; none for a trim that covers no whole block.
    fn request(&mut self, command: &Command) -> Option<Request<Fingerprint>> {
        let (first, end) = (command.sector, command.sector + u64::from(command.sectors));
        let (block, end) = match command.op {
            Op::Trim => (first.div_ceil(BLOCK_SECTORS), end / BLOCK_SECTORS),
            _ => (first / BLOCK_SECTORS, end.div_ceil(BLOCK_SECTORS)),
        };
        if command.op == Op::Trim && block >= end {
            return None;
        }
        let mut data = self.memory.pop().unwrap_or_default();
        if command.op == Op::Write {
            let content =
                |page: u64| content::Change::write(command.content, page as u32, u64::MAX, true).apply(0);
            data.extend((block..end).map(|page| Fingerprint(content(page))));
        }
        Some(Request {
            id: command.id.0,
            op: command.op,
            fua: command.fua,
            class: command.class,
            fail_fast: command.fail_fast,
            block,
            blocks: (end - block) as u32,
            data,
        })
    }
}

impl<P: Probe> Device for SimulatedArray<P> {
    fn identify(&self) -> Identify {
        let disk = self.array.disk();
        Identify {
            model: self.model.clone(),
            sectors: disk.blocks * BLOCK_SECTORS,
            page_sectors: BLOCK_SECTORS as u32,
            queue_depth: disk.depth,
            max_sectors: disk.most_blocks * BLOCK_SECTORS as u32,
            block_sectors: BLOCK_SECTORS as u32,
            volatile_cache: disk.volatile_cache,
        }
    }

    fn submit(&mut self, now: Time, command: &Command) -> Submit {
        let Some(request) = self.request(command) else {
            self.ready_at = now;
            let spans = Spans::new();
            let (id, status) = (command.id, Status::Success);
            self.ready.push(Completion { id, status, at: now, content: 0, busy_for: Nanos::ZERO, spans });
            return Submit::Accepted;
        };
        match self.array.submit(now, request) {
            Ok(()) => {
                self.pump(now);
                Submit::Accepted
            }
            Err(request) => {
                let mut memory = request.data;
                memory.clear();
                self.memory.push(memory);
                Submit::Busy
            }
        }
    }

    #[inline]
    fn next_event(&self) -> Time {
        if self.ready.is_empty() { self.timers.next() } else { self.ready_at }
    }

    fn advance(&mut self, until: Time, completions: &mut Vec<Completion>) -> bool {
        while self.ready.is_empty() {
            let Some((now, slot)) = self.timers.first() else { return true };
            if now > until {
                return true;
            }
            self.serve(now, slot);
        }
        completions.append(&mut self.ready);
        false
    }

    fn expect(&self, _: &[Command]) -> u64 {
        0
    }

    fn begin_counting(&mut self) {
        self.array.count_epochs_anew();
    }

    fn control(&mut self, _: Time, _: Control) -> ControlReply {
        ControlReply::Unsupported
    }
}
