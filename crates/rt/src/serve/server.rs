//! A server: an acceptor, a control server, and a service for each drive.

use super::acceptor::{Acceptor, Route};
use super::control_server::{AdminTarget, ControlServer, Exported, Windows};
use super::failed::Remains;
use super::figures::{Figures, Live};
use super::heartbeats::Heartbeats;
use super::service::{Message, Service};
use super::tls::{Certificates, Encryption, Gate, Handshakes, Relay};
use super::ublk::{CannotAttach, Device, Shape};
use crate::Clock;
use crate::ctl::Steered;
use crate::listener::{Address, BindOptions, CannotListen, Listener};
use crate::reactor::Mailbox;
use crate::service_manager::inherited_listeners;
use crate::system;
use std::io;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::thread::{Builder, JoinHandle};
use tailcut_base::{Class, Nanos};
use tailcut_host::PlacementPolicy;
use tailcut_host::wire::nbd::{Export, Offer, Tls};

/// Limits on the resources of a server and its clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Maximum number of open connections, over all exports.
    pub connections: usize,
    /// Maximum number of connections in their handshake; they count as connections.
    pub handshakes: usize,
    /// Time after which a handshake that is not complete is ended.
    pub handshake: Nanos,
    /// Maximum memory of requests and replies in flight in bytes, for each drive.
    pub memory: u64,
    /// How long a connection that blocks others may make no progress, and how long shutdown waits for clients
    /// that do not read their replies.
    pub patience: Nanos,
    /// How long a service busy-polls for requests before it sleeps; zero to sleep at once.
    pub busy_poll: Nanos,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            connections: 1024,
            handshakes: 256,
            handshake: Nanos::secs(10),
            memory: 1 << 30,
            patience: Nanos::secs(10),
            busy_poll: Nanos::ZERO,
        }
    }
}

/// The name and properties of an export.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name {
    /// The name; the variants of the export are this and those with `/fast` and `/background` appended.
    pub name: String,
    /// A description of the export for users, in one line.
    pub description: String,
    /// Whether clients may only read.
    pub is_read_only: bool,
    /// Also attach the drive as a block device of this kernel, `/dev/ublkbN` with this number.
    pub ublk: Option<u32>,
    /// How the reclaim unit handles of writes are chosen, which block clients cannot name.
    pub placement: PlacementPolicy,
}

impl Name {
    /// An export without a description that clients may write to, and whose writes name no handle.
    pub fn new(name: &str) -> Name {
        let (name, description, placement) = (name.into(), String::new(), PlacementPolicy::Named);
        Name { name, description, is_read_only: false, ublk: None, placement }
    }
}

/// How long shutdown waits for a client that reads none of its output.
pub(super) const STOP_PATIENCE: Nanos = Nanos::millis(500);

/// The variants of an export: they let programs without priority classes choose one for their reads.
pub const VARIANTS: [(&str, &str, Class); 3] = [
    ("", "", Class::DEFAULT),
    ("/fast", ", reads go before the drive's own work", class(1)),
    ("/background", ", reads matter least", class(5)),
];

const fn class(number: u8) -> Class {
    match Class::new(number) {
        Some(class) => class,
        None => panic!("classes are 1 to 5"),
    }
}

/// A running server. Dropped without [`Server::stop`], it runs until the process exits.
pub struct Server<D> {
    address: Address,
    stop: Arc<Mailbox<()>>,
    acceptor: JoinHandle<u64>,
    exhausted: Arc<AtomicU64>,
    /// Those of the acceptor.
    heartbeats: Arc<Heartbeats>,
    control_server: JoinHandle<()>,
    stop_control_server: Arc<Mailbox<()>>,
    relay: Option<Relay>,
    /// Kernel block devices; removed before the services, which have to answer them until then.
    devices: Vec<Device>,
    services: Vec<Running<D>>,
}

struct Running<D> {
    name: String,
    mailbox: Arc<Mailbox<Message>>,
    live: Arc<Live>,
    thread: JoinHandle<Option<(Figures, D)>>,
}

