//! The control server: a thread that answers administrative requests of `tailcut status`, `tailcut ctl` and
//! Prometheus.
//!
//! It forwards a request to the services concerned and waits for their answers, one request at a time: a
//! service answers between two iterations.

use super::service::Message;
use crate::Clock;
use crate::ctl::{AdminRequest, Answer, ControlSocket, MetricsPage, count_process, describe_process};
use crate::reactor::{self, EventLoop, Mailbox, Reactor, Spin};
use std::fmt;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;
use tailcut_base::{Nanos, Time};
use tailcut_host::wire::ctl::{self, Ask};
use tailcut_host::wire::metrics::Metrics;

/// Sources of administrative requests.
#[derive(Debug, Default)]
pub struct Windows {
    /// The operator's socket for the control interface; `None` if it is not served.
    pub control: Option<ControlSocket>,
    /// The page that Prometheus scrapes; `None` if it is not served.
    pub metrics: Option<MetricsPage>,
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
    /// Name of the export that the service serves.
    pub name: String,
    /// The mailbox of the service's thread.
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

/// Answers administrative requests of the operator and of Prometheus, on a thread of its own.
#[derive(Debug)]
pub struct ControlServer {
    windows: Windows,
    services: Services,
    reactor: Reactor<()>,
}

#[derive(Debug)]
struct Services {
    asked: Vec<Box<dyn AdminTarget>>,
    clock: Clock,
}

impl ControlServer {
    /// A control server that listens at `windows`, and that `stop` stops.
    ///
    /// # Errors
    /// The error of epoll or an eventfd: the process has too many open files, or the system lacks memory.
    pub fn new(
        windows: Windows,
        asked: Vec<Box<dyn AdminTarget>>,
        stop: Arc<Mailbox<()>>,
        clock: Clock,
    ) -> io::Result<ControlServer> {
        let reactor = Reactor::new(stop, Spin::new(Nanos::ZERO), clock)?;
        windows.control.as_ref().map_or(Ok(()), |control| control.watch(&reactor))?;
        windows.metrics.as_ref().map_or(Ok(()), |metrics| metrics.watch(&reactor))?;
        Ok(ControlServer { windows, services: Services { asked, clock }, reactor })
    }

    /// Answers requests until it is asked to stop.
    pub fn run(mut self) {
        reactor::run(&mut self);
    }
}

impl EventLoop for ControlServer {
    type Message = ();

    fn reactor(&mut self) -> &mut Reactor<()> {
        &mut self.reactor
    }

    /// Serves all that has arrived, whatever event has announced it.
    fn iterate(&mut self, now: Time) {
        self.reactor.receive();
        if self.reactor.is_stopping() {
            return;
        }
        if let Some(control) = &mut self.windows.control {
            control.serve(&self.reactor, now, |line| self.services.answer(line));
        }
        if let Some(metrics) = &mut self.windows.metrics {
            let page = || self.services.metrics(None).unwrap_or_else(|why| format!("# {why}\n"));
            metrics.serve(&self.reactor, now, page);
        }
    }

    fn deadline(&mut self, _: Time) -> Time {
        let of_control = self.windows.control.as_ref().map_or(Time::NEVER, ControlSocket::resumes);
        self.windows.metrics.as_ref().map_or(Time::NEVER, MetricsPage::resumes).min(of_control)
    }
}

impl Services {
    fn answer(&mut self, line: &str) -> String {
        let answer = ctl::parse(line, self.clock.now()).map_err(String::from).and_then(
            |ctl::AdminRequest { drive, ask }| {
                let drive = drive.as_deref();
                match ask {
                    Ask::Help => Ok(ctl::help()),
                    Ask::Metrics => self.metrics(drive),
                    Ask::Status => self.status(drive),
                    ask => ask_text(self.the_one(drive)?, ask),
                }
            },
        );
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
        if drive.is_none() {
            text += &describe_process(self.uptime());
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
        if drive.is_none() {
            count_process(self.uptime(), &mut all);
        }
        Ok(all.to_string())
    }

    /// Time since the start of the server.
    fn uptime(&self) -> Nanos {
        self.clock.of_machine().now().since(Time::ZERO)
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

/// How long to wait for an answer. A service answers within an iteration; the limit is for one whose thread
/// has failed.
const PATIENCE: Duration = Duration::from_secs(10);
