//! How long the flash takes: cells, and cycles and transfers on the bus.

use super::geometry::Geometry;
use tailcut_base::Nanos;
use tailcut_base::config::{Configure, KeyVisitor, choose, count_u32};
use tailcut_base::divisor::Divisor;

tailcut_base::choice! {
    /// Bits per cell, which is also the number of page types of a word line.
    pub enum CellKind {
        /// One bit per cell.
        Slc = "slc",
        /// Two bits per cell.
        Mlc = "mlc",
        /// Three bits per cell.
        Tlc = "tlc",
        /// Four bits per cell.
        Qlc = "qlc",
    }
}

impl CellKind {
    /// Bits per cell, which is the number of pages of a block that share a word line.
    pub fn bits(self) -> u32 {
        self as u32 + 1
    }
}

/// Command and address cycles of a page read: 00h, five address cycles, 30h (ONFI 2.x, 5.7).
pub const READ_CYCLES: u64 = 7;
/// Command and address cycles of a page program: 80h, five address cycles, 10h (ONFI 2.x, 5.11).
pub const PROGRAM_CYCLES: u64 = 7;
/// Command and address cycles of a block erase: 60h, three row cycles, D0h (ONFI 2.x, 5.12).
pub const ERASE_CYCLES: u64 = 5;

/// The times of the flash. Page `i` of a block is of type `i mod bits`: the pages of a word line
/// follow each other, the fast page first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timing {
    /// How many bits a cell holds, and with that how many types of pages there are.
    pub cell: CellKind,
    /// Cell time of a page read: one time for all page types, or one for each, the fast page first.
    pub read: Vec<Nanos>,
    /// The most by which the cell time of a read of one page differs from `read`, either way, evenly
    /// distributed.
    pub read_jitter: Nanos,
    /// Cell time of a page program: one time for all page types, or one for each, the fast page first.
    pub program: Vec<Nanos>,
    /// Cell time of a block erase.
    pub erase: Nanos,
    /// Transfer rate of a channel's bus in bytes per second.
    pub bus: u64,
    /// Length of one command or address cycle on the bus.
    pub cycle: Nanos,
    /// Time from the suspension of a program until its chip can read.
    pub program_suspend: Nanos,
    /// Time added to a program each time that it is resumed.
    pub program_resume: Nanos,
    /// Time from the suspension of an erase until its chip can read.
    pub erase_suspend: Nanos,
    /// Time added to an erase each time that it is resumed.
    pub erase_resume: Nanos,
    /// Time from the reset of a program until its chip can read.
    pub program_reset: Nanos,
    /// Time from the reset of an erase until its chip can read.
    pub erase_reset: Nanos,
    /// Program and erase cycles that a block is rated for.
    pub endurance: u32,
}

impl Configure for Timing {
    fn configure(&mut self, visit: &mut dyn KeyVisitor) {
        let cells = Nanos(1)..=Nanos::secs(1);
        choose(visit, "cell", "Bits per cell: slc, mlc, tlc or qlc.", &mut self.cell);
        visit.times(
            "read",
            "Cell time of a page read; one, or one for each page type, fast page first.",
            &mut self.read,
            cells.clone(),
        );
        visit.time(
            "read_jitter",
            "The most by which a read of one page takes longer or shorter than that.",
            &mut self.read_jitter,
            Nanos(0)..=Nanos::millis(1),
        );
        if self.read.iter().any(|read| *read <= self.read_jitter) {
            visit.problem("read_jitter", "a read takes some time; lower read_jitter".into());
        }
        visit.times(
            "program",
            "Cell time of a page program; one, or one for each page type, fast page first.",
            &mut self.program,
            cells.clone(),
        );
        visit.time("erase", "Cell time of a block erase.", &mut self.erase, cells);
        visit.rate("bus", "Transfer rate of a channel's bus.", &mut self.bus, 1_000_000..=100_000_000_000);
        visit.time(
            "cycle",
            "One command or address cycle on the bus.",
            &mut self.cycle,
            Nanos(0)..=Nanos::micros(10),
        );
        for (key, doc, time) in [
            (
                "program_suspend",
                "Until a chip whose program is being suspended can read.",
                &mut self.program_suspend,
            ),
            ("program_resume", "Added to a program each time that it is resumed.", &mut self.program_resume),
            (
                "erase_suspend",
                "Until a chip whose erase is being suspended can read.",
                &mut self.erase_suspend,
            ),
            ("erase_resume", "Added to an erase each time that it is resumed.", &mut self.erase_resume),
            ("program_reset", "Until a chip whose program is being reset can read.", &mut self.program_reset),
            ("erase_reset", "Until a chip whose erase is being reset can read.", &mut self.erase_reset),
        ] {
            visit.time(key, doc, time, Nanos(0)..=Nanos::secs(1));
        }
        count_u32(
            visit,
            "endurance",
            "Program and erase cycles that a block is rated for.",
            &mut self.endurance,
            1..=10_000_000,
        );
        let bits = self.cell.bits();
        for (key, times) in [("read", &self.read), ("program", &self.program)] {
            if times.len() != 1 && times.len() != bits as usize {
                visit.problem(
                    key,
                    format!("{} times; write one, or {bits} for {} cells", times.len(), self.cell),
                );
            }
        }
    }
}

