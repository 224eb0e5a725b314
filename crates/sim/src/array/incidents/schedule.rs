//! The schedule of incidents, as `array.incidents` has it.

use std::fmt;
use tailcut_base::ids::Id;
use tailcut_base::quantity::{exact_time, parse_time};
use tailcut_base::{BadValue, Nanos};
use tailcut_host::array::DriveId;

/// What happens to an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Incident {
    /// A drive is lost: its commands in flight fail ([`Status::Gone`](tailcut_base::Status::Gone)), and the
    /// array continues without it.
    Remove(DriveId),
    /// A drive that is gone comes back. Its content is out of date, and it is rebuilt.
    Return(DriveId),
    /// A drive fetches no commands for this long.
    Stall(DriveId, Nanos),
    /// From now on a drive fetches each command this much after it was submitted; zero ends that.
    Delay(DriveId, Nanos),
    /// The array starts a scrub.
    Scrub,
}

impl Incident {
    /// The drive that it happens to.
    pub fn drive(self) -> Option<DriveId> {
        match self {
            Incident::Remove(drive)
            | Incident::Return(drive)
            | Incident::Stall(drive, _)
            | Incident::Delay(drive, _) => Some(drive),
            Incident::Scrub => None,
        }
    }
}

impl fmt::Display for Incident {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Incident::Remove(drive) => write!(f, "remove {drive}"),
            Incident::Return(drive) => write!(f, "return {drive}"),
            Incident::Stall(drive, time) => write!(f, "stall {drive} {}", exact_time(time)),
            Incident::Delay(drive, time) => write!(f, "delay {drive} {}", exact_time(time)),
            Incident::Scrub => f.write_str("scrub"),
        }
    }
}

/// The longest stall and delay.
const LONGEST: Nanos = Nanos::secs(3600);

/// Reads a schedule, such as `2s remove 1; 5s return 1; 20s scrub`: times count from the start of the sources
/// that are measured, and do not fall. Of an array with this number of drives.
///
/// # Errors
/// The text is no schedule; a drive does not exist, or is removed twice, or returns while it is there.
pub fn parse(text: &str, drives: u32) -> Result<Vec<(Nanos, Incident)>, BadValue> {
    let mut schedule: Vec<(Nanos, Incident)> = Vec::new();
    let mut is_gone = vec![false; drives as usize];
    for part in text.split(';').map(str::trim).filter(|part| !part.is_empty()) {
        let wrong = |why: String| BadValue::new(format!("'{part}': {why}"));
        let (at, incident) = one(part, drives).map_err(|BadValue { message }| wrong(message))?;
        if schedule.last().is_some_and(|&(before, _)| before > at) {
            return Err(wrong("it is earlier than what is before it; sort the schedule by time".into()));
        }
        if let Some(drive) = incident.drive() {
            if drives == 0 {
                return Err(wrong("there is no array: set array.drives".into()));
            }
            let Some(is_gone) = is_gone.get_mut(drive.index()) else {
                return Err(wrong(format!("there is no drive {drive}: they are 0 to {}", drives - 1)));
            };
            match incident {
                Incident::Return(_) if !*is_gone => {
                    return Err(wrong(format!("drive {drive} is there: remove it first")));
                }
                Incident::Return(_) => *is_gone = false,
                _ if *is_gone => return Err(wrong(format!("drive {drive} is gone by then"))),
                Incident::Remove(_) => *is_gone = true,
                _ => {}
            }
        }
        schedule.push((at, incident));
    }
    Ok(schedule)
}

