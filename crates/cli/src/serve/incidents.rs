//! Incidents of the emulated drives that a server exports: a script, and the stalls of a personality.

use tailcut_base::ids::Id;
use tailcut_base::{BadValue, Nanos};
use tailcut_rt::emulated::{Incident, Schedule};
use tailcut_sim::array::incidents;
use tailcut_ssd::presets::Personality;

/// What happens to the drives of an export.
#[derive(Clone, Debug, Default)]
pub struct Incidents {
    /// In order of time, each with the number of its drive.
    script: Vec<(Nanos, usize, Incident)>,
    /// Whose stalls happen beside it.
    personality: Option<Personality>,
}

impl Incidents {
    /// Reads a script as `array.incidents` has it, for `drives` drives, at least one. Drives only stall and
    /// become slow.
    ///
    /// # Errors
    /// The part that is wrong, and what would be right.
    pub fn parse(script: &str, drives: u32, personality: Option<Personality>) -> Result<Incidents, BadValue> {
        let of_server = |(at, incident): (Nanos, incidents::Incident)| match incident {
            incidents::Incident::Stall(drive, time) => Ok((at, drive.index(), Incident::Stall(time))),
            incidents::Incident::Delay(drive, delay) => Ok((at, drive.index(), Incident::Delay(delay))),
            other => Err(BadValue::new(format!(
                "'{other}': drives of a server stall and are delayed; 'tailcut ctl' removes, replaces and \
                 scrubs"
            ))),
        };
        let script =
            incidents::parse(script, drives)?.into_iter().map(of_server).collect::<Result<_, _>>()?;
        Ok(Incidents { script, personality })
    }

    /// True if nothing will happen.
    pub fn is_empty(&self) -> bool {
        self.script.is_empty() && self.personality.is_none_or(|personality| personality.stalls(0).is_none())
    }

    /// Those of one drive.
    pub fn of(&self, drive: usize, seed: u64) -> Schedule {
        let own = self.script.iter().filter(|&&(_, of, _)| of == drive);
        let stalls =
            self.personality.and_then(|personality| personality.stalls(seed.wrapping_add(drive as u64)));
        Schedule::new(own.map(|&(at, _, incident)| (at, incident)).collect(), stalls)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_is_that_of_its_drives() {
        let both = Incidents::parse("1s stall 1 2s; 3s delay 0 1ms", 2, None).expect("a script");
        assert!(!both.of(0, 1).is_empty() && !both.of(1, 1).is_empty() && both.of(2, 1).is_empty());
        let one = Incidents::parse("30s stall 2s; 40s delay 1ms", 1, None).expect("a script of one drive");
        assert_eq!(one.script[0], (Nanos::secs(30), 0, Incident::Stall(Nanos::secs(2))));
        let stalls = Incidents::parse("", 1, Some(Personality::ThermalStall)).expect("no script");
        assert!(!stalls.is_empty() && !stalls.of(0, 1).is_empty());
        assert!(!stalls.of(3, u64::MAX).is_empty(), "every seed is one");
        assert!(Incidents::parse("", 1, Some(Personality::Worn)).expect("no script").is_empty());
    }

    #[test]
    fn what_a_server_cannot_do_is_refused() {
        let wrong = |script| Incidents::parse(script, 2, None).expect_err(script).message;
        assert!(wrong("1s remove 0").contains("tailcut ctl"));
        assert!(wrong("1s stall 2s").contains("which drive"));
        assert!(wrong("1s stall 5 2s").contains("there is no drive 5"));
    }
}
