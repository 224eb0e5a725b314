//! What the cells of one page take longer, or less long, than those of another.

use tailcut_base::Nanos;
use tailcut_base::random::Stream;

/// Evenly distributed between `-most` and `most`; draws nothing when that is zero.
#[derive(Clone, Debug)]
pub(crate) struct Jitter {
    most: Nanos,
    stream: Stream,
}

impl Jitter {
    pub(crate) fn new(most: Nanos, seed: u64) -> Jitter {
        Jitter { most, stream: Stream::new(seed, "read jitter") }
    }

    /// A cell time of `typical` on some page.
    #[inline]
    pub(crate) fn of(&mut self, typical: Nanos) -> Nanos {
        if self.most == Nanos::ZERO { typical } else { self.draw(typical) }
    }

    #[cold]
    fn draw(&mut self, typical: Nanos) -> Nanos {
        typical - self.most + Nanos(self.stream.below(2 * self.most.0 + 1))
    }
}
