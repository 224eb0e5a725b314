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
#[expect(clippy::large_enum_variant, reason = "a line is parsed at a time and lives on the stack")]
pub(super) enum Line<'a> {
    /// A command. The key of a meta command is not decoded yet.
    Command(Command<'a>),
    /// An invalid line; the client gets an error. `data` bytes to be skipped follow.
    Refused(Refusal, Option<u32>),
    /// An invalid line whose error the client suppresses. As many bytes of data to be skipped follow.
    Silence(Option<u32>),
    /// `quit`.
    Quit,
    /// An HTTP request.
    Http,
}

impl<'a> Line<'a> {
    /// Parses a line without its terminator.
    ///
    /// The name ends at the first space. Only administrative commands may be preceded by spaces, because
    /// memcached looks for them among the words of a line that is nothing else.
    pub(super) fn read(line: &'a [u8], decoded: &mut Decoded) -> Line<'a> {
        let words = CommandWords::new(line);
        let &[name, ref rest @ ..] = words.all() else { return Line::Refused(Refusal::Unknown, None) };
        if line[0] == b' ' {
            return seldom(name, &words);
        }
        if let [b'm', letter @ (b'g' | b's' | b'd' | b'a' | b'n' | b'e')] = *name {
            return meta(letter, rest, decoded);
        }
        let noreply = words.ask_no_reply();
        let read = match name {
            b"set" => return store(StoreMode::Set, rest, noreply),
            b"add" => return store(StoreMode::Add, rest, noreply),
            b"replace" => return store(StoreMode::Replace, rest, noreply),
            b"append" => return store(StoreMode::Append, rest, noreply),
            b"prepend" => return store(StoreMode::Prepend, rest, noreply),
            b"cas" => return store(StoreMode::Cas(0), rest, noreply),
            b"incr" => count(Direction::Up, rest, noreply),
            b"decr" => count(Direction::Down, rest, noreply),
            b"touch" => touch(rest, noreply),
            b"delete" => delete(rest, noreply),
            b"version" => return Line::Command(Command::Version),
            b"stats" => return Line::plain(stats(rest)),
            b"watch" => return Line::Refused(Refusal::Watch, None),
            b"quit" => return Line::Quit,
            _ => return seldom(name, &words),
        };
        read.unwrap_or_else(|refusal| Line::quiet(refusal, None, noreply))
    }

    fn plain(read: Result<Command<'a>, Refusal>) -> Line<'a> {
        read.map_or_else(|refusal| Line::Refused(refusal, None), Line::Command)
    }

    /// An error, which `noreply` suppresses; `data` bytes to be skipped follow.
    fn quiet(refusal: Refusal, data: Option<u32>, noreply: bool) -> Line<'a> {
        if noreply { Line::Silence(data) } else { Line::Refused(refusal, data) }
    }
}

/// A parsed command, or an error that `noreply` suppresses.
type Read<'a> = Result<Line<'a>, Refusal>;

fn key(word: &[u8]) -> Result<Key<'_>, Refusal> {
    Key::new(word).ok_or(Refusal::Format)
}

/// Length of the data that follow.
fn length(word: &[u8]) -> Option<u32> {
    let length = number::word_i32(word).and_then(|length| u32::try_from(length).ok());
    length.filter(|&length| length <= MOST_VALUE_BYTES)
}

/// Parses `set` and its variants. Once the length of the data is known, an error also skips the data. With
/// too few words, or without a length, even `noreply` is not recognised.
fn store<'a>(mode: StoreMode, rest: &[&'a [u8]], noreply: bool) -> Line<'a> {
    let &[name, client_flags, exptime, length_word, ref more @ ..] = rest else {
        return Line::Refused(Refusal::Format, None);
    };
    let Some(length) = length(length_word) else { return Line::Refused(Refusal::Format, None) };
    let read = || {
        let (key, client_flags) = (Key::new(name)?, number::narrow(client_flags)?);
        let exptime = number::signed(exptime)?;
        let mode = match mode {
            StoreMode::Cas(_) => StoreMode::Cas(number::word_u64(more.first()?)?),
            mode => mode,
        };
        Some(Store { key, mode, client_flags, exptime, length, noreply })
    };
    match read() {
        Some(store) => Line::Command(Command::Store(store)),
        None => Line::quiet(Refusal::Format, Some(length), noreply),
    }
}

fn count<'a>(direction: Direction, rest: &[&'a [u8]], noreply: bool) -> Read<'a> {
    let &[name, delta, ..] = rest else { return Ok(Line::Refused(Refusal::Format, None)) };
    let key = key(name)?;
    let amount = number::word_u64(delta).ok_or(Refusal::Delta)?;
    Ok(Line::Command(Command::Count(Count { key, delta: Delta { direction, amount }, noreply })))
}

