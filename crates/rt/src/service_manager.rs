//! Notifications to the service manager: systemd, by the protocol of sd_notify(3).
//!
//! Sends lines of `NAME=value` in a datagram to the unix socket that `NOTIFY_SOCKET` names; without that
//! variable, nothing is sent.

use crate::listener::Listener;
use std::env;
use std::io;
use std::os::fd::{FromRawFd, OwnedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The connection to the service manager, if there is one.
#[derive(Debug, Default)]
pub struct ServiceManager {
    reached: Option<(UnixDatagram, SocketAddr)>,
    watchdog: Option<Duration>,
}

/// The sockets that the service manager has opened for this process (sd_listen_fds(3)); none if it has not,
/// and at a second call.
///
/// # Errors
/// If one of them takes no connections.
pub fn inherited_listeners() -> io::Result<Vec<Listener>> {
    let number = |name| env::var(name).ok().and_then(|text| text.parse::<u32>().ok());
    let is_meant = number("LISTEN_PID") == Some(std::process::id());
    let count = number("LISTEN_FDS").filter(|_| is_meant && !TAKEN.swap(true, Ordering::Relaxed));
    let first = FIRST_DESCRIPTOR;
    let listener = |descriptor| {
        // A descriptor that is not open would be an error of the service manager, and no value may own it.
        if !std::path::Path::new(&format!("/proc/self/fd/{descriptor}")).exists() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "LISTEN_FDS: it is not open"));
        }
        // SAFETY: the service manager has opened it for this process, and by the protocol nothing else uses
        // it. It is taken once.
        let socket = unsafe { OwnedFd::from_raw_fd(descriptor) };
        rustix::io::fcntl_setfd(&socket, rustix::io::FdFlags::CLOEXEC)?;
        Listener::inherited(socket)
    };
    (first..first + count.unwrap_or(0) as i32).map(listener).collect()
}

/// The first descriptor that the service manager passes (`SD_LISTEN_FDS_START`).
const FIRST_DESCRIPTOR: i32 = 3;
/// The sockets have an owner.
static TAKEN: AtomicBool = AtomicBool::new(false);

impl ServiceManager {
    /// Connects as the environment specifies.
    ///
    /// # Errors
    /// If `NOTIFY_SOCKET` is not a socket address, or the process is out of descriptors.
    pub fn from_environment() -> io::Result<ServiceManager> {
        let Some(name) = env::var_os("NOTIFY_SOCKET") else { return Ok(ServiceManager::default()) };
        let reached = (UnixDatagram::unbound()?, address(name.as_encoded_bytes())?);
        let number = |name| env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
        let is_meant = number("WATCHDOG_PID").is_none_or(|process| process == u64::from(std::process::id()));
        let micros = number("WATCHDOG_USEC").filter(|&micros| is_meant && micros > 0);
        Ok(ServiceManager { reached: Some(reached), watchdog: micros.map(Duration::from_micros) })
    }

    /// Maximum interval between calls of [`ServiceManager::is_alive`] that the service manager accepts. None
    /// if it has no watchdog.
    pub fn watchdog(&self) -> Option<Duration> {
        self.watchdog
    }

    /// Reports to the service manager that startup is complete.
    pub fn is_ready(&self, status: &str) {
        self.notify(&format!("READY=1\nSTATUS={status}\nMAINPID={}", std::process::id()));
    }

    /// Extends the startup timeout: startup continues for up to `patience`.
    pub fn is_starting(&self, status: &str, patience: Duration) {
        self.notify(&format!("STATUS={status}\nEXTEND_TIMEOUT_USEC={}", patience.as_micros()));
    }

    /// Reports to the service manager that shutdown has begun.
    pub fn is_stopping(&self) {
        self.notify("STOPPING=1\nSTATUS=finishing what is under way");
    }

    /// Reports a one-line status to the service manager.
    pub fn status(&self, status: &str) {
        self.notify(&format!("STATUS={status}"));
    }

    /// Reports to the service manager's watchdog that all threads make progress.
    pub fn is_alive(&self) {
        self.notify("WATCHDOG=1");
    }

    fn notify(&self, lines: &str) {
        if let Some((socket, address)) = &self.reached {
            // Ignored: the service manager may not be listening.
            let _ = socket.send_to_addr(lines.as_bytes(), address);
        }
    }
}

/// A path, or after `@` a name in the abstract namespace (unix(7)).
fn address(name: &[u8]) -> io::Result<SocketAddr> {
    use std::os::unix::ffi::OsStrExt;
    match name {
        [b'@', name @ ..] => SocketAddr::from_abstract_name(name),
        [b'/', ..] => SocketAddr::from_pathname(std::ffi::OsStr::from_bytes(name)),
        _ => {
            Err(io::Error::new(io::ErrorKind::InvalidInput, "NOTIFY_SOCKET is no path and no name behind @"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn receive(listener: &UnixDatagram) -> String {
        let mut room = [0; 1024];
        let bytes = listener.recv(&mut room).expect("something was said");
        String::from_utf8(room[..bytes].to_vec()).expect("it is text")
    }

    fn with(socket: SocketAddr) -> ServiceManager {
        let unbound = UnixDatagram::unbound().expect("a socket");
        ServiceManager { reached: Some((unbound, socket)), watchdog: None }
    }

    #[test]
    fn it_is_told_by_a_path_and_by_a_name() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("notify");
        let listener = UnixDatagram::bind(&path).expect("a socket");
        let of = |name: &[u8]| with(address(name).expect("an address"));
        of(path.as_os_str().as_encoded_bytes()).is_ready("it serves");
        let heard = receive(&listener);
        assert_eq!(heard.lines().take(2).collect::<Vec<_>>(), ["READY=1", "STATUS=it serves"]);
        let name = format!("tailcut-test-{}", std::process::id());
        let at = SocketAddr::from_abstract_name(&name).expect("a name");
        let listener = UnixDatagram::bind_addr(&at).expect("a socket");
        let service_manager = of(format!("@{name}").as_bytes());
        service_manager.is_stopping();
        service_manager.is_starting("a quarter", Duration::from_secs(2));
        assert!(receive(&listener).starts_with("STOPPING=1\n"));
        assert_eq!(receive(&listener), "STATUS=a quarter\nEXTEND_TIMEOUT_USEC=2000000");
        drop(listener);
        service_manager.is_alive();
    }

    #[test]
    fn what_is_no_address_is_refused() {
        assert!(address(b"relative").is_err() && address(b"").is_err());
        assert!(address(&[b"/".as_slice(), &[b'x'; 200]].concat()).is_err());
    }
}
