//! A server with its sockets and worker threads.

use super::admin::Store;
use super::connections::Connections;
use super::events::Events;
use super::figures::{CurrentCounters, Figures};
use super::shards::{Common, Message};
use super::worker::{Datagrams, Entries, Worker, WorkerResult};
use crate::Clock;
use crate::ctl::Steered;
use crate::listener::{Address, BindOptions, CannotListen, Listener};
use crate::reactor::Mailbox;
use crate::serve;
use crate::serve::control_server::{ControlServer, Windows};
use crate::serve::server::relay;
use crate::serve::tls::{Certificates, Relay};
use crate::service_manager::inherited_listeners;
use crate::system;
use std::io;
use std::net::SocketAddr;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Sender, channel};
use std::thread::{Builder, JoinHandle};
use tailcut_base::Nanos;
use tailcut_host::kv::Engine;
use tailcut_host::kv::session::latency::Latencies;
use tailcut_host::kv::session::{Permissions, ServiceSettings, Shard};
use tailcut_host::wire::memcached::Users;

/// The addresses a server listens on, and access to them.
#[derive(Clone, Debug)]
pub struct ListenOptions {
    /// Addresses to accept connections on: TCP or unix sockets.
    pub streams: Vec<Address>,
    /// Addresses to receive datagrams on (UDP).
    pub datagrams: Vec<SocketAddr>,
    /// Whether addresses that other machines can reach are permitted, and file permissions of unix sockets.
    pub bind: BindOptions,
    /// Accounts for authentication; `None` if clients need not authenticate.
    pub users: Option<Users>,
    /// TLS; `None` without it.
    pub tls: Option<StreamTls>,
}

/// TLS of TCP clients. Those on unix sockets use none.
#[derive(Clone, Debug)]
pub struct StreamTls {
    certificates: Certificates,
    plain: Vec<Address>,
}

impl StreamTls {
    /// TLS with these certificates for all TCP clients but those of the addresses in `plain`.
    pub fn new(certificates: Certificates, plain: Vec<Address>) -> StreamTls {
        StreamTls { certificates, plain }
    }
}

impl Default for ListenOptions {
    /// No address; unix sockets accessible to this user only.
    fn default() -> ListenOptions {
        let (streams, datagrams) = (Vec::new(), Vec::new());
        let bind = BindOptions::default().permissions(Some(0o700));
        ListenOptions { streams, datagrams, bind, users: None, tls: None }
    }
}

/// Limits on the resources of a server and its clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Number of worker threads; at least 1.
    pub threads: u32,
    /// Pin each of several threads to a core, if the process may use as many cores as there are threads.
    pub pinned: bool,
    /// Maximum number of connections that are open at a time.
    pub connections: usize,
    /// How long a connection may be idle; `None` for no limit.
    pub idle: Option<Nanos>,
    /// How long shutdown waits for clients that do not read their replies, for a drive without completions,
    /// and for room on a full drive.
    pub patience: Nanos,
    /// How long clients wait for memory before clients that hold it are disconnected because they do not read
    /// their replies, or do not complete the value they send.
    pub memory_patience: Nanos,
    /// Which commands and features clients may use.
    pub permissions: Permissions,
    /// How long to busy-poll for requests before sleeping; zero to sleep at once.
    pub busy_poll: Nanos,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            threads: 1,
            pinned: false,
            connections: 1024,
            idle: None,
            patience: Nanos::secs(10),
            memory_patience: Nanos::millis(100),
            permissions: Permissions::default(),
            busy_poll: Nanos::ZERO,
        }
    }
}

/// Why a server cannot start.
#[derive(Debug, thiserror::Error)]
pub enum CannotServe<E> {
    /// The address can be reached from the network, and that was not allowed.
    #[error(
        "{0} can be reached from other machines; listen on 127.0.0.1, or give --allow-network, best with -Y, \
         which requires a password, and -Z, which encrypts"
    )]
    NotLocal(SocketAddr),
    /// Listening on an address failed.
    #[error(transparent)]
    Listen(#[from] CannotListen),
    /// The store cannot be opened or created.
    #[error("{0}")]
    Store(E),
}

/// A running server. Dropped without [`Server::stop`], it runs until the process exits.
pub struct Server<D> {
    addresses: Vec<Address>,
    datagrams: Vec<SocketAddr>,
    common: Arc<Common>,
    threads: Vec<JoinHandle<Option<WorkerResult<D>>>>,
    /// The thread that carries out TLS; `None` without TLS.
    relay: Option<Relay>,
    /// The control server's thread, and the mailbox that stops it.
    control_server: Option<(JoinHandle<()>, Arc<Mailbox<()>>)>,
}

/// What a server returns when it stops.
#[derive(Debug)]
pub struct Served<D> {
    /// Counters of the server over its whole life.
    pub figures: Figures,
    /// Latencies of the commands that were answered, by kind and source.
    pub latencies: Latencies,
    /// The drive below the store; `None` if there was none.
    pub drive: Option<D>,
}