/// Why a server cannot start.
#[derive(Debug, thiserror::Error)]
pub enum CannotServe<E> {
    /// Listening on the address failed.
    #[error(transparent)]
    Listen(#[from] CannotListen),
    /// A drive cannot be made.
    #[error("{0}")]
    Drive(E),
    /// A drive cannot be attached as a block device.
    #[error(transparent)]
    Attach(CannotAttach),
}

/// Result of starting a service: the properties of its drive and its block device, or the error.
type Beginning<E> = Result<(Offered, Option<Device>), NotBegun<E>>;

/// Properties of a drive that are reported to clients.
#[derive(Clone, Copy, Debug)]
struct Offered {
    bytes: u64,
    zeroes_fast: bool,
}

enum NotBegun<E> {
    Drive(E),
    Attach(CannotAttach),
    System(io::Error),
}

/// What a server returns when it stops.
#[derive(Debug)]
pub struct Served<D> {
    /// Each drive with the name of its export and its counters.
    pub drives: Vec<(String, Figures, D)>,
    /// Names of the exports whose service has panicked.
    pub failed: Vec<String>,
    /// Connections that were refused, or did not complete their handshake.
    pub turned_away: u64,
    /// Counters of TLS handshakes; `None` without TLS.
    pub handshakes: Option<Handshakes>,
}

/// Who may connect to a server. The default allows unencrypted connections from this machine only.
#[derive(Clone, Debug, Default)]
pub struct Access {
    /// Whether connections from other machines are allowed.
    pub allow_network: bool,
    /// TLS, offered or required; `None` without TLS.
    pub encryption: Option<Encryption>,
    /// File permissions of a unix socket; `None` leaves them to the umask.
    pub permissions: Option<u32>,
}

impl Access {
    fn bind_options(&self) -> BindOptions {
        let requires_certificate =
            self.encryption.as_ref().is_some_and(Encryption::requires_client_certificate);
        BindOptions::default()
            .allow_network(self.allow_network)
            .requires_certificate(requires_certificate)
            .permissions(self.permissions)
    }
}

impl<D: Steered + Send + 'static> Server<D> {
    /// Serves drives at `address`, or on the socket that the service manager has opened, and answers
    /// administrative requests at `windows`. Each drive is made by the thread that serves it, because
    /// io_uring has to be used by the thread that sets it up; the call returns when all of them are ready.
    ///
    /// # Errors
    /// If listening on `address` fails, the system is out of threads or descriptors, or a drive cannot be
    /// made; no connection has been accepted then.
    pub fn start<E: Send + 'static>(
        address: &Address,
        access: Access,
        drives: Vec<(Name, impl FnOnce() -> Result<D, E> + Send + 'static)>,
        windows: Windows,
        limits: Limits,
        clock: Clock,
    ) -> Result<Server<D>, CannotServe<E>> {
        system::raise_descriptors();
        let inherited =
            inherited_listeners().map_err(|error| CannotListen::System(address.clone(), error))?;
        let listener = match inherited.into_iter().next() {
            Some(listener) => listener,
            None => Listener::bind(address, access.bind_options())?,
        };
        let address = listener.address().clone();
        Server::open(listener, access.encryption, drives, windows, limits, clock).map_err(|error| match error
        {
            NotBegun::Drive(error) => CannotServe::Drive(error),
            NotBegun::Attach(error) => CannotServe::Attach(error),
            NotBegun::System(error) => CannotListen::System(address, error).into(),
        })
    }

