//! The live page: HTTP/1.1 on loopback, one request for each connection.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

/// The listener, on 127.0.0.1 only.
#[derive(Debug)]
pub(super) struct LivePage {
    listener: TcpListener,
    address: SocketAddr,
}

impl LivePage {
    /// Listens on this port, or on any free one if it is 0.
    ///
    /// # Errors
    /// Another program listens there, or a system call fails.
    pub(super) fn bind(port: u16) -> io::Result<LivePage> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        Ok(LivePage { listener, address })
    }

    /// Where a browser finds the page.
    pub(super) fn url(&self) -> String {
        format!("http://{}/", self.address)
    }

    /// Answers all connections that are pending. A client that sends nothing is given up after
    /// [`PATIENCE`].
    pub(super) fn answer(&self, figures: impl Fn() -> String) {
        while let Ok((stream, _)) = self.listener.accept() {
            // A browser that has gone away asks again when it is back.
            let _ = answer(stream, &figures);
        }
    }
}

fn answer(mut stream: TcpStream, figures: &impl Fn() -> String) -> io::Result<()> {
    stream.set_nonblocking(false)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let request = receive(&mut stream)?;
    stream.write_all(response(&request, figures).as_bytes())
}

/// The request with its headers.
fn receive(stream: &mut TcpStream) -> io::Result<Vec<u8>> {
    let (mut request, mut bytes) = (Vec::new(), [0; 2048]);
    while !request.windows(4).any(|end| end == b"\r\n\r\n") && request.len() < REQUEST_BYTES {
        match stream.read(&mut bytes)? {
            0 => return Err(ErrorKind::UnexpectedEof.into()),
            count => request.extend_from_slice(&bytes[..count]),
        }
    }
    Ok(request)
}

fn response(request: &[u8], figures: &impl Fn() -> String) -> String {
    let line = request.split(|&byte| byte == b'\r').next().unwrap_or_default();
    let words: Vec<&[u8]> = line.split(|&byte| byte == b' ').collect();
    let (status, media, body) = match words[..] {
        [b"GET", b"/", _] => ("200 OK", "text/html; charset=utf-8", page()),
        [b"GET", b"/figures.json", _] => ("200 OK", "application/json", figures()),
        [b"GET", ..] => ("404 Not Found", "text/plain", String::from("the page is at /\n")),
        _ => ("405 Method Not Allowed", "text/plain", String::from("GET / or /figures.json\n")),
    };
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: {media}\r\nContent-Length: {}\r\nCache-Control: no-store\r\n\
         Connection: close\r\n\r\n{body}",
        body.len()
    )
}

/// The page, which asks for the figures twice a second.
fn page() -> String {
    PAGE.replace("/* style */", crate::html::STYLE).replace("/* script */", SCRIPT)
}

const PAGE: &str = include_str!("page.html");
const SCRIPT: &str = include_str!("page.js");
/// How long a client may take for its request and for the response. The page of others waits as long.
const PATIENCE: Duration = Duration::from_millis(200);
/// Maximum size of a request with its headers, in bytes.
const REQUEST_BYTES: usize = 8 << 10;

#[cfg(test)]
mod tests {
    use super::*;

    fn told(request: &str) -> String {
        response(request.as_bytes(), &|| String::from("{}"))
    }

    #[test]
    fn page_and_figures_have_their_paths_and_other_requests_are_refused() {
        let page = told("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
        assert!(page.starts_with("HTTP/1.1 200 OK\r\nContent-Type: text/html"), "{page}");
        assert!(page.contains("--accent") && page.contains("figures.json"), "style and script are in it");
        assert!(!page.contains("/* script */") && !page.contains("/* style */"));
        assert!(told("GET /figures.json HTTP/1.1\r\n\r\n").ends_with("\r\n\r\n{}"));
        assert!(told("GET /etc/passwd HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 404 "));
        assert!(told("POST / HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 405 "));
        assert!(told("nonsense").starts_with("HTTP/1.1 405 "));
    }

    #[test]
    fn it_listens_on_loopback_alone() {
        let page = LivePage::bind(0).expect("a free port");
        assert!(page.address.ip().is_loopback(), "{}", page.address);
        let other = LivePage::bind(page.address.port()).expect_err("the port is taken");
        assert_eq!(other.kind(), ErrorKind::AddrInUse);
    }
}
