//! An array in service: the machine of `tailcut_host` over drives in real time, and a drive itself.
//!
//! The machine implements the array. This module passes its requests to the drives and their completions to
//! the machine, removes failed drives, and adds replacements. No function sleeps or reads a clock: [`Pace`]
//! advances time where something must be waited for.

mod calls;
mod finding;
mod joining;

pub use calls::CannotCall;
pub use finding::{ArrayError, Pace, belong_to_none, create, member_of, open};

use crate::drive::{Answers, Drive};
use calls::Calls;
use joining::Joining;
use rustix::event::epoll;
use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use tailcut_base::control::{Control, ControlReply};
use tailcut_base::device::Identify;
use tailcut_base::fdp::HandleId;
use tailcut_base::ids::Id;
use tailcut_base::{Nanos, Op, Spans, Status, Time};
use tailcut_host::array::drives::Presence;
use tailcut_host::array::{
    Array, ArrayConfig, Condition, DriveId, FoundArray, MemberId, Scrub, Stale, StaleCause, TooSmall, epoch,
    raid,
};
use tailcut_host::{BLOCK_SECTORS, Bytes, Disk, Mirror, Request, Response};

/// An array over its drives.
#[derive(Debug)]
pub struct ServedArray<D> {
    array: Array<Bytes>,
    /// In the array's order; `None` for a missing drive.
    drives: Vec<Option<D>>,
    /// Drives that are being erased before they replace missing ones.
    joining: Vec<Joining<D>>,
    /// The last drive that could not be erased.
    not_erased: Option<(usize, Status)>,
    /// Drives that were left out at assembly, by their position among those given.
    stale: Vec<Stale>,
    /// Identities of the members at assembly; empty for a new array.
    ids: Vec<MemberId>,
    /// Number of scrubs started since the array was opened.
    scrubs: u64,
    /// The drive that executes each request of the array, by request id.
    asked: Vec<usize>,
    in_flight: Vec<bool>,
    calls: Calls,
    /// Requests that arrived before the array was ready.
    waiting: VecDeque<Request<Bytes>>,
    ready: Answers,
    /// Buffer for completions of a drive while they are processed.
    heard: Answers,
    /// Readable when a drive has to be polled.
    wakes: OwnedFd,
}

/// Status of an array, for its operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArrayStatus {
    /// Whether the array accepts requests.
    pub is_ready: bool,
    /// Whether the array is optimal, degraded or failed.
    pub condition: Condition,
    /// Progress of a rebuild in parts per million; `None` without a rebuild or if the layout does not report
    /// it.
    pub rebuilt: Option<u32>,
    /// The current or the last scrub since the array was opened, with its number, from 1; `None` before the
    /// first.
    pub scrub: Option<(u64, Scrub)>,
    /// Number of requests that wait for the array to be ready.
    pub waiting: usize,
}

impl<D: Drive> ServedArray<D> {
    /// A new array over drives whose content does not matter; its superblocks carry `identity`. The
    /// configuration must be free of [`problems`](ArrayConfig::problems) and fit the drives
    /// ([`ArrayConfig::validation_error`]).
    ///
    /// # Errors
    /// If the process is out of descriptors.
    pub fn create(
        now: Time,
        config: &ArrayConfig,
        drives: Vec<D>,
        identity: u128,
    ) -> io::Result<ServedArray<D>> {
        let disks: Vec<Disk> = drives.iter().map(Drive::disk).collect();
        let array = Array::create(now, config, &disks, identity);
        ServedArray::over(now, array, drives.into_iter().map(Some).collect())
    }

    /// The array that was found on some drives; it recovers from a crash. Drives that it does not use are
    /// removed.
    ///
    /// # Errors
    /// If the process is out of descriptors.
    ///
    /// # Panics
    /// If `found` names none of the drives.
    pub fn open(
        now: Time,
        config: &ArrayConfig,
        drives: Vec<D>,
        found: &FoundArray,
    ) -> io::Result<ServedArray<D>> {
        let mut drives: Vec<Option<D>> = drives.into_iter().map(Some).collect();
        let pick = |place: &Option<usize>| place.and_then(|drive| drives[drive].take());
        let members: Vec<Option<D>> = found.order.iter().map(pick).collect();
        // The values of a missing drive do not matter until it is replaced.
        let there = members.iter().flatten().next().expect("an array that was found has drives").disk();
        let disk = |member: &Option<D>| member.as_ref().map_or_else(|| there.clone(), Drive::disk);
        let disks: Vec<Disk> = members.iter().map(disk).collect();
        let mut served = ServedArray::over(now, Array::open(now, config, &disks, found), members)?;
        served.stale.clone_from(&found.stale);
        served.ids = found.superblock.ids.as_slice().to_vec();
        Ok(served)
    }