    fn open<E: Send + 'static>(
        listener: Listener,
        encryption: Option<Encryption>,
        drives: Vec<(Name, impl FnOnce() -> Result<D, E> + Send + 'static)>,
        windows: Windows,
        limits: Limits,
        clock: Clock,
    ) -> Result<Server<D>, NotBegun<E>> {
        let open_connections = Arc::new(AtomicUsize::new(0));
        let (mut names, mut services, mut beginnings) = (Vec::new(), Vec::new(), Vec::new());
        for (name, make) in drives {
            let (service, beginning) = Running::start(&name, make, limits, clock, &open_connections)?;
            names.push(name);
            services.push(service);
            beginnings.push(beginning);
        }
        let (offered, devices) = match begin(beginnings) {
            Ok(begun) => begun,
            Err(error) => {
                end(services);
                return Err(error);
            }
        };
        let tls = encryption.as_ref().map_or(Tls::Absent, Encryption::mode);
        let (mut offer, mut routes) = (Offer { tls, ..Offer::default() }, Vec::new());
        for ((name, offered), service) in names.iter().zip(offered).zip(&services) {
            for (suffix, text, class) in VARIANTS {
                offer.exports.push(export(name, suffix, text, offered));
                routes.push(Route { mailbox: Arc::clone(&service.mailbox), class });
            }
        }
        let (stop, address) = (Arc::new(Mailbox::new()?), listener.address().clone());
        let (relay, gate) =
            encryption.map(|tls| relay(&tls.certificates, limits, clock.of_machine())).transpose()?.unzip();
        let stops = Arc::clone(&stop);
        let machine = clock.of_machine();
        let acceptor =
            Acceptor::new(listener, offer, routes, gate, stops, open_connections, limits, machine)?;
        let (exhausted, heartbeats) = (acceptor.exhausted(), acceptor.heartbeats());
        let acceptor = Builder::new().name("acceptor".into()).spawn(|| acceptor.run())?;
        let asked = |service: &Running<D>| -> Box<dyn AdminTarget> {
            Box::new(Exported { name: service.name.clone(), mailbox: Arc::clone(&service.mailbox) })
        };
        let stop_control_server = Arc::new(Mailbox::new()?);
        let asked = services.iter().map(asked).collect();
        let control_server = ControlServer::new(windows, asked, Arc::clone(&stop_control_server), clock)?;
        let control_server = Builder::new().name("control".into()).spawn(|| control_server.run())?;
        Ok(Server {
            address,
            stop,
            acceptor,
            exhausted,
            heartbeats,
            control_server,
            stop_control_server,
            relay,
            devices,
            services,
        })
    }

    /// The address that the server listens on, with the port that the system chose.
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// Current counters of each drive.
    pub fn live(&self) -> impl Iterator<Item = &Live> {
        self.services.iter().map(|service| &*service.live)
    }

    /// Replaces the certificates for handshakes that begin from now on, if there is TLS. Whether clients must
    /// present a certificate stays as it was at the start.
    pub fn set_certificates(&self, certificates: Certificates) {
        if let Some(relay) = &self.relay {
            relay.renew(certificates);
        }
    }

    /// How often accepting was paused because the system had no descriptors or memory; ten times a second
    /// while that lasts.
    pub fn exhausted(&self) -> u64 {
        self.exhausted.load(Ordering::Relaxed)
    }

    /// True if the acceptor and the threads of all drives have made progress since the previous call. No
    /// further heartbeat is requested from any of them before all have confirmed theirs. For a single caller.
    pub fn beat(&self) -> bool {
        let of_services = || self.services.iter().map(|service| service.live.heartbeats());
        let go_on = self.heartbeats.are_confirmed() && of_services().all(Heartbeats::are_confirmed);
        if go_on {
            self.heartbeats.request();
            self.stop.post(());
            for Running { live, mailbox, .. } in &self.services {
                live.heartbeats().request();
                mailbox.post(Message::Beat);
            }
        }
        go_on
    }

    /// Stops accepting connections, completes requests in flight, flushes the drives and returns them.
    pub fn stop(self) -> Served<D> {
        self.stop.stop();
        let turned_away = self.acceptor.join().unwrap_or_else(|panic| resume_unwind(panic));
        // While the services can still answer.
        self.stop_control_server.stop();
        self.control_server.join().unwrap_or_else(|panic| resume_unwind(panic));
        drop(self.devices);
        let failed = |service: &&Running<D>| service.live.has_failed.load(Ordering::Relaxed);
        let failed = self.services.iter().filter(failed).map(|service| service.name.clone()).collect();
        let drives = end(self.services);
        // Last, because the relay still has to send what the services have left.
        let handshakes = self.relay.map(Relay::stop);
        Served { drives, failed, turned_away, handshakes }
    }
}

