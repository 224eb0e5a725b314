//! Versions of a block.

use super::Moment;

/// Something that was, is or will be in a block.
#[derive(Clone, Debug)]
pub(super) struct Version {
    pub(super) number: u32,
    pub(super) is_zeros: bool,
    pub(super) submitted: Moment,
    /// [`Moment::MAX`] until it is answered.
    pub(super) answered: Moment,
    /// The write has certainly happened.
    pub(super) is_certain: bool,
    pub(super) is_durable: bool,
    /// A power cut may have left it; exactly one of those that are carried is there.
    pub(super) is_carried: bool,
    /// A read that was answered then has shown that this version came later.
    pub(super) past: Option<(Moment, u32)>,
}

impl Version {
    /// The initial version, before any write.
    pub(super) fn zeros() -> Version {
        Version {
            number: 0,
            is_zeros: true,
            submitted: 0,
            answered: 0,
            is_certain: true,
            is_durable: true,
            is_carried: true,
            past: None,
        }
    }
}

/// When all that a power cut may have left is the same, that is what is there.
pub(super) fn decide(versions: &mut Vec<Version>) {
    let mut carried = versions.iter().filter(|version| version.is_carried);
    let Some(number) = carried.next().map(|version| version.number) else { return };
    let are_zeros = versions.iter().all(|version| !version.is_carried || version.is_zeros);
    if carried.next().is_none() || are_zeros {
        versions.retain(|version| !version.is_carried || version.number == number);
        let left = versions.iter_mut().find(|version| version.is_carried).expect("it is there");
        (left.is_certain, left.is_durable) = (true, true);
    }
}