    fn over(now: Time, array: Array<Bytes>, drives: Vec<Option<D>>) -> io::Result<ServedArray<D>> {
        let wakes = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let calls = Calls::new(drives.len());
        let mut served = ServedArray {
            array,
            drives,
            joining: Vec::new(),
            not_erased: None,
            stale: Vec::new(),
            ids: Vec::new(),
            scrubs: 0,
            calls,
            asked: Vec::new(),
            in_flight: Vec::new(),
            waiting: VecDeque::new(),
            ready: Answers::default(),
            heard: Answers::default(),
            wakes,
        };
        for (member, drive) in served.drives.iter().enumerate() {
            drive.as_ref().map_or(Ok(()), |drive| served.listen(member, drive))?;
        }
        served.pump(now);
        Ok(served)
    }

    /// The array machine that is served: its members, layout and counters.
    pub fn array(&self) -> &Array<Bytes> {
        &self.array
    }

    /// The drive in the place of a member; `None` if the member is missing.
    pub fn member(&self, member: usize) -> Option<&D> {
        self.drives[member].as_ref()
    }

    /// The member drives that are present.
    pub fn members_mut(&mut self) -> impl Iterator<Item = &mut D> {
        self.drives.iter_mut().flatten()
    }

    /// Drives that were left out at assembly: the array had continued without them.
    pub fn stale(&self) -> &[Stale] {
        &self.stale
    }

    /// The identity of the drive that belongs in the place of a stale one; None if the array has none for it.
    pub fn successor(&self, stale: &Stale) -> Option<MemberId> {
        let has_one = stale.cause != StaleCause::LeftOut;
        self.ids.get(stale.member.index()).copied().filter(|_| has_one)
    }

    /// The layout and its drives: `raid5 over 4 x MODEL` if they are alike, and otherwise each by its model.
    fn name(&self) -> String {
        let layout = self.array.core().config.layout;
        let models: Vec<Option<String>> =
            self.drives.iter().map(|drive| drive.as_ref().map(|drive| drive.identify().model)).collect();
        let known: Vec<&String> = models.iter().flatten().collect();
        match known[..] {
            [first, ..] if known.len() == models.len() && known.iter().all(|model| *model == first) => {
                format!("{layout} over {} x {first}", models.len())
            }
            _ => {
                let model = |model: &Option<String>| model.clone().unwrap_or_else(|| "missing".into());
                let models: Vec<String> = models.iter().map(model).collect();
                format!("{layout} over {} drives: {}", models.len(), models.join(", "))
            }
        }
    }

    /// The last replacement that could not be erased: its member number and the status of its erasure.
    pub fn not_erased(&self) -> Option<(usize, Status)> {
        self.not_erased
    }

    /// True while a drive for this slot is being erased.
    pub fn is_joining(&self, member: usize) -> bool {
        self.joining.iter().any(|joining| joining.member == member)
    }

    /// Current status of the array.
    pub fn status(&self) -> ArrayStatus {
        let condition = self.array.condition();
        let rebuilding = match &condition {
            Condition::Degraded { rebuilding, .. } => rebuilding.first().copied(),
            _ => None,
        };
        let (raid, epochs) = (self.array.raid(), self.array.epochs());
        let rebuilt = rebuilding.and_then(|drive| {
            let of_raid = raid.and_then(|raid| raid.progress(raid::Task::Rebuild(drive)));
            of_raid.or_else(|| epochs.and_then(|epochs| epochs.progress(epoch::Task::Rebuild(drive))))
        });
        let (is_ready, waiting) = (self.array.is_ready(), self.waiting.len());
        let scrub = (self.scrubs > 0).then(|| (self.scrubs, self.array.scrub_status()));
        ArrayStatus { is_ready, condition, rebuilt, scrub, waiting }
    }

    /// Removes a drive; the array continues without it.
    ///
    /// # Errors
    /// If there is no such member, the layout has no redundancy, or the array is not optimal.
    pub fn remove(&mut self, now: Time, member: usize) -> Result<(), String> {
        self.place(member)?;
        let layout = self.array.core().config.layout;
        if !layout.is_redundant() {
            return Err(format!("{layout} has no copies: its data would be lost with the drive"));
        }
        if self.array.condition() != Condition::Optimal {
            return Err(String::from("the array is not optimal: no further drive is taken from it"));
        }
        self.array.remove(now, DriveId::at(member));
        self.pump(now);
        Ok(())
    }

