//! A client of a block server that sends and receives in batches, for benchmarks and tests.
//!
//! It implements only the required part of NBD: one export, simple replies, one blocking socket.

use crate::serve::Address;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use tailcut_host::wire::nbd::Header;
use tailcut_host::wire::nbd::standard::*;

/// A connection in the transmission phase, over a socket or any other byte stream.
#[derive(Debug)]
pub struct Client<S = Socket> {
    socket: S,
    bytes: u64,
    flags: u16,
    /// Requests that have not been sent yet.
    out: Vec<u8>,
    /// Received bytes; those from `taken` to `filled` are unprocessed.
    buffer: Vec<u8>,
    taken: usize,
    filled: usize,
}

/// A socket of either kind.
#[derive(Debug)]
pub enum Socket {
    /// A unix socket.
    Unix(UnixStream),
    /// TCP, with Nagle's algorithm disabled.
    Tcp(TcpStream),
}

/// The reply to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Replied {
    /// The cookie of the request that the reply belongs to.
    pub cookie: u64,
    /// 0 for success, or an error number of the NBD standard.
    pub error: u32,
}

impl Client {
    /// Connects and chooses `export`.
    ///
    /// # Errors
    /// No connection, or as of [`Client::greet`].
    pub fn connect(address: &Address, export: &str) -> io::Result<Client> {
        Client::greet(Socket::connect(address)?, export)
    }
}

impl<S: Read + Write> Client<S> {
    /// Chooses `export` on a connection on which the server's greeting comes next.
    ///
    /// # Errors
    /// `InvalidData` if the server does not speak newstyle NBD or has no such export; otherwise the error of
    /// the stream.
    pub fn greet(mut socket: S, export: &str) -> io::Result<Client<S>> {
        let mut greeting = [0; 18];
        socket.read_exact(&mut greeting)?;
        let is_newstyle =
            greeting[..8] == NBDMAGIC.to_be_bytes() && greeting[8..16] == IHAVEOPT.to_be_bytes();
        if !is_newstyle {
            return Err(strange("the server does not speak newstyle NBD"));
        }
        let flags = u16::from_be_bytes([greeting[16], greeting[17]]);
        let has_no_zeroes = flags & NBD_FLAG_NO_ZEROES != 0;
        let client_flags = NBD_FLAG_C_FIXED_NEWSTYLE | if has_no_zeroes { NBD_FLAG_C_NO_ZEROES } else { 0 };
        socket.write_all(&client_flags.to_be_bytes())?;
        Client::choose(socket, export, has_no_zeroes)
    }

