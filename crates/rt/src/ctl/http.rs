//! The metrics endpoint for Prometheus: `GET /metrics` over HTTP/1.1, one request per connection.

use super::{METRICS, PEER};
use crate::listener::{Address, BindOptions, CannotListen, Listener};
use crate::reactor::{Accepted, Listeners, READABLE, Reactor, Token, WRITABLE};
use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use tailcut_base::Time;
use tailcut_host::wire::metrics::MEDIA_TYPE;

/// The HTTP listener for metrics and its connections.
#[derive(Debug)]
pub struct MetricsPage {
    address: Address,
    listeners: Listeners,
    /// Oldest first.
    connections: VecDeque<Connection>,
}

#[derive(Debug)]
struct Connection {
    stream: TcpStream,
    heard: Vec<u8>,
    /// The unsent rest of the response.
    says: Vec<u8>,
}

/// Maximum number of connections; one more closes the oldest.
const CONNECTIONS: usize = 16;
/// Maximum size of a request with its headers, in bytes.
const REQUEST_BYTES: usize = 8 << 10;

impl MetricsPage {
    /// Listens on an address of this machine; beyond loopback only with `allow_network`.
    ///
    /// # Errors
    /// If another process listens on `address`, or a system call fails.
    pub fn bind(address: SocketAddr, allow_network: bool) -> Result<MetricsPage, CannotListen> {
        let options = BindOptions::default().allow_network(allow_network);
        let listener = Listener::bind(&Address::Tcp(address), options)?;
        let (address, listeners) = (listener.address().clone(), Listeners::new(vec![listener], METRICS));
        Ok(MetricsPage { address, listeners, connections: VecDeque::new() })
    }

    /// The address that the page listens on.
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// Watches the socket for connections.
    ///
    /// # Errors
    /// If the system is out of memory for it.
    pub(crate) fn watch<M>(&self, reactor: &Reactor<M>) -> io::Result<()> {
        self.listeners.watch(reactor)
    }

    /// When [`MetricsPage::serve`] is due without an event: a connection is pending for which the system has
    /// no descriptor.
    pub(crate) fn resumes(&self) -> Time {
        self.listeners.resumes()
    }

    /// Number of open connections.
    #[cfg(test)]
    pub(super) fn connections(&self) -> usize {
        self.connections.len()
    }

    /// Accepts pending connections and sends the result of `page` to each client with a complete request.
    pub(crate) fn serve<M>(&mut self, reactor: &Reactor<M>, now: Time, mut page: impl FnMut() -> String) {
        self.listeners.resume(reactor, now);
        while self.listeners.resumes() == Time::NEVER {
            match self.listeners.accept(METRICS) {
                Accepted::Connection(socket) => {
                    if reactor.watch(&socket, Token::source(PEER), READABLE).is_ok() {
                        let stream = TcpStream::from(socket);
                        self.connections.push_back(Connection {
                            stream,
                            heard: Vec::new(),
                            says: Vec::new(),
                        });
                    }
                }
                Accepted::Nothing => break,
                Accepted::Exhausted => self.listeners.pause(reactor, now),
                Accepted::Aborted => {}
            }
        }
        self.connections.retain_mut(|connection| connection.serve(&mut page));
        for connection in self.connections.iter().filter(|connection| !connection.says.is_empty()) {
            reactor.watch_for(&connection.stream, Token::source(PEER), WRITABLE);
        }
        while self.connections.len() > CONNECTIONS {
            self.connections.pop_front();
        }
    }
}

impl Connection {
    /// False when the response has been sent, or the client has disconnected.
    fn serve(&mut self, page: &mut impl FnMut() -> String) -> bool {
        if self.says.is_empty() {
            match self.receive() {
                Ok(true) => self.says = answer(&self.heard, page),
                Ok(false) => return true,
                Err(_) => return false,
            }
        }
        self.send()
    }

    /// Reads the request; true when it is complete.
    fn receive(&mut self) -> io::Result<bool> {
        let mut bytes = [0; 4096];
        loop {
            match self.stream.read(&mut bytes) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(count) => self.heard.extend_from_slice(&bytes[..count]),
                Err(why) if why.kind() == ErrorKind::WouldBlock => return Ok(false),
                Err(why) if why.kind() == ErrorKind::Interrupted => {}
                Err(why) => return Err(why),
            }
            let is_whole = self.heard.windows(4).any(|end| end == b"\r\n\r\n");
            if is_whole || self.heard.len() > REQUEST_BYTES {
                return Ok(true);
            }
        }
    }

    /// Sends as much as the socket takes; false when all is sent, or the client has disconnected.
    fn send(&mut self) -> bool {
        while !self.says.is_empty() {
            match self.stream.write(&self.says) {
                Ok(count) => drop(self.says.drain(..count)),
                Err(why) if why.kind() == ErrorKind::WouldBlock => return true,
                Err(why) if why.kind() == ErrorKind::Interrupted => {}
                Err(_) => return false,
            }
        }
        false
    }
}

