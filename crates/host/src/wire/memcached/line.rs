//! Parsing of a complete line into a command or an error.

use super::base64::Decoded;
use super::command::*;
use super::flags::{MOST_FLAGS, MetaFlags};
use super::key::Key;
use super::number;
use super::refusal::Refusal;
use super::words::CommandWords;

/// A parsed line. Lines of `get` and its variants are parsed elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Line<'a> {
    /// A command. The key of a meta command is not decoded yet.
    Command(Command<'a>),
    /// An invalid line; the client gets an error. `data` bytes to be skipped follow.
    Refused(Refusal, Option<u32>),
    /// An invalid line whose error the client suppresses.
    Silence,
    /// `quit`.
    Quit,
    /// An HTTP request.
    Http,
}

type Read<'a> = Result<Command<'a>, Refusal>;

impl<'a> Line<'a> {
    /// Parses a line without its terminator.
    pub fn read(line: &'a [u8], decoded: &mut Decoded) -> Line<'a> {
        let words = CommandWords::new(line);
        let &[name, ref rest @ ..] = words.all() else { return Line::Refused(Refusal::Unknown, None) };
        if let [b'm', letter] = *name {
            return meta(letter, rest, decoded);
        }
        let noreply = words.ask_no_reply();
        let read = match name {
            b"set" => store(StoreMode::Set, rest, noreply),
            b"add" => store(StoreMode::Add, rest, noreply),
            b"replace" => store(StoreMode::Replace, rest, noreply),
            b"append" => store(StoreMode::Append, rest, noreply),
            b"prepend" => store(StoreMode::Prepend, rest, noreply),
            b"cas" => store(StoreMode::Cas(0), rest, noreply),
            b"incr" => count(Direction::Up, rest, noreply),
            b"decr" => count(Direction::Down, rest, noreply),
            b"touch" => touch(rest, noreply),
            b"delete" => delete(rest, noreply),
            b"quit" => return Line::Quit,
            _ => return seldom(name, &words),
        };
        Line::quiet(read, noreply)
    }

    fn plain(read: Read<'a>) -> Line<'a> {
        match read {
            Ok(command) => Line::Command(command),
            Err(refusal) => Line::Refused(refusal, None),
        }
    }

    /// With `noreply`, only a wrong number of words is reported: memcached checks that first.
    fn quiet(read: Read<'a>, noreply: bool) -> Line<'a> {
        match read {
            Err(refusal) if noreply && refusal != Refusal::Unknown => Line::Silence,
            read => Line::plain(read),
        }
    }
}

fn key(word: &[u8]) -> Result<Key<'_>, Refusal> {
    Key::new(word).ok_or(Refusal::Format)
}

/// Length of the data that follow. Unlike in memcached, numbers do not wrap around at 32 bits: client and
/// server would disagree on the end of the data.
fn length(word: &[u8]) -> Result<u32, Refusal> {
    let length = number::signed(word).and_then(|length| u32::try_from(length).ok());
    length.filter(|&length| length <= MOST_VALUE_BYTES).ok_or(Refusal::Format)
}

fn store<'a>(mode: StoreMode, rest: &[&'a [u8]], noreply: bool) -> Read<'a> {
    let fixed = if matches!(mode, StoreMode::Cas(_)) { 5 } else { 4 };
    if rest.len() != fixed && rest.len() != fixed + 1 {
        return Err(Refusal::Unknown);
    }
    let client_flags = number::narrow(rest[1]).ok_or(Refusal::Format)?;
    let exptime = number::signed(rest[2]).ok_or(Refusal::Format)?;
    let mode = match mode {
        StoreMode::Cas(_) => StoreMode::Cas(number::unsigned(rest[4]).ok_or(Refusal::Format)?),
        mode => mode,
    };
    let (key, length) = (key(rest[0])?, length(rest[3])?);
    Ok(Command::Store(Store { key, mode, client_flags, exptime, length, noreply }))
}

fn count<'a>(direction: Direction, rest: &[&'a [u8]], noreply: bool) -> Read<'a> {
    let (&[name, delta] | &[name, delta, _]) = rest else { return Err(Refusal::Unknown) };
    let key = key(name)?;
    let delta = number::unsigned(delta).ok_or(Refusal::Delta)?;
    Ok(Command::Count(Count { key, direction, delta, noreply }))
}

fn touch<'a>(rest: &[&'a [u8]], noreply: bool) -> Read<'a> {
    let (&[name, exptime] | &[name, exptime, _]) = rest else { return Err(Refusal::Unknown) };
    let key = key(name)?;
    let exptime = number::signed(exptime).ok_or(Refusal::Exptime)?;
    Ok(Command::Touch(Touch { key, exptime, noreply }))
}

