//! Files of rows, good and bad.

use super::*;
use crate::drives::{Amplification, MEDIAN, Mix, RandomWrites, RequestRate, WritePattern};

const COLUMNS: &str = "drive,name,offered,reads_per_s,writes_per_s,measured_reads,r_50p,r_90p,r_95p,r_99p,r_99p5,r_99p9,r_99p99,\
w_50p,w_90p,w_95p,w_99p,w_99p5,w_99p9,w_99p99";
const GOOD: &str =
    "x,\"A drive, first\",10000,5050,9950,1000000,60,70,80,90,100,110,120,10,11,12,13,14,15,16";

fn errors(lines: &[&str]) -> Vec<String> {
    let RowErrors(errors) = measured(&lines.join("\n")).expect_err("a bad file");
    errors.iter().map(ToString::to_string).collect()
}

/// The errors of a file whose only row has other texts.
fn errors_of(from: &str, to: &str) -> Vec<String> {
    assert!(GOOD.contains(from));
    errors(&[COLUMNS, &GOOD.replacen(from, to, 1)])
}

#[test]
fn a_good_row_is_read_by_the_names_of_its_columns() {
    let rows = measured(&[COLUMNS, GOOD].join("\n")).expect("a good file");
    let [row] = &rows[..] else { panic!("one row") };
    assert_eq!(row.drive, "x");
    assert_eq!(row.load, Load::RandomWrites(RandomWrites { offered: RequestRate(10_000) }));
    assert_eq!(
        (row.reads[0], row.reads[MEDIAN], row.reads[7], row.reads[8]),
        (None, Some(60.0), Some(120.0), None)
    );
    assert_eq!((row.writes[MEDIAN], row.writes_per_s), (Some(10.0), Some(9_950.0)));
    assert!(!row.is_saturated());
}

#[test]
fn an_empty_cell_was_not_measured() {
    let rows = measured(&[COLUMNS, &GOOD.replace("110,120,", ",,")].join("\n")).expect("a good file");
    assert_eq!((rows[0].reads[6], rows[0].reads[7]), (None, None));
}

#[test]
fn a_missing_column_is_named_with_those_that_are_there() {
    let found = errors(&[&COLUMNS.replace("r_99p9,", ""), GOOD]);
    assert!(found[0].contains("cells") || found[0].contains("'r_99p9' is missing"), "{found:?}");
    let found =
        errors(&[&COLUMNS.replace("r_99p9,", "r_999,").replace("w_50p,", "w_50p_ns,"), GOOD]).join("\n");
    assert!(found.contains("line 1: the column 'r_99p9' is missing; name it in the first line"), "{found}");
    let unit =
        "line 1: the column 'w_50p_ns' is in another unit; convert it to microseconds and call it 'w_50p'";
    assert!(found.contains(unit), "{found}");
}

#[test]
fn percentiles_that_descend_are_refused() {
    let found = errors_of("80,90,100", "80,90,85");
    assert_eq!(
        found,
        ["line 2: 'r_99p5' is 85 and 'r_99p' is 90: percentiles never descend; check the order of the \
                columns"]
    );
}

#[test]
fn another_unit_contradicts_the_protocol() {
    let nanos = "60000,70000,80000,90000,100000,110000,120000";
    let found = errors_of("60,70,80,90,100,110,120", nanos);
    assert!(found[0].contains("'r_50p' is 60000, and in microseconds it can be 1 to 25600"), "{found:?}");
    let millis = "0.06,0.07,0.08,0.09,0.1,0.11,0.12";
    let found = errors_of("60,70,80,90,100,110,120", millis);
    assert!(found[0].ends_with("convert all latencies to microseconds"), "{found:?}");
}

#[test]
fn a_percentile_needs_ten_requests_beyond() {
    let found = errors_of("1000000", "5000");
    assert!(
        found[0].contains(
            "'r_99p9' rests on 5.0 of 5000 requests; 10 at least are needed; measure longer, \
            or leave the cell empty"
        ),
        "{found:?}"
    );
}

#[test]
fn rates_fit_the_client() {
    let found = errors_of("9950", "99500");
    assert!(
        found[0].contains("'writes_per_s' is 99500, and the client asks for 9950 at this rate"),
        "{found:?}"
    );
    let found = errors_of("9950", "4000");
    assert!(
        found[0]
            .contains("drive 'x' never reached the rate that it was offered; add a row with a lower rate"),
        "{found:?}"
    );
    let found = errors_of("10000,", "4000,");
    assert!(found[0].contains("an offered rate of 4000 leaves nothing"), "{found:?}");
}

