//! The control server: a thread that answers administrative requests of `tailcut status`, `tailcut ctl` and
//! Prometheus.
//!
//! It forwards a request to the services concerned and waits for their answers, one request at a time: a
//! service answers between two iterations.

use super::mailbox::Mailbox;
use super::service::Message;
use crate::Clock;
use crate::ctl::{AdminRequest, Answer, ControlSocket, MetricsPage};
use rustix::event::Timespec;
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::io::Errno;
use std::fmt;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;
use tailcut_host::wire::ctl::{self, Ask};
use tailcut_host::wire::metrics::Metrics;

/// Sources of administrative requests.
#[derive(Debug, Default)]
pub struct Windows {
    /// The operator's socket.
    pub control: Option<ControlSocket>,
    /// The page for Prometheus.
    pub metrics: Option<MetricsPage>,
}

impl Windows {
    /// How long to sleep at most: while the system is out of descriptors, pending connections are retried at
    /// intervals. `None` for no limit.
    fn patience(&self) -> Option<Timespec> {
        let is_short = self.control.as_ref().is_some_and(ControlSocket::is_short)
            || self.metrics.as_ref().is_some_and(MetricsPage::is_short);
        is_short.then_some(PAUSE)
    }
}

/// A recipient of administrative requests.
pub trait AdminTarget: Send + fmt::Debug {
    /// Its kind, for users and as a label of its counters, such as `export`.
    fn what(&self) -> &'static str;

    /// Its name, unique among the recipients.
    fn name(&self) -> &str;

    /// Answers an administrative request.
    ///
    /// # Errors
    /// A message, if it does not answer.
    fn ask(&mut self, ask: Ask) -> Result<Answer, String>;
}

/// A service, which answers between two iterations.
#[derive(Debug)]
pub struct Exported {
    /// Its name.
    pub name: String,
    /// Its mailbox.
    pub mailbox: Arc<Mailbox<Message>>,
}

impl AdminTarget for Exported {
    fn what(&self) -> &'static str {
        "export"
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn ask(&mut self, ask: Ask) -> Result<Answer, String> {
        wait_for(&self.name, |answer| self.mailbox.post(Message::AdminRequest(AdminRequest { ask, answer })))
    }
}

/// Answers administrative requests.
#[derive(Debug)]
pub struct ControlServer {
    windows: Windows,
    services: Services,
    epoll: OwnedFd,
    stop: Arc<Mailbox<()>>,
}

#[derive(Debug)]
struct Services {
    asked: Vec<Box<dyn AdminTarget>>,
    clock: Clock,
}

impl ControlServer {
    /// A control server that listens at `windows`.
    pub fn new(
        windows: Windows,
        asked: Vec<Box<dyn AdminTarget>>,
        stop: Arc<Mailbox<()>>,
        clock: Clock,
    ) -> io::Result<ControlServer> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        epoll::add(&epoll, &*stop, EventData::new_u64(STOP), EventFlags::IN)?;
        if let Some(control) = &windows.control {
            epoll::add(&epoll, control.wakes(), EventData::new_u64(ADMIN_REQUEST), EventFlags::IN)?;
        }
        if let Some(metrics) = &windows.metrics {
            epoll::add(&epoll, metrics.wakes(), EventData::new_u64(ADMIN_REQUEST), EventFlags::IN)?;
        }
        Ok(ControlServer { windows, services: Services { asked, clock }, epoll, stop })
    }

    /// Answers requests until its mailbox receives a message.
    pub fn run(mut self) {
        let mut events = [MaybeUninit::uninit(); 8];
        loop {
            match epoll::wait(&self.epoll, &mut events, self.windows.patience().as_ref()) {
                Ok((events, _)) if events.iter().any(|event| event.data.u64() == STOP) => break,
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => panic!("waiting for events failed: {error}"),
            }
            if let Some(control) = &mut self.windows.control {
                control.serve(|line| self.services.answer(line));
            }
            if let Some(metrics) = &mut self.windows.metrics {
                metrics.serve(|| self.services.metrics(None).unwrap_or_else(|why| format!("# {why}\n")));
            }
        }
        self.stop.empty();
    }
}

impl Services {
    fn answer(&mut self, line: &str) -> String {
        let answer = ctl::parse(line, self.clock.now()).and_then(|ctl::AdminRequest { drive, ask }| {
            let drive = drive.as_deref();
            match ask {
                Ask::Help => Ok(ctl::help()),
                Ask::Metrics => self.metrics(drive),
                Ask::Status => self.status(drive),
                ask => ask_text(self.the_one(drive)?, ask),
            }
        });
        answer.unwrap_or_else(|why| ctl::refusal(&why))
    }

    /// The drive with this name, or all drives without a name.
    fn meant(&mut self, drive: Option<&str>) -> Result<&mut [Box<dyn AdminTarget>], String> {
        let Some(drive) = drive else { return Ok(&mut self.asked) };
        match self.asked.iter().position(|asked| asked.name() == drive) {
            Some(place) => Ok(&mut self.asked[place..=place]),
            None => Err(format!("there is no drive '{drive}' here; there is {}", self.names())),
        }
    }

    fn the_one(&mut self, drive: Option<&str>) -> Result<&mut dyn AdminTarget, String> {
        let (names, first) = (self.names(), self.asked[0].name().to_string());
        match self.meant(drive)? {
            [asked] => Ok(&mut **asked),
            _ => Err(format!("say which drive, as in '@{first} ...'; there is {names}")),
        }
    }

    fn names(&self) -> String {
        self.asked.iter().map(|asked| asked.name()).collect::<Vec<_>>().join(", ")
    }

    fn status(&mut self, drive: Option<&str>) -> Result<String, String> {
        let mut text = String::new();
        for asked in self.meant(drive)? {
            let status = ask_text(&mut **asked, Ask::Status)?;
            text += &format!("{} {}\n{status}", asked.what(), asked.name());
        }
        Ok(text)
    }

    fn metrics(&mut self, drive: Option<&str>) -> Result<String, String> {
        let mut all = Metrics::default();
        for asked in self.meant(drive)? {
            if let Answer::Metrics(metrics) = asked.ask(Ask::Metrics)? {
                all.take(metrics, asked.what(), asked.name());
            }
        }
        Ok(all.to_string())
    }
}

fn ask_text(asked: &mut dyn AdminTarget, ask: Ask) -> Result<String, String> {
    match asked.ask(ask)? {
        Answer::Text(text) => Ok(text),
        Answer::Metrics(metrics) => Ok(metrics.to_string()),
    }
}

/// Sends a request to a thread by `post` and waits for the answer.
///
/// # Errors
/// If the thread does not answer in time.
pub fn wait_for<T>(name: &str, post: impl FnOnce(Sender<T>)) -> Result<T, String> {
    let (answer, hears) = channel();
    post(answer);
    hears.recv_timeout(PATIENCE).map_err(|_| format!("{name} does not answer"))
}

/// Interval at which pending connections are retried while the system is out of descriptors.
const PAUSE: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
const STOP: u64 = 0;
const ADMIN_REQUEST: u64 = 1;
/// How long to wait for an answer. A service answers within an iteration; the limit is for one whose thread
/// has failed.
const PATIENCE: Duration = Duration::from_secs(10);
