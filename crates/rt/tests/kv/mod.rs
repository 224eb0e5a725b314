//! The key-value server with well-behaved and misbehaving clients.

mod beginning;
mod binary;
mod conversing;
#[cfg(feature = "tls")]
mod encrypted;
mod ending;
mod faulty;
mod flushing;
mod hostile;
mod memory;
mod panics;
mod recovering;
mod threads;

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;
use tailcut_base::Nanos;
use tailcut_host::kv::session::ServiceSettings;
use tailcut_host::kv::{AdmissionSettings, Append, Keep, Settings};
use tailcut_rt::ctl::Steered;
use tailcut_rt::kv::finding::{self, CannotFind};
use tailcut_rt::kv::{Events, Limits, ListenOptions, Served, Server, StoreMode};
use tailcut_rt::serve::{Address, Windows};
use tailcut_rt::{Clock, EmulatedSsd, MemoryDrive};
use tailcut_ssd::{Preset, Ssd};
use tempfile::TempDir;

/// A server on its own socket.
pub(crate) struct Harness<D> {
    pub server: Server<D>,
    folder: TempDir,
}

/// So little memory that most items are on flash.
pub(crate) const SMALL: Settings = Settings {
    memory: 1 << 20,
    most_item: 1 << 16,
    keep: Keep::Everything,
    may_evict_store: false,
    append: Append::AtOnce,
    admission: AdmissionSettings::NONE,
    segment_blocks: 1024,
    patience: Nanos::millis(1),
};

/// Maximum size of an item in bytes, as clients count it.
pub(crate) const MOST_ITEM: u64 = 60 << 10;

impl<D: Steered + Send + 'static> Harness<D> {
    /// A server with two threads over a store on a drive; nothing depends on time.
    pub(crate) fn on(drive: D) -> Harness<D> {
        let limits = Limits { threads: 2, patience: Nanos::secs(3600), ..Limits::default() };
        Harness::with(Some(drive), SMALL, ListenOptions::default(), limits, false)
    }

    pub(crate) fn with(
        drive: Option<D>,
        settings: Settings,
        options: ListenOptions,
        limits: Limits,
        is_durable: bool,
    ) -> Harness<D> {
        let service =
            ServiceSettings { most_item: MOST_ITEM, is_durable, client_memory: 64 << 20, process: 1 };
        Harness::serving(drive, settings, options, limits, service)
    }

    pub(crate) fn serving(
        drive: Option<D>,
        settings: Settings,
        mut options: ListenOptions,
        limits: Limits,
        service: ServiceSettings,
    ) -> Harness<D> {
        let folder = tempfile::tempdir().expect("the temporary folder is writable");
        options.streams.push(Address::Unix(folder.path().join("socket")));
        let mut clock = Clock::start();
        let parts = limits.threads;
        let each_of =
            move |parts: u32| Settings { memory: settings.memory.max(u64::from(parts) << 20), ..settings };
        let make = move || match drive {
            None => Ok::<_, CannotFind>((finding::in_memory(each_of(parts), parts)?, None)),
            Some(mut drive) => {
                let making = (StoreMode::OpenOrCreate, parts);
                let engines = finding::find(&mut drive, each_of, making, &mut clock, |_, _| {})?;
                Ok((engines, Some(drive)))
            }
        };
        let server =
            Server::start(options, Windows::default(), Events::default(), make, service, limits, clock)
                .expect("it listens");
        Harness { server, folder }
    }

    pub(crate) fn client(&self) -> Client {
        Client(self.connect())
    }

    pub(crate) fn connect(&self) -> UnixStream {
        let stream = UnixStream::connect(self.folder.path().join("socket")).expect("it takes connections");
        // A test that would hang fails instead.
        stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a good time");
        stream.set_write_timeout(Some(Duration::from_secs(60))).expect("a good time");
        stream
    }

    pub(crate) fn stop(self) -> Served<D> {
        self.server.stop()
    }
}

impl Harness<MemoryDrive> {
    /// A server with all items in memory.
    pub(crate) fn in_memory(limits: Limits) -> Harness<MemoryDrive> {
        let settings = Settings { memory: 16 << 20, ..SMALL };
        Harness::with(None, settings, ListenOptions::default(), limits, false)
    }
}

/// A client that checks the replies it gets.
pub(crate) struct Client(pub UnixStream);

/// The result of a call that a stop and continue of the process interrupts: a receive with a timeout is not
/// begun again by the kernel (signal(7)).
pub(crate) fn uninterrupted<T>(mut call: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    loop {
        match call() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}

impl Client {
    pub(crate) fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.0.write_all(bytes.as_ref()).expect("the server takes it");
    }

    /// Checks that this is the next reply.
    pub(crate) fn hear(&mut self, answer: impl AsRef<[u8]>) {
        let shown = |text: &[u8]| text[..text.len().min(200)].escape_ascii().to_string();
        let (mut rest, mut heard) = (answer.as_ref(), [0; 4096]);
        while !rest.is_empty() {
            let room = rest.len().min(heard.len());
            let count = uninterrupted(|| self.0.read(&mut heard[..room])).expect("the server answers");
            let heard = &heard[..count];
            assert!(count > 0, "the server closes before {}", shown(rest));
            assert!(rest.starts_with(heard), "{} instead of {}", shown(heard), shown(rest));
            rest = &rest[count..];
        }
    }

    pub(crate) fn say(&mut self, bytes: impl AsRef<[u8]>, answer: impl AsRef<[u8]>) {
        self.send(bytes);
        self.hear(answer);
    }

    /// The next `lines` lines, or fewer if the server closes the connection.
    pub(crate) fn first_answers(&mut self, lines: usize) -> Vec<u8> {
        let (mut heard, mut buffer) = (Vec::new(), [0; 4096]);
        while heard.iter().filter(|&&byte| byte == b'\n').count() < lines {
            match uninterrupted(|| self.0.read(&mut buffer)) {
                Ok(0) | Err(_) => break,
                Ok(count) => heard.extend_from_slice(&buffer[..count]),
            }
        }
        heard
    }

    /// Everything received until the server closes the connection.
    pub(crate) fn rest(&mut self) -> Vec<u8> {
        let mut rest = Vec::new();
        // Data received before the connection was reset counts.
        let _ = self.0.read_to_end(&mut rest);
        rest
    }
}

pub(crate) fn memory_drive() -> MemoryDrive {
    MemoryDrive::new(1024 * 24, 64)
}

/// A small emulated SSD of about 160 MiB.
pub(crate) fn emulated() -> EmulatedSsd {
    let mut config = Preset::G.config();
    config.geometry.blocks = 64;
    EmulatedSsd::inline(Ssd::new(&config, 3, false))
}

/// Value of a key; its bytes are unique.
pub(crate) fn value(number: usize, bytes: usize) -> Vec<u8> {
    (0..bytes).map(|at| b'a' + ((at * 7 + number * 13 + at / 251) % 26) as u8).collect()
}

pub(crate) fn set(key: &str, value: &[u8]) -> Vec<u8> {
    let head = format!("set {key} 0 0 {}\r\n", value.len());
    [head.as_bytes(), value, b"\r\n"].concat()
}

pub(crate) fn hit(key: &str, value: &[u8]) -> Vec<u8> {
    let head = format!("VALUE {key} 0 {}\r\n", value.len());
    [head.as_bytes(), value, b"\r\n"].concat()
}
