//! Which placement identifiers the writes of a job name.

use crate::Streams;
use tailcut_base::BadValue;

/// The placement identifiers, or streams, that a job names for its writes.
#[derive(Clone, Debug, Default)]
pub(super) struct Placement {
    is_on: bool,
    /// Empty if the job does not choose.
    identifiers: Vec<u8>,
    is_random: bool,
}

impl Placement {
    /// `fdp`: writes name placement identifiers.
    pub(super) fn flag(&mut self) -> &mut bool {
        &mut self.is_on
    }

    /// Sets `dataplacement`, `plids` or `plid_select`; false for another key.
    pub(super) fn set(&mut self, key: &str, text: &str) -> Result<bool, BadValue> {
        match key {
            "dataplacement" => self.is_on = places_data(text)?,
            "plids" => self.identifiers = identifiers(text)?,
            "plid_select" => self.is_random = selects_at_random(text)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// True if writes name an identifier that the job does not choose.
    pub(super) fn is_open(&self) -> bool {
        self.is_on && self.identifiers.is_empty()
    }

    /// The highest identifier that writes name, if they name any.
    pub(super) fn most(&self) -> Option<u8> {
        self.identifiers.iter().copied().max().filter(|_| self.is_on)
    }

    /// The streams that writes name.
    pub(super) fn streams(&self) -> Streams {
        match &self.identifiers[..] {
            several if !self.is_on || several.is_empty() => Streams::One(0),
            &[one] => Streams::One(one),
            several if self.is_random => Streams::Random(several.to_vec()),
            several => Streams::RoundRobin(several.to_vec()),
        }
    }
}

/// `dataplacement`: whether writes name a placement identifier or stream.
fn places_data(text: &str) -> Result<bool, BadValue> {
    match text {
        "none" => Ok(false),
        "fdp" | "streams" => Ok(true),
        _ => Err(BadValue::new(format!("'{text}' is none of none, fdp and streams"))),
    }
}

/// The placement identifiers of a job's writes: numbers and ranges, such as 0,2-4.
fn identifiers(text: &str) -> Result<Vec<u8>, BadValue> {
    let number = |text: &str| {
        let wrong = |_| BadValue::new(format!("'{text}' is no placement identifier from 0 to 255"));
        text.trim().parse::<u8>().map_err(wrong)
    };
    let mut identifiers = Vec::new();
    for part in text.split([',', ':']) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let range = number(first)?..=number(last)?;
        if range.is_empty() {
            return Err(BadValue::new(format!("'{part}' ends before it begins")));
        }
        identifiers.extend(range);
    }
    if identifiers.len() > PLACEMENTS_MAX {
        return Err(BadValue::new(format!("at most {PLACEMENTS_MAX} placement identifiers, as in fio")));
    }
    Ok(identifiers)
}

/// The most placement identifiers of a job (fio's `FIO_MAX_DP_IDS`).
const PLACEMENTS_MAX: usize = 128;

/// `plid_select`: whether writes name placement identifiers at random.
fn selects_at_random(text: &str) -> Result<bool, BadValue> {
    match text {
        "roundrobin" => Ok(false),
        "random" => Ok(true),
        "scheme" => Err(BadValue::new("scheme is not supported; write a job for each range of offsets")),
        _ => Err(BadValue::new(format!("'{text}' is neither random nor roundrobin"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_are_numbers_and_ranges() {
        assert_eq!(identifiers("3"), Ok(vec![3]));
        assert_eq!(identifiers("1,2-4,7"), Ok(vec![1, 2, 3, 4, 7]));
        for (text, message) in [
            ("256", "'256' is no placement identifier"),
            ("1,,2", "'' is no placement identifier"),
            ("4-2", "'4-2' ends before it begins"),
            ("0-255", "at most 128"),
        ] {
            let error = identifiers(text).expect_err(text).to_string();
            assert!(error.contains(message), "{error}");
        }
        assert!(selects_at_random("scheme").is_err_and(|error| error.to_string().contains("each range")));
    }
}
