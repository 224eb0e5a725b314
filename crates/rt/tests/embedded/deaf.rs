//! A drive that stops completing requests, or rejects writes.

use super::small;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tailcut_base::control::Control;
use tailcut_base::device::Identify;
use tailcut_base::{Nanos, Op, Spans, Status, Time};
use tailcut_host::kv::{Keep, Settings as EngineSettings};
use tailcut_host::{Bytes, Request, Response};
use tailcut_rt::ctl::Steered;
use tailcut_rt::embedded::{Place, Settings, Store};
use tailcut_rt::kv::{StoreMode, finding};
use tailcut_rt::{Answers, Clock, Drive, MemoryDrive};

/// A drive in memory that stops completing requests on command.
pub(super) struct Deaf {
    drive: MemoryDrive,
    is_deaf: Arc<AtomicBool>,
    /// Number of writes that it still accepts.
    pub writes_left: u64,
    refused: Vec<Response<Bytes>>,
}

/// A drive, and the flag that makes it stop completing requests.
pub(super) fn deaf() -> (Deaf, Arc<AtomicBool>) {
    let is_deaf = Arc::new(AtomicBool::new(false));
    let drive = MemoryDrive::new((64 << 20) / 4096, 64);
    (Deaf { drive, is_deaf: Arc::clone(&is_deaf), writes_left: u64::MAX, refused: Vec::new() }, is_deaf)
}

/// A store on the drive, which waits only 20 ms for it when it closes.
pub(super) fn opened(mut drive: impl Steered + Send + 'static, is_durable: bool) -> Store {
    let (options, mut clock) = (small(Place::Memory), Clock::start());
    let (memory, most_item) = (options.memory, options.most_item);
    let make = move || {
        let settings =
            EngineSettings { memory, most_item, keep: Keep::Everything, ..EngineSettings::default() };
        let engine = finding::find_whole(&mut drive, settings, StoreMode::Create, &mut clock, |_, _| {});
        Ok((engine.expect("it answers so far"), Some(drive)))
    };
    Store::over(make, Settings { is_durable, patience: Nanos::millis(20) }, clock).expect("it is made")
}

impl Drive for Deaf {
    fn identify(&self) -> Identify {
        self.drive.identify()
    }

    fn trims_to_zeros(&self) -> bool {
        true
    }

    fn submit(&mut self, now: Time, request: Request<Bytes>) {
        if request.op == Op::Write {
            if self.writes_left == 0 {
                let Request { id, data, .. } = request;
                let (status, busy_for, spans) = (Status::WriteProtected, Nanos::ZERO, Spans::new());
                return self.refused.push(Response { id, status, data, busy_for, spans });
            }
            self.writes_left -= 1;
        }
        self.drive.submit(now, request);
    }

    fn control(&mut self, now: Time, call: Control) {
        self.drive.control(now, call);
    }

    fn poll(&mut self, now: Time, answers: &mut Answers) {
        if !self.is_deaf.load(Ordering::Relaxed) {
            answers.responses.append(&mut self.refused);
            self.drive.poll(now, answers);
        }
    }

    fn next_event(&self) -> Time {
        let is_quiet = self.is_deaf.load(Ordering::Relaxed) || self.refused.is_empty();
        if is_quiet { Time::NEVER } else { Time::ZERO }
    }
}

impl Steered for Deaf {}
