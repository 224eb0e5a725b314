//! `tailcut serve`: drives and stores for unmodified programs.

pub mod arguments;
pub mod arrangement;
mod captive;
pub mod condition;
pub mod drive;
pub mod expectation;
pub mod history;
pub mod history_page;
pub mod incidents;
pub mod kv;
pub mod log;
pub mod near_limit;
pub mod page;
pub mod punctuality;

use crate::failure::Failure;
use crate::interrupt::{Hangup, Interrupt};
use crate::output::is_stdout;
use crate::output::write_json;
use crate::terminal::{ColorMode, TextRole, Waiting};
use arguments::{BlockArguments, ServeCommand, TlsMode};
use captive::Captive;
use condition::ConditionLog;
use drive::Served;
use history::History;
use log::Log;
use near_limit::NearLimit;
use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;
use tailcut_base::Status;
use tailcut_rt::any::BuildError;
use tailcut_rt::ctl::{ControlSocket, MetricsPage};
use tailcut_rt::kv::finding;
use tailcut_rt::probe::OpenPurpose;
use tailcut_rt::serve::{
    Access, Address, CannotAttach, CannotListen, CannotServe, Certificates, Encryption, Figures, Limits,
    Name, Server, Windows,
};
use tailcut_rt::{AnyDrive, Clock, ServiceManager};

/// Does what the arguments ask and prints to `out`.
///
/// # Errors
/// Invalid options, an address or drive that cannot be used, or a drive that fails while it is served.
pub fn serve(command: &ServeCommand, out: &mut dyn Write) -> Result<(), Failure> {
    match command {
        ServeCommand::Block(arguments) => block(arguments, out),
        ServeCommand::Kv(arguments) => kv::serve(arguments, out),
    }
}

fn block(arguments: &BlockArguments, out: &mut dyn Write) -> Result<(), Failure> {
    let log = Log::of_process(arguments.log.log_format, arguments.log.log_level)
        .map_err(|error| Failure::Operation(error.to_string()))?;
    let done = log_and_serve(arguments, out);
    log.flush();
    done
}

