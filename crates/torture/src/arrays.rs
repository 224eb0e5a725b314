//! Arrays as a subject.

use super::plan::Plan;
use super::subject::{Findings, Subject, SubjectHealth};
use tailcut_base::Time;
use tailcut_base::control::{Control, ControlReply};
use tailcut_base::ids::Id;
use tailcut_host::array::log::LogFigures;
use tailcut_host::array::{Array, ArrayConfig, Condition, Consent, DriveId, MemberId, Opening};
use tailcut_host::{Bytes, Disk, Request, Response};

/// An array, or the search for it.
#[derive(Debug)]
pub struct Arrays {
    config: ArrayConfig,
    /// Place of each drive that was handed over, in that order.
    places: Vec<usize>,
    disks: Vec<Disk>,
    state: State,
    /// Drives that are no members, by their places.
    stale: Vec<usize>,
    /// Replacements since it was opened: several at one moment have identities of their own.
    replaced: u16,
}

#[derive(Debug)]
enum State {
    Opening(Box<Opening<Bytes>>),
    Refused(String),
    /// The array, and the place of the drive that is each of its members.
    Open(Box<Array<Bytes>>, Vec<usize>),
}

impl Arrays {
    /// Goes on from the search to the array.
    fn found(&mut self, now: Time) {
        let State::Opening(opening) = &self.state else { return };
        let found = match opening.found() {
            None => return,
            Some(Ok(found)) => found,
            Some(Err(why)) => {
                self.state = State::Refused(why.to_string());
                return;
            }
        };
        // A drive that was taken out before it had a superblock is blank: left out, and not called stale.
        let is_left_out = |drive: &usize| !found.order.as_slice().contains(&Some(*drive));
        self.stale = (0..self.places.len()).filter(is_left_out).map(|drive| self.places[drive]).collect();
        let disk = |member: usize| match found.order[DriveId::at(member)] {
            Some(drive) => self.disks[drive].clone(),
            None => self.disks[0].clone(),
        };
        let place =
            |member: usize| found.order[DriveId::at(member)].map_or(member, |drive| self.places[drive]);
        let disks: Vec<Disk> = (0..found.order.len()).map(disk).collect();
        let members = (0..found.order.len()).map(place).collect();
        let array = Array::open(now, &self.config, &disks, &found);
        self.state = State::Open(Box::new(array), members);
    }

    fn array(&self) -> &Array<Bytes> {
        match &self.state {
            State::Open(array, _) => array,
            _ => panic!("it is not open"),
        }
    }

    fn array_mut(&mut self) -> &mut Array<Bytes> {
        match &mut self.state {
            State::Open(array, _) => array,
            _ => panic!("it is not open"),
        }
    }

    fn member_at(&self, place: usize) -> usize {
        match &self.state {
            State::Open(_, members) => {
                members.iter().position(|&at| at == place).expect("each place has a member")
            }
            _ => self.places.iter().position(|&at| at == place).expect("it was handed over"),
        }
    }
}

impl Subject for Arrays {
    const KEEPS_ORDER: bool = true;

    fn create(now: Time, plan: &Plan, drives: &[Disk]) -> Arrays {
        let config = plan.array();
        let array = Array::create(now, &config, drives, IDENTITY);
        let places: Vec<usize> = (0..drives.len()).collect();
        let state = State::Open(Box::new(array), places.clone());
        Arrays { config, places, disks: drives.to_vec(), state, stale: Vec::new(), replaced: 0 }
    }

    fn open(now: Time, plan: &Plan, drives: &[(usize, Disk)]) -> Arrays {
        let places = drives.iter().map(|&(place, _)| place).collect();
        let disks: Vec<Disk> = drives.iter().map(|(_, disk)| disk.clone()).collect();
        let state = match drives {
            [] => State::Refused(String::from("there is no drive")),
            _ => State::Opening(Box::new(Opening::new(now, &disks, Consent::Degraded))),
        };
        Arrays { config: plan.array(), places, disks, state, stale: Vec::new(), replaced: 0 }
    }

    fn refused(&self) -> Option<String> {
        match &self.state {
            State::Refused(why) => Some(why.clone()),
            _ => None,
        }
    }

    fn stale(&self) -> &[usize] {
        &self.stale
    }

    fn is_ready(&self) -> bool {
        matches!(&self.state, State::Open(array, _) if array.is_ready())
    }

    fn disk(&self) -> Disk {
        self.array().disk()
    }

