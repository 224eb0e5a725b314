//! The storage below a subject that is no array: an array, or one drive by itself.

use super::arrays::Arrays;
use super::plan::Plan;
use super::subject::{Findings, Subject, SubjectHealth};
use tailcut_base::Time;
use tailcut_base::control::{Control, ControlReply};
use tailcut_host::{Bytes, Disk, Request, Response};

/// The disk below a key-value store or a block server.
#[derive(Debug)]
pub enum Below {
    /// An array of drives.
    Array(Box<Arrays>),
    /// One drive with nothing in front of it.
    Drive(Bare),
}

/// A drive by itself: requests pass to it and its answers pass back.
#[derive(Debug)]
pub struct Bare {
    /// None if the drive is gone.
    disk: Option<Disk>,
    in_flight: u32,
    sent: Vec<(usize, Request<Bytes>)>,
    answers: Vec<Response<Bytes>>,
}

impl Bare {
    fn of(disk: Option<&Disk>) -> Below {
        Below::Drive(Bare { disk: disk.cloned(), in_flight: 0, sent: Vec::new(), answers: Vec::new() })
    }
}

impl Subject for Below {
    fn create(now: Time, plan: &Plan, drives: &[Disk]) -> Below {
        match plan.has_array {
            true => Below::Array(Box::new(Arrays::create(now, plan, drives))),
            false => Bare::of(drives.first()),
        }
    }

    fn open(now: Time, plan: &Plan, drives: &[(usize, Disk)]) -> Below {
        match plan.has_array {
            true => Below::Array(Box::new(Arrays::open(now, plan, drives))),
            false => Bare::of(drives.first().map(|(_, disk)| disk)),
        }
    }

    fn refused(&self) -> Option<String> {
        match self {
            Below::Array(array) => array.refused(),
            Below::Drive(bare) => bare.disk.is_none().then(|| String::from("there is no drive")),
        }
    }

    fn check_at_rest(&self) -> Result<(), String> {
        if let Below::Array(array) = self { array.check_at_rest() } else { Ok(()) }
    }

    fn stale(&self) -> &[usize] {
        match self {
            Below::Array(array) => array.stale(),
            Below::Drive(_) => &[],
        }
    }

    fn is_ready(&self) -> bool {
        match self {
            Below::Array(array) => array.is_ready(),
            Below::Drive(bare) => bare.disk.is_some(),
        }
    }

    fn disk(&self) -> Disk {
        match self {
            Below::Array(array) => array.disk(),
            Below::Drive(bare) => bare.disk.clone().expect("it is there"),
        }
    }

    fn health(&self) -> SubjectHealth {
        match self {
            Below::Array(array) => array.health(),
            Below::Drive(_) => SubjectHealth::Whole,
        }
    }

    fn findings(&self) -> Findings {
        match self {
            Below::Array(array) => array.findings(),
            Below::Drive(_) => Findings::default(),
        }
    }

    fn counts(&self) -> String {
        match self {
            Below::Array(array) => array.counts(),
            Below::Drive(_) => String::new(),
        }
    }

    fn submit(&mut self, now: Time, request: Request<Bytes>) -> Result<(), Request<Bytes>> {
        match self {
            Below::Array(array) => array.submit(now, request),
            Below::Drive(bare) if bare.disk.as_ref().is_some_and(|disk| bare.in_flight == disk.depth) => {
                Err(request)
            }
            Below::Drive(bare) => {
                bare.in_flight += 1;
                bare.sent.push((0, request));
                Ok(())
            }
        }
    }

    fn answered(&mut self, now: Time, drive: usize, response: Response<Bytes>) {
        match self {
            Below::Array(array) => array.answered(now, drive, response),
            Below::Drive(bare) => {
                bare.in_flight -= 1;
                bare.answers.push(response);
            }
        }
    }

    fn next_event(&self) -> Time {
        match self {
            Below::Array(array) => array.next_event(),
            Below::Drive(_) => Time::NEVER,
        }
    }

    fn advance(&mut self, now: Time) {
        match self {
            Below::Array(array) => array.advance(now),
            Below::Drive(_) => {}
        }
    }

    fn sent(&mut self) -> Vec<(usize, Request<Bytes>)> {
        match self {
            Below::Array(array) => array.sent(),
            Below::Drive(bare) => std::mem::take(&mut bare.sent),
        }
    }

    fn answers(&mut self) -> Vec<Response<Bytes>> {
        match self {
            Below::Array(array) => array.answers(),
            Below::Drive(bare) => std::mem::take(&mut bare.answers),
        }
    }

    fn controls(&mut self) -> Vec<(usize, Control)> {
        match self {
            Below::Array(array) => array.controls(),
            Below::Drive(_) => Vec::new(),
        }
    }

    fn control_answered(&mut self, now: Time, drive: usize, call: Control, reply: ControlReply) {
        match self {
            Below::Array(array) => array.control_answered(now, drive, call, reply),
            Below::Drive(_) => panic!("a drive by itself is asked for nothing"),
        }
    }

    fn replace(&mut self, now: Time, drive: usize, disk: Disk) {
        match self {
            Below::Array(array) => array.replace(now, drive, disk),
            Below::Drive(_) => panic!("a drive by itself is never called missing"),
        }
    }

    fn scrub(&mut self, now: Time) {
        match self {
            Below::Array(array) => array.scrub(now),
            Below::Drive(_) => {}
        }
    }
}