/// The times worked out for one geometry.
#[derive(Clone, Debug)]
pub struct Phases {
    read: [Nanos; 4],
    program: [Nanos; 4],
    types: Divisor,
    /// Pages of one type follow each other in runs of 2 to this power.
    run: u32,
    /// Time that the cells take to erase a block.
    pub erase: Nanos,
    /// Time of a page on the bus, data and spare bytes.
    pub transfer: Nanos,
    /// Time of the command and address cycles of a read.
    pub read_command: Nanos,
    /// Time of the command and address cycles of a program.
    pub program_command: Nanos,
    /// Time of the command and address cycles of an erase.
    pub erase_command: Nanos,
}

impl Phases {
    /// Precomputes the times of each page type, and of a page on the bus.
    pub fn new(timing: &Timing, geometry: &Geometry) -> Phases {
        let spread = |times: &[Nanos]| std::array::from_fn(|i| times[i % times.len()]);
        Phases {
            read: spread(&timing.read),
            program: spread(&timing.program),
            types: Divisor::new(timing.cell.bits()),
            run: 0,
            erase: timing.erase,
            transfer: Nanos::for_bytes(geometry.page_bytes + geometry.spare_bytes, timing.bus),
            read_command: timing.cycle * READ_CYCLES,
            program_command: timing.cycle * PROGRAM_CYCLES,
            erase_command: timing.cycle * ERASE_CYCLES,
        }
    }

    /// These times where `sense` pages, a power of two, are of one type and are sensed together: pages of the
    /// map are parts of a page of flash.
    pub fn sensing(self, sense: u32) -> Phases {
        Phases { run: sense.trailing_zeros(), ..self }
    }

    /// Cell time of a read of page `offset` of a block.
    #[inline]
    pub fn read_cell(&self, offset: u32) -> Nanos {
        self.read[self.types.remainder(offset >> self.run) as usize]
    }

    /// Cell time of a program of page `offset` of a block.
    #[inline]
    pub fn program_cell(&self, offset: u32) -> Nanos {
        self.program[self.types.remainder(offset >> self.run) as usize]
    }

    /// The mean cell time of a read over all page types, rounded down.
    pub fn read_cell_typical(&self) -> Nanos {
        self.typical(&self.read)
    }

    /// The mean cell time of a program over all page types, rounded down.
    pub fn program_cell_typical(&self) -> Nanos {
        self.typical(&self.program)
    }

    fn typical(&self, times: &[Nanos; 4]) -> Nanos {
        let types = self.types.get();
        let sum: Nanos = times[..types as usize].iter().copied().sum();
        sum / u64::from(types)
    }

    /// The longest cell time of a program.
    #[expect(clippy::missing_panics_doc, reason = "the array of cell times is not empty")]
    pub fn program_cell_most(&self) -> Nanos {
        self.program.into_iter().max().expect("there are four")
    }

    /// Mean cell time of a read over all page types, in nanoseconds.
    pub fn read_cell_mean(&self) -> f64 {
        self.mean(&self.read)
    }

    /// Mean cell time of a program over all page types, in nanoseconds.
    pub fn program_cell_mean(&self) -> f64 {
        self.mean(&self.program)
    }

    fn mean(&self, times: &[Nanos; 4]) -> f64 {
        let types = self.types.get() as usize;
        times[..types].iter().map(|t| t.0 as f64).sum::<f64>() / types as f64
    }
}