/// `delete` may have a time behind the key, for old clients, if it is 0.
fn delete<'a>(rest: &[&'a [u8]], noreply: bool) -> Read<'a> {
    let (name, is_valid) = match *rest {
        [name] => (name, true),
        [name, second] => (name, second == b"0" || noreply),
        [name, second, _] => (name, second == b"0" && noreply),
        _ => return Err(Refusal::Unknown),
    };
    if !is_valid {
        return Err(Refusal::DeleteUsage);
    }
    Ok(Command::Delete(Delete { key: key(name)?, noreply: noreply && rest.len() > 1 }))
}

/// Administrative commands.
fn seldom<'a>(name: &[u8], words: &CommandWords<'a>) -> Line<'a> {
    let (rest, noreply) = (&words.all()[1..], words.ask_no_reply());
    let read = match name {
        b"flush_all" => flush_all(rest, noreply),
        b"verbosity" => verbosity(rest, noreply),
        b"version" => Ok(Command::Version),
        b"stats" => return Line::plain(stats(rest)),
        b"cache_memlimit" => return memory_limit(rest, noreply),
        b"shutdown" => return Line::Refused(Refusal::Shutdown, None),
        b"lru" | b"extstore" if rest.len() > 1 && noreply => return Line::Silence,
        b"slabs" if rest.len() == 3 && rest[0] == b"reassign" => {
            return Line::Refused(Refusal::Reassign, None);
        }
        b"lru_crawler" if rest.len() == 2 && matches!(rest[0], b"crawl" | b"metadump") => {
            return Line::Refused(Refusal::Crawler, None);
        }
        b"watch" => Err(Refusal::Watch),
        _ if is_browser(name, words) => return Line::Http,
        _ => Err(Refusal::Unknown),
    };
    Line::quiet(read, noreply)
}

/// True if the last word is that of an HTTP request. Commands that begin with certain letters are recognised
/// before this check.
fn is_browser(name: &[u8], words: &CommandWords<'_>) -> bool {
    let is_asked = name.len() > 1 && !matches!(name[0], b'g' | b's' | b'a' | b'c' | b'i' | b'd' | b't');
    let is_known = matches!(name, b"slabs" | b"lru_crawler" | b"lru" | b"extstore" | b"bget");
    let last = words.all().last();
    is_asked && !is_known && last.is_some_and(|word| word.starts_with(b"HTTP/"))
}

fn flush_all<'a>(rest: &[&'a [u8]], noreply: bool) -> Read<'a> {
    let delay = match *rest {
        [] => 0,
        [_] if noreply => 0,
        [delay] | [delay, _] => number::signed(delay).ok_or(Refusal::Exptime)?,
        _ => return Err(Refusal::Unknown),
    };
    Ok(Command::FlushAll(FlushAll { delay, noreply }))
}

fn verbosity<'a>(rest: &[&'a [u8]], noreply: bool) -> Read<'a> {
    let (&[level] | &[level, _]) = rest else { return Err(Refusal::Unknown) };
    let level = number::narrow(level).ok_or(Refusal::Format)?;
    Ok(Command::Verbosity(Verbosity { level, noreply }))
}

fn memory_limit<'a>(rest: &[&'a [u8]], noreply: bool) -> Line<'a> {
    let (&[limit] | &[limit, _]) = rest else { return Line::Refused(Refusal::Unknown, None) };
    let refusal = match number::narrow(limit) {
        Some(mebibytes @ 8..=1_000_000_000) => {
            return Line::Command(Command::MemoryLimit(MemoryLimit { mebibytes, noreply }));
        }
        None => Refusal::Unknown,
        Some(0..8) => Refusal::SmallMemory,
        Some(_) => Refusal::LargeMemory,
    };
    if noreply { Line::Silence } else { Line::Refused(refusal, None) }
}

fn stats<'a>(rest: &[&'a [u8]]) -> Read<'a> {
    let Some(&what) = rest.first() else { return Ok(Command::Stats(Stats::General)) };
    Ok(Command::Stats(match (what, rest.get(1).copied()) {
        (b"reset", _) => Stats::Reset,
        (b"settings", _) => Stats::Settings,
        (b"items", _) => Stats::Items,
        (b"slabs", _) => Stats::Slabs,
        (b"sizes", _) => Stats::Sizes,
        (b"conns", _) => Stats::Connections,
        (b"detail", Some(b"on")) => Stats::Detail(true),
        (b"detail", Some(b"off")) => Stats::Detail(false),
        (b"detail", Some(b"dump")) => Stats::DetailDump,
        (b"detail", _) => return Err(Refusal::DetailUsage),
        (b"cachedump", _) => return Err(Refusal::Dump),
        _ => return Err(Refusal::Unknown),
    }))
}