    /// The drive slot of a member, checked.
    fn place(&self, member: usize) -> Result<&Option<D>, String> {
        let places = self.drives.len();
        self.drives.get(member).ok_or_else(|| format!("the array has drives 0 to {}", places - 1))
    }

    /// True if the slot of a drive is free.
    ///
    /// # Errors
    /// If the slot does not exist.
    pub fn is_free(&self, member: usize) -> Result<bool, String> {
        Ok(self.place(member)?.is_none() && !self.is_joining(member))
    }

    /// Replaces a missing drive by a blank one, and starts a rebuild on it. `id` is 128 random bits.
    ///
    /// # Errors
    /// If the drive is too small: it is returned, and nothing has changed.
    ///
    /// # Panics
    /// If the array has no slot `member`, or it is not free.
    pub fn replace(&mut self, now: Time, member: usize, drive: D, id: MemberId) -> Result<(), (TooSmall, D)> {
        assert_eq!(self.is_free(member), Ok(true), "a drive that serves is not replaced");
        if let Err(why) = self.array.replace(now, DriveId::at(member), drive.disk(), id) {
            return Err((why, drive));
        }
        self.stale.retain(|stale| stale.member.index() != member);
        // A drive that cannot be watched is polled whenever another drive signals; the system lacks memory
        // then, which is no reason to abort a rebuild.
        let _ = self.listen(member, &drive);
        self.drives[member] = Some(drive);
        self.pump(now);
        Ok(())
    }

    /// Starts a scrub: reads all stored data and checks its redundancy.
    pub fn scrub(&mut self, now: Time) {
        self.scrubs += 1;
        self.array.scrub(now);
        self.pump(now);
    }

    /// The drives, without the array: unflushed data may be lost.
    pub fn into_drives(self) -> Vec<Option<D>> {
        self.drives
    }

    fn listen(&self, member: usize, drive: &D) -> io::Result<()> {
        let Some(fd) = drive.wakes() else { return Ok(()) };
        let data = epoll::EventData::new_u64(member as u64);
        Ok(epoll::add(&self.wakes, fd, data, epoll::EventFlags::IN)?)
    }

    /// Drains the effects of the array.
    fn pump(&mut self, now: Time) {
        loop {
            for (member, request) in std::mem::take(self.array.sent()) {
                self.send(now, member.index(), request);
            }
            for (member, call) in std::mem::take(self.array.controls()) {
                self.steer(now, member.index(), call);
            }
            self.ready.responses.append(self.array.answers());
            if self.array.sent().is_empty() && self.array.controls().is_empty() {
                break;
            }
        }
        self.put_away(now);
    }

    fn send(&mut self, now: Time, member: usize, request: Request<Bytes>) {
        let slot = request.id as usize;
        if slot >= self.asked.len() {
            self.asked.resize(slot + 1, 0);
            self.in_flight.resize(slot + 1, false);
        }
        let drive = self.drives[member].as_mut().expect("nothing is asked of a drive that is missing");
        (self.asked[slot], self.in_flight[slot]) = (member, true);
        drive.submit(now, request);
    }

    /// Removes drives that the array no longer uses, and completes their requests in flight on their behalf.
    fn put_away(&mut self, now: Time) {
        for member in 0..self.drives.len() {
            let is_missing = self.array.core().drives.presence(DriveId::at(member)) == Presence::Missing;
            if !is_missing || self.drives[member].is_none() {
                continue;
            }
            self.drives[member] = None;
            self.forget_calls(member);
            for slot in 0..self.asked.len() {
                if self.in_flight[slot] && self.asked[slot] == member {
                    self.answered(now, member, gone(slot as u32));
                }
            }
            return self.pump(now);
        }
    }

    fn answered(&mut self, now: Time, member: usize, response: Response<Bytes>) {
        self.in_flight[response.id as usize] = false;
        self.array.answered(now, DriveId::at(member), response);
    }