impl<D: Steered + Send + 'static> Running<D> {
    /// Starts a thread that makes a drive, reports the result, and serves it.
    fn start<E: Send + 'static>(
        name: &Name,
        make: impl FnOnce() -> Result<D, E> + Send + 'static,
        limits: Limits,
        clock: Clock,
        open_connections: &Arc<AtomicUsize>,
    ) -> io::Result<(Running<D>, Receiver<Beginning<E>>)> {
        let (mailbox, live) = (Arc::new(Mailbox::new()?), Arc::new(Live::default()));
        let (messages, figures, open_connections) =
            (Arc::clone(&mailbox), Arc::clone(&live), Arc::clone(open_connections));
        let remains = Remains {
            mailbox: Arc::clone(&mailbox),
            live: Arc::clone(&live),
            open_connections: Arc::clone(&open_connections),
        };
        let (says, hears) = channel();
        let &Name { is_read_only, ublk, placement, .. } = name;
        let service = move || {
            let drive = make().map_err(NotBegun::Drive)?;
            let offered = Offered { bytes: drive.bytes(), zeroes_fast: drive.trims_to_zeros() };
            let attach = |number| Device::attach(number, Shape::of(&drive, is_read_only));
            let (device, queue) = ublk.map(attach).transpose().map_err(NotBegun::Attach)?.unzip();
            let service = Service::new(drive, queue, clock, limits, messages, open_connections, figures)?;
            Ok((service.placing_by(placement), (offered, device)))
        };
        let thread = Builder::new().name(format!("serve {}", name.name)).spawn(move || {
            let (service, beginning) = match service() {
                Ok((service, offered)) => (Some(service), Ok(offered)),
                Err(error) => (None, Err(error)),
            };
            // Ignored: the receiver is gone when another drive could not be made.
            let _ = says.send(beginning);
            drop(says);
            service.and_then(|service| remains.outlive(service))
        })?;
        Ok((Running { name: name.name.clone(), mailbox, live, thread }, hears))
    }
}

impl<E> From<io::Error> for NotBegun<E> {
    fn from(error: io::Error) -> NotBegun<E> {
        NotBegun::System(error)
    }
}

/// Starts the thread that carries out TLS, and returns the gate to it.
///
/// # Errors
/// If the system is out of threads or descriptors.
pub(crate) fn relay(certificates: &Certificates, limits: Limits, clock: Clock) -> io::Result<(Relay, Gate)> {
    let mailbox = Arc::new(Mailbox::new()?);
    let relay = Relay::start(certificates, Arc::clone(&mailbox), limits, clock)?;
    Ok((relay, Gate::new(mailbox, &limits)))
}

/// Waits until all services have started; returns the properties of their drives and their block devices. If
/// one fails, none is left.
fn begin<E>(beginnings: Vec<Receiver<Beginning<E>>>) -> Result<(Vec<Offered>, Vec<Device>), NotBegun<E>> {
    // Also receive from services after a failed one, so that their devices are removed.
    let begun: Vec<Beginning<E>> = beginnings.into_iter().map(begun).collect();
    let begun: Vec<(Offered, Option<Device>)> = begun.into_iter().collect::<Result<_, _>>()?;
    let (offered, devices): (_, Vec<Option<Device>>) = begun.into_iter().unzip();
    let mut devices: Vec<Device> = devices.into_iter().flatten().collect();
    devices.iter_mut().try_for_each(Device::start).map_err(NotBegun::Attach)?;
    Ok((offered, devices))
}

/// Waits until a service has started or failed.
fn begun<E>(beginning: Receiver<Beginning<E>>) -> Beginning<E> {
    let ended = |_| Err(io::Error::other("the thread of a drive has ended").into());
    beginning.recv().unwrap_or_else(ended)
}

/// Stops services, and returns their drives.
fn end<D>(services: Vec<Running<D>>) -> Vec<(String, Figures, D)> {
    services.iter().for_each(|service| service.mailbox.stop());
    let drives = services.into_iter().filter_map(|Running { name, thread, .. }| {
        let served = thread.join().unwrap_or_else(|panic| resume_unwind(panic));
        served.map(|(figures, drive)| (name, figures, drive))
    });
    drives.collect()
}

fn export(name: &Name, suffix: &str, text: &str, offered: Offered) -> Export {
    Export {
        name: format!("{}{suffix}", name.name),
        description: format!("{}{text}", name.description),
        bytes: offered.bytes,
        is_read_only: name.is_read_only,
        zeroes_fast: offered.zeroes_fast,
    }
}
