//! Write amplification from the literature, computed here independently of the crate: this module solves the
//! stationary equations directly, where the crate follows a mean-field iteration.
//!
//! Every function takes `n` pages per block, `blocks` that hold data, and `valid` pages, and returns programs
//! per host write. `blocks` must exclude space without data at the time at which a victim is chosen: the free
//! blocks, and the empty halves of the open ones (see `effective_blocks`).

/// Number of blocks of a plane that hold data when a victim is chosen: all except `low - 1` free ones, and
/// with two open blocks half full on average.
pub(crate) fn effective_blocks(blocks: u32, low: u32) -> f64 {
    f64::from(blocks - (low - 1)) - 2.0 * 0.5
}

/// The root of a function that changes its sign once between `low` and `high`.
fn root(mut low: f64, mut high: f64, f: impl Fn(f64) -> f64) -> f64 {
    let rises = f(low) < 0.0;
    for _ in 0..200 {
        let middle = 0.5 * (low + high);
        if (f(middle) < 0.0) == rises { low = middle } else { high = middle }
    }
    0.5 * (low + high)
}

/// LRU (FIFO) cleaning under uniform writes: `v = exp(-(P/U)(1 - v))`, `WA = 1/(1 - v)` (Desnoyers, SYSTOR
/// 2012, section 4.1; equivalently with Lambert's W in Menon, 1995). `v = 1` is a trivial solution of the
/// equation and is excluded.
pub(crate) fn fifo(n: u32, blocks: f64, valid: f64) -> f64 {
    let ratio = blocks * f64::from(n) / valid;
    let v = root(0.0, 1.0 - 1e-9, |v| (-ratio * (1.0 - v)).exp() - v);
    1.0 / (1.0 - v)
}

/// LRU cleaning with classes of data, each with a share of the space and of the writes (Desnoyers, SYSTOR
/// 2012, section 4.3). A page of class `i` is overwritten within one turn of the queue, `T` host writes, with
/// probability `1 - exp(-r_i T / U_i)`; otherwise it is copied. Copies and writes together fill the drive
/// once in `T`.
pub(crate) fn fifo_of_classes(n: u32, blocks: f64, valid: f64, classes: &[(f64, f64)]) -> f64 {
    let pages = blocks * f64::from(n);
    let programs = |turn: f64| -> f64 {
        let of = |&(space, writes): &(f64, f64)| writes / -(-writes * turn / (space * valid)).exp_m1();
        classes.iter().map(of).sum()
    };
    // `turn = 0` is a trivial solution.
    pages / root(pages * 1e-3, pages, |turn| programs(turn) * turn - pages)
}

/// Random cleaning: the victim is an average block under any load (Van Houdt, SIGMETRICS 2013, d = 1):
/// `WA = 1/(1 - U/P)`.
pub(crate) fn random(n: u32, blocks: f64, valid: f64) -> f64 {
    1.0 / (1.0 - valid / (blocks * f64::from(n)))
}

/// Greedy cleaning in the limit of many blocks (Bux and Iliadis, Performance Evaluation 2010; Van Houdt,
/// SIGMETRICS 2013, d to infinity). With `F` cleanings per write, each level `j` above the victims' level
/// loses `N_j j / U = F` blocks to the next; victims are at some level `m` or just below it. Blocks add up to
/// `C = F U (H_n - H_m) + N_m`, flows to `(n - m) F + m N_m / U = 1`.
pub(crate) fn greedy(n: u32, blocks: f64, valid: f64) -> f64 {
    for m in 1..n {
        let harmonic: f64 = (m + 1..=n).map(|j| 1.0 / f64::from(j)).sum();
        let (below, m) = (f64::from(n - m), f64::from(m));
        let cleanings = (1.0 / m - blocks / valid) / (below / m - harmonic);
        let fallen = 1.0 - below * cleanings;
        if cleanings > 0.0 && (0.0..=cleanings).contains(&fallen) {
            return f64::from(n) * cleanings;
        }
    }
    panic!("no level of victims for {blocks} blocks of {n} pages with {valid} valid")
}

/// The best of `d` random blocks (Van Houdt, SIGMETRICS 2013, theorem 2). With `S_j` the share of blocks that
/// have at least `j` valid pages, as many blocks leave that set as enter it full:
/// `C (S_j - S_j+1) j / U + F S_j^d = F`, from `j = n` down; `F` is chosen so that the valid pages add up.
pub(crate) fn choices(n: u32, blocks: f64, valid: f64, d: i32) -> f64 {
    let excess = |cleanings: f64| {
        let (mut at_least, mut sum) = (0.0, 0.0);
        for j in (1..=n).rev().map(f64::from) {
            let flow = |s: f64| blocks * (s - at_least) * j / valid - cleanings * (1.0 - s.powi(d));
            let next = root(at_least, 1.0, flow);
            sum += blocks * (next - at_least) * j;
            at_least = next;
        }
        sum - valid
    };
    f64::from(n) * root(1.0 / f64::from(n), 1.0, excess)
}

#[test]
fn the_formulas_agree_where_they_meet() {
    let (n, blocks, valid) = (32, 1000.0, 0.8 * 32_000.0);
    let close = |a: f64, b: f64| assert!((a / b - 1.0).abs() < 1e-3, "{a} and {b}");
    close(choices(n, blocks, valid, 1), random(n, blocks, valid));
    close(choices(n, blocks, valid, 400), greedy(n, blocks, valid));
    close(fifo_of_classes(n, blocks, valid, &[(0.3, 0.3), (0.7, 0.7)]), fifo(n, blocks, valid));
    // Desnoyers' example: LRU cleaning at a spare factor of 20 %.
    close(fifo(n, blocks, valid), 2.6935);
}
