//! Addresses and sockets that a server listens on.

use rustix::fs::{Mode, fchmod};
use rustix::io::Errno;
use rustix::net::{self, AddressFamily, SocketAddrUnix, SocketFlags, SocketType, sockopt};
use std::fmt;
use std::fs::Permissions;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

/// An address to listen on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// A unix socket.
    Unix(PathBuf),
    /// An address and port.
    Tcp(SocketAddr),
}

/// How to listen on an address. The default listens on addresses of this machine only.
#[derive(Clone, Copy, Debug, Default)]
pub struct BindOptions {
    allow_network: bool,
    requires_certificate: bool,
    permissions: Option<u32>,
}

impl BindOptions {
    /// Whether connections from other machines are allowed.
    pub fn allow_network(self, allow_network: bool) -> BindOptions {
        BindOptions { allow_network, ..self }
    }

    /// True if connections from other machines are allowed.
    pub(crate) fn allows_network(&self) -> bool {
        self.allow_network
    }

    /// Whether clients are asked for certificates, which changes the advice where the network is not allowed.
    pub fn requires_certificate(self, requires_certificate: bool) -> BindOptions {
        BindOptions { requires_certificate, ..self }
    }

    /// File permissions of a unix socket; `None`, the default, leaves them to the umask.
    pub fn permissions(self, permissions: Option<u32>) -> BindOptions {
        BindOptions { permissions, ..self }
    }
}

/// Why listening on an address failed.
#[derive(Debug, thiserror::Error)]
pub enum CannotListen {
    /// Another server is listening on it.
    #[error("{0} is in use by a server that answers; stop it, or choose another address")]
    InUse(Address),
    /// The path exists and is not a socket.
    #[error("{} is there and is no socket; choose another path", .0.display())]
    NotASocket(PathBuf),
    /// The folder of a unix socket does not exist.
    #[error("cannot listen on {}: there is no folder {}; create it, or choose another path", .path.display(),
        .folder.display())]
    NoFolder {
        /// The path of the socket.
        path: PathBuf,
        /// The folder that is missing.
        folder: PathBuf,
    },
    /// The address can be reached from the network, and that was not allowed.
    #[error(
        "{0} can be reached from other machines, and nobody there would be asked who they are; listen on \
         127.0.0.1, or say --allow-network, best with --tls-certificates and --tls-verify-peer, so that only \
         who has a certificate is served"
    )]
    NotLocal(SocketAddr),
    /// The address can be reached from the network, and that was not allowed; clients need certificates.
    #[error(
        "{0} can be reached from other machines; listen on 127.0.0.1, or say --allow-network if clients with \
         certificates may come from there"
    )]
    NotMeant(SocketAddr),
    /// A system call failed.
    #[error("cannot listen on {0}: {1}")]
    System(Address, #[source] io::Error),
}

impl CannotListen {
    /// True if another address would do. Otherwise the system lacks something, such as descriptors.
    pub fn is_of_address(&self) -> bool {
        let CannotListen::System(_, error) = self else { return true };
        UNUSABLE.iter().any(|errno| error.raw_os_error() == Some(errno.raw_os_error()))
    }

    /// The error of a system call for the unix socket at `path`.
    fn of_unix(path: &Path, error: io::Error) -> CannotListen {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty() && !folder.exists());
        match folder {
            Some(folder) => CannotListen::NoFolder { path: path.into(), folder: folder.into() },
            None => CannotListen::System(Address::Unix(path.into()), error),
        }
    }
}

/// Errors of a path or address that cannot be listened on.
const UNUSABLE: [Errno; 12] = [
    Errno::NOENT,
    Errno::NOTDIR,
    Errno::LOOP,
    Errno::NAMETOOLONG,
    Errno::ACCESS,
    Errno::PERM,
    Errno::ROFS,
    Errno::INVAL,
    Errno::ADDRINUSE,
    Errno::ADDRNOTAVAIL,
    Errno::AFNOSUPPORT,
    Errno::OPNOTSUPP,
];

/// A socket that takes connections. A unix socket is removed when it is dropped.
#[derive(Debug)]
pub struct Listener {
    socket: Socket,
    address: Address,
}

#[derive(Debug)]
enum Socket {
    /// With its file, if that is to be removed.
    Unix(UnixListener, Option<FileId>),
    Tcp(TcpListener),
}

/// Device and number of a file.
type FileId = (u64, u64);