fn touch<'a>(rest: &[&'a [u8]], noreply: bool) -> Read<'a> {
    let &[name, exptime, ..] = rest else { return Ok(Line::Refused(Refusal::Format, None)) };
    let key = key(name)?;
    let exptime = i64::from(number::word_i32(exptime).ok_or(Refusal::Exptime)?);
    Ok(Line::Command(Command::Touch(Touch { key, exptime, noreply })))
}

/// Parses `delete`. The words behind the key are checked before the key, as memcached did up to 1.6.18.
/// Ancient clients send a time, which had to be 0.
fn delete<'a>(rest: &[&'a [u8]], noreply: bool) -> Read<'a> {
    let &[name, ref more @ ..] = rest else { return Ok(Line::Refused(Refusal::Format, None)) };
    if !matches!(more, [] | [b"0" | b"noreply"] | [b"0", b"noreply"]) {
        return Err(Refusal::DeleteUsage);
    }
    Ok(Line::Command(Command::Delete(Delete { key: key(name)?, noreply })))
}

/// Administrative commands, found by their first word.
fn seldom<'a>(name: &[u8], words: &CommandWords<'a>) -> Line<'a> {
    let (rest, noreply) = (&words.all()[1..], words.ask_no_reply());
    let read = match name {
        b"flush_all" => flush_all(rest, noreply),
        b"verbosity" => verbosity(rest, noreply),
        b"cache_memlimit" => memory_limit(rest, noreply),
        b"shutdown" => {
            let is_valid = rest.is_empty() || matches!(*rest, [word] if is_abbreviation(word, b"graceful"));
            Ok(Command::Shutdown(Shutdown { is_valid, noreply }))
        }
        b"lru" | b"extstore" => Err(Refusal::Unknown),
        b"slabs" if rest.len() == 3 && is_abbreviation(rest[0], b"reassign") => Err(Refusal::Reassign),
        b"slabs" => Err(Refusal::Unknown),
        b"lru_crawler" if rest.len() == 2 && is_crawl(rest[0]) => Err(Refusal::Crawler),
        b"lru_crawler" => Err(Refusal::Unknown),
        _ if is_browser(rest) => return Line::Http,
        _ => Err(Refusal::Unknown),
    };
    match read {
        Ok(command) => Line::Command(command),
        Err(refusal) => Line::quiet(refusal, None, noreply),
    }
}

/// True if `word` is `name` or its beginning: memcached compares subcommands by the length of the word.
fn is_abbreviation(word: &[u8], name: &[u8]) -> bool {
    name.starts_with(word)
}

fn is_crawl(word: &[u8]) -> bool {
    [&b"crawl"[..], b"metadump", b"mgdump"].iter().any(|name| is_abbreviation(word, name))
}

/// True if the last word is that of an HTTP request.
fn is_browser(rest: &[&[u8]]) -> bool {
    rest.last().is_some_and(|word| word.starts_with(b"HTTP/"))
}

fn flush_all<'a>(rest: &[&'a [u8]], noreply: bool) -> Result<Command<'a>, Refusal> {
    let delay = match *rest {
        [] => 0,
        [_] if noreply => 0,
        [delay, ..] => i64::from(number::word_i32(delay).ok_or(Refusal::Exptime)?),
    };
    Ok(Command::FlushAll(FlushAll { delay, noreply }))
}

fn verbosity<'a>(rest: &[&'a [u8]], noreply: bool) -> Result<Command<'a>, Refusal> {
    let level = rest.first().and_then(|level| number::word_u32(level)).ok_or(Refusal::Format)?;
    Ok(Command::Verbosity(Verbosity { level, noreply }))
}

fn memory_limit<'a>(rest: &[&'a [u8]], noreply: bool) -> Result<Command<'a>, Refusal> {
    match rest.first().and_then(|limit| number::word_u32(limit)) {
        Some(mebibytes @ 8..=1_000_000_000) => Ok(Command::MemoryLimit(MemoryLimit { mebibytes, noreply })),
        None => Err(Refusal::Unknown),
        Some(0..8) => Err(Refusal::SmallMemory),
        Some(_) => Err(Refusal::LargeMemory),
    }
}

/// Parses `stats`. Its subcommands may be abbreviated, but not those about slab classes.
fn stats<'a>(rest: &[&'a [u8]]) -> Result<Command<'a>, Refusal> {
    let Some(&what) = rest.first() else { return Ok(Command::Stats(Stats::General)) };
    let abbreviated = [&b"reset"[..], b"detail", b"settings", b"cachedump", b"conns"]
        .into_iter()
        .find(|name| is_abbreviation(what, name));
    Ok(Command::Stats(match abbreviated.unwrap_or(what) {
        b"reset" => Stats::Reset,
        b"detail" => return detail(rest.get(1).copied()),
        b"settings" => Stats::Settings,
        b"cachedump" => return Err(Refusal::Dump),
        b"conns" => Stats::Connections,
        b"items" => Stats::Items,
        b"slabs" => Stats::Slabs,
        b"sizes" => Stats::Sizes,
        _ => return Err(Refusal::Unknown),
    }))
}

