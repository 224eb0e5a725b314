//! Measured rows of one load, of which no drive can be all.

use super::MeasuredRow;
use crate::drives::Load;
use crate::drives::comparison::{Quantity, quantities};

/// Rows of the same drive under the same load that are equal, or that have a figure that differs by more than
/// [`REPEATED`]: a sentence without a period for each pair, of the figure that differs most. Rows are counted
/// from 1.
pub fn contradictions(rows: &[MeasuredRow]) -> Vec<String> {
    let mut found = unsaturated(rows);
    for (later, row) in rows.iter().enumerate() {
        for (earlier, other) in rows[..later].iter().enumerate() {
            if row.load != other.load || row.drive != other.drive {
                continue;
            }
            let pair = format!("rows {} and {}", earlier + 1, later + 1);
            if row == other {
                found.push(format!("{pair} are equal ({}), which counts it twice; leave one out", row.load));
                continue;
            }
            let differing = quantities().filter(is_settled).filter_map(|quantity| {
                let (a, b) = (quantity.measured(other)?, quantity.measured(row)?);
                let error = quantity.error(a, b);
                (error > f64::ln(REPEATED)).then_some((error, quantity, a, b))
            });
            if let Some((_, quantity, a, b)) = differing.max_by(|a, b| a.0.total_cmp(&b.0)) {
                found.push(format!(
                    "{pair} are of the same load ({}), and {quantity} is {a} and {b}: no drive has both; \
                        leave out the row that is wrong",
                    row.load
                ));
            }
        }
    }
    found
}

/// Rows in which a drive did not keep up with the writes that it was offered, although it reached more in
/// another.
fn unsaturated(rows: &[MeasuredRow]) -> Vec<String> {
    let reached = |row: &MeasuredRow| match row.load {
        Load::RandomWrites(load) => Some((load.offered, row.writes_per_s?)),
        Load::Mix(_) | Load::Amplification(_) => None,
    };
    let of_row = |(number, row): (usize, &MeasuredRow)| {
        let (offered, writes) = reached(row).filter(|_| row.is_saturated())?;
        let of_others = rows.iter().enumerate().filter(|(_, other)| other.drive == row.drive);
        let (better, most) = of_others
            .filter_map(|(other, row)| Some((other + 1, reached(row)?.1)))
            .max_by(|a, b| a.1.total_cmp(&b.1))
            .filter(|(_, most)| *most > REACHED * writes)?;
        Some(format!(
            "row {} reaches {writes} writes a second of {} that were offered, and row {better} reaches \
             {most}: no drive is saturated by less than it sustains; leave out the row that is wrong",
            number + 1,
            offered.0
        ))
    };
    rows.iter().enumerate().filter_map(of_row).collect()
}

/// Whether two runs of a drive agree in a quantity: its slowest requests are others each time.
fn is_settled(quantity: &Quantity) -> bool {
    !matches!(quantity, Quantity::Read(of) | Quantity::Write(of) if of.percent > 99.9)
}

/// How much less than in other rows a saturated drive may write: more is another cause.
const REACHED: f64 = 1.1;

/// How far two measurements of one load may be from each other, as a factor.
const REPEATED: f64 = 2.0;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drives::rows::measured;

    #[test]
    fn no_drive_is_saturated_by_less_than_it_sustains() {
        let head = "drive,offered,reads_per_s,writes_per_s,measured_reads,r_50p,r_90p,r_95p,r_99p,r_99p5,\
                    r_99p9,r_99p99,w_50p,w_90p,w_95p,w_99p,w_99p5,w_99p9,w_99p99";
        let of = |rates: [&str; 2]| {
            let line = |rates: &str| format!("x,{rates},1000000{}\n", ",60".repeat(14));
            let rows = rates.map(line).concat();
            contradictions(&measured(&format!("{head}\n{rows}")).expect("good rows"))
        };
        assert!(of(["10000,5050,9950", "200000,5700,80000"]).is_empty());
        let found = of(["10000,5050,5000", "40000,5350,39650"]);
        assert_eq!(found.len(), 1, "{found:?}");
        let start = "row 1 reaches 5000 writes a second of 10000 that were offered, and row 2 reaches 39650";
        assert!(found[0].starts_with(start), "{found:?}");
    }

    #[test]
    fn repeated_rows_may_differ_a_little_and_others_as_they_like() {
        let head = "reads_percent,depth,read_iops,write_iops,read_p50";
        let of = |rows: &str| contradictions(&measured(&format!("{head}\n{rows}")).expect("good rows"));
        assert!(of("100,1,10000,0,80\n100,1,10500,0,76\n100,4,30000,0,800\n").is_empty());
        let found = of("100,1,10000,0,80\n100,4,30000,0,90\n100,1,9000,0,270\n");
        assert_eq!(found.len(), 1);
        assert!(found[0].starts_with("rows 1 and 3 are of the same load"), "{found:?}");
        assert!(found[0].contains("read p50 is 80 and 270: no drive has both"), "{found:?}");
        let found = of("100,1,10000,0,80\n100,1,10000,0,80\n");
        assert_eq!(found, ["rows 1 and 2 are equal (100 1), which counts it twice; leave one out"]);
    }
}
