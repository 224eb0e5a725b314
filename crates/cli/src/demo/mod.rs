//! `tailcut demo`: an emulated drive behind the block server, a load on it, and a page that shows its latency
//! while it runs.

mod figures;
mod live_page;
mod load;

use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::run::Scenario;
use crate::serve::drive::{self, Protocol, Served, consent};
use crate::serve::{cannot_listen, page};
use crate::terminal::{ColorMode, TextRole, Waiting};
use clap::Args;
use figures::{Figures, resolved};
use live_page::LivePage;
use load::Load;
use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};
use tailcut_base::quantity::{parse_time, show_count, show_time};
use tailcut_base::{BadValue, Nanos, Op};
use tailcut_rt::any::BuildError;
use tailcut_rt::ctl::ControlSocket;
use tailcut_rt::serve::{Access, Address, CannotServe, Limits, Name, Server, Windows};
use tailcut_rt::{AnyDrive, Client, Clock};
use tailcut_sim::report::Bare;

/// `tailcut demo`.
#[derive(Debug, Args)]
pub struct DemoArguments {
    /// Override a key of the drive, such as device.schedule.chip=reads-first
    #[arg(long = "set", value_name = "KEY=VALUE")]
    sets: Vec<String>,
    /// End by itself after this time, such as 30s; default: at Ctrl-C
    #[arg(long, value_name = "TIME", value_parser = time)]
    time: Option<Nanos>,
    /// Requests in flight of the load
    #[arg(
        long,
        value_name = "N",
        default_value_t = 4,
        value_parser = clap::value_parser!(u32).range(1..=256)
    )]
    depth: u32,
    /// Unix socket of the server
    #[arg(long, value_name = "PATH", default_value = "tailcut-demo.sock")]
    unix: PathBuf,
    /// Port of the live page on 127.0.0.1; 0 for any that is free
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    port: u16,
    /// Do not open the live page in a browser
    #[arg(long)]
    no_browser: bool,
    /// Hide the status line
    #[arg(long, short)]
    quiet: bool,
}

/// Serves, loads and shows a drive until Ctrl-C or for the time that the arguments name, and prints what was
/// measured.
///
/// # Errors
/// Invalid settings, a socket or port that cannot be used, or a server that fails.
pub fn demo(arguments: &DemoArguments, out: &mut dyn Write) -> Result<(), Failure> {
    let interrupt = Interrupt::listen()
        .map_err(|error| Failure::Operation(format!("cannot listen for Ctrl-C: {error}")))?;
    let (served, idle_read_ns) = drive_of(arguments)?;
    let live_page = LivePage::bind(arguments.port).map_err(|error| {
        Failure::Input(format!("--port {}: cannot listen on 127.0.0.1: {error}", arguments.port))
    })?;
    let server = {
        let _waiting = Waiting::new("preparing the drive", arguments.quiet);
        start(&served, arguments)?
    };
    let running = Running::begin(&server, idle_read_ns, arguments.depth)?;
    greet(&server, &live_page, arguments, out)?;
    if !arguments.no_browser && io::stdout().is_terminal() {
        open(&live_page.url());
    }
    watch(&running, &live_page, &interrupt, arguments);
    interrupt.end_at_the_next();
    let (measured, figures) = running.end();
    let served = server.stop();
    measured.map_err(|error| Failure::Operation(format!("the load has ended: {error}")))?;
    let tone = ColorMode::of_stdout();
    out.write_all(page::report(&served, tone).as_bytes())?;
    out.write_all(last_words(&figures, tone).as_bytes())?;
    Ok(out.flush()?)
}

/// The drive to emulate, and the time in ns of a read of 4 KiB on it while it is idle.
fn drive_of(arguments: &DemoArguments) -> Result<(Served, f64), Failure> {
    let mut scenario = Box::<Scenario>::default();
    let preset = [String::from(DRIVE)];
    let settings = [&preset, arguments.sets.as_slice()].concat();
    let (written, _) = drive::load(&mut scenario, None, &settings, None, (Protocol::Block, true))?;
    let idle_read_ns = Bare::new(&scenario.device).latency_ns(Op::Read, 4096.0);
    Ok((Served::alone(scenario, written, Vec::new(), false, consent(false)), idle_read_ns))
}

fn start(served: &Served, arguments: &DemoArguments) -> Result<Server<AnyDrive>, Failure> {
    let clock = Clock::start();
    let control = ControlSocket::bind(&arguments.unix.with_extension("ctl"))
        .map_err(|why| cannot_listen(why, "--unix"))?;
    let windows = Windows { control: Some(control), metrics: None };
    let name = Name { description: served.to_string(), placement: served.placement(), ..Name::new(EXPORT) };
    let make = {
        let served = served.clone();
        move || served.make(clock)
    };
    let address = Address::Unix(arguments.unix.clone());
    Server::start(&address, Access::default(), vec![(name, make)], windows, Limits::default(), clock).map_err(
        |error: CannotServe<BuildError>| match error {
            CannotServe::Listen(error) => cannot_listen(error, "--unix"),
            error => Failure::Input(error.to_string()),
        },
    )
}

