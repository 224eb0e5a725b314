//! `tailcut serve kv`: items with keys, for clients of memcached.

pub mod arguments;
pub mod drop_in;
pub mod loss;
pub mod options;
pub mod page;
pub mod process;
pub mod reporter;
pub mod store;
pub mod tls;
pub mod windows;

use crate::failure::Failure;
use crate::interrupt::{Hangup, Interrupt};
use crate::output::is_stdout;
use crate::output::write_json;
use crate::serve::cannot_listen;
use crate::serve::history::History;
use crate::serve::log::Log;
use crate::serve::near_limit::NearLimit;
use crate::serve::punctuality;
use crate::terminal::{ColorMode, Waiting};
use arguments::{KvArguments, Listen};
use options::Options;
use process::PidFile;
use reporter::Reporter;
use std::io::Write;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;
use store::{CannotMake, Store};
use tailcut_base::Time;
use tailcut_host::kv::session::{Permissions, ServiceSettings};
use tailcut_host::wire::memcached::Users;
use tailcut_rt::kv::{CannotServe, Limits, ListenOptions, Served, Server, StreamTls};
use tailcut_rt::listener::BindOptions;
use tailcut_rt::secret::read_secret;
use tailcut_rt::serve::{Address, CannotListen};
use tailcut_rt::{AnyDrive, Clock, ServiceManager};
use tls::TlsOptions;
use windows::Open;

/// Does what the arguments ask and prints to `out`.
///
/// # Errors
/// Invalid options, an address or drive that cannot be used, or a store that is lost or unreadable while it
/// serves.
pub fn serve(arguments: &KvArguments, out: &mut dyn Write) -> Result<(), Failure> {
    if arguments.daemon && !process::is_in_background() {
        // What is wrong is better reported before.
        Options::read(arguments)?;
        return process::start_in_background(out);
    }
    process::leave_session(arguments)?;
    process::change_user(arguments)?;
    let interrupt = Interrupt::listen()
        .map_err(|error| Failure::Operation(format!("cannot listen for Ctrl-C: {error}")))?;
    let options = Options::read(arguments)?;
    let cannot = |error| Failure::Operation(format!("cannot listen for SIGHUP: {error}"));
    interrupt.listen_for_hangup(hangup(arguments, &options)).map_err(cannot)?;
    let service_manager = ServiceManager::from_environment()
        .map_err(|error| Failure::Operation(format!("cannot connect to NOTIFY_SOCKET: {error}")))?;
    let log = Log::of_process(arguments.log.log_format, arguments.log_level())
        .map_err(|error| Failure::Operation(error.to_string()))?;
    let reporter = Reporter::new(service_manager);
    let done = serve_with(arguments, &options, &interrupt, &reporter, out);
    log.flush();
    done
}

/// What `SIGHUP` means: that files are to be read again, as for memcached, or that the terminal of a server
/// without such files is gone.
fn hangup(arguments: &KvArguments, options: &Options) -> Hangup {
    let has_tls = arguments.tls_certificates().is_some() || *options.tls() != TlsOptions::default();
    let has_no_terminal = arguments.daemon || std::env::var_os("NOTIFY_SOCKET").is_some();
    let reloads = arguments.auth_file.is_some() || has_tls || has_no_terminal;
    if reloads { Hangup::Reload } else { Hangup::Stop }
}