fn log_and_serve(arguments: &BlockArguments, out: &mut dyn Write) -> Result<(), Failure> {
    let interrupt = Interrupt::listen()
        .map_err(|error| Failure::Operation(format!("cannot listen for Ctrl-C: {error}")))?;
    let service_manager = ServiceManager::from_environment()
        .map_err(|error| Failure::Operation(format!("cannot connect to NOTIFY_SOCKET: {error}")))?;
    let has_files = arguments.tls_certificates.is_some() || std::env::var_os("NOTIFY_SOCKET").is_some();
    let hangup = if has_files { Hangup::Reload } else { Hangup::Stop };
    let cannot = |error| Failure::Operation(format!("cannot listen for SIGHUP: {error}"));
    interrupt.listen_for_hangup(hangup).map_err(cannot)?;
    let time_scale = arguments.time_scale.unwrap_or(1);
    let clock = Clock::start().slowed(time_scale);
    let (is_read_only, is_forced) = (arguments.read_only, arguments.force);
    let (mut what, mut drives) = (Vec::new(), Vec::new());
    let mut condition = None;
    for (place, (name, served)) in Served::read(arguments)?.into_iter().enumerate() {
        served.check_devices(OpenPurpose::Serve, arguments.force)?;
        let (description, ublk, placement) = (served.to_string(), arguments.ublk(place), served.placement());
        if let Some(warning) = served.idle_handles().filter(|_| place == 0) {
            tracing::warn!(event = "idle_handles", "{warning}");
        }
        what.push((name.clone(), description.clone()));
        if served.is_array() {
            condition = Some(ConditionLog::new(arguments.control()));
        }
        drives.push((Name { name, description, is_read_only, ublk, placement }, move || {
            made(&served, is_read_only || is_forced, clock)
        }));
    }
    let (place, access, windows) = (address(arguments), access(arguments)?, windows(arguments)?);
    let metrics = windows.metrics.as_ref().map(|page| page.address().clone());
    let history = arguments.history.as_deref().map(|file| {
        let all: Vec<String> = what.iter().map(|(name, what)| format!("{name}: {what}")).collect();
        History::begin(file, &arguments.control(), &all.join("; "))
    });
    let history = history.transpose()?;
    let option = if arguments.tcp.is_some() { "--tcp" } else { "--unix" };
    let server = Server::start(&place, access, drives, windows, limits(arguments), clock)
        .map_err(|error| complaint(error, option))?;
    let is_json_only = arguments.json.as_deref().is_some_and(is_stdout);
    if !is_json_only {
        out.write_all(page::greeting(server.address(), &what, metrics.as_ref(), arguments).as_bytes())?;
        out.flush()?;
    }
    tracing::info!(event = "ready", "ready at {}", server.address());
    service_manager.is_ready(&format!("serving at {}", server.address()));
    let captive = arguments.run.as_deref().map(|command| {
        let export = &what[0].0;
        Captive::start(command, server.address(), export, &interrupt)
    });
    let captive = captive.transpose();
    if captive.is_ok() {
        watch(&server, &interrupt, (history, condition), (arguments, &service_manager));
    }
    let run = captive.and_then(|captive| captive.map_or(Ok(()), Captive::end));
    service_manager.is_stopping();
    tracing::info!(event = "stopping", "stopping: finishing what is under way");
    interrupt.end_at_the_next();
    let served = server.stop();
    if !is_json_only {
        out.write_all(page::report(&served, ColorMode::of_stdout()).as_bytes())?;
    }
    if let Some(file) = &arguments.json {
        write_json(&page::to_json(&served), file, out)?;
    }
    let broken = arguments.expect.as_ref().map_or(Vec::new(), |expected| expected.broken(&served));
    if !served.failed.is_empty() {
        let exports = served.failed.join(", ");
        return Err(Failure::Operation(format!("exports that an internal error has ended: {exports}")));
    }
    let unflushed = |(name, figures, _): &(String, Figures, AnyDrive)| {
        let why = match figures.failed_flush()? {
            Status::NoSpace => "its drive is full",
            _ => "its drive has failed",
        };
        Some(format!("{name} ({why})"))
    };
    let unflushed: Vec<String> = served.drives.iter().filter_map(unflushed).collect();
    if !unflushed.is_empty() {
        return Err(Failure::Operation(format!(
            "the last flush failed, and what clients have not flushed before may be lost: {}",
            unflushed.join(", ")
        )));
    }
    run?;
    match broken.is_empty() {
        true => Ok(()),
        false => Err(Failure::Operation(format!("--expect does not hold: {}", broken.join("; ")))),
    }
}

/// Makes or opens what is served, and warns of drives that are left out. An array with a key-value store is
/// refused unless it `may_hold_store`.
fn made(served: &Served, may_hold_store: bool, mut clock: Clock) -> Result<AnyDrive, BuildError> {
    let mut drive = served.make(clock)?;
    if served.is_array() && !may_hold_store && finding::holds_store(&mut drive, &mut clock) {
        let why = "the array holds a tailcut key-value store: serve it with 'tailcut serve kv', or export it \
                   with --read-only, or with --force if that may be overwritten";
        return Err(BuildError::Plan(why.into()));
    }
    let tone = ColorMode::of_stderr();
    for text in drive.left_out() {
        tracing::warn!(event = "left_out", line = tone.paint(TextRole::Warning, &text), "{text}");
    }
    Ok(drive)
}

fn address(arguments: &BlockArguments) -> Address {
    match arguments.tcp {
        Some(address) => Address::Tcp(address),
        None => Address::Unix(arguments.unix.clone()),
    }
}

/// Where it can be asked how it is.
fn windows(arguments: &BlockArguments) -> Result<Windows, Failure> {
    let option = match (&arguments.control, arguments.tcp) {
        (None, None) => "--unix",
        _ => "--control",
    };
    let control = ControlSocket::bind(&arguments.control()).map_err(|why| cannot_listen(why, option))?;
    let page = |address| {
        MetricsPage::bind(address, arguments.allow_network).map_err(|why| cannot_listen(why, "--metrics"))
    };
    let metrics = arguments.metrics.map(page).transpose()?;
    Ok(Windows { control: Some(control), metrics })
}