    fn health(&self) -> SubjectHealth {
        let State::Open(array, members) = &self.state else { panic!("it is not open") };
        let places = |list: Vec<DriveId>| list.into_iter().map(|member| members[member.index()]).collect();
        match array.condition() {
            Condition::Optimal => SubjectHealth::Whole,
            Condition::Degraded { missing, rebuilding } => {
                SubjectHealth::Degraded { missing: places(missing), rebuilding: places(rebuilding) }
            }
            Condition::Failed { why } => SubjectHealth::Failed(why),
        }
    }

    fn check_at_rest(&self) -> Result<(), String> {
        if let State::Open(array, _) = &self.state { array.check_at_rest() } else { Ok(()) }
    }

    fn findings(&self) -> Findings {
        let State::Open(array, _) = &self.state else { return Findings::default() };
        let counts = array.core().reads.counts();
        let raid = array.raid().map(|raid| *raid.scrub_report());
        let epochs = array.epochs().map(|epochs| *epochs.scrub_report());
        let raid = raid.or(epochs).unwrap_or_default();
        let log = array.log_scrub().unwrap_or_default();
        let figures = array.log_figures();
        let figure = |of: fn(&LogFigures) -> u64| figures.as_ref().map_or(0, of);
        Findings {
            corrupt: counts.corrupt,
            repaired: counts.repaired,
            degraded: counts.degraded,
            hedged: counts.hedged,
            last_scrub: raid.corrupt_blocks + raid.parity_mismatches + log.repaired + log.parities,
            hopeless: raid.unrepairable + raid.not_rebuilt + log.unreadable,
            collected: figure(|figures| figures.rows_collected),
            checkpoints: figure(|figures| figures.checkpoints),
            rotations: figure(|figures| figures.rotations),
        }
    }

    fn counts(&self) -> String {
        let State::Open(array, _) = &self.state else { return String::new() };
        format!(
            "{:?} {:?} {:?} {:?} {:?} {:?} {:?}",
            array.core().reads.counts(),
            array.raid().map(|raid| raid.scrub_report()),
            array.epochs().map(|epochs| epochs.scrub_report()),
            array.log_scrub(),
            array.log_figures(),
            array.recovery_report(),
            array.epoch_figures(),
        )
    }

    fn submit(&mut self, now: Time, request: Request<Bytes>) -> Result<(), Request<Bytes>> {
        self.array_mut().submit(now, request)
    }

    fn answered(&mut self, now: Time, drive: usize, response: Response<Bytes>) {
        let member = DriveId::at(self.member_at(drive));
        match &mut self.state {
            State::Opening(opening) => opening.answered(now, member, response),
            State::Open(array, _) => array.answered(now, member, response),
            State::Refused(_) => {}
        }
        self.found(now);
    }

    fn next_event(&self) -> Time {
        match &self.state {
            State::Open(array, _) => array.next_event(),
            _ => Time::NEVER,
        }
    }

    fn advance(&mut self, now: Time) {
        self.array_mut().advance(now);
    }

    fn sent(&mut self) -> Vec<(usize, Request<Bytes>)> {
        let (sent, places) = match &mut self.state {
            State::Opening(opening) => (opening.sent(), &self.places),
            State::Open(array, members) => (array.sent(), &*members),
            State::Refused(_) => return Vec::new(),
        };
        sent.drain(..).map(|(member, request)| (places[member.index()], request)).collect()
    }

    fn answers(&mut self) -> Vec<Response<Bytes>> {
        match &mut self.state {
            State::Open(array, _) => array.answers().drain(..).collect(),
            _ => Vec::new(),
        }
    }

    fn controls(&mut self) -> Vec<(usize, Control)> {
        match &mut self.state {
            State::Open(array, members) => {
                array.controls().drain(..).map(|(member, call)| (members[member.index()], call)).collect()
            }
            _ => Vec::new(),
        }
    }

    fn control_answered(&mut self, now: Time, drive: usize, call: Control, reply: ControlReply) {
        let member = self.member_at(drive);
        self.array_mut().control_answered(now, DriveId::at(member), call, reply);
    }

    fn replace(&mut self, now: Time, drive: usize, disk: Disk) {
        let member = self.member_at(drive);
        self.replaced += 1;
        let of_moment = u128::from(self.replaced) << 16 | (member as u128 + 1);
        let id = MemberId::new(u128::from(now.0) << 32 | of_moment);
        self.array_mut().replace(now, DriveId::at(member), disk, id).expect("it is as large as the others");
    }

    fn scrub(&mut self, now: Time) {
        self.array_mut().scrub(now);
    }
}

/// Whose records they are.
const IDENTITY: u128 = 0x7A11_C070;
