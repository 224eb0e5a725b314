//! A server: its sockets, and the thread that serves.

use super::figures::{Figures, Live};
use super::worker::{Datagrams, Door, Entries, Worker};
use crate::Clock;
use crate::drive::Drive;
use crate::serve::address::Listener;
use crate::serve::mailbox::Mailbox;
use crate::serve::{Access, Address, CannotListen};
use crate::system;
use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread::{Builder, JoinHandle};
use tailcut_base::Nanos;
use tailcut_host::kv::Engine;
use tailcut_host::kv::session::{Service, ServiceSettings};
use tailcut_host::wire::memcached::Users;

/// Where clients come in.
#[derive(Clone, Debug)]
pub struct Doors {
    /// For connections.
    pub streams: Vec<Address>,
    /// For datagrams.
    pub datagrams: Vec<SocketAddr>,
    /// Other machines may connect, too.
    pub allow_network: bool,
    /// Who may use a unix socket, as file permissions.
    pub permissions: u32,
    /// Those who have to say who they are; everybody may come in if there is none.
    pub users: Option<Users>,
}

impl Default for Doors {
    /// None, for this user alone.
    fn default() -> Doors {
        let (streams, datagrams) = (Vec::new(), Vec::new());
        Doors { streams, datagrams, allow_network: false, permissions: 0o700, users: None }
    }
}

/// What clients can cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Connections at a time.
    pub connections: usize,
    /// How long a connection may say nothing; for ever if nothing is said.
    pub idle: Option<Nanos>,
    /// How long the end waits for clients that do not read their answers, and for a drive that says nothing.
    pub patience: Nanos,
    /// How long it looks out for requests before it sleeps; zero for not at all.
    pub busy_poll: Nanos,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { connections: 1024, idle: None, patience: Nanos::secs(10), busy_poll: Nanos::ZERO }
    }
}

/// Why nothing is served.
#[derive(Debug, thiserror::Error)]
pub enum CannotServe<E> {
    /// The whole network could connect, and nobody asked for that.
    #[error(
        "{0} can be reached from other machines; listen on 127.0.0.1, or say --allow-network, best with -Y, so that only \
         who has a password is served (it is not encrypted)"
    )]
    NotLocal(SocketAddr),
    /// Nobody can be listened to.
    #[error(transparent)]
    Listen(#[from] CannotListen),
    /// There is no store.
    #[error("{0}")]
    Store(E),
}

/// A running server. Dropped without [`Server::stop`], it goes on until the process ends.
pub struct Server<D> {
    addresses: Vec<Address>,
    datagrams: Vec<SocketAddr>,
    live: Arc<Live>,
    stop: Arc<Mailbox<()>>,
    thread: JoinHandle<Option<(Figures, Option<D>)>>,
}

/// What is left of a server.
#[derive(Debug)]
pub struct Served<D> {
    /// What was served.
    pub figures: Figures,
    /// The drive, if there was one.
    pub drive: Option<D>,
}

/// Why a thread does not serve.
enum NotBegun<E> {
    Store(E),
    System(io::Error),
}

