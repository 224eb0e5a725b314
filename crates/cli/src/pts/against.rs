//! Results that others are laid beside: of an earlier run, or of a published report.

use crate::failure::Failure;
use std::collections::BTreeMap;
use std::path::Path;
use tailcut_base::quantity::{parse_rate, parse_time};
use tailcut_pts::Test;
use tailcut_study::Row;

/// Figures by test, case and quantity.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReferenceResults {
    /// Path of the file that the figures come from.
    pub name: String,
    figures: BTreeMap<(String, String, String), f64>,
}

/// The columns of a CSV file.
pub const COLUMNS: [&str; 5] = ["test", "case", "quantity", "unit", "value"];

impl ReferenceResults {
    /// Reads a file: JSON of `tailcut pts`, or CSV.
    ///
    /// # Errors
    /// Names the file, the line, and what would be right.
    pub fn read(file: &Path) -> Result<ReferenceResults, Failure> {
        let name = file.display().to_string();
        let refused = |why: String| Failure::Input(format!("--against {name}: {why}"));
        let text = std::fs::read_to_string(file).map_err(|error| refused(error.to_string()))?;
        let figures = match text.trim_start().starts_with(['{', '[']) {
            true => of_json(&text),
            false => of_csv(&text),
        };
        Ok(ReferenceResults { figures: figures.map_err(refused)?, name })
    }

    /// The reference figure for a row of a test; `None` if the file has none.
    pub fn figure(&self, test: Test, row: &Row) -> Option<f64> {
        self.figures.get(&(plain(test.name()), plain(&row.case), plain(&row.quantity))).copied()
    }
}

type Figures = BTreeMap<(String, String, String), f64>;

/// Without what people write differently: case, blanks.
fn plain(name: &str) -> String {
    name.chars().filter(|letter| !letter.is_whitespace()).flat_map(char::to_lowercase).collect()
}

fn of_json(text: &str) -> Result<Figures, String> {
    let value: serde_json::Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let wanted = "it is not what 'tailcut pts --json' writes: give such a file, or CSV";
    let tests = value["tests"].as_array().ok_or(wanted)?;
    let mut figures = Figures::new();
    for test in tests {
        let name = test["test"].as_str().ok_or(wanted)?;
        for row in test["rows"].as_array().ok_or(wanted)? {
            let (case, quantity) =
                (row["case"].as_str().ok_or(wanted)?, row["quantity"].as_str().ok_or(wanted)?);
            if let Some(figure) = row["measured"].as_f64() {
                figures.insert((plain(name), plain(case), plain(quantity)), figure);
            }
        }
    }
    Ok(figures)
}

fn of_csv(text: &str) -> Result<Figures, String> {
    let mut lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let head = lines.next().map(|(_, line)| cells(line)).unwrap_or_default();
    let place = |column: &str| {
        head.iter().position(|name| plain(name) == column).ok_or_else(|| {
            format!("line 1: there is no column '{column}'; the columns are {}", COLUMNS.join(","))
        })
    };
    let mut places = [0; COLUMNS.len()];
    for (found, column) in places.iter_mut().zip(COLUMNS) {
        *found = place(column)?;
    }
    let mut figures = Figures::new();
    for (number, line) in lines {
        let cells = cells(line);
        let [test, case, quantity, unit, value] =
            places.map(|place| cells.get(place).map_or("", String::as_str));
        let figure = figure(value, unit).map_err(|why| format!("line {}: {why}", number + 1))?;
        let key = (plain(test), plain(case), plain(quantity));
        if figures.insert(key, figure).is_some() {
            return Err(format!("line {}: {test}, {case}, {quantity} stands there twice", number + 1));
        }
    }
    Ok(figures)
}

/// The cells of a line; within quotes a comma is none, and two quotes are one.
fn cells(line: &str) -> Vec<String> {
    let (mut cells, mut is_quoted) = (vec![String::new()], false);
    let mut letters = line.trim_end_matches('\r').chars().peekable();
    while let Some(letter) = letters.next() {
        let cell = cells.last_mut().expect("there is always one");
        match letter {
            '"' if is_quoted && letters.peek() == Some(&'"') => {
                letters.next();
                cell.push('"');
            }
            '"' => is_quoted = !is_quoted,
            ',' if !is_quoted => cells.push(String::new()),
            letter => cell.push(letter),
        }
    }
    cells.iter().map(|cell| cell.trim().to_owned()).collect()
}

/// A value in the unit of a row: per second, bytes per second, seconds, bytes or a factor.
fn figure(value: &str, unit: &str) -> Result<f64, String> {
    let is_number = value.parse::<f64>().is_ok_and(f64::is_finite);
    if !is_number {
        return Err(format!("'{value}' is no number; write 1234.5, say"));
    }
    let number: f64 = value.parse().expect("it was just one");
    match unit {
        "" | "1/s" | "x" | "s" | "B/s" | "B" => return Ok(number),
        _ if plain(unit) == "iops" => return Ok(number),
        _ => {}
    }
    // Whatever else the quantities of scenarios may be written in.
    let one = format!("1{unit}");
    if let Ok(time) = parse_time(&one) {
        return Ok(number * time.0 as f64 / 1e9);
    }
    parse_rate(&one).map(|rate| number * rate as f64).map_err(|_| {
        format!("the unit '{unit}' is not known; write 1/s (or IOPS), B/s, MB/s, MiB/s, s, ms, us, B or x")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_found_by_their_names_however_written() {
        let text = "case,test,quantity,value,unit\r\n\
                    RND 4kib  65/35,IOPS,iops,\"12500\",IOPS\n\n\
                    RND 4KiB 0/100,lat,Average Latency,80,us\n\
                    SEQ 1024KiB 0/100,tp,throughput,2.5,GB/s\n";
        let other = ReferenceResults { figures: of_csv(text).expect("it is good"), name: String::new() };
        let of = |test, case: &str, quantity: &str| other.figure(test, &Row::new(case, quantity, "", None));
        assert_eq!(of(Test::Iops, "RND 4KiB 65/35", "IOPS"), Some(12500.0));
        assert_eq!(of(Test::Latency, "RND 4KiB 0/100", "average latency"), Some(80e-6));
        assert_eq!(of(Test::Throughput, "SEQ 1024KiB 0/100", "throughput"), Some(2.5e9));
        assert_eq!(of(Test::Iops, "RND 4KiB 0/100", "IOPS"), None);
        assert_eq!(other.figures.len(), 3);
    }

    #[test]
    fn what_is_wrong_is_told_with_its_line() {
        let head = "test,case,quantity,unit,value\n";
        let wrong = |text: &str| of_csv(text).expect_err("it is wrong");
        assert!(wrong("test,case,unit,value\n").contains("no column 'quantity'"));
        assert!(
            wrong(&format!("{head}iops,a,b,1/s,12\niops,A,b,1/s,13\n")).starts_with("line 3: iops, A, b")
        );
        assert!(wrong(&format!("{head}iops,a,b,furlongs,12\n")).contains("line 2: the unit 'furlongs'"));
        assert!(wrong(&format!("{head}iops,a,b,1/s,\n")).contains("'' is no number"));
        assert!(wrong("").contains("no column 'test'"));
        assert!(of_json("{}").is_err() && of_json("{").is_err());
    }

    #[test]
    fn quotes_hold_commas_and_quotes() {
        assert_eq!(cells("a, \"b, c\" ,\"d \"\"e\"\"\""), ["a", "b, c", "d \"e\""]);
    }
}