/// The response to a request (RFC 9112).
fn answer(request: &[u8], page: &mut impl FnMut() -> String) -> Vec<u8> {
    let line = request.split(|&byte| byte == b'\r').next().unwrap_or_default();
    let words: Vec<&[u8]> = line.split(|&byte| byte == b' ').collect();
    let (status, more, body) = match words[..] {
        _ if request.len() > REQUEST_BYTES => ("431 Request Header Fields Too Large", "", String::new()),
        [b"GET" | b"HEAD", b"/metrics", version] if version.starts_with(b"HTTP/1.") => ("200 OK", "", page()),
        [b"GET" | b"HEAD", _, version] if version.starts_with(b"HTTP/1.") => {
            ("404 Not Found", "", String::from("the metrics are at /metrics\n"))
        }
        [_, _, version] if version.starts_with(b"HTTP/1.") => {
            ("405 Method Not Allowed", "Allow: GET, HEAD\r\n", String::new())
        }
        _ => ("400 Bad Request", "", String::new()),
    };
    let head = format!(
        "HTTP/1.1 {status}\r\n{more}Content-Type: {MEDIA_TYPE}\r\nContent-Length: {}\r\nConnection: \
            close\r\n\r\n",
        body.len()
    );
    let body = if words[0] == b"HEAD" { String::new() } else { body };
    (head + &body).into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ctl::tests::reactor;

    fn told(request: &str) -> String {
        let told = answer(request.as_bytes(), &mut || String::from("tailcut_x 1\n"));
        String::from_utf8(told).expect("it is text")
    }

    #[test]
    fn only_the_page_is_there() {
        let page = told("GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n");
        assert!(page.starts_with("HTTP/1.1 200 OK\r\n"), "{page}");
        assert!(
            page.contains("\r\nContent-Length: 12\r\n") && page.ends_with("\r\n\r\ntailcut_x 1\n"),
            "{page}"
        );
        assert!(told("HEAD /metrics HTTP/1.1\r\n\r\n").ends_with("close\r\n\r\n"));
        assert!(told("GET / HTTP/1.0\r\n\r\n").starts_with("HTTP/1.1 404 "));
        assert!(told("POST /metrics HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 405 "));
        assert!(told("\r\n\r\n").starts_with("HTTP/1.1 400 "));
        assert!(told(&"x".repeat(REQUEST_BYTES + 1)).starts_with("HTTP/1.1 431 "));
    }

    /// Serves until the client has received the whole response.
    fn fetch(page: &mut MetricsPage, mut stream: TcpStream) -> String {
        let reactor = reactor();
        page.watch(&reactor).expect("memory");
        stream.set_nonblocking(true).expect("a socket");
        let (mut heard, mut bytes) = (Vec::new(), [0; 4096]);
        loop {
            page.serve(&reactor, Time::ZERO, || String::from("tailcut_x 1\n"));
            match stream.read(&mut bytes) {
                Ok(0) => return String::from_utf8(heard).expect("it is text"),
                Ok(count) => heard.extend_from_slice(&bytes[..count]),
                Err(why) => assert_eq!(why.kind(), ErrorKind::WouldBlock),
            }
        }
    }

    #[test]
    fn who_says_nothing_keeps_nobody_from_the_page() {
        let address = "127.0.0.1:0".parse().expect("an address");
        let mut page = MetricsPage::bind(address, false).expect("loopback");
        let Address::Tcp(at) = page.address().clone() else { panic!("it is TCP") };
        let silent: Vec<TcpStream> =
            (0..3 * CONNECTIONS).map(|_| TcpStream::connect(at).expect("it listens")).collect();
        let mut good = TcpStream::connect(at).expect("it listens");
        good.write_all(b"GET /metrics HTTP/1.1\r\n\r\n").expect("it listens");
        assert!(fetch(&mut page, good).ends_with("tailcut_x 1\n"));
        assert!(page.connections.len() <= CONNECTIONS);
        drop(silent);
    }

    #[test]
    fn other_machines_are_not_let_in_unasked() {
        let address = "0.0.0.0:0".parse().expect("an address");
        assert!(matches!(MetricsPage::bind(address, false), Err(CannotListen::NotLocal(_))));
    }
}
