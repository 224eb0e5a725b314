//! The way of each request for the disk through the server.

use tailcut_base::Time;
use tailcut_host::{Bytes, Response};

/// Of all requests in flight, by name.
#[derive(Debug, Default)]
pub(super) struct Trails {
    trails: Vec<Trail>,
}

/// When what happened to a request.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Times {
    /// The thread began to hand it over.
    pub begun: Time,
    /// The disk had it.
    pub handed: Time,
    /// The disk had ended it.
    pub answered: Time,
    /// The software interrupt came to it.
    pub fetched: Time,
    /// The software interrupt had done with it.
    pub finished: Time,
    /// A user waits for what it reads.
    pub is_of_user: bool,
}

/// A request.
#[derive(Debug, Default)]
pub(super) struct Trail {
    times: Times,
    /// What the disk has answered.
    pub response: Option<Response<Bytes>>,
}

impl Trail {
    pub fn times(&self) -> &Times {
        &self.times
    }
}

impl std::ops::Deref for Trail {
    type Target = Times;
    fn deref(&self) -> &Times {
        &self.times
    }
}

impl std::ops::DerefMut for Trail {
    fn deref_mut(&mut self) -> &mut Times {
        &mut self.times
    }
}

impl Trails {
    /// That of a request.
    #[inline]
    pub fn of(&mut self, request: u32) -> &mut Trail {
        let at = request as usize;
        if at >= self.trails.len() {
            self.trails.resize_with(at + 1, Trail::default);
        }
        &mut self.trails[at]
    }
}