fn detail<'a>(what: Option<&[u8]>) -> Result<Command<'a>, Refusal> {
    let what = what.ok_or(Refusal::DetailUsage)?;
    let abbreviated = [&b"on"[..], b"off", b"dump"].into_iter().find(|name| is_abbreviation(what, name));
    Ok(Command::Stats(match abbreviated {
        Some(b"on") => Stats::Detail(true),
        Some(b"off") => Stats::Detail(false),
        Some(b"dump") => Stats::DetailDump,
        _ => return Err(Refusal::DetailUsage),
    }))
}

fn meta<'a>(letter: u8, rest: &[&'a [u8]], decoded: &mut Decoded) -> Line<'a> {
    // A word that cannot be a flag spoils the line before anything else is looked at.
    let fixed = if letter == b's' { 2 } else { 1 };
    let has_other = rest.get(fixed..).is_some_and(|words| !words.iter().all(|word| MetaFlags::is_word(word)));
    if letter == b'n' {
        return Line::Command(Command::MetaNoop);
    }
    if has_other || rest.len() < fixed {
        return Line::Refused(Refusal::Format, None);
    }
    match letter {
        b'g' => Line::plain(meta_get(rest, decoded)),
        b's' => meta_store(rest, decoded),
        b'd' => Line::plain(meta_delete(rest, decoded)),
        b'a' => Line::plain(meta_count(rest, decoded)),
        _ => Line::plain(meta_debug(rest, decoded)),
    }
}

/// Parses the key and the flags, the words behind the first `fixed`.
fn flags<'a>(
    rest: &[&'a [u8]],
    fixed: usize,
    decoded: &mut Decoded,
) -> Result<(Key<'a>, MetaFlags), Refusal> {
    let (key, words) = (key(rest[0])?, &rest[fixed..]);
    if rest.len() > MOST_FLAGS + 1 {
        return Err(Refusal::ManyFlags);
    }
    Ok((key, MetaFlags::read(words, key.as_bytes(), decoded)?))
}

fn meta_get<'a>(rest: &[&'a [u8]], decoded: &mut Decoded) -> Result<Command<'a>, Refusal> {
    let (key, flags) = flags(rest, 1, decoded)?;
    flags.check_opaque()?;
    Ok(Command::MetaGet(Meta { key, flags }))
}

fn meta_delete<'a>(rest: &[&'a [u8]], decoded: &mut Decoded) -> Result<Command<'a>, Refusal> {
    let (key, flags) = flags(rest, 1, decoded)?;
    flags.check_opaque()?;
    Ok(Command::MetaDelete(Meta { key, flags }))
}

fn meta_count<'a>(rest: &[&'a [u8]], decoded: &mut Decoded) -> Result<Command<'a>, Refusal> {
    let (key, flags) = flags(rest, 1, decoded).map_err(|_| Refusal::FlagOrDuplicate)?;
    let direction = match flags.mode {
        None | Some(0 | b'I' | b'+') => Direction::Up,
        Some(b'D' | b'-') => Direction::Down,
        Some(_) => return Err(Refusal::CountMode),
    };
    flags.check_opaque()?;
    Ok(Command::MetaCount(MetaCount {
        key,
        flags,
        delta: Delta { direction, amount: flags.delta.unwrap_or(1) },
    }))
}

fn meta_debug<'a>(rest: &[&'a [u8]], decoded: &mut Decoded) -> Result<Command<'a>, Refusal> {
    decoded.clear();
    let key = key(rest[0])?;
    if rest.get(1).is_some_and(|&word| word == b"b") && !decoded.set(key.as_bytes()) {
        return Err(Refusal::Format);
    }
    Ok(Command::MetaDebug(MetaDebug { key }))
}

/// Parses `ms`. Once the length of the data is known, an error also skips the data.
fn meta_store<'a>(rest: &[&'a [u8]], decoded: &mut Decoded) -> Line<'a> {
    let Some(length) = length(rest[1]) else { return Line::Refused(Refusal::Format, None) };
    let read = flags(rest, 2, decoded).and_then(|(key, flags)| {
        let mode = store_mode(&flags)?;
        flags.check_opaque()?;
        Ok(Command::MetaStore(MetaStore { key, flags, mode, length }))
    });
    read.map_or_else(|refusal| Line::Refused(refusal, Some(length)), Line::Command)
}

fn store_mode(flags: &MetaFlags) -> Result<StoreMode, Refusal> {
    Ok(match (flags.mode, flags.cas) {
        (None | Some(0 | b'S' | b'R'), Some(cas)) => StoreMode::Cas(cas),
        (None | Some(0 | b'S'), None) => StoreMode::Set,
        (Some(b'R'), None) => StoreMode::Replace,
        (Some(b'E'), _) => StoreMode::Add,
        (Some(b'A'), _) => StoreMode::Append,
        (Some(b'P'), _) => StoreMode::Prepend,
        (Some(_), _) => return Err(Refusal::StoreMode),
    })
}
