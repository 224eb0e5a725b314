//! The control interface of the drives below a store.

use crate::border::{Out, behind, cross};
use crate::failure::{Failure, Status};
use std::ffi::c_int;
use tailcut_base::control::{Control, ControlReply, GcThresholds, Windows};
use tailcut_base::{Nanos, Time};
use tailcut_rt::embedded::Store;

/// Arguments of a call.
pub type Values = [u64; 3];
/// Results of a call; see [`Values`] for its arguments.
pub type Results = [u64; 2];

/// See the header.
///
/// # Safety
/// The pointers satisfy the rules of the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tailcut_control(
    store: *mut Store,
    drive: u32,
    call: u32,
    values: *const Values,
    results: *mut Results,
) -> c_int {
    cross(|| {
        // SAFETY: a store is a handle, made by `tailcut_open`: null, or aligned, initialised, only shared,
        // and not closed during the call.
        let store: &Store = unsafe { behind(store, "store") }?;
        // SAFETY: an input: null, or aligned, initialised, and not written during the call.
        let values = unsafe { values.as_ref() };
        let call = understand(call, values, store.now())?;
        let results_of = results_of(store.control(drive as usize, call)?)?;
        if let Some(found) = results_of {
            // SAFETY: an output: null, or aligned, writable, and accessed by nothing else during the call.
            let results = unsafe { Out::optional(results) };
            results.ok_or_else(|| Failure::argument("results are NULL, and the call has some"))?.write(found);
        }
        Ok(Status::Ok)
    })
}

/// Decodes a call from its number in the header.
fn understand(call: u32, values: Option<&Values>, now: Time) -> Result<Control, Failure> {
    let needed = || values.ok_or_else(|| Failure::argument("values are NULL, and the call needs some"));
    // A time that overflows is as good as never, and a drive could not represent it.
    let later = |rest: u64| {
        let too_far = || Failure::argument(format!("{rest} ns from now is too far away"));
        now.0.checked_add(rest).map(Time).ok_or_else(too_far)
    };
    let blocks = |value: u64| {
        u32::try_from(value)
            .map_err(|_| Failure::argument(format!("{value} is no number of blocks of a plane")))
    };
    Ok(match call {
        1 => Control::UserCapacity,
        2 => Control::DeviceCapacity,
        3 => Control::EraseBlockSize,
        4 => Control::FreeBlocks,
        5 => Control::GetThresholds,
        6 => {
            let [low, high, _] = *needed()?;
            Control::SetThresholds(GcThresholds { low: blocks(low)?, high: blocks(high)? })
        }
        7 => Control::IsGcRunning,
        8 => Control::RunGc { until: later(needed()?[0])? },
        9 => {
            let [from, period, length] = *needed()?;
            Control::SetWindows(Windows { from: later(from)?, period: Nanos(period), length: Nanos(length) })
        }
        10 => Control::ClearWindows,
        11 => Control::IsReadyForRead,
        _ => {
            return Err(Failure::argument(format!(
                "there is no call {call}: see tailcut_control in tailcut.h"
            )));
        }
    })
}

/// Encodes a reply as in the header.
fn results_of(reply: ControlReply) -> Result<Option<Results>, Failure> {
    let failure = |status, message: &str| Err(Failure { status, message: message.into() });
    match reply {
        ControlReply::Bytes(number) | ControlReply::Blocks(number) => Ok(Some([number, 0])),
        ControlReply::Thresholds(GcThresholds { low, high }) => Ok(Some([low.into(), high.into()])),
        ControlReply::Answer(is_so) => Ok(Some([is_so.into(), 0])),
        ControlReply::Done => Ok(None),
        ControlReply::Unsupported => {
            failure(Status::Unsupported, "the drive does not know this call: emulated drives do")
        }
        ControlReply::Invalid => failure(Status::Refused, "the values do not fit the drive or its state"),
        reply @ (ControlReply::PredictableLatency { .. }
        | ControlReply::Window(_)
        | ControlReply::Log(_)
        | ControlReply::HandleStatus(_)
        | ControlReply::PlacementStatistics(_)) => {
            unreachable!("nothing is asked that is answered with {reply:?}")
        }
    }
}