    /// Chooses `export` in the option phase; `has_no_zeroes` if the client has set that flag.
    ///
    /// # Errors
    /// `InvalidData` if the server has no such export; otherwise the error of the stream.
    #[expect(clippy::missing_panics_doc, reason = "the slice has the length of the number")]
    pub fn choose(mut socket: S, export: &str, has_no_zeroes: bool) -> io::Result<Client<S>> {
        socket.write_all(&option_with(export))?;
        let mut answer = vec![0; if has_no_zeroes { 10 } else { 134 }];
        socket.read_exact(&mut answer).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => strange(&format!("the server has no export '{export}'")),
            _ => error,
        })?;
        Ok(Client {
            socket,
            bytes: u64::from_be_bytes(answer[..8].try_into().expect("eight bytes")),
            flags: u16::from_be_bytes([answer[8], answer[9]]),
            out: Vec::new(),
            buffer: vec![0; BUFFER_BYTES],
            taken: 0,
            filled: 0,
        })
    }

    /// Size of the export in bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Transmission flags of the export, a bit mask of `NBD_FLAG_…`.
    pub fn flags(&self) -> u16 {
        self.flags
    }

    /// Adds a request to the batch; `data` is that of a write.
    pub fn ask(&mut self, header: &Header, data: &[u8]) {
        self.out.extend_from_slice(&header.encode());
        self.out.extend_from_slice(data);
    }

    /// Sends the batch.
    ///
    /// # Errors
    /// The error of the stream; the batch stays.
    pub fn send(&mut self) -> io::Result<()> {
        self.socket.write_all(&self.out)?;
        self.out.clear();
        Ok(())
    }

    /// Cookie of the request whose reply comes next, once it is known.
    #[expect(clippy::missing_panics_doc, reason = "the slice has the length of the number")]
    pub fn next_cookie(&self) -> Option<u64> {
        let there = &self.buffer[self.taken..self.filled];
        let cookie = there.get(8..SIMPLE_BYTES)?;
        Some(u64::from_be_bytes(cookie.try_into().expect("eight bytes")))
    }

    /// The next reply that has been received already; `payload` is the number of bytes that follow it unless
    /// it is an error. They are passed to `take`. `Ok(None)` while the reply is incomplete.
    ///
    /// # Errors
    /// `InvalidData` if the server sent something else than a simple reply.
    #[expect(clippy::missing_panics_doc, reason = "the slices have the lengths of the numbers")]
    pub fn received(&mut self, payload: usize, mut take: impl FnMut(&[u8])) -> io::Result<Option<Replied>> {
        let there = &self.buffer[self.taken..self.filled];
        if there.len() < SIMPLE_BYTES {
            return Ok(None);
        }
        let word = |at: usize| u32::from_be_bytes(there[at..at + 4].try_into().expect("four bytes"));
        if word(0) != NBD_SIMPLE_REPLY_MAGIC {
            return Err(strange("the server sends something else than a simple reply"));
        }
        let error = word(4);
        let cookie = u64::from_be_bytes(there[8..16].try_into().expect("eight bytes"));
        let length = SIMPLE_BYTES + if error == 0 { payload } else { 0 };
        if there.len() < length {
            return Ok(None);
        }
        take(&there[SIMPLE_BYTES..length]);
        self.taken += length;
        Ok(Some(Replied { cookie, error }))
    }

    /// Waits until something is received.
    ///
    /// # Errors
    /// `UnexpectedEof` if the server has closed the connection; otherwise the error of the stream.
    ///
    /// # Panics
    /// If the buffer is full: a reply is longer than 256 KiB, or replies were not taken by
    /// [`Client::received`].
    pub fn receive(&mut self) -> io::Result<()> {
        self.buffer.copy_within(self.taken..self.filled, 0);
        (self.filled, self.taken) = (self.filled - self.taken, 0);
        assert!(self.filled < self.buffer.len(), "a reply fits the buffer");
        match self.socket.read(&mut self.buffer[self.filled..])? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            count => {
                self.filled += count;
                Ok(())
            }
        }
    }

    /// Executes one request, and returns its error and data.
    ///
    /// # Errors
    /// The errors of [`Client::send`], [`Client::received`] and [`Client::receive`].
    pub fn call(&mut self, header: &Header, data: &[u8]) -> io::Result<(u32, Vec<u8>)> {
        self.ask(header, data);
        self.send()?;
        let payload = if header.command == NBD_CMD_READ { header.length as usize } else { 0 };
        let mut content = Vec::new();
        loop {
            if let Some(replied) = self.received(payload, |bytes| content.extend_from_slice(bytes))? {
                return Ok((replied.error, content));
            }
            self.receive()?;
        }
    }
}

impl Socket {
    fn connect(address: &Address) -> io::Result<Socket> {
        match address {
            Address::Unix(path) => UnixStream::connect(path).map(Socket::Unix),
            Address::Tcp(at) => {
                let stream = TcpStream::connect(at)?;
                stream.set_nodelay(true)?;
                Ok(Socket::Tcp(stream))
            }
        }
    }
}

impl Read for Socket {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Socket::Unix(stream) => stream.read(buffer),
            Socket::Tcp(stream) => stream.read(buffer),
        }
    }
}

impl Write for Socket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Socket::Unix(stream) => stream.write(bytes),
            Socket::Tcp(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The option that chooses an export by name.
fn option_with(export: &str) -> Vec<u8> {
    let mut words = IHAVEOPT.to_be_bytes().to_vec();
    words.extend_from_slice(&NBD_OPT_EXPORT_NAME.to_be_bytes());
    words.extend_from_slice(&(export.len() as u32).to_be_bytes());
    words.extend_from_slice(export.as_bytes());
    words
}

fn strange(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}

const BUFFER_BYTES: usize = 256 << 10;
const SIMPLE_BYTES: usize = 16;
