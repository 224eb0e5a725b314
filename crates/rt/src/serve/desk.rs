//! The thread that answers questions about a server: those of its operator, and those of Prometheus.
//!
//! It passes a question on to the services that it concerns and waits for their answers, one question at a time: a
//! service answers between two of its turns.

use super::mailbox::Mailbox;
use super::service::{Letter, Question};
use crate::Clock;
use crate::ctl::{ControlSocket, MetricsPage};
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::io::Errno;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::Duration;
use tailcut_host::wire::ctl::{self, Ask};
use tailcut_host::wire::metrics::Metrics;

/// Where questions come from.
#[derive(Debug, Default)]
pub struct Windows {
    /// The operator's.
    pub control: Option<ControlSocket>,
    /// Those of Prometheus.
    pub metrics: Option<MetricsPage>,
}

/// A service that is asked.
#[derive(Debug)]
pub struct Asked {
    /// Its name.
    pub name: String,
    /// Its mailbox.
    pub mailbox: Arc<Mailbox<Letter>>,
}

/// The desk.
#[derive(Debug)]
pub struct Desk {
    windows: Windows,
    services: Services,
    epoll: OwnedFd,
    stop: Arc<Mailbox<()>>,
}

#[derive(Debug)]
struct Services {
    asked: Vec<Asked>,
    clock: Clock,
}

/// What comes of a question to one service.
#[derive(Clone, Debug)]
pub enum Answer {
    /// In words.
    Text(String),
    /// In counters.
    Metrics(Metrics),
}

impl Desk {
    /// A desk that looks after `windows`.
    pub fn new(
        windows: Windows,
        asked: Vec<Asked>,
        stop: Arc<Mailbox<()>>,
        clock: Clock,
    ) -> io::Result<Desk> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        epoll::add(&epoll, &*stop, EventData::new_u64(STOP), EventFlags::IN)?;
        if let Some(control) = &windows.control {
            epoll::add(&epoll, control.wakes(), EventData::new_u64(QUESTION), EventFlags::IN)?;
        }
        if let Some(metrics) = &windows.metrics {
            epoll::add(&epoll, metrics.wakes(), EventData::new_u64(QUESTION), EventFlags::IN)?;
        }
        Ok(Desk { windows, services: Services { asked, clock }, epoll, stop })
    }

    /// Answers until somebody writes to its mailbox.
    pub fn run(mut self) {
        let mut events = [MaybeUninit::uninit(); 8];
        loop {
            match epoll::wait(&self.epoll, &mut events, None) {
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
    fn answer(&self, line: &str) -> String {
        let answer = ctl::parse(line, self.clock.now()).and_then(|ctl::Question { drive, ask }| {
            let drive = drive.as_deref();
            match ask {
                Ask::Help => Ok(ctl::help()),
                Ask::Metrics => self.metrics(drive),
                Ask::Status => self.status(drive),
                ask => self.ask_text(self.the_one(drive)?, ask),
            }
        });
        answer.unwrap_or_else(|why| ctl::refusal(&why))
    }

    /// The drives that are meant: one, or all.
    fn meant(&self, drive: Option<&str>) -> Result<Vec<&Asked>, String> {
        let Some(drive) = drive else { return Ok(self.asked.iter().collect()) };
        match self.asked.iter().find(|asked| asked.name == drive) {
            Some(asked) => Ok(vec![asked]),
            None => Err(format!("there is no drive '{drive}' here; there is {}", self.names())),
        }
    }

    fn the_one(&self, drive: Option<&str>) -> Result<&Asked, String> {
        match self.meant(drive)?[..] {
            [asked] => Ok(asked),
            _ => Err(format!(
                "say which drive, as in '@{} ...'; there is {}",
                self.asked[0].name,
                self.names()
            )),
        }
    }

    fn names(&self) -> String {
        self.asked.iter().map(|asked| asked.name.as_str()).collect::<Vec<_>>().join(", ")
    }

    fn status(&self, drive: Option<&str>) -> Result<String, String> {
        let mut text = String::new();
        for asked in self.meant(drive)? {
            text += &format!("export {}\n{}", asked.name, self.ask_text(asked, Ask::Status)?);
        }
        Ok(text)
    }

    fn metrics(&self, drive: Option<&str>) -> Result<String, String> {
        let mut all = Metrics::default();
        for asked in self.meant(drive)? {
            if let Answer::Metrics(metrics) = ask(asked, Ask::Metrics)? {
                all.take(metrics, "export", &asked.name);
            }
        }
        Ok(all.to_string())
    }

    fn ask_text(&self, asked: &Asked, question: Ask) -> Result<String, String> {
        match ask(asked, question)? {
            Answer::Text(text) => Ok(text),
            Answer::Metrics(metrics) => Ok(metrics.to_string()),
        }
    }
}

fn ask(asked: &Asked, ask: Ask) -> Result<Answer, String> {
    let (answer, hears) = channel();
    asked.mailbox.post(Letter::Question(Question { ask, answer }));
    hears.recv_timeout(PATIENCE).map_err(|_| format!("{} does not answer", asked.name))
}

const STOP: u64 = 0;
const QUESTION: u64 = 1;
/// How long an answer is waited for. A service answers within one of its turns; this is for one whose thread has failed.
const PATIENCE: Duration = Duration::from_secs(10);
