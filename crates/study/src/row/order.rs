//! Claims that figures fall in an order.

use super::{Row, Sense};

impl Row {
    /// The claim that the figures of these cases fall in the order in which they are given. The figures are
    /// those of `rows`; two that are equal are not in order. Counts the pairs of neighbours that are.
    ///
    /// # Panics
    /// If one of the cases has no row with this quantity.
    pub fn order(rows: &[Row], quantity: &str, cases: &[&str]) -> Row {
        Row::resolved_order(rows, quantity, cases, 0.0)
    }

    /// As [`Row::order`], of figures that differ from the exact ones by up to the share `error` of
    /// themselves, as percentiles of a histogram do. Two that this could have put in either order are a tie,
    /// which neither confirms the order nor contradicts it: it is not counted among the pairs in order, and
    /// if all others are, there is no verdict.
    ///
    /// # Panics
    /// If one of the cases has no row with this quantity.
    pub fn resolved_order(rows: &[Row], quantity: &str, cases: &[&str], error: f64) -> Row {
        let of = |case: &str| {
            let found = rows.iter().find(|row| row.case == case && row.quantity == quantity);
            found.unwrap_or_else(|| panic!("'{case}' has no '{quantity}'")).measured
        };
        let figures: Vec<Option<f64>> = cases.iter().map(|case| of(case)).collect();
        let pairs: Option<Vec<PairOrder>> =
            figures.windows(2).map(|pair| Some(PairOrder::of(pair[0]?, pair[1]?, error))).collect();
        let named = |wanted: PairOrder| {
            let of_pairs = cases.windows(2).zip(pairs.iter().flatten());
            let wanted = of_pairs.filter(|(_, order)| **order == wanted);
            wanted.map(|(pair, _)| format!("{} > {}", pair[0], pair[1])).collect::<Vec<String>>()
        };
        let [broken, ties] = [PairOrder::Broken, PairOrder::Tie].map(named);
        let count =
            pairs.as_ref().map(|pairs| pairs.iter().filter(|pair| **pair == PairOrder::Kept).count() as f64);
        let mut row = Row::new(cases.join(" > "), format!("order: {quantity}"), "pairs", count);
        row.tied = broken.is_empty() && !ties.is_empty();
        row = row.claim(Sense::Order, Some(cases.len().saturating_sub(1) as f64));
        if !broken.is_empty() {
            row = row.remark(&format!("Not so: {}.", broken.join(", ")));
        }
        if !ties.is_empty() {
            row = row.remark(&format!("Too close to tell: {}.", ties.join(", ")));
        }
        row
    }
}

/// How two figures of an order relate.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PairOrder {
    /// As claimed.
    Kept,
    /// Too close to tell.
    Tie,
    /// The other way round, or equal.
    Broken,
}

impl PairOrder {
    /// The order of two figures, of which the first should be the higher one; each may be off by the share
    /// `error`.
    fn of(high: f64, low: f64, error: f64) -> PairOrder {
        match high - low {
            distance if error > 0.0 && distance.abs() <= error * (high.abs() + low.abs()) => PairOrder::Tie,
            distance if distance > 0.0 => PairOrder::Kept,
            _ => PairOrder::Broken,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Table;
    use super::*;

    #[test]
    fn an_order_follows_from_other_rows_and_a_tie_is_none() {
        let row = |case: &str, measured| Row::new(case, "bandwidth", "B/s", measured);
        let rows = [row("a", Some(3.0)), row("b", Some(2.0)), row("c", Some(2.0)), row("d", None)];
        let order = |cases: &[&str]| Row::order(&rows, "bandwidth", cases);
        assert_eq!(order(&["a", "b"]).holds, Some(true));
        assert_eq!(order(&["b", "a"]).holds, Some(false));
        let tie = order(&["a", "b", "c"]);
        assert_eq!((tie.holds, tie.measured, tie.paper), (Some(false), Some(1.0), Some(2.0)));
        assert_eq!((&*tie.case, tie.note.as_deref()), ("a > b > c", Some("Not so: b > c.")));
        assert_eq!((order(&["a", "d"]).holds, order(&["a", "d"]).counted), (None, true));
        let unexplained = Table::new("t", 1, true, vec![order(&["b", "a"])]);
        assert_eq!(unexplained.unexplained().len(), 1, "which pair it is explains nothing");
    }

    #[test]
    fn percentiles_that_a_histogram_cannot_tell_apart_are_a_tie() {
        let rows = [("a", 793.0), ("b", 792.0), ("c", 793.1), ("d", 600.0)]
            .map(|(case, us)| Row::new(case, "latency, 95 %", "s", us * 1e-6));
        let order = |cases: &[&str]| Row::resolved_order(&rows, "latency, 95 %", cases, 0.001);
        for tie in [order(&["a", "b", "c"]), order(&["b", "c", "d"]), order(&["c", "b"])] {
            assert_eq!((tie.holds, tie.is_off(), tie.counted), (None, false, true), "{}", tie.case);
        }
        let tie = order(&["b", "c", "d"]).of_reading("another").explain("because");
        assert_eq!((tie.holds, tie.measured, tie.paper), (None, Some(1.0), Some(2.0)));
        assert_eq!(tie.note.as_deref(), Some("Too close to tell: b > c."));
        let broken = order(&["a", "b", "d", "c"]);
        assert_eq!((broken.holds, broken.measured), (Some(false), Some(1.0)));
        assert_eq!(broken.note.as_deref(), Some("Not so: d > c. Too close to tell: a > b."));
        assert_eq!(order(&["a", "d"]).holds, Some(true));
        assert_eq!(Row::order(&rows, "latency, 95 %", &["a", "b"]).holds, Some(true), "exact figures");
    }

    #[test]
    #[should_panic(expected = "'e' has no 'bandwidth'")]
    fn an_order_of_cases_that_were_not_run_is_a_bug() {
        Row::order(&[], "bandwidth", &["e"]);
    }
}
