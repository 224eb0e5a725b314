//! What stands here where ublk was not built: devices that nobody can have.

use super::{CannotAttach, Shape};
use std::os::fd::BorrowedFd;
use tailcut_host::wire::nbd::Incoming;
use tailcut_host::{Bytes, Pool};

/// None.
#[derive(Debug)]
pub enum Device {}

impl Device {
    /// Fails.
    ///
    /// # Errors
    /// Always: [`CannotAttach::NotBuilt`].
    pub fn attach(_: u32, _: Shape) -> Result<(Device, Queue), CannotAttach> {
        Err(CannotAttach::NotBuilt)
    }

    /// There is none to be started.
    pub fn start(&mut self) -> Result<(), CannotAttach> {
        match *self {}
    }
}

/// None.
#[derive(Debug)]
pub enum Queue {}

impl Queue {
    /// There is none.
    pub fn wakes(&self) -> BorrowedFd<'_> {
        match *self {}
    }

    /// There is none.
    pub fn heed(&mut self) {
        match *self {}
    }

    /// There is none.
    pub fn look_if_told(&mut self) {
        match *self {}
    }

    /// There is none.
    pub fn next(&mut self, _: &mut Pool) -> Option<Incoming> {
        match *self {}
    }

    /// There is none.
    pub fn has_more(&mut self) -> bool {
        match *self {}
    }

    /// There is none.
    pub fn is_over(&self) -> bool {
        match *self {}
    }

    /// There is none.
    pub fn fill(&self, _: u64, _: &[Bytes]) -> bool {
        match *self {}
    }

    /// There is none.
    pub fn commit(&mut self, _: u64, _: i32) {
        match *self {}
    }

    /// There is none.
    pub fn hand_over(&mut self) {
        match *self {}
    }

    /// There is none.
    pub fn arm(&mut self) -> bool {
        match *self {}
    }
}