/// The load on its thread.
struct Running {
    figures: Arc<Mutex<Figures>>,
    stop: Arc<AtomicBool>,
    thread: JoinHandle<io::Result<()>>,
}

impl Running {
    fn begin(server: &Server<AnyDrive>, idle_read_ns: f64, depth: u32) -> Result<Running, Failure> {
        let failed = |error: io::Error| Failure::Operation(format!("the load cannot begin: {error}"));
        let client = Client::connect(server.address(), EXPORT).map_err(failed)?;
        let load = Load::new(client, depth).map_err(failed)?;
        let (figures, stop) =
            (Arc::new(Mutex::new(Figures::new(idle_read_ns))), Arc::<AtomicBool>::default());
        let run = {
            let (figures, stop) = (Arc::clone(&figures), Arc::clone(&stop));
            move || load.run(&stop, &figures)
        };
        let thread = Builder::new().name("load".into()).spawn(run).map_err(failed)?;
        Ok(Running { figures, stop, thread })
    }

    fn figures(&self) -> MutexGuard<'_, Figures> {
        self.figures.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn has_ended(&self) -> bool {
        self.thread.is_finished()
    }

    /// Ends the load; how it ended, and what it has measured.
    fn end(self) -> (io::Result<()>, Figures) {
        self.stop.store(true, Ordering::Relaxed);
        let ended = match self.thread.join() {
            Ok(ended) => ended,
            Err(panic) => std::panic::resume_unwind(panic),
        };
        let figures = self.figures.lock().unwrap_or_else(PoisonError::into_inner).clone();
        (ended, figures)
    }
}

/// Answers the page until the demo is to end.
fn watch(running: &Running, live_page: &LivePage, interrupt: &Interrupt, arguments: &DemoArguments) {
    let waiting = Waiting::new("starting the load", arguments.quiet);
    let begin = Instant::now();
    let is_over = || arguments.time.is_some_and(|time| begin.elapsed() >= Duration::from_nanos(time.0));
    while !is_over() && !running.has_ended() && !interrupt.wait(GLANCE_EVERY) {
        live_page.answer(|| running.figures().to_json().to_string());
        let rate = running.figures().requests_per_s();
        waiting.show(format!("{} requests/s, page at {}", show_count(rate), live_page.url()));
    }
}

fn greet(
    server: &Server<AnyDrive>,
    live_page: &LivePage,
    arguments: &DemoArguments,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let ends = match arguments.time {
        Some(time) => format!("ends after {time}, or at Ctrl-C"),
        None => String::from("Ctrl-C ends it"),
    };
    write!(
        out,
        "serving an emulated SSD at {}\nunder {} random requests of 4 KiB at a time, nine tenths of them reads\n\
         live page: {}\n{ends}\n",
        server.address().uri(EXPORT),
        arguments.depth,
        live_page.url()
    )?;
    Ok(out.flush()?)
}

/// What was measured in a sentence, and what to try next.
fn last_words(figures: &Figures, tone: ColorMode) -> String {
    let reads = figures.reads();
    let mut text = String::new();
    if let Some(slow) = resolved(reads, 99.9).filter(|_| figures.idle_read_ns() > 0.0) {
        text += &format!(
            "\nSeen by the client, one read in a thousand took {} or longer, {:.1} times the {} of the idle \
             drive.\n",
            show_time(slow.0 as f64),
            slow.0 as f64 / figures.idle_read_ns(),
            show_time(figures.idle_read_ns())
        );
    }
    let next = [
        ("what such reads wait for", format!("tailcut run --set {DRIVE} --set workload.rate=4000")),
        ("reads first", String::from("tailcut demo --set device.schedule.chip=reads-first")),
        ("a server to stay", String::from("tailcut serve block")),
    ];
    let lines = next.map(|(purpose, command)| format!("{purpose:<30}{command}\n"));
    format!("{text}\n{}\n{}", tone.paint(TextRole::Heading, "try next"), lines.concat())
}

/// Opens the page in the browser of the desktop, if there is one. Its address is printed anyway, so that a
/// failure needs no message.
fn open(url: &str) {
    let opener = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let mut command = Command::new(opener);
    command.arg(url).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    if let Ok(mut child) = command.spawn() {
        // Openers end at once or with the browser, and a process that has ended is waited for.
        let _ = Builder::new().name("browser".into()).spawn(move || child.wait());
    }
}

fn time(text: &str) -> Result<Nanos, BadValue> {
    match parse_time(text)? {
        Nanos::ZERO => Err(BadValue::new("write a time above zero, such as 30s")),
        time => Ok(time),
    }
}

/// The drive of the demo: 1 GiB, which is prepared and emulated within a second.
const DRIVE: &str = "device.preset=g-1g";
/// The export that the load uses.
const EXPORT: &str = "disk";
/// How often pending connections to the page are looked for.
const GLANCE_EVERY: Duration = Duration::from_millis(50);