fn one(part: &str, drives: u32) -> Result<(Nanos, Incident), BadValue> {
    let words: Vec<&str> = part.split_whitespace().collect();
    let drive = |word: &str| {
        word.parse().map(DriveId::new).map_err(|_| BadValue::new(format!("'{word}' is no number of a drive")))
    };
    let time = |word: &str| {
        let time = parse_time(word)?;
        match time <= LONGEST {
            true => Ok(time),
            false => Err(BadValue::new(format!("{word} is longer than {}", exact_time(LONGEST)))),
        }
    };
    let incident = match words[1..] {
        ["remove", d] => Incident::Remove(drive(d)?),
        ["return", d] => Incident::Return(drive(d)?),
        ["stall", d, t] => Incident::Stall(drive(d)?, time(t)?),
        ["delay", d, t] => Incident::Delay(drive(d)?, time(t)?),
        ["stall", t] => Incident::Stall(the_only(drives)?, time(t)?),
        ["delay", t] => Incident::Delay(the_only(drives)?, time(t)?),
        ["scrub"] => Incident::Scrub,
        _ => {
            return Err(BadValue::new(
                "write a time and 'remove DRIVE', 'return DRIVE', 'stall DRIVE TIME', 'delay DRIVE TIME' or \
                 'scrub', as in '2s remove 1; 5s return 1' or '30s stall 0 2s'",
            ));
        }
    };
    Ok((parse_time(words[0])?, incident))
}

/// The drive that is meant where none is named.
fn the_only(drives: u32) -> Result<DriveId, BadValue> {
    match drives {
        0 | 1 => Ok(DriveId::new(0)),
        _ => Err(BadValue::new("say which drive, as in 'stall 0 2s'")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn refusal(text: &str) -> String {
        parse(text, 4).expect_err(text).message
    }

    #[test]
    fn a_schedule_is_read_in_the_order_of_time() {
        let drive = DriveId::new;
        let read = parse("2s remove 1; 5s return 1;\n 5s stall 0 20ms; 6s delay 3 1ms; 9s scrub;", 4);
        let want = [
            (Nanos::secs(2), Incident::Remove(drive(1))),
            (Nanos::secs(5), Incident::Return(drive(1))),
            (Nanos::secs(5), Incident::Stall(drive(0), Nanos::millis(20))),
            (Nanos::secs(6), Incident::Delay(drive(3), Nanos::millis(1))),
            (Nanos::secs(9), Incident::Scrub),
        ];
        assert_eq!(read, Ok(want.to_vec()));
        assert_eq!(parse(" ; ", 4), Ok(Vec::new()));
    }

    #[test]
    fn what_cannot_happen_is_refused_with_the_part_that_is_wrong() {
        assert!(refusal("2s remove 4").contains("'2s remove 4': there is no drive 4: they are 0 to 3"));
        assert!(refusal("2s remove 1; 3s remove 1").contains("drive 1 is gone by then"));
        assert!(refusal("2s return 1").contains("drive 1 is there"));
        assert!(refusal("2s remove 1; 1s scrub").contains("'1s scrub': it is earlier"));
        assert!(refusal("2 scrub").contains("'2 scrub'"));
        assert!(parse("2s remove 0", 0).expect_err("no array").message.contains("set array.drives"));
        assert!(refusal("2s explode 1").contains("write a time and"));
        assert!(refusal("2s stall 1 2h").contains("longer than"));
        assert!(refusal("2s remove one").contains("'one' is no number"));
    }

    proptest! {
        #[test]
        fn no_text_crashes_it(text in "[0-9a-z ;.]{0,40}") {
            let _ = parse(&text, 3);
        }

        #[test]
        fn what_is_shown_is_read_as_the_same(at in 0u64..1_000_000_000, drive in 0u32..4, kind in 0..4) {
            let (drive, time) = (DriveId::new(drive), Nanos(at));
            let incident = match kind {
                0 => Incident::Remove(drive),
                1 => Incident::Stall(drive, time),
                2 => Incident::Delay(drive, time),
                _ => Incident::Scrub,
            };
            let text = format!("{} {incident}", exact_time(time));
            prop_assert_eq!(parse(&text, 4), Ok(vec![(time, incident)]));
        }
    }
}
