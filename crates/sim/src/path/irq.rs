//! The numbers of interrupts of a simulated host.

use crate::cpu::FIRST_IRQ;
use tailcut_host::path::Vector;

/// The first interrupt of the controller; there is one for each core at the most, which are 16.
pub(super) const DEVICE: u32 = FIRST_IRQ;
/// Ends that drives have announced.
pub(super) const NOTICE: u32 = DEVICE + 16;
/// Completions that another core has sent.
pub(super) const STEERED: u32 = NOTICE + 1;
/// The timer of the poll thread.
pub(super) const TIMER: u32 = NOTICE + 2;
/// The device of the background threads.
pub(super) const BACKGROUND: u32 = NOTICE + 3;
/// The timer of the array.
pub(super) const ARRAY: u32 = NOTICE + 4;

/// The vector of a device interrupt.
pub(super) fn vector(irq: u32) -> Option<Vector> {
    (DEVICE..NOTICE).contains(&irq).then(|| irq - DEVICE)
}
