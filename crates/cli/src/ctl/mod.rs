//! `tailcut ctl` and `tailcut status`: asking and steering a server that runs.

pub mod json;
pub mod running;

use crate::failure::Failure;
use crate::output::write_json;
use std::fs::DirEntry;
use std::io::{ErrorKind, Write};
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

/// The default path of a server's control socket.
pub const DEFAULT_CONTROL: &str = "tailcut.ctl";

/// Shows the state of a server, as JSON if it `is_json`: of the one that listens on `socket`, of the only one
/// with a control socket in the working folder, or of the only one that runs.
///
/// # Errors
/// Several servers to choose from, no server at the socket, or standard output cannot be written.
pub fn status(socket: Option<&Path>, is_json: bool, out: &mut dyn Write) -> Result<(), Failure> {
    let socket = socket.map_or_else(only_control, |socket| Ok(socket.into()))?;
    if !is_json {
        return ctl(&socket, &["status".into()], out);
    }
    let (status, metrics) = (answer(&socket, "status")?, answer(&socket, "metrics")?);
    let document = json::document(&socket.display().to_string(), &status, &metrics);
    write_json(&document, Path::new("-"), out)
}

/// Sends a request to the server whose control socket comes first, or to the only one as [`status`] does.
/// Without a socket, `help` asks no server.
///
/// # Errors
/// No request, several control sockets, no server at the socket, or a request that the server refuses.
pub fn control(words: &[String], out: &mut dyn Write) -> Result<(), Failure> {
    match words {
        [socket, words @ ..] if socket.contains('/') || socket.ends_with(".ctl") => {
            if words.is_empty() {
                return Err(Failure::Input(format!("there is no request for {socket}: try 'help'")));
            }
            ctl(Path::new(socket), words, out)
        }
        [word] if word == "help" => Ok(write!(out, "{}", tailcut_host::wire::ctl::help())?),
        words => ctl(&only_control()?, words, out),
    }
}

/// The only control socket in the working folder, that of the only server that runs, or the default one.
fn only_control() -> Result<PathBuf, Failure> {
    let here = control_sockets(Path::new("."));
    let live: Vec<PathBuf> = here.iter().filter(|path| UnixStream::connect(path).is_ok()).cloned().collect();
    if live.len() > 1 && live.iter().any(|path| path == Path::new(DEFAULT_CONTROL)) {
        return Ok(DEFAULT_CONTROL.into());
    }
    let running = if live.is_empty() { running::sockets() } else { live };
    match &running[..] {
        [] => Ok(here.into_iter().next().unwrap_or_else(|| DEFAULT_CONTROL.into())),
        [only] => Ok(only.clone()),
        several => {
            let names: Vec<String> = several.iter().map(|path| path.display().to_string()).collect();
            let names = names.join(", ");
            Err(Failure::Input(format!("there are several control sockets: {names}; name one first")))
        }
    }
}

/// The control sockets in a folder, by name: sockets whose names end with those of control sockets.
fn control_sockets(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let is_socket = |entry: &DirEntry| entry.file_type().is_ok_and(|kind| kind.is_socket());
    let paths = entries.filter(is_socket).map(|entry| PathBuf::from(entry.file_name()));
    let mut paths: Vec<PathBuf> =
        paths.filter(|path| path.extension().is_some_and(|extension| extension == "ctl")).collect();
    paths.sort();
    paths
}

/// Sends a command to the server that listens on a socket, and prints its answer.
///
/// # Errors
/// No server at the socket, something else than a control server, or a request that it refuses.
pub fn ctl(socket: &Path, words: &[String], out: &mut dyn Write) -> Result<(), Failure> {
    let answer = answer(socket, &words.join(" "))?;
    Ok(write!(out, "{answer}")?)
}

/// The answer of the server that listens on a socket to a request.
fn answer(socket: &Path, request: &str) -> Result<String, Failure> {
    let answer = tailcut_rt::ctl::ask(socket, request).map_err(|why| {
        let what = socket.display();
        match why.kind() {
            ErrorKind::NotFound | ErrorKind::ConnectionRefused => Failure::Input(format!(
                "nobody serves at {what}: give the control socket of a running server, which it names when \
                    it starts"
            )),
            ErrorKind::InvalidData => Failure::Input(format!(
                "{what} is {why}: give the control socket, which the server names when it starts (--control)"
            )),
            _ => Failure::Operation(format!("{what}: {why}")),
        }
    })?;
    match answer.strip_prefix("refused: ") {
        Some(why) => Err(Failure::Input(why.to_string())),
        None => Ok(answer),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::os::unix::net::UnixListener;

    /// The reply to one line, on a socket of its own.
    fn talk(answer: &'static [u8]) -> (String, Result<String, Failure>) {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("control");
        let listener = UnixListener::bind(&path).expect("a socket");
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().expect("somebody asks");
            let (mut line, mut byte) = (String::new(), [0]);
            while !line.ends_with('\n') {
                stream.read_exact(&mut byte).expect("it ends with a line");
                line.push(byte[0] as char);
            }
            stream.write_all(answer).expect("it listens");
            line
        });
        let mut out = Vec::new();
        let result = ctl(&path, &["run-gc".into(), "10ms".into()], &mut out);
        let line = server.join().expect("it has heard a line");
        (line, result.map(|()| String::from_utf8(out).expect("it is text")))
    }

    #[test]
    fn what_is_asked_goes_over_in_one_line() {
        let (line, answer) = talk(b"done\n\n");
        assert_eq!((line.as_str(), answer.expect("it was done").as_str()), ("run-gc 10ms\n", "done\n"));
    }

    #[test]
    fn help_without_a_socket_asks_no_server() {
        let mut out = Vec::new();
        control(&["help".into()], &mut out).expect("it needs no server");
        assert!(String::from_utf8(out).expect("text").contains("\nscrub "));
    }

    #[test]
    fn a_refusal_is_the_users_error_and_a_hang_up_is_not() {
        assert!(matches!(talk(b"refused: no\n\n").1, Err(Failure::Input(why)) if why == "no\n"));
        assert!(matches!(talk(b"half an ans").1, Err(Failure::Operation(_))));
        for (greeting, kind) in [
            (
                &b"NBDMAGICIHAVEOPT\0\x03"[..],
                "control is the socket of an export, for NBD clients: give the control",
            ),
            (b"ERROR\r\n", "control is the socket of a key-value server"),
            (b"HTTP/1.1 400 Bad Request\r\n", "control is a socket for HTTP"),
        ] {
            assert!(matches!(talk(greeting).1, Err(Failure::Input(why)) if why.contains(kind)), "{kind}");
        }
        let nobody = ctl(Path::new("/nowhere/control"), &[], &mut Vec::new());
        assert!(matches!(nobody, Err(Failure::Input(why)) if why.contains("nobody serves at")));
    }
}
