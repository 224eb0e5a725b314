//! Detects the format of a trace from its first lines, and from its name where they leave a choice.

use super::disks::Disks;
use super::error::{TraceError, excerpt};
use super::format::Format;
use super::formats::{Parser, vscsi};
use tailcut_base::config::Choice;

/// How many lines are tried with each parser.
const LINES: usize = 64;

/// The format of a trace that begins with `start` and is called `file`. `None` when nothing in it
/// identifies a format.
///
/// Every text format is tried on the first lines; the one that understands most of them, and at
/// least half, is taken. MQSim and SSDsim are the same text, and DiskSim's differs from the MSR
/// cuts only by the unit of its addresses: there the name decides, else MQSim's is assumed, and
/// MSR's where all sizes are whole sectors when taken as bytes.
pub(super) fn detect(file: &str, start: &[u8]) -> Result<Option<Format>, TraceError> {
    if start.get(257..262) == Some(b"ustar") {
        let file = file.to_string();
        return Err(TraceError::Container {
            file,
            what: "a tar archive",
            remedy: "unpack it with 'tar -xf' first",
        });
    }
    if let Some(format) = vscsi::detect(start) {
        return Ok(Some(format));
    }
    let lines: Vec<&[u8]> = sample(start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(start));
    if lines.is_empty() {
        return Ok(None);
    }
    let name = file.rsplit(['/', '\\']).next().unwrap_or(file);
    let hint = Format::by_file_name(name);
    let by_content = by_content(&lines, start, hint);
    match by_content.or(hint.filter(|format| format.record_bytes().is_none())) {
        Some(format) => Ok(Some(format)),
        None if is_header_alone(start) => Ok(None),
        None => Err(TraceError::UnknownFormat { file: file.to_string(), first_line: excerpt(lines[0]) }),
    }
}

/// True if one line is all that `start` has, and its cells are names of columns.
fn is_header_alone(start: &[u8]) -> bool {
    let text = start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(start);
    let mut lines = text.split(|&byte| byte == b'\n').filter(|line| !is_silent(line));
    let (Some(line), None) = (lines.next(), lines.next()) else { return false };
    let begins_a_name = |byte: &u8| byte.is_ascii_alphabetic() || *byte == b'"';
    let cells = || line.split(|&byte| byte == b',');
    cells().count() > 2 && cells().all(|cell| cell.trim_ascii().first().is_some_and(begins_a_name))
}

/// The first whole lines with content; the very first may be a header.
fn sample(start: &[u8]) -> Vec<&[u8]> {
    let whole = match start.iter().rposition(|&byte| byte == b'\n') {
        Some(end) => &start[..end],
        None => start,
    };
    whole.split(|&byte| byte == b'\n').filter(|line| !is_silent(line)).take(LINES).collect()
}

fn by_content(lines: &[&[u8]], start: &[u8], hint: Option<Format>) -> Option<Format> {
    let mut best: Option<(usize, Format)> = None;
    for &format in Format::all().iter().filter(|format| format.record_bytes().is_none()) {
        let is_candidate =
            |line: &&[u8]| format != Format::Spc || hint == Some(format) || has_five_cells(line);
        let candidates: Vec<&[u8]> = lines.iter().copied().filter(is_candidate).collect();
        let understood = understood(format, &candidates, start);
        let preferred = hint == Some(format) && best.is_some_and(|(most, _)| understood == most);
        if understood > 0 && (preferred || best.is_none_or(|(most, _)| understood > most)) {
            best = Some((understood, format));
        }
    }
    let (understood, format) = best?;
    // A header may be one of the lines.
    let enough = 2 * understood >= lines.len().saturating_sub(1).max(1);
    let format =
        if format == Format::MsrCut && hint != Some(format) { cut_or_disksim(lines) } else { format };
    enough.then_some(format)
}

/// SPC's optional fields look like any column: a line that has more than its five is not guessed to be SPC.
fn has_five_cells(line: &[u8]) -> bool {
    line.iter().filter(|&&byte| byte == b',').count() == 4
}

/// How many of the lines a format's parser takes for requests. Lines that it passes over without
/// a complaint count only beside a request.
fn understood(format: Format, lines: &[&[u8]], start: &[u8]) -> usize {
    let mut parser = Parser::new(format, start);
    let mut disks = Disks::default();
    let (mut requests, mut passed) = (0, 0);
    for line in lines {
        match parser.parse(line, &mut disks, 0) {
            Ok(Some(_)) => requests += 1,
            Ok(None) => passed += 1,
            Err(_) => {}
        }
    }
    if requests > 0 || matches!(format, Format::Fio2 | Format::Fio3) { requests + passed } else { 0 }
}

/// MSR cuts have byte sizes, which are whole sectors; DiskSim's sizes are sectors, mostly small.
fn cut_or_disksim(lines: &[&[u8]]) -> Format {
    let mut parser = Parser::new(Format::MsrCut, &[]);
    let mut disks = Disks::default();
    let mut records = lines.iter().filter_map(|line| parser.parse(line, &mut disks, 0).ok().flatten());
    if records.all(|raw| (raw.offset | raw.len).is_multiple_of(512)) {
        Format::MsrCut
    } else {
        Format::Disksim
    }
}

/// Blank lines and comments.
#[inline]
pub(super) fn is_silent(line: &[u8]) -> bool {
    let text = line.trim_ascii_start();
    text.is_empty() || text[0] == b'#' || text.starts_with(b"//")
}