impl Listener {
    /// Listens on `address`. Beyond loopback only where `options` allow the network. A
    /// stale unix socket of a server that has exited is replaced.
    ///
    /// # Errors
    /// The address is in use, can be reached from the network although `options` do not allow that, or a
    /// system call failed; see [`CannotListen`].
    pub fn bind(address: &Address, options: BindOptions) -> Result<Listener, CannotListen> {
        let wrong = |error| CannotListen::System(address.clone(), error);
        let (socket, address) = match address {
            Address::Unix(path) => {
                clear(path)?;
                let listener = bind_unix(path, options.permissions)
                    .map_err(|error| CannotListen::of_unix(path, error))?;
                (Socket::Unix(listener, Some(file_id(path).map_err(wrong)?)), address.clone())
            }
            Address::Tcp(at) if !at.ip().is_loopback() && !options.allow_network => {
                return Err(if options.requires_certificate {
                    CannotListen::NotMeant(*at)
                } else {
                    CannotListen::NotLocal(*at)
                });
            }
            Address::Tcp(at) => {
                let listener = TcpListener::bind(at).map_err(|error| match error.kind() {
                    io::ErrorKind::AddrInUse => CannotListen::InUse(address.clone()),
                    _ => wrong(error),
                })?;
                listener.set_nonblocking(true).map_err(wrong)?;
                let at = listener.local_addr().map_err(wrong)?;
                (Socket::Tcp(listener), Address::Tcp(at))
            }
        };
        Ok(Listener { socket, address })
    }

    /// A socket that takes connections already: one of the service manager, which owns its file.
    ///
    /// # Errors
    /// `InvalidInput` if it is something else, such as a socket for datagrams; otherwise the error of a
    /// system call.
    pub fn inherited(socket: OwnedFd) -> io::Result<Listener> {
        let wrong = |why| io::Error::new(io::ErrorKind::InvalidInput, why);
        if !sockopt::socket_acceptconn(&socket)? || sockopt::socket_type(&socket)? != SocketType::STREAM {
            return Err(wrong("it takes no connections (ListenStream= and Accept=no are needed)"));
        }
        let (socket, address) = if sockopt::socket_domain(&socket)? == AddressFamily::UNIX {
            let listener = UnixListener::from(socket);
            listener.set_nonblocking(true)?;
            let path = listener.local_addr()?.as_pathname().map(Path::to_path_buf);
            let path = path.unwrap_or_else(|| PathBuf::from("a socket without a path"));
            (Socket::Unix(listener, None), Address::Unix(path))
        } else {
            let listener = TcpListener::from(socket);
            listener.set_nonblocking(true)?;
            let at = listener.local_addr()?;
            (Socket::Tcp(listener), Address::Tcp(at))
        };
        Ok(Listener { socket, address })
    }

    /// The address it listens on, with the port that the system chose if port 0 was requested.
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// Accepts the next connection as a non-blocking socket.
    ///
    /// # Errors
    /// `WouldBlock` if no connection is pending; otherwise the error of the system call, such as too many
    /// open files.
    pub fn accept(&self) -> io::Result<OwnedFd> {
        match &self.socket {
            Socket::Unix(listener, _) => {
                let (stream, _) = listener.accept()?;
                stream.set_nonblocking(true)?;
                Ok(stream.into())
            }
            Socket::Tcp(listener) => {
                let (stream, _) = listener.accept()?;
                stream.set_nonblocking(true)?;
                stream.set_nodelay(true)?;
                Ok(stream.into())
            }
        }
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match &self.socket {
            Socket::Unix(listener, _) => listener.as_fd(),
            Socket::Tcp(listener) => listener.as_fd(),
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let (Socket::Unix(_, Some(ours)), Address::Unix(path)) = (&self.socket, &self.address)
            && file_id(path).is_ok_and(|id| id == *ours)
        {
            // If it cannot be removed now, the next server on this path removes it.
            let _ = std::fs::remove_file(path);
        }
    }
}

/// Binds a unix socket; no client can connect before it has its permissions.
fn bind_unix(path: &Path, permissions: Option<u32>) -> io::Result<UnixListener> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    // Linux creates the file with the permissions of the socket, less the umask (not documented in unix(7);
    // see `unix_bind_bsd`).
    if let Some(permissions) = permissions {
        fchmod(&socket, Mode::from_raw_mode(permissions))?;
    }
    net::bind(&socket, &SocketAddrUnix::new(path)?)?;
    let listen = || -> io::Result<()> {
        if let Some(permissions) = permissions {
            std::fs::set_permissions(path, Permissions::from_mode(permissions))?;
        }
        Ok(net::listen(&socket, BACKLOG)?)
    };
    if let Err(why) = listen() {
        let _ = std::fs::remove_file(path);
        return Err(why);
    }
    Ok(UnixListener::from(socket))
}

/// Maximum number of pending connections; the system may allow fewer (`net.core.somaxconn`).
const BACKLOG: i32 = 4096;

