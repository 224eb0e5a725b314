//! Who has to say a name and a password before anything else (`-Y` of the program).
//!
//! The first command has to be a `set` of any key, with flags, time and length, whose data are a name and a
//! password with a space between them. Until that was right nothing else is understood.

use super::receiver::BUFFER_BYTES;
use super::{number, words::Words};
use memchr::memchr;
use subtle::{Choice, ConstantTimeEq};

/// Those who may come in.
#[derive(Clone, Default)]
pub struct Users {
    users: Vec<User>,
}

#[derive(Clone)]
struct User {
    name: Box<[u8]>,
    password: Box<[u8]>,
}

/// A line of a file of users is not `name:password`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: a user is a name without spaces, a colon and a password without spaces")]
pub struct WrongUser {
    /// Which line, from 1.
    pub line: usize,
}

impl Users {
    /// Reads a file with a line for each user: name, colon, password, and nothing else.
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

    /// Whether one of them has this name and password. How long that takes depends on lengths, not on which
    /// bytes are right.
    pub fn know(&self, name: &[u8], password: &[u8]) -> bool {
        let is_known = self.users.iter().fold(Choice::from(0), |known, user| {
            known | user.name.as_ref().ct_eq(name) & user.password.as_ref().ct_eq(password)
        });
        is_known.into()
    }
}

/// Passwords do not belong into logs.
impl std::fmt::Debug for Users {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{} users", self.users.len())
    }
}

fn user(line: &[u8]) -> Option<User> {
    let colon = memchr(b':', line)?;
    let (name, password) = (&line[..colon], &line[colon + 1..]);
    let is_sayable = |word: &[u8]| !word.is_empty() && !word.iter().any(|byte| matches!(byte, b' ' | 0));
    (is_sayable(name) && is_sayable(password)).then(|| User { name: name.into(), password: password.into() })
}

/// The way in of one connection. Bytes are kept by whoever has the socket, as for [`super::Receiver`].
#[derive(Clone, Debug, Default)]
pub struct Login {
    /// Bytes of data that are expected, once the line in front of them was read.
    data: Option<usize>,
}

/// What a client is told that has said a name and a password which do not go together.
pub const AUTHENTICATION_FAILURE: &[u8] = b"CLIENT_ERROR authentication failure\r\n";

/// What came of an attempt to get in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attempt {
    /// Nothing before more is received.
    More,
    /// Not let in; the client is told this, and may try again.
    Refused(&'static [u8]),
    /// Let in: the answer is [`super::reply::Stored::Stored`], and what follows is for a [`super::Receiver`].
    Welcome,
    /// The connection is to be closed.
    Close,
}

impl Login {
    /// What the front of `input` is; it is consumed.
    pub fn next(&mut self, users: &Users, input: &mut &[u8]) -> Attempt {
        let Some(length) = self.data else { return self.line(users, input) };
        if input.len() < length {
            return Attempt::More;
        }
        let (data, rest) = input.split_at(length);
        (*input, self.data) = (rest, None);
        let Some(data) = data.strip_suffix(b"\r\n") else {
            return Attempt::Refused(b"CLIENT_ERROR bad command line termination\r\n");
        };
        let data = memchr(0, data).map_or(data, |nul| &data[..nul]);
        let words = Words::new(data);
        match words.all() {
            [name, password, ..] if users.know(name, password) => Attempt::Welcome,
            [_, _, ..] => Attempt::Refused(AUTHENTICATION_FAILURE),
            _ => Attempt::Refused(b"CLIENT_ERROR bad authentication token format\r\n"),
        }
    }

    fn line(&mut self, users: &Users, input: &mut &[u8]) -> Attempt {
        let window = &input[..input.len().min(BUFFER_BYTES)];
        let Some(end) = memchr(b'\n', window) else {
            return if window.len() < BUFFER_BYTES { Attempt::More } else { Attempt::Close };
        };
        let line = &window[..end];
        let line = memchr(0, line).map_or(line, |nul| &line[..nul]);
        *input = &input[end + 1..];
        let words = Words::new(line);
        let length = match *words.all() {
            [b"set", _, _, _, length, ..] => number::narrow(length),
            _ => None,
        };
        match length {
            None => Attempt::Refused(b"CLIENT_ERROR unauthenticated\r\n"),
            // Nobody has so long a name; the program would wait for what its buffer cannot hold.
            Some(length) if length as usize + 2 > BUFFER_BYTES => Attempt::Close,
            Some(length) => {
                self.data = Some(length as usize + 2);
                self.next(users, input)
            }
        }
    }
}
