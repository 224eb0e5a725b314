//! Recorded dialogues in a file: requests and the expected replies. `TAILCUT_BLESS=1` rewrites the replies.
//! `the_program_answers_what_is_written` compares them with memcached, but for CAS values, of which memcached
//! uses up one for every attempt to store.

use super::NOW;
use super::session::Session;
use std::fmt::Write;
use tailcut_host::wire::memcached::Reason;

/// A recorded dialogue.
pub(super) struct Dialogue {
    pub name: String,
    /// memcached would reply differently.
    pub is_ours: bool,
    /// Requests, each sent at once in the file's format, with their replies.
    pub turns: Vec<(Vec<String>, Vec<u8>)>,
}

const FILE: &str = include_str!("dialogues.txt");

/// A dialogue begins with `# name`, or `#! name` if memcached replies differently. `> ` begins a request,
/// which is sent at once; `| ` continues it; `< ` is a line of the reply.
pub(super) fn all() -> Vec<Dialogue> {
    let mut dialogues: Vec<Dialogue> = Vec::new();
    for line in FILE.lines().filter(|line| !line.is_empty()) {
        if let Some(name) = line.strip_prefix('#') {
            let (name, is_ours) = (name.trim_start_matches('!').trim().into(), name.starts_with('!'));
            dialogues.push(Dialogue { name, is_ours, turns: Vec::new() });
            continue;
        }
        let turns = &mut dialogues.last_mut().expect("a dialogue begins with a name").turns;
        let (side, text) = line.split_at(1);
        let text = text.strip_prefix(' ').unwrap_or(text);
        match side {
            ">" => turns.push((vec![text.into()], Vec::new())),
            "|" => turns.last_mut().expect("it goes on with something").0.push(text.into()),
            "<" => turns.last_mut().expect("an answer follows").1.extend(bytes(text)),
            _ => panic!("not a line of a dialogue: {line}"),
        }
    }
    dialogues
}

/// Decodes a line, including its line ending. `\t`, `\0`, `\r`, `\n` and `\x80` encode bytes, `{a*3}` means
/// `aaa`, and a final `\c` suppresses the line ending.
pub(super) fn bytes(text: &str) -> Vec<u8> {
    let (text, has_end) = text.strip_suffix("\\c").map_or((text, true), |text| (text, false));
    let (mut bytes, mut rest) = (Vec::new(), text);
    while let Some(letter) = rest.chars().next() {
        let (taken, more): (usize, Vec<u8>) = match letter {
            '\\' => match rest.as_bytes()[1] {
                b't' => (2, vec![b'\t']),
                b'0' => (2, vec![0]),
                b'r' => (2, vec![b'\r']),
                b'n' => (2, vec![b'\n']),
                b'x' => (4, vec![u8::from_str_radix(&rest[2..4], 16).expect("two digits")]),
                _ => panic!("no such byte: {rest}"),
            },
            '{' => {
                let (what, behind) = rest[1..].split_once('*').expect("a star");
                let (count, _) = behind.split_once('}').expect("a closing brace");
                (what.len() + count.len() + 3, what.repeat(count.parse().expect("a number")).into_bytes())
            }
            letter => (letter.len_utf8(), letter.to_string().into_bytes()),
        };
        bytes.extend(more);
        rest = &rest[taken..];
    }
    if has_end {
        bytes.extend(b"\r\n");
    }
    bytes
}

/// Formats a reply as in the file.
fn lines(answer: &[u8]) -> String {
    let mut text = String::new();
    for line in answer.split_inclusive(|&byte| byte == b'\n') {
        text += "< ";
        let whole = line.strip_suffix(b"\r\n");
        for &byte in whole.unwrap_or(line) {
            match byte {
                b'\t' => text += "\\t",
                b' '..=b'~' => text.push(char::from(byte)),
                byte => write!(text, "\\x{byte:02x}").expect("strings take everything"),
            }
        }
        text += if whole.is_some() { "\n" } else { "\\c\n" };
    }
    text
}

fn write_anew() {
    let mut text = String::new();
    for dialogue in all() {
        let is_ours = dialogue.is_ours;
        writeln!(text, "#{} {}", if is_ours { "!" } else { "" }, dialogue.name).expect("strings");
        let mut session = Session::new(NOW, false);
        for (sent, _) in &dialogue.turns {
            let request: Vec<u8> = sent.iter().flat_map(|line| bytes(line)).collect();
            for (at, line) in sent.iter().enumerate() {
                writeln!(text, "{} {line}", if at == 0 { '>' } else { '|' }).expect("strings");
            }
            session.receive(&request);
            text += &lines(&std::mem::take(&mut session.sent));
        }
        text += "\n";
    }
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/memcached/dialogues.txt");
    std::fs::write(file, text.trim_end().to_owned() + "\n").expect("the file can be written");
}

#[test]
fn what_is_said_is_answered_as_written() {
    if std::env::var_os("TAILCUT_BLESS").is_some() {
        return write_anew();
    }
    for dialogue in all() {
        for is_direct in [false, true] {
            let mut session = Session::new(NOW, is_direct);
            for (sent, answer) in &dialogue.turns {
                session.receive(&sent.iter().flat_map(|line| bytes(line)).collect::<Vec<u8>>());
                let ours = std::mem::take(&mut session.sent);
                assert!(ours == *answer, "{}: {sent:?}: {}", dialogue.name, lines(&ours));
            }
        }
    }
}

#[test]
fn a_connection_ends_for_a_reason() {
    let long = [&b"set "[..], &[b'a'; 3000]].concat();
    let endings = [
        (&b"version\r\nquit\r\nversion\r\n"[..], Reason::Quit),
        (b"GET / HTTP/1.1\r\n", Reason::Http),
        (b"\x80\x0b", Reason::Binary),
        (&long, Reason::LongLine),
    ];
    for (stream, reason) in endings {
        let mut session = Session::new(NOW, false);
        session.receive(stream);
        assert_eq!(session.closed, Some(reason));
        session.sent.clear();
        session.receive(b"version\r\n");
        assert_eq!(session.sent, b"");
    }
}
