//! What a server may have lost at its end, and why.

use tailcut_rt::ctl::Steered;
use tailcut_rt::kv::{Obstacle, Unwritten};

/// What may be lost of the changes that clients count as done, with the reason; `None` if nothing is. A shard
/// that has failed is reported in any case.
pub fn describe<D: Steered>(unwritten: &Unwritten, drive: Option<&D>) -> Option<String> {
    let name = || drive.map_or_else(|| "the drive".into(), |drive| drive.identify().model);
    let why = match unwritten.why() {
        Obstacle::ShardFailed => "an internal error has ended a part of the store".into(),
        _ if unwritten.lost() == Some(0) => return None,
        Obstacle::Full => {
            let names = drive.and_then(|drive| drive.full()).unwrap_or_else(name);
            format!("no room to write on {names}")
        }
        Obstacle::Failed => match drive.and_then(|drive| drive.failure()) {
            Some(failure) => failure.into(),
            None => format!("{} has failed", name()),
        },
        Obstacle::Silent => format!("{} does not respond", name()),
    };
    let what = match unwritten.lost() {
        Some(0) => "a part of the store did not end in order".into(),
        Some(1) => "the last change of an item may not be on the drive".into(),
        Some(changes) => format!("up to {changes} of the last changes of items may not be on the drive"),
        None => "what was changed last may not be on the drive".to_string(),
    };
    Some(format!("{what}: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailcut_rt::MemoryDrive;

    fn described(why: Obstacle, lost: Option<u64>) -> Option<String> {
        describe(&Unwritten::new(why, lost), None::<&MemoryDrive>)
    }

    #[test]
    fn a_loss_has_a_size_and_a_reason() {
        let text =
            "up to 7 of the last changes of items may not be on the drive: no room to write on the drive";
        assert_eq!(described(Obstacle::Full, Some(7)).as_deref(), Some(text));
        let text = "the last change of an item may not be on the drive: the drive does not respond";
        assert_eq!(described(Obstacle::Silent, Some(1)).as_deref(), Some(text));
    }

    #[test]
    fn a_drive_that_owes_nothing_is_no_loss_and_a_bug_is() {
        assert_eq!(described(Obstacle::Full, Some(0)), None);
        assert_eq!(described(Obstacle::Failed, Some(0)), None);
        assert!(described(Obstacle::ShardFailed, Some(0)).is_some());
        assert!(described(Obstacle::ShardFailed, None).is_some());
    }
}