fn serve_with(
    arguments: &KvArguments,
    options: &Options,
    interrupt: &Interrupt,
    reporter: &Reporter,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let clock = Clock::start();
    let (store, (listen, warning)) = (Store::read(arguments)?, listen(arguments, options)?);
    let (windows, open) = windows::open(arguments)?;
    let history = history(arguments, &open, &store)?;
    let memory_note = store.memory_note(arguments);
    options.notes.iter().chain(&open.note).chain(&memory_note).for_each(|note| reporter.note(note));
    warning.iter().for_each(|warning| reporter.warn(warning));
    if arguments.durable && arguments.devices.is_empty() {
        let lost = "the drives are emulated in memory: everything stored is lost when the server stops; \
                    --device names drives or files that keep it";
        reporter.warn(lost);
    }
    reporter.starting(&store.description());
    let making = store.clone();
    let limits = Limits {
        threads: arguments.threads,
        pinned: arguments.pin,
        connections: arguments.conn_limit as usize,
        idle: options.idle,
        permissions: Permissions {
            flush_all: !arguments.disable_flush_all,
            cas: !arguments.disable_cas,
            shutdown: arguments.enable_shutdown,
        },
        busy_poll: arguments.busy_poll,
        ..Limits::default()
    };
    let (progress, events) = (reporter.progress(), reporter.events());
    let teller = reporter.clone();
    let make = move || {
        let made = making.make(clock, progress)?;
        let left_out = made.1.iter().flat_map(AnyDrive::left_out);
        left_out.for_each(|text| teller.warn(&text));
        Ok(made)
    };
    let server = Server::start(listen, windows, events, make, settings(arguments), limits, clock)
        .map_err(complaint)?;
    reporter.ready(clock.now().since(Time::ZERO), &server.glance().sums, &page::places(&server));
    let pid_file = PidFile::write(arguments.pidfile.as_deref(), |warning| reporter.warn(warning));
    let in_background = arguments.daemon;
    let is_json_only = arguments.json.as_deref().is_some_and(is_stdout);
    if !is_json_only || in_background {
        out.write_all(page::greeting(&server, &store, &open).as_bytes())?;
        out.flush()?;
    }
    if in_background {
        process::leave_output(arguments)?;
    }
    watch(&server, interrupt, (reporter, history), (arguments, options, clock));
    reporter.stopping();
    interrupt.end_at_the_next();
    let Served { figures, latencies, drive } = server.stop();
    let late = drive.as_ref().map_or_else(Vec::new, AnyDrive::latenesses);
    punctuality::warnings(&late).iter().for_each(|warning| reporter.emulation_late(warning));
    let has_drive = !arguments.memory_only;
    let loss = figures.unwritten.as_ref().and_then(|unwritten| loss::describe(unwritten, drive.as_ref()));
    reporter.stopped(&figures, loss.as_deref(), has_drive);
    drop(pid_file);
    if !is_json_only && !in_background {
        out.write_all(page::report(&figures, &latencies, &late, ColorMode::of_stdout()).as_bytes())?;
    }
    if let Some(file) = &arguments.json {
        write_json(&page::to_json(&figures, &latencies, &late, has_drive), file, out)?;
    }
    match loss {
        None => Ok(()),
        Some(_) => Err(Failure::Logged),
    }
}

/// The history that is asked for.
fn history(arguments: &KvArguments, open: &Open, store: &Store) -> Result<Option<History>, Failure> {
    let Some(file) = &arguments.history else { return Ok(None) };
    let Some(control) = &open.control else {
        return Err(Failure::Input(
            "--history needs the control socket: say with --control where it can be".into(),
        ));
    };
    History::begin(file, control, &store.description()).map(Some)
}

fn settings(arguments: &KvArguments) -> ServiceSettings {
    ServiceSettings {
        most_item: arguments.max_item_size,
        is_durable: arguments.durable,
        client_memory: arguments.client_memory(),
        process: std::process::id(),
    }
}

/// The addresses to listen on, and a warning about the password file.
fn listen(arguments: &KvArguments, options: &Options) -> Result<(ListenOptions, Option<String>), Failure> {
    let at = |listen: &Listen, port: u16| SocketAddr::new(listen.address, listen.port.unwrap_or(port));
    let (mut streams, mut plain, mut datagrams) = (Vec::new(), Vec::new(), Vec::new());
    match &arguments.unix_socket {
        Some(path) => streams.push(Address::Unix(path.clone())),
        None => {
            // Any port is 0 for the system, and none for memcached.
            let port = u16::try_from(arguments.port).unwrap_or(0);
            let tcp = arguments.listen.iter().filter(|_| arguments.port != 0);
            for listen in tcp {
                let address = Address::Tcp(at(listen, port));
                plain.extend(listen.is_plain().then(|| address.clone()));
                streams.push(address);
            }
            let udp = arguments.listen.iter().filter(|_| arguments.udp_port != 0);
            datagrams.extend(udp.map(|listen| SocketAddr::new(listen.address, arguments.udp_port)));
        }
    }
    if streams.is_empty() && datagrams.is_empty() {
        return Err(Failure::Input(
            "nobody could connect: give a port with -p or -U, or a socket with -s".into(),
        ));
    }
    let (users, warning) = arguments.auth_file.as_deref().map(users).transpose()?.unzip();
    let tls = options.tls().load(arguments)?.map(|certificates| StreamTls::new(certificates, plain));
    let bind =
        BindOptions::default().allow_network(arguments.allow_network).permissions(Some(arguments.mask));
    let options = ListenOptions { streams, datagrams, bind, users, tls };
    Ok((options, warning.flatten()))
}