impl<D: Drive + Send + 'static> Server<D> {
    /// Listens at `doors` and serves the engine that `make` returns with the drive below it, none for one in memory. The thread that serves
    /// makes it, as io_uring wants one and the same; clients that come before it is there wait.
    ///
    /// # Errors
    /// When nobody can be listened to, the system has no room for threads and descriptors, or there is no engine.
    pub fn start<E: Send + 'static>(
        doors: Doors,
        make: impl FnOnce() -> Result<(Engine, Option<D>), E> + Send + 'static,
        settings: ServiceSettings,
        limits: Limits,
        clock: Clock,
    ) -> Result<Server<D>, CannotServe<E>> {
        system::raise_descriptors();
        let (listeners, datagrams) = (listen(&doors)?, bind(&doors)?);
        let addresses: Vec<Address> = listeners.iter().map(|listener| listener.address().clone()).collect();
        let (datagrams, places): (Vec<Datagrams>, Vec<SocketAddr>) = datagrams.into_iter().unzip();
        let wrong = |why| wrong(&doors, why);
        let (stop, live) = (Arc::new(Mailbox::new().map_err(wrong)?), Arc::new(Live::default()));
        let (says, hears) = channel();
        let entries = Entries { door: Door::new(listeners), datagrams, users: doors.users.clone() };
        let begin = {
            let (stop, live) = (Arc::clone(&stop), Arc::clone(&live));
            move || {
                let (engine, drive) = make().map_err(NotBegun::Store)?;
                let service = Service::new(engine, settings);
                Worker::new(service, drive, entries, limits, stop, live, clock).map_err(NotBegun::System)
            }
        };
        let thread = Builder::new().name("serve kv".into()).spawn(|| serve(begin, says)).map_err(wrong)?;
        match hears.recv() {
            Ok(Ok(())) => Ok(Server { addresses, datagrams: places, live, stop, thread }),
            Ok(Err(NotBegun::Store(why))) => Err(CannotServe::Store(why)),
            Ok(Err(NotBegun::System(why))) => Err(wrong(why)),
            Err(_) => Err(wrong(io::Error::other("the thread that serves has ended"))),
        }
    }

    /// Where it takes connections.
    pub fn addresses(&self) -> &[Address] {
        &self.addresses
    }

    /// Where it takes datagrams.
    pub fn datagrams(&self) -> &[SocketAddr] {
        &self.datagrams
    }

    /// Some figures, as they are.
    pub fn live(&self) -> &Live {
        &self.live
    }

    /// True if it serves no more, because the drive does not give back what is on it.
    pub fn has_ended(&self) -> bool {
        self.thread.is_finished()
    }

    /// Takes no more connections, finishes what is under way, makes durable what was written, and gives the drive back.
    pub fn stop(self) -> Served<D> {
        self.stop.post(());
        let served = self.thread.join().unwrap_or_else(|panic| resume_unwind(panic));
        let (figures, drive) = served.expect("a server that runs has begun");
        Served { figures, drive }
    }
}

fn serve<D: Drive, E>(
    begin: impl FnOnce() -> Result<Worker<D>, NotBegun<E>>,
    says: Sender<Result<(), NotBegun<E>>>,
) -> Option<(Figures, Option<D>)> {
    let (worker, beginning) = match begin() {
        Ok(worker) => (Some(worker), Ok(())),
        Err(error) => (None, Err(error)),
    };
    // Who starts it waits for this.
    let _ = says.send(beginning);
    worker.map(Worker::run)
}

fn listen<E>(doors: &Doors) -> Result<Vec<Listener>, CannotServe<E>> {
    let access = Access { allow_network: doors.allow_network, encryption: None };
    let listen = |address: &Address| {
        if let Address::Tcp(at) = address {
            check(doors, *at)?;
        }
        let listener = Listener::bind(address, &access)?;
        if let Address::Unix(path) = address {
            let permissions = std::fs::Permissions::from_mode(doors.permissions);
            std::fs::set_permissions(path, permissions)
                .map_err(|why| CannotListen::System(address.clone(), why))?;
        }
        Ok(listener)
    };
    doors.streams.iter().map(listen).collect()
}

fn bind<E>(doors: &Doors) -> Result<Vec<(Datagrams, SocketAddr)>, CannotServe<E>> {
    let bind = |&at: &SocketAddr| {
        check(doors, at)?;
        let bound = Datagrams::bind(at).and_then(|datagrams| Ok((datagrams.address()?, datagrams)));
        let (address, datagrams) = bound.map_err(|why| CannotListen::System(Address::Tcp(at), why))?;
        Ok((datagrams, address))
    };
    doors.datagrams.iter().map(bind).collect()
}

fn check<E>(doors: &Doors, at: SocketAddr) -> Result<(), CannotServe<E>> {
    let is_good = at.ip().is_loopback() || doors.allow_network;
    if is_good { Ok(()) } else { Err(CannotServe::NotLocal(at)) }
}

/// The system refuses something that is not the fault of one address.
fn wrong<E>(doors: &Doors, why: io::Error) -> CannotServe<E> {
    let first = doors.streams.first().cloned();
    let nowhere = || Address::Unix("no socket".into());
    CannotListen::System(first.unwrap_or_else(nowhere), why).into()
}