/// Removes a stale socket of a server that has exited.
fn clear(path: &Path) -> Result<(), CannotListen> {
    let address = || Address::Unix(path.to_path_buf());
    let Ok(data) = std::fs::symlink_metadata(path) else { return Ok(()) };
    if !data.file_type().is_socket() {
        return Err(CannotListen::NotASocket(path.to_path_buf()));
    }
    match UnixStream::connect(path) {
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
            std::fs::remove_file(path).map_err(|error| CannotListen::System(address(), error))
        }
        _ => Err(CannotListen::InUse(address())),
    }
}

fn file_id(path: &Path) -> io::Result<FileId> {
    let data = std::fs::symlink_metadata(path)?;
    Ok((data.dev(), data.ino()))
}

impl Address {
    /// The URI of `export` at this address for NBD clients (the NBD URI specification).
    pub fn uri(&self, export: &str) -> String {
        self.uri_by("nbd", export)
    }

    /// The NBD URI of `export` for clients that require TLS.
    pub fn encrypted_uri(&self, export: &str) -> String {
        self.uri_by("nbds", export)
    }

    /// The NBD URI of `export` for clients that require TLS, with the folder of the client's certificates and
    /// authority; libnbd's extension of the NBD URI specification.
    pub fn encrypted_uri_with(&self, export: &str, certificates: &Path) -> String {
        let separator = if matches!(self, Address::Unix(_)) { '&' } else { '?' };
        let folder = std::path::absolute(certificates).unwrap_or_else(|_| certificates.to_path_buf());
        let uri = self.encrypted_uri(export);
        format!("{uri}{separator}tls-certificates={}", escaped(&folder.to_string_lossy()))
    }

    fn uri_by(&self, scheme: &str, export: &str) -> String {
        let export = escaped(export);
        match self {
            Address::Unix(path) => {
                let path = std::path::absolute(path).unwrap_or_else(|_| path.clone());
                format!("{scheme}+unix:///{export}?socket={}", escaped(&path.to_string_lossy()))
            }
            Address::Tcp(at) => format!("{scheme}://{at}/{export}"),
        }
    }
}

/// Percent-encodes all characters but the unreserved ones (RFC 3986, section 2.3).
fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                escaped.push(byte.into())
            }
            _ => escaped.push_str(&format!("%{byte:02X}")),
        }
    }
    escaped
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Unix(path) => path.display().fmt(f),
            Address::Tcp(at) => at.fmt(f),
        }
    }
}

/// True if an error means that the system is out of descriptors or memory.
pub(crate) fn is_exhausted(error: &io::Error) -> bool {
    let errors = [Errno::MFILE, Errno::NFILE, Errno::NOBUFS, Errno::NOMEM];
    errors.iter().any(|errno| error.raw_os_error() == Some(errno.raw_os_error()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_another_address_mends_is_distinguished_from_what_the_system_lacks() {
        let folder = tempfile::tempdir().expect("a folder");
        let bind = |address: Address| Listener::bind(&address, BindOptions::default().allow_network(true));
        let path = folder.path().join("no/socket");
        let missing = bind(Address::Unix(path)).expect_err("there is no such folder");
        assert!(matches!(&missing, CannotListen::NoFolder { folder, .. } if folder.ends_with("no")));
        assert!(missing.is_of_address());
        // An address for documentation (RFC 5737), which no machine has.
        let elsewhere = bind(Address::Tcp(SocketAddr::from(([192, 0, 2, 1], 0))));
        assert!(elsewhere.expect_err("it is not ours").is_of_address());
        let long = bind(Address::Unix(folder.path().join("x".repeat(200))));
        assert!(long.expect_err("sockets have short paths").is_of_address());
        let lacking = io::Error::from_raw_os_error(Errno::MFILE.raw_os_error());
        assert!(!CannotListen::System(Address::Unix("socket".into()), lacking).is_of_address());
    }

    /// No client can connect before the socket listens, so the permissions must be set before that.
    #[test]
    fn a_unix_socket_has_its_permissions_when_it_can_be_connected_to() {
        let folder = tempfile::tempdir().expect("a folder");
        let permissions = |path: &Path| std::fs::metadata(path).expect("it is there").mode() & 0o777;
        for wanted in [0o600, 0o660, 0o777] {
            let path = folder.path().join(format!("{wanted:o}"));
            let listener = bind_unix(&path, Some(wanted)).expect("a socket");
            assert_eq!(permissions(&path), wanted);
            UnixStream::connect(&path).expect("it listens");
            drop(listener);
        }
        // The call that creates the file sets them, so other processes never see wider ones.
        let path = folder.path().join("early");
        let socket = net::socket(AddressFamily::UNIX, SocketType::STREAM, None).expect("a socket");
        fchmod(&socket, Mode::from_raw_mode(0o600)).expect("a socket of ours");
        net::bind(&socket, &SocketAddrUnix::new(&path).expect("short")).expect("a folder of ours");
        assert_eq!(permissions(&path), 0o600);
    }
}
