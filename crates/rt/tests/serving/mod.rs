//! The block server with well-behaved and misbehaving clients.

mod asking;
#[cfg(feature = "tls")]
pub(crate) mod authority;
#[cfg(feature = "tls")]
pub(crate) mod encrypted;
mod flushing;
mod hostile;
mod many;
mod panics;

use std::convert::Infallible;
use std::io::{Read, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use tailcut_base::Nanos;
use tailcut_host::wire::nbd::Header;
use tailcut_rt::ctl::Steered;
use tailcut_rt::serve::{Access, Address, Limits, Name, Server, Windows};
use tailcut_rt::{Client, Clock, MemoryDrive};
use tempfile::TempDir;

/// A server of one drive, on its own socket.
pub(crate) struct Harness<D = MemoryDrive> {
    pub server: Server<D>,
    _folder: TempDir,
}

pub(crate) const BLOCKS: u64 = 16 << 10;

impl Harness {
    pub(crate) fn new(limits: Limits) -> Harness {
        Harness::with(limits, Access::default())
    }

    pub(crate) fn with(limits: Limits, access: Access) -> Harness {
        Harness::over(MemoryDrive::new(BLOCKS, 64), limits, access)
    }
}

impl<D: Steered + Send + 'static> Harness<D> {
    pub(crate) fn over(drive: D, limits: Limits, access: Access) -> Harness<D> {
        let folder = tempfile::tempdir().expect("the temporary folder is writable");
        let address = Address::Unix(folder.path().join("socket"));
        let name = Name::new("disk");
        let drives = vec![(name, move || Ok::<_, Infallible>(drive))];
        let server = Server::start(&address, access, drives, Windows::default(), limits, Clock::start())
            .expect("it listens");
        Harness { server, _folder: folder }
    }

    pub(crate) fn client(&self) -> Client {
        Client::connect(self.server.address(), "disk").expect("the server takes connections")
    }
}

/// Limits with which nothing depends on time.
pub(crate) fn patient() -> Limits {
    Limits { handshake: Nanos::secs(3600), patience: Nanos::secs(3600), ..Limits::default() }
}

pub(crate) fn header(command: u16, offset: u64, length: u32) -> Header {
    static COOKIES: AtomicU64 = AtomicU64::new(1);
    Header { flags: 0, command, cookie: COOKIES.fetch_add(1, Ordering::Relaxed), offset, length }
}

/// Writes and reads back; panics if the server misbehaves.
pub(crate) fn use_it<S: Read + Write>(client: &mut Client<S>, offset: u64, fill: u8) {
    let data = vec![fill; 10_000];
    assert_eq!(client.call(&header(1, offset, 10_000), &data).expect("a reply"), (0, Vec::new()));
    assert_eq!(client.call(&header(0, offset, 10_000), &[]).expect("a reply"), (0, data));
}
