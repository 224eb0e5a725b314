//! Authentication by user name and password (`-Y` of memcached).
//!
//! The first command must be a `set` of any key, with flags, time and length, whose data are a name and a
//! password separated by the first space. Until these are right, no other command is accepted. The source is
//! `try_read_command_asciiauth` in `proto_text.c`.

use super::receiver::LINE_BYTES;
use super::{number, words::CommandWords};
use memchr::memchr;
use subtle::{Choice, ConstantTimeEq};

/// The registered users.
///
/// # Examples
/// ```
/// use tailcut_host::wire::memcached::Users;
///
/// let users = Users::parse(b"alice:secret\n").expect("one user");
/// assert!(users.know(b"alice", b"secret"));
/// assert!(!users.know(b"alice", b"Secret"));
/// assert_eq!(Users::parse(b"alice:secret\nbob\n").unwrap_err().line, 2);
/// ```
#[derive(Clone, Default)]
pub struct Users {
    users: Vec<User>,
}

#[derive(Clone)]
struct User {
    name: Box<[u8]>,
    password: Box<[u8]>,
}

/// A line of the user file is not `name:password`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: a user is a name without spaces, a colon and a password")]
pub struct WrongUser {
    /// Line number, from 1.
    pub line: usize,
}

impl Users {
    /// Parses a user file: one line `name:password` per user.
    ///
    /// # Errors
    /// The first line without a colon, with an empty name or password, a space in the name, or a zero byte.
    pub fn parse(file: &[u8]) -> Result<Users, WrongUser> {
        let file = file.strip_suffix(b"\n").unwrap_or(file);
        let mut users = Vec::new();
        for (at, line) in file.split(|&byte| byte == b'\n').enumerate() {
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            let user = user(line).ok_or(WrongUser { line: at + 1 })?;
            users.push(user);
        }
        Ok(Users { users })
    }

    /// True if a user has this name and password. The time it takes depends on lengths only, not on which
    /// bytes match.
    pub fn know(&self, name: &[u8], password: &[u8]) -> bool {
        let is_known = self.users.iter().fold(Choice::from(0), |known, user| {
            known | user.name.as_ref().ct_eq(name) & user.password.as_ref().ct_eq(password)
        });
        is_known.into()
    }
}

/// Omits the passwords, which must not be logged.
impl std::fmt::Debug for Users {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{} users", self.users.len())
    }
}

fn user(line: &[u8]) -> Option<User> {
    let colon = memchr(b':', line)?;
    let (name, password) = (&line[..colon], &line[colon + 1..]);
    let is_valid = !name.is_empty() && !password.is_empty() && !name.contains(&b' ') && !line.contains(&0);
    is_valid.then(|| User { name: name.into(), password: password.into() })
}

/// Authentication of one connection. The owner of the socket buffers its input, as for [`super::Receiver`],
/// in a buffer of at least [`LOGIN_BYTES`].
#[derive(Clone, Debug, Default)]
pub struct Login {
    /// Length of the data in bytes, once their line is parsed.
    data: Option<usize>,
}

/// Reply to a wrong name or password.
pub const AUTHENTICATION_FAILURE: &[u8] = b"CLIENT_ERROR authentication failure\r\n";

/// Most bytes of name and password (`MAX_AUTH_REQ_LEN` of memcached).
const TOKEN_BYTES: usize = 16_384;

/// Least bytes of a line, without its line feed (`MIN_AUTH_REQ_LEN` of memcached).
const LEAST_LINE_BYTES: usize = 6;

/// Least size of the buffer of a connection that authenticates, in bytes.
pub const LOGIN_BYTES: usize = TOKEN_BYTES + TAIL.len();

/// Terminator of the data.
const TAIL: &[u8] = b"\r\n";

/// Result of an authentication step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attempt {
    /// More input is needed.
    More,
    /// Refused with this reply; the client may try again.
    Refused(&'static [u8]),
    /// Authenticated: reply with [`super::reply::Stored::Stored`] and pass further input to a
    /// [`super::Receiver`].
    Welcome,
    /// The connection is to be closed.
    Close,
}

impl Login {
    /// Consumes the next step of the authentication from the front of `input`.
    pub fn next(&mut self, users: &Users, input: &mut &[u8]) -> Attempt {
        let Some(length) = self.data else { return self.line(users, input) };
        if input.len() < length {
            return Attempt::More;
        }
        let (data, rest) = input.split_at(length);
        (*input, self.data) = (rest, None);
        let Some(token) = data.strip_suffix(TAIL) else {
            return Attempt::Refused(b"CLIENT_ERROR bad command line termination\r\n");
        };
        match memchr(b' ', token).map(|space| (&token[..space], &token[space + 1..])) {
            Some((name, password)) if users.know(name, password) => Attempt::Welcome,
            Some(_) => Attempt::Refused(AUTHENTICATION_FAILURE),
            None => Attempt::Refused(b"CLIENT_ERROR bad authentication token format\r\n"),
        }
    }

    fn line(&mut self, users: &Users, input: &mut &[u8]) -> Attempt {
        let window = &input[..input.len().min(LINE_BYTES)];
        let Some(end) = memchr(b'\n', window) else {
            return if window.len() < LINE_BYTES { Attempt::More } else { Attempt::Close };
        };
        let line = &window[..end];
        if line.len() < LEAST_LINE_BYTES {
            return Attempt::Close;
        }
        *input = &input[end + 1..];
        let words = CommandWords::new(line.strip_suffix(b"\r").unwrap_or(line));
        let length = match *words.all() {
            [_, _, _, _, length, ..] if line.starts_with(b"set") => number::word_u32(length),
            _ => None,
        };
        match length {
            None => Attempt::Refused(b"CLIENT_ERROR unauthenticated\r\n"),
            Some(length) if length as usize > TOKEN_BYTES => {
                Attempt::Refused(b"CLIENT_ERROR auth token too long\r\n")
            }
            Some(length) => {
                self.data = Some(length as usize + TAIL.len());
                self.next(users, input)
            }
        }
    }
}
