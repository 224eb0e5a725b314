//! The array's machine and the contents of its members, without their drives: the owner of the drives
//! passes its requests to them.

use super::contents::Contents;
use super::{Member, Members};
use tailcut_base::device::{Identify, content};
use tailcut_base::fdp::HandleId;
use tailcut_base::ids::Id;
use tailcut_base::{Command, CommandId, Completion, Device, Nanos, Op, Spans, Status, Time};
use tailcut_host::array::{Array, ArrayConfig, DriveId, MemberId};
use tailcut_host::{BLOCK_SECTORS, Fingerprint, Mirror, Request, Response};
use tailcut_ssd::{Probe, Ssd};

/// An array without its drives.
#[derive(Debug)]
pub struct Volume {
    pub(super) array: Array<Fingerprint>,
    pub(super) members: Members,
    /// Content of each member, by its number.
    pub(super) contents: Vec<Contents>,
    /// Requests that the array has issued and that were not taken yet, the next one last.
    sent: Vec<(DriveId, Request<Fingerprint>)>,
    memory: Vec<Vec<Fingerprint>>,
    model: String,
}

/// What becomes of a command for the array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// It will be answered.
    Accepted,
    /// There is nothing to be done for it: a trim that covers no whole block.
    Done,
    /// There is no room for it.
    Busy,
}

impl Volume {
    /// An array over these new drives, which keep no fingerprints themselves; or over the NVM sets of the
    /// only one.
    pub fn new<P: Probe>(config: &ArrayConfig, drives: &[Ssd<P>]) -> Volume {
        let members = Members::of(config, drives);
        let disks = members.disks(drives);
        let model = format!("{} over {} {}", config.layout, members.name(), drives[0].identify().model);
        Volume {
            array: Array::fresh(config, &disks),
            contents: disks.iter().map(|disk| Contents::new(disk.blocks)).collect(),
            members,
            sent: Vec::new(),
            memory: Vec::new(),
            model,
        }
    }

    /// The array machine that the volume drives.
    pub fn array(&self) -> &Array<Fingerprint> {
        &self.array
    }

    /// Mutable access to the array, to advance it or to restart its counters.
    pub fn array_mut(&mut self) -> &mut Array<Fingerprint> {
        &mut self.array
    }

    /// The array's identity as a device.
    pub fn identify(&self) -> Identify {
        let disk = self.array.disk();
        Identify {
            model: self.model.clone(),
            sectors: disk.blocks * BLOCK_SECTORS,
            page_sectors: BLOCK_SECTORS as u32,
            queue_depth: disk.depth,
            max_sectors: disk.most_blocks * BLOCK_SECTORS as u32,
            block_sectors: BLOCK_SECTORS as u32,
            volatile_cache: disk.volatile_cache,
            handles: disk.handles,
        }
    }

    /// A command of the host.
    pub fn submit(&mut self, now: Time, command: &Command) -> Admission {
        let Some(request) = self.request(command) else { return Admission::Done };
        match self.array.submit(now, request) {
            Ok(()) => Admission::Accepted,
            Err(request) => {
                self.recycle(request.data);
                Admission::Busy
            }
        }
    }

    /// The next command for a drive, which must be given to it before anything else is asked of this array's
    /// drives.
    #[inline]
    pub fn next_command(&mut self) -> Option<(usize, Command)> {
        if self.sent.is_empty() {
            std::mem::swap(&mut self.sent, self.array.sent());
            self.sent.reverse();
        }
        let (member, request) = self.sent.pop()?;
        let member = member.index();
        let Member { drive, first_sector, .. } = self.members.get(member);
        let mut command = request.command(CommandId(request.id));
        command.sector += first_sector;
        self.members.asked(member, request.id);
        self.contents[member].submitted(request);
        Some((drive, command))
    }

    /// A drive has carried out a command.
    #[inline]
    pub fn answered(&mut self, now: Time, drive: usize, completion: &Completion) {
        let member = self.members.of_request(drive, completion.id);
        let data = self.contents[member].completed(completion.id);
        let Completion { id: CommandId(id), status, busy_for, spans, .. } = *completion;
        self.array.answered(now, DriveId::at(member), Response { id, status, data, busy_for, spans });
    }

    /// A drive that was lost is back, and is rebuilt: what it has is out of date.
    ///
    /// # Panics
    /// If the drive is not missing.
    pub fn give_back(&mut self, now: Time, drive: DriveId) {
        let disk = self.array.core().drives.disk(drive).clone();
        // No superblock is kept in a simulation, and so no identity is read again.
        let taken = self.array.replace(now, drive, disk, MemberId::new(1));
        taken.expect("it is the drive that was there");
    }

    /// Appends the array's answers to the host.
    #[inline]
    pub fn take_answers(&mut self, now: Time, completions: &mut Vec<Completion>) {
        if self.array.answers().is_empty() {
            return;
        }
        let mut answers = std::mem::take(self.array.answers());
        completions.extend(answers.iter_mut().map(|answer| self.completion(now, answer)));
        answers.clear();
        // Its memory is used again.
        *self.array.answers() = answers;
    }

    #[inline]
    fn completion(&mut self, now: Time, answer: &mut Response<Fingerprint>) -> Completion {
        let pages = answer.data.iter().zip(0u32..);
        let content = match answer.status {
            Status::Success => pages.fold(0, |sum, (block, index)| content::fold(sum, index, block.0)),
            _ => 0,
        };
        let (id, status, spans) = (CommandId(answer.id), answer.status, answer.spans);
        self.recycle(std::mem::take(&mut answer.data));
        Completion { id, status, at: now, content, busy_for: Nanos::ZERO, spans }
    }

    fn recycle(&mut self, mut memory: Vec<Fingerprint>) {
        memory.clear();
        self.memory.push(memory);
    }

    /// Makes the calls that the array wants of these drives, which reply at once, and names each drive that
    /// was called. False when there are none.
    pub fn make_calls<P: Probe>(
        &mut self,
        now: Time,
        drives: &mut [Ssd<P>],
        called: &mut dyn FnMut(usize, &Ssd<P>),
    ) -> bool {
        if self.array.controls().is_empty() {
            return false;
        }
        let calls = std::mem::take(self.array.controls());
        for &(member, call) in &calls {
            let Member { drive, set, .. } = self.members.get(member.index());
            let reply = drives[drive].control_set(now, set, call);
            called(drive, &drives[drive]);
            self.array.control_answered(now, member, call, reply);
        }
        true
    }

    /// The array request for a command; `None` for a trim that covers no whole block.
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
            let content = |page: u64| content::Change::write(page, command.content, u64::MAX, true).apply(0);
            data.extend((block..end).map(|page| Fingerprint(content(page))));
        }
        Some(Request {
            id: command.id.0,
            op: command.op,
            fua: command.fua,
            class: command.class,
            fail_fast: command.fail_fast,
            mirror: Mirror::Any,
            handle: HandleId::new(u32::from(command.stream)),
            block,
            blocks: (end - block) as u32,
            data,
        })
    }

    /// The completion of a command without any work.
    pub fn nothing_to_do(now: Time, command: &Command) -> Completion {
        let (id, status, spans) = (command.id, Status::Success, Spans::new());
        Completion { id, status, at: now, content: 0, busy_for: Nanos::ZERO, spans }
    }
}