/// The users with passwords, and a warning if the file is not secret; memcached accepts the same format.
fn users(file: &Path) -> Result<(Users, Option<String>), Failure> {
    let wrong = |why: String| Failure::Input(format!("{}: {why}", file.display()));
    let secret = read_secret(file).map_err(|error| wrong(error.to_string()))?;
    let users = Users::parse(&secret.content).map_err(|error| wrong(error.to_string()))?;
    Ok((users, secret.exposure.map(|exposure| format!("-Y {}: {exposure}", file.display()))))
}

/// Reads the certificates and the users with passwords again. If a file is not valid any more, what was in
/// force stays.
fn reload(server: &Server<AnyDrive>, (arguments, options): (&KvArguments, &Options), reporter: &Reporter) {
    match options.tls().load(arguments) {
        Ok(None) => {}
        Ok(Some(certificates)) => {
            server.set_certificates(certificates);
            reporter.note("certificates were read again");
        }
        Err(Failure::Input(why)) => reporter.warn(&format!("{why}; the certificates of before stay in use")),
        Err(_) => {}
    }
    let Some(file) = &arguments.auth_file else { return };
    match users(file) {
        Ok((users, warning)) => {
            server.set_users(&users);
            reporter.note(&format!("-Y {}: read again, {users:?}", file.display()));
            warning.iter().for_each(|warning| reporter.warn(warning));
        }
        Err(Failure::Input(why)) => {
            reporter.warn(&format!("-Y {why}; the users of before are still let in, and no others"));
        }
        Err(_) => {}
    }
}

/// Errors that the user can correct are input errors.
fn complaint(error: CannotServe<CannotMake>) -> Failure {
    match error {
        CannotServe::Listen(error @ CannotListen::NoFolder { .. }) => cannot_listen(error, "-s"),
        CannotServe::Listen(error) if !error.is_of_address() => Failure::Operation(error.to_string()),
        _ => Failure::Input(error.to_string()),
    }
}

/// Shows a status line until the user stops the server.
fn watch(
    server: &Server<AnyDrive>,
    interrupt: &Interrupt,
    (reporter, mut history): (&Reporter, Option<History>),
    (arguments, options, clock): (&KvArguments, &Options, Clock),
) {
    let waiting = Waiting::new("waiting for clients", arguments.quiet || arguments.daemon);
    let mut near_limit = NearLimit::new(arguments.conn_limit.into());
    let mut before = server.glance();
    let every = reporter.watchdog().map_or(GLANCE_EVERY, |limit| GLANCE_EVERY.min(limit / 3));
    History::go_on_or_end(&mut history);
    while !interrupt.wait(every) && !server.has_ended() && !server.is_asked_to_stop() {
        History::go_on_or_end(&mut history);
        if interrupt.takes_reload() {
            reload(server, (arguments, options), reporter);
        }
        let now = server.glance();
        if let Some(warning) = near_limit.note(now.connections, "-c") {
            reporter.near_limit(&warning);
        }
        let line = page::line(&now, &before, every);
        // Idle workers are woken for a heartbeat only if there is a watchdog.
        reporter.going_on(&line, reporter.watchdog().is_some() && server.beat());
        if before.sums.recovered.is_some() && now.sums.recovered.is_none() {
            reporter.recovered(clock.now().since(Time::ZERO), now.sums.items);
        }
        waiting.show(line);
        before = now;
    }
    // A server that has ended by itself answers no more.
    History::end(history.filter(|_| !server.has_ended()));
}

/// How often the status line changes.
const GLANCE_EVERY: Duration = Duration::from_secs(1);
