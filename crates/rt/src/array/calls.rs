//! Calls of the control interface on an array's drives, by the array or by its user.

use super::ServedArray;
use crate::drive::Drive;
use std::collections::VecDeque;
use tailcut_base::control::{Control, ControlReply};
use tailcut_base::ids::Id;
use tailcut_base::{Nanos, Time};
use tailcut_host::array::epoch::EpochMode;
use tailcut_host::array::{ArrayConfig, DriveId};

/// Callers of the calls in flight, for each drive in order of submission.
#[derive(Debug)]
pub(super) struct Calls(Vec<VecDeque<Caller>>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Caller {
    Array,
    User(Control),
}

/// Why a member drive cannot be called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CannotCall {
    /// The member does not exist, or is missing.
    #[error("there is no such drive: 'status' lists those of an array")]
    NoDrive,
    /// An array is called and not one of its members.
    #[error("an array has no such call, its drives have: 'member 0 REQUEST' calls the first")]
    NoMember,
    /// The array steers its drives itself, and the call would interfere.
    #[error("the array steers its drives by itself")]
    Steered,
}

impl Calls {
    pub(super) fn new(drives: usize) -> Calls {
        Calls(vec![VecDeque::new(); drives])
    }
}

impl<D: Drive> ServedArray<D> {
    /// Calls a member drive; the reply comes with [`Drive::poll`] of the array, in order per drive.
    ///
    /// # Errors
    /// See [`CannotCall`].
    pub fn call(&mut self, now: Time, member: usize, call: Control) -> Result<(), CannotCall> {
        if steers(&self.array.core().config) && !only_asks(call) {
            return Err(CannotCall::Steered);
        }
        let drive = self.drives.get_mut(member).and_then(Option::as_mut).ok_or(CannotCall::NoDrive)?;
        self.calls.0[member].push_back(Caller::User(call));
        drive.control(now, call);
        Ok(())
    }

    /// Calls a member drive on behalf of the array.
    pub(super) fn steer(&mut self, now: Time, member: usize, call: Control) {
        match &mut self.drives[member] {
            Some(drive) => {
                self.calls.0[member].push_back(Caller::Array);
                drive.control(now, call);
            }
            None => self.array.control_answered(now, DriveId::at(member), call, ControlReply::Unsupported),
        }
    }

    /// Handles a reply of a member drive.
    pub(super) fn replied(&mut self, now: Time, member: usize, call: Control, reply: ControlReply) {
        match self.calls.0[member].pop_front() {
            Some(Caller::User(call)) => self.ready.replies.push((call, reply)),
            Some(Caller::Array) => self.array.control_answered(now, DriveId::at(member), call, reply),
            None => unreachable!("a drive replies to who has called it"),
        }
    }

    /// Drops the calls to a drive that has been removed.
    pub(super) fn forget_calls(&mut self, member: usize) {
        for caller in std::mem::take(&mut self.calls.0[member]) {
            if let Caller::User(call) = caller {
                self.ready.replies.push((call, ControlReply::Unsupported));
            }
        }
    }
}

/// True if an array calls its drives itself (SWAN's turns; Shin 2017, section 5.3.5: GCCTRL).
fn steers(config: &ArrayConfig) -> bool {
    let has_tokens = config.layout.is_mirrored() || config.log.tokens;
    config.turns > Nanos::ZERO || has_tokens && config.epoch.mode == EpochMode::GcControl
}

/// True for a read-only call.
fn only_asks(call: Control) -> bool {
    matches!(
        call,
        Control::UserCapacity
            | Control::DeviceCapacity
            | Control::EraseBlockSize
            | Control::FreeBlocks
            | Control::GetThresholds
            | Control::IsGcRunning
            | Control::GetPredictableLatency
            | Control::SelectedWindow
            | Control::HandleStatus(_)
            | Control::PlacementStatistics
    )
}