/// Why a worker thread did not start.
enum NotBegun<E> {
    Store(E),
    System(io::Error),
}

impl<D: Steered + Send + 'static> Server<D> {
    /// Listens as `options` specify, or on the sockets that the service manager has opened, answers
    /// administrative requests at `windows`, reports to `events`, and serves the parts of a store that `make`
    /// returns, with the drive below them (`None` for a store in memory). The first thread calls `make`,
    /// because io_uring has to be used by the thread that sets it up; clients that connect earlier wait.
    ///
    /// # Errors
    /// If listening on an address fails, the system is out of threads or descriptors, or `make` fails.
    pub fn start<E: Send + 'static>(
        options: ListenOptions,
        windows: Windows,
        events: Events,
        make: impl FnOnce() -> Result<(Vec<Engine>, Option<D>), E> + Send + 'static,
        settings: ServiceSettings,
        limits: Limits,
        clock: Clock,
    ) -> Result<Server<D>, CannotServe<E>> {
        system::raise_descriptors();
        let (listeners, plain): (Vec<_>, Vec<_>) = listen(&options)?.into_iter().unzip();
        let datagrams = bind(&options)?;
        let addresses: Vec<Address> = listeners.iter().map(|listener| listener.address().clone()).collect();
        let (datagrams, places): (Vec<Datagrams>, Vec<SocketAddr>) = datagrams.into_iter().unzip();
        let wrong = |why| wrong(&options, why);
        let (says, hears) = channel();
        let users = options.users.clone();
        let relay_limits = serve::Limits { connections: limits.connections, ..serve::Limits::default() };
        let relay = options.tls.as_ref().map(|tls| relay(&tls.certificates, relay_limits, clock));
        let (relay, gate) = relay.transpose().map_err(wrong)?.unzip();
        let gate = gate.map(|gate| (gate, plain));
        let entries = Entries { listeners, datagrams, users: users.clone() };
        let connections = Connections::new(entries.listeners.iter(), clock);
        let begin = move || {
            let (engines, drive) = make().map_err(NotBegun::Store)?;
            let shards = engines
                .into_iter()
                .map(|engine| Shard::new(engine, settings).with_permissions(limits.permissions))
                .collect();
            let common =
                Arc::new(Common::new(shards, limits.threads, connections, events).map_err(NotBegun::System)?);
            let worker = Worker::new(0, Arc::clone(&common), drive, entries, settings, limits, clock);
            Ok((worker.map_err(NotBegun::System)?.behind(gate), common))
        };
        let first = Builder::new().name("serve kv".into()).spawn(|| serve(begin, says)).map_err(wrong)?;
        let common = match hears.recv() {
            Ok(Ok(common)) => common,
            Ok(Err(NotBegun::Store(why))) => return Err(CannotServe::Store(why)),
            Ok(Err(NotBegun::System(why))) => return Err(wrong(why)),
            Err(_) => return Err(wrong(io::Error::other("the thread that serves has ended"))),
        };
        let mut server = Server {
            addresses,
            datagrams: places,
            common,
            threads: vec![first],
            relay,
            control_server: None,
        };
        for thread in 1..limits.threads {
            let entries = Entries { users: users.clone(), ..Entries::default() };
            let worker =
                Worker::new(thread, Arc::clone(&server.common), None, entries, settings, limits, clock);
            let spawn = |worker: Worker<D>| {
                Builder::new().name(format!("serve kv {thread}")).spawn(|| Some(worker.run()))
            };
            match worker.and_then(spawn) {
                Ok(thread) => server.threads.push(thread),
                Err(why) => {
                    server.common.abandon((thread..limits.threads).len());
                    server.stop();
                    return Err(wrong(why));
                }
            }
        }
        if let Err(why) = server.open_desk(windows, clock) {
            server.stop();
            return Err(wrong(why));
        }
        Ok(server)
    }

    fn open_desk(&mut self, windows: Windows, clock: Clock) -> io::Result<()> {
        if windows.control.is_none() && windows.metrics.is_none() {
            return Ok(());
        }
        let (stop, store) = (Arc::new(Mailbox::new()?), Store::new(Arc::clone(&self.common)));
        let control_server = ControlServer::new(windows, vec![Box::new(store)], Arc::clone(&stop), clock)?;
        self.control_server =
            Some((Builder::new().name("control".into()).spawn(|| control_server.run())?, stop));
        Ok(())
    }

    /// The addresses on which the server accepts connections, with the ports that the system chose.
    pub fn addresses(&self) -> &[Address] {
        &self.addresses
    }

    /// The addresses on which the server receives datagrams, with the ports that the system chose.
    pub fn datagrams(&self) -> &[SocketAddr] {
        &self.datagrams
    }

    /// The number of open connections, and the counters of all shards so far.
    pub fn glance(&self) -> CurrentCounters {
        let connections = self.common.connections.load(Ordering::Relaxed) as u64;
        CurrentCounters { connections, sums: self.common.sums() }
    }

    /// True if all threads have made progress since the previous call. No further heartbeat is requested from
    /// threads until all have confirmed the previous one.
    pub fn beat(&self) -> bool {
        self.common.beat()
    }

    /// Replaces the accounts, if clients have to log in. Clients that have logged in are not asked again.
    pub fn set_users(&self, users: &Users) {
        for thread in 0..self.threads.len() as u32 {
            self.common.post(thread, Message::Users(users.clone()));
        }
    }

    /// Replaces the certificates for handshakes that begin from now on, if there is TLS.
    pub fn set_certificates(&self, certificates: Certificates) {
        if let Some(relay) = &self.relay {
            relay.renew(certificates);
        }
    }

    /// True if a thread has ended, because the store on the drive cannot be read.
    pub fn has_ended(&self) -> bool {
        self.threads.iter().any(JoinHandle::is_finished)
    }

    /// True if a client with permission to do so has asked the server to stop.
    pub fn is_asked_to_stop(&self) -> bool {
        self.common.is_asked_to_stop.load(Ordering::Relaxed)
    }

    /// Stops accepting connections, completes requests in flight, makes writes durable, and returns the
    /// drive.
    ///
    /// # Panics
    /// If a thread of the server has panicked: its panic continues here.
    pub fn stop(self) -> Served<D> {
        // While the worker threads can still answer.
        if let Some((control_server, stop)) = self.control_server {
            stop.stop();
            control_server.join().unwrap_or_else(|panic| resume_unwind(panic));
        }
        (0..self.threads.len() as u32).for_each(|thread| self.common.mailbox(thread).stop());
        let mut figures = Figures::default();
        let mut drive = None;
        for thread in self.threads {
            let ended = thread.join().unwrap_or_else(|panic| resume_unwind(panic));
            let ended = ended.expect("a server that runs has begun");
            figures.traffic.add(&ended.traffic);
            self.common.latencies().merge(ended.latencies);
            figures.unwritten = figures.unwritten.or(ended.unwritten);
            figures.unreadable = figures.unreadable.or(ended.unreadable);
            drive = drive.or(ended.drive);
        }
        // Last, because the relay still has to send what the threads have left.
        self.relay.map(Relay::stop);
        figures.sums = self.common.sums();
        let latencies = std::mem::take(&mut *self.common.latencies());
        Served { figures, latencies, drive }
    }
}

