//! Whether a LUN is quiesced: the part of its work that continues in a quiet period ([`crate::mapping`]) and
//! has to end before the drive reports that it is quiet.

use super::{Backend, UpperLayers};
use crate::backend::lun::Phase;
use crate::flash::LunId;
use crate::request::{Kind, Lane};
use tailcut_base::Time;

impl Backend {
    /// True when nothing is under way at a LUN that has to end before its set is quiet.
    pub(crate) fn is_quiesced(&self, now: Time, lun: LunId, upper: &impl UpperLayers) -> bool {
        let u = &self.luns[lun];
        let is_at_work = !matches!(u.phase, Phase::Idle | Phase::AwaitStart)
            && matches!(u.transaction.kind, Kind::UserWrite | Kind::ReadAhead);
        !is_at_work && !u.is_suspended && self.rests_from_collection(now, lun, upper)
    }

    /// True when an idle LUN has work that it could start if it were looked at.
    pub(crate) fn is_idle_with_work(&self, now: Time, lun: LunId, upper: &impl UpperLayers) -> bool {
        self.luns[lun].phase == Phase::Idle && self.choose(now, lun, upper).is_some()
    }

    /// True when no collection is under way at a LUN, nor about to resume.
    pub(crate) fn rests_from_collection(&self, now: Time, lun: LunId, upper: &impl UpperLayers) -> bool {
        let u = &self.luns[lun];
        let collects = !matches!(u.phase, Phase::Idle | Phase::AwaitStart)
            && matches!(u.transaction.kind, Kind::GcRead | Kind::GcWrite | Kind::Erase);
        if collects {
            return false;
        }
        if u.lanes_with_work(Lane::COLLECTION).next().is_some() {
            return self.cannot_go_on(now, lun, upper);
        }
        !self.layout.planes_of(lun).any(|plane| upper.must_collect(plane))
    }

    /// True when the collections of a LUN have no page to copy to, because too many blocks went bad: they
    /// stand still until a write finds the drive full, and erases that wait for the LUN to be idle do so
    /// with them.
    fn cannot_go_on(&self, now: Time, lun: LunId, upper: &impl UpperLayers) -> bool {
        self.luns[lun].phase == Phase::Idle
            && self.choose(now, lun, upper).is_none()
            && self
                .layout
                .planes_of(lun)
                .all(|plane| upper.may_stand_still(plane) || !upper.must_collect(plane))
    }
}