/// Access control of the server: network, TLS and permissions.
fn access(arguments: &BlockArguments) -> Result<Access, Failure> {
    let load = |folder: &PathBuf| Certificates::load(folder, arguments.tls_verify_peer);
    let certificates = arguments.tls_certificates.as_ref().map(load).transpose();
    let certificates = certificates.map_err(|error| Failure::Input(error.to_string()))?;
    let is_required = arguments.tls == TlsMode::Require;
    let encryption = certificates.map(|certificates| Encryption { certificates, is_required });
    Ok(Access { allow_network: arguments.allow_network, encryption, permissions: None })
}

fn limits(arguments: &BlockArguments) -> Limits {
    Limits {
        connections: arguments.connections as usize,
        memory: arguments.memory,
        busy_poll: arguments.busy_poll,
        ..Limits::default()
    }
}

/// What the user can mend is bad input.
fn complaint(error: CannotServe<BuildError>, option: &str) -> Failure {
    match error {
        CannotServe::Listen(error) => cannot_listen(error, option),
        CannotServe::Drive(_) => Failure::Input(error.to_string()),
        CannotServe::Attach(CannotAttach::System { .. }) => Failure::Operation(error.to_string()),
        CannotServe::Attach(_) => Failure::Input(format!("--ublk: {error}")),
    }
}

/// As [`complaint`], for the address of an option.
pub(crate) fn cannot_listen(error: CannotListen, option: &str) -> Failure {
    match error.is_of_address() {
        true => Failure::Input(format!("{option}: {error}")),
        false => Failure::Operation(error.to_string()),
    }
}

/// Shows a status line until the user stops the server.
fn watch(
    server: &Server<AnyDrive>,
    interrupt: &Interrupt,
    (mut history, mut condition): (Option<History>, Option<ConditionLog>),
    (arguments, service_manager): (&BlockArguments, &ServiceManager),
) {
    let waiting = Waiting::new("waiting for clients", arguments.quiet);
    let mut near_limit = NearLimit::new(arguments.connections.into());
    let mut before = page::ServerState::of(server);
    condition.iter_mut().for_each(ConditionLog::report);
    History::go_on_or_end(&mut history);
    let (mut exhausted, mut is_exhausted) = (0, false);
    let watchdog = service_manager.watchdog();
    let every = watchdog.map_or(GLANCE_EVERY, |limit| GLANCE_EVERY.min(limit / 3));
    while !interrupt.wait(every) {
        condition.iter_mut().for_each(ConditionLog::report);
        History::go_on_or_end(&mut history);
        let was_exhausted = is_exhausted;
        is_exhausted = server.exhausted() > exhausted;
        exhausted = server.exhausted();
        // Once, until it is over.
        if is_exhausted && !was_exhausted {
            tracing::warn!(event = "out_of_descriptors", "{OUT_OF_DESCRIPTORS}");
        }
        if interrupt.takes_reload() {
            reload(server, arguments);
        }
        let now = page::ServerState::of(server);
        if let Some(warning) = near_limit.note(now.connections(), "--connections") {
            tracing::warn!(event = "near_limit", "{warning}");
        }
        let line = now.line(&before, every / arguments.time_scale.unwrap_or(1));
        service_manager.status(&line);
        // Idle threads are woken for a heartbeat only if there is a watchdog.
        if watchdog.is_some() && server.beat() {
            service_manager.is_alive();
        }
        waiting.show(line);
        before = now;
    }
    History::end(history);
}

/// Reads the certificates again. If they are not valid any more, those of before stay.
fn reload(server: &Server<AnyDrive>, arguments: &BlockArguments) {
    let Some(folder) = &arguments.tls_certificates else { return };
    match Certificates::load(folder, arguments.tls_verify_peer) {
        Ok(certificates) => {
            server.set_certificates(certificates);
            tracing::info!(event = "reloaded", "{}: certificates were read again", folder.display());
        }
        Err(why) => {
            tracing::warn!(event = "not_reloaded", "{why}; the certificates of before stay in use");
        }
    }
}

const OUT_OF_DESCRIPTORS: &str = "no descriptors or memory for further clients, who wait until there are: \
     raise the limit (LimitNOFILE, ulimit -n), or lower --connections";
/// How often the status line changes.
const GLANCE_EVERY: Duration = Duration::from_secs(1);