    /// Polls a drive and processes its completions; true if there were any.
    fn receive(&mut self, now: Time, member: usize) -> bool {
        let Some(drive) = &mut self.drives[member] else { return false };
        let mut heard = std::mem::take(&mut self.heard);
        drive.poll(now, &mut heard);
        let is_any = !heard.responses.is_empty() || !heard.replies.is_empty();
        for response in heard.responses.drain(..) {
            // A previous completion may have made the array drop the drive, whose requests are completed on
            // its behalf then.
            if self.in_flight[response.id as usize] && self.asked[response.id as usize] == member {
                self.answered(now, member, response);
            }
        }
        for (call, reply) in heard.replies.drain(..) {
            self.replied(now, member, call, reply);
        }
        self.heard = heard;
        is_any
    }

    /// Submits the requests that have waited for the array to be ready.
    fn admit(&mut self, now: Time) {
        while let Some(request) = self.waiting.pop_front() {
            if let Err(request) = self.array.submit(now, request) {
                self.waiting.push_front(request);
                break;
            }
        }
    }
}

/// The completion of a request whose drive has been removed.
fn gone(id: u32) -> Response<Bytes> {
    let (status, data, busy_for, spans) = (Status::Gone, Vec::new(), Nanos::ZERO, Spans::new());
    Response { id, status, data, busy_for, spans }
}

impl<D: Drive> Drive for ServedArray<D> {
    fn identify(&self) -> Identify {
        let disk = self.array.disk();
        Identify {
            model: self.name(),
            sectors: disk.blocks * BLOCK_SECTORS,
            page_sectors: BLOCK_SECTORS as u32,
            queue_depth: disk.depth,
            max_sectors: disk.most_blocks * BLOCK_SECTORS as u32,
            block_sectors: BLOCK_SECTORS as u32,
            volatile_cache: disk.volatile_cache,
            handles: 1,
        }
    }

    fn disk(&self) -> Disk {
        self.array.disk()
    }

    fn trims_to_zeros(&self) -> bool {
        true
    }

    fn submit(&mut self, now: Time, request: Request<Bytes>) {
        let is_first = self.waiting.is_empty();
        self.waiting.push_back(request);
        if is_first {
            self.admit(now);
            self.pump(now);
        }
    }

    fn come_to_rest(&mut self, now: Time) -> bool {
        self.array.come_to_rest(now)
    }

    fn full(&self) -> Option<String> {
        let drives = &self.array.core().drives;
        let name = |member: DriveId| {
            let drive = self.drives[member.index()].as_ref();
            drive.map_or_else(|| format!("drive {member}"), |drive| drive.identify().model)
        };
        let names: Vec<String> = drives.full().map(name).collect();
        (!names.is_empty()).then(|| names.join(", "))
    }

    /// An array steers its drives itself, or leaves that to [`ServedArray::call`].
    fn control(&mut self, _: Time, call: Control) {
        self.ready.replies.push((call, ControlReply::Unsupported));
    }

    fn poll(&mut self, now: Time, answers: &mut Answers) {
        loop {
            let mut has_moved = false;
            for member in 0..self.drives.len() {
                has_moved |= self.receive(now, member);
            }
            has_moved |= self.join(now);
            if self.array.next_event() <= now {
                self.array.advance(now);
                has_moved = true;
            }
            if !has_moved {
                break;
            }
            self.pump(now);
            self.admit(now);
            self.pump(now);
        }
        answers.responses.append(&mut self.ready.responses);
        answers.replies.append(&mut self.ready.replies);
    }

    fn next_event(&self) -> Time {
        if !self.ready.responses.is_empty() || !self.ready.replies.is_empty() {
            return Time::ZERO;
        }
        let joining = self.joining.iter().map(|joining| joining.drive.next_event());
        let drives = self.drives.iter().flatten().map(Drive::next_event).chain(joining);
        drives.fold(self.array.next_event(), Time::min)
    }

    fn wakes(&self) -> Option<BorrowedFd<'_>> {
        Some(self.wakes.as_fd())
    }

    fn arm(&mut self) -> bool {
        let is_quiet = self.ready.responses.is_empty() && self.ready.replies.is_empty();
        let joining = self.joining.iter_mut().map(|joining| &mut joining.drive);
        is_quiet && self.drives.iter_mut().flatten().chain(joining).all(Drive::arm)
    }
}

/// A flush request with this id.
pub(crate) fn flush(id: u32) -> Request<Bytes> {
    let (class, data) = (tailcut_base::Class::DEFAULT, Vec::new());
    Request {
        id,
        op: Op::Flush,
        fua: false,
        class,
        fail_fast: false,
        mirror: Mirror::Any,
        handle: HandleId::FIRST,
        block: 0,
        blocks: 0,
        data,
    }
}

#[cfg(test)]
mod tests;