#[test]
fn all_errors_are_reported_at_once() {
    let found = errors(&[COLUMNS, &GOOD.replace("70,80", "fast,-3"), &GOOD.replace("x,", ",")]);
    assert_eq!(found.len(), 3, "{found:?}");
    assert!(found[0].starts_with("line 2: 'fast' in 'r_90p' is not a number"));
    assert!(found[2].starts_with("line 3: 'drive' is empty"));
    assert_eq!(errors(&[COLUMNS]), ["there is no row; add a line for each measurement"]);
}

#[test]
fn a_cell_that_is_no_number_is_one_error() {
    for (cell, bad) in [("10000,", "many,"), ("5050,", "many,"), ("9950,", "many,"), (",1000000", ",many")] {
        let line = GOOD.replacen(cell, bad, 1);
        assert_ne!(line, GOOD, "{cell}");
        assert_eq!(errors(&[COLUMNS, &line]).len(), 1, "{line}");
    }
    let found = points("reads_percent,depth\n50,deep\n").expect_err("no number");
    assert_eq!(found.0.len(), 1, "{found}");
}

#[test]
fn mixes_and_amplification_have_columns_of_their_own() {
    let mixes = "reads_percent,depth,read_iops,write_iops,read_p50,read_p99,write_p50\n50,16,59000,58000,185,1020,13.6\n";
    let rows = measured(mixes).expect("a good file");
    assert_eq!(rows[0].load, Load::Mix(Mix { reads_percent: 50, depth: 16 }));
    assert_eq!(
        (rows[0].reads[4], rows[0].writes[MEDIAN], rows[0].writes[4]),
        (Some(1020.0), Some(13.6), None)
    );
    let bad = measured(&mixes.replace("50,16", "150,0")).expect_err("a bad file");
    assert_eq!(bad.0.len(), 2, "{bad}");
    let bad = measured(&mixes.replace("50,16", "50,1.5")).expect_err("no depth is a half");
    assert_eq!(bad.to_string(), "line 2: 'depth' is 1.5; it can be a whole number, 1 to 65536");

    let amplification = "drive,pattern,fill_percent,write_amplification\nx,80/20,70,2.5\n";
    let rows = measured(amplification).expect("a good file");
    let load = Amplification { pattern: WritePattern::HotCold, fill_percent: 70.0 };
    assert_eq!((rows[0].load, rows[0].write_amplification), (Load::Amplification(load), Some(2.5)));
    let bad = measured(&amplification.replace("80/20", "spiral")).expect_err("a bad file");
    assert!(
        bad.to_string().contains("line 2: there is no pattern 'spiral'; the patterns are uniform, zipf"),
        "{bad}"
    );
}

#[test]
fn points_need_their_loads_only() {
    let found = points("drive,offered\ns0,30000\npm9a3-960,50000\n").expect("good points");
    assert_eq!(found[1].drive, "pm9a3-960");
    assert_eq!(found[0].load, Load::RandomWrites(RandomWrites { offered: RequestRate(30_000) }));
    assert_eq!(points("reads_percent,depth\n90,4\n").expect("good points")[0].drive, "");
    assert!(
        points("drive,rate\ns0,30000\n")
            .expect_err("bad points")
            .to_string()
            .contains("'offered' is missing")
    );
    assert!(points("drive,offered\ns0,3000\n").is_err());
    let rows_are_points = points(&[COLUMNS, GOOD].join("\n")).expect("good points");
    assert_eq!(rows_are_points.len(), 1);
}

#[test]
fn data_sheets_may_have_gaps() {
    let text = "drive,capacity_gb,sequential_write_mb_s\nx,960,1700\ny,1920,\n";
    let sheets = data_sheets(text).expect("a good file");
    assert_eq!((sheets[0].sequential_write_mb_s, sheets[1].sequential_write_mb_s), (Some(1700.0), None));
    assert!(data_sheets(&text.replace("960", "0")).is_err());
}

/// The files of measurements are not part of the project: the test passes where they are absent.
#[test]
fn the_published_rows_are_read() {
    let folder = std::path::Path::new("/work/shared/real-drives");
    let files = [("random-writes.csv", 24), ("mixes.csv", 6), ("write-amplification.csv", 3)];
    for (file, count) in files {
        let Ok(text) = std::fs::read_to_string(folder.join(file)) else { continue };
        let rows = measured(&text).unwrap_or_else(|errors| panic!("{file}: {errors}"));
        assert_eq!(rows.len(), count, "{file}");
        if file == "random-writes.csv" {
            assert_eq!(rows.iter().filter(|row| row.is_saturated()).count(), 6, "the last row of each drive");
        }
        assert_eq!(points(&text).map(|points| points.len()), Ok(count));
    }
    if let Ok(text) = std::fs::read_to_string(folder.join("data-sheets.csv")) {
        assert_eq!(data_sheets(&text).map(|sheets| sheets.len()), Ok(6));
    }
}