fn meta<'a>(letter: u8, rest: &[&'a [u8]], decoded: &mut Decoded) -> Line<'a> {
    match letter {
        b'g' => Line::plain(meta_get(rest, decoded)),
        b's' => meta_store(rest, decoded),
        b'd' => Line::plain(meta_delete(rest, decoded)),
        b'a' => Line::plain(meta_count(rest, decoded)),
        b'n' => Line::Command(Command::MetaNoop),
        b'e' => Line::plain(meta_debug(rest, decoded)),
        _ => Line::Refused(Refusal::Unknown, None),
    }
}

/// Splits the words into the key and the flags behind it.
fn split<'a, 'w>(rest: &'w [&'a [u8]], many: Refusal) -> Result<(Key<'a>, &'w [&'a [u8]]), Refusal> {
    let (word, flags) = rest.split_first().ok_or(Refusal::Unknown)?;
    let key = key(word)?;
    if flags.len() > MOST_FLAGS { Err(many) } else { Ok((key, flags)) }
}

fn meta_get<'a>(rest: &[&'a [u8]], decoded: &mut Decoded) -> Read<'a> {
    let (key, words) = split(rest, Refusal::ManyFlags)?;
    let flags = MetaFlags::read(words, key.as_bytes(), decoded)?;
    flags.check_opaque()?;
    Ok(Command::MetaGet(Meta { key, flags }))
}

fn meta_delete<'a>(rest: &[&'a [u8]], decoded: &mut Decoded) -> Read<'a> {
    let (key, words) = split(rest, Refusal::ManyFlagsElse)?;
    let flags = terse(words, key, decoded)?;
    flags.check_opaque()?;
    Ok(Command::MetaDelete(Meta { key, flags }))
}

/// Parses flags for commands that do not report which flag is wrong.
fn terse(words: &[&[u8]], key: Key<'_>, decoded: &mut Decoded) -> Result<MetaFlags, Refusal> {
    MetaFlags::read(words, key.as_bytes(), decoded).map_err(|_| Refusal::FlagOrDuplicate)
}

fn meta_count<'a>(rest: &[&'a [u8]], decoded: &mut Decoded) -> Read<'a> {
    let (key, words) = split(rest, Refusal::ManyFlagsElse)?;
    let flags = terse(words, key, decoded)?;
    let direction = match flags.mode {
        None | Some(b'I' | b'+') => Direction::Up,
        Some(b'D' | b'-') => Direction::Down,
        Some(_) => return Err(Refusal::CountMode),
    };
    flags.check_opaque()?;
    Ok(Command::MetaCount(MetaCount { key, flags, direction, delta: flags.delta.unwrap_or(1) }))
}

fn meta_debug<'a>(rest: &[&'a [u8]], decoded: &mut Decoded) -> Read<'a> {
    decoded.clear();
    let key = key(rest.first().ok_or(Refusal::Format)?)?;
    if rest.get(1).is_some_and(|&word| word == b"b") && !decoded.set(key.as_bytes()) {
        return Err(Refusal::Format);
    }
    Ok(Command::MetaDebug(MetaDebug { key }))
}

/// Parses `ms`. Once the length of the data is known, an error also skips the data.
fn meta_store<'a>(rest: &[&'a [u8]], decoded: &mut Decoded) -> Line<'a> {
    let announced = split(rest, Refusal::ManyFlagsElse).and_then(|(key, words)| {
        let (word, words) = words.split_first().ok_or(Refusal::Format)?;
        Ok((key, words, length(word)?))
    });
    let (key, words, length) = match announced {
        Ok(announced) => announced,
        Err(refusal) => return Line::Refused(refusal, None),
    };
    let read = MetaFlags::read(words, key.as_bytes(), decoded).and_then(|flags| {
        let mode = store_mode(&flags)?;
        flags.check_opaque()?;
        Ok(Command::MetaStore(MetaStore { key, flags, mode, length }))
    });
    read.map_or_else(|refusal| Line::Refused(refusal, Some(length)), Line::Command)
}

fn store_mode(flags: &MetaFlags) -> Result<StoreMode, Refusal> {
    Ok(match (flags.mode, flags.cas) {
        (None | Some(b'S' | b'R'), Some(cas)) => StoreMode::Cas(cas),
        (None | Some(b'S'), None) => StoreMode::Set,
        (Some(b'R'), None) => StoreMode::Replace,
        (Some(b'E'), _) => StoreMode::Add,
        (Some(b'A'), _) => StoreMode::Append,
        (Some(b'P'), _) => StoreMode::Prepend,
        (Some(_), _) => return Err(Refusal::StoreMode),
    })
}