/// Result of starting the first thread.
type Beginning<E> = Result<Arc<Common>, NotBegun<E>>;

fn serve<D: Steered, E>(
    begin: impl FnOnce() -> Result<(Worker<D>, Arc<Common>), NotBegun<E>>,
    says: Sender<Beginning<E>>,
) -> Option<WorkerResult<D>> {
    let (worker, beginning) = match begin() {
        Ok((worker, common)) => (Some(worker), Ok(common)),
        Err(error) => (None, Err(error)),
    };
    // `Server::start` waits for this.
    let _ = says.send(beginning);
    worker.map(Worker::run)
}

/// The listening sockets, each with whether its clients use no TLS.
fn listen<E>(options: &ListenOptions) -> Result<Vec<(Listener, bool)>, CannotServe<E>> {
    let plain = options.tls.as_ref().map_or(&[][..], |tls| &tls.plain);
    let is_plain = |address: &Address| matches!(address, Address::Unix(_)) || plain.contains(address);
    let inherited = inherited_listeners().map_err(|why| wrong(options, why))?;
    if !inherited.is_empty() {
        let with_tls = |listener: Listener| {
            let is_plain = is_plain(listener.address());
            (listener, is_plain)
        };
        return Ok(inherited.into_iter().map(with_tls).collect());
    }
    let listen = |address: &Address| {
        if let Address::Tcp(at) = address {
            check(options, *at)?;
        }
        Ok((Listener::bind(address, options.bind)?, is_plain(address)))
    };
    options.streams.iter().map(listen).collect()
}

fn bind<E>(options: &ListenOptions) -> Result<Vec<(Datagrams, SocketAddr)>, CannotServe<E>> {
    let bind = |&at: &SocketAddr| {
        check(options, at)?;
        let bound = Datagrams::bind(at).and_then(|datagrams| Ok((datagrams.address()?, datagrams)));
        let (address, datagrams) = bound.map_err(|why| CannotListen::System(Address::Tcp(at), why))?;
        Ok((datagrams, address))
    };
    options.datagrams.iter().map(bind).collect()
}

fn check<E>(options: &ListenOptions, at: SocketAddr) -> Result<(), CannotServe<E>> {
    let is_good = at.ip().is_loopback() || options.bind.allows_network();
    if is_good { Ok(()) } else { Err(CannotServe::NotLocal(at)) }
}

/// A system error that is not specific to one address.
fn wrong<E>(options: &ListenOptions, why: io::Error) -> CannotServe<E> {
    let first = options.streams.first().cloned();
    let nowhere = || Address::Unix("no socket".into());
    CannotListen::System(first.unwrap_or_else(nowhere), why).into()
}
