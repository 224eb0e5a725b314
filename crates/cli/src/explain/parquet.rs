//! A trace as Parquet: a row for each request, with the columns that `tailcut run --requests` writes, or with
//! those of other programs under plain names.
//!
//! | column | names | type |
//! | --- | --- | --- |
//! | time of issue | `due`, `submitted`, `issued`, `timestamp`, `time` with a unit: `_ns`, `_us`, `_ms`, `_s` | number, or a timestamp without a unit |
//! | kind | `op`, `kind`, `type`, `rw` | `read`, `write`, `trim`, `flush`, or their first letters |
//! | address | `sector` (512 bytes), `offset`, `offset_bytes` | number |
//! | length | `sectors` (512 bytes), `size`, `size_bytes`, `length`, `bytes` | number |
//! | response time | `latency`, `response`, `response_time` with a unit | number; none is no response time |

use crate::failure::Failure;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::{Field, Row};
use parquet::schema::types::Type;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use tailcut_base::config::Choice;
use tailcut_base::{Op, SECTOR_BYTES};
use tailcut_workload::trace::Records;

/// The first `most` requests of a file, in the order of their times.
///
/// # Errors
/// The file cannot be read, lacks a column, or has a row that is no request of a drive.
pub(super) fn read(file: &Path, most: usize) -> Result<Records, Failure> {
    let name = file.display();
    let wrong = |why: String| Failure::Input(format!("{name}: {why}"));
    let open = File::open(file).map_err(|error| wrong(error.to_string()))?;
    let reader = SerializedFileReader::new(open).map_err(|error| wrong(error.to_string()))?;
    let schema = reader.metadata().file_metadata().schema();
    let all: Vec<&str> = schema.get_fields().iter().map(|field| field.name()).collect();
    let columns = Columns::find(&all).map_err(wrong)?;
    let chosen = |field: &&Arc<Type>| columns.names().contains(&field.name());
    let fields = schema.get_fields().iter().filter(chosen).cloned().collect();
    let projection = Type::group_type_builder(schema.name()).with_fields(fields).build();
    let projection = projection.map_err(|error| wrong(error.to_string()))?;
    let mut requests = Vec::new();
    let rows = reader.get_row_iter(Some(projection)).map_err(|error| wrong(error.to_string()))?;
    for (number, row) in (0u64..).zip(rows.take(most)) {
        let request = row.map_err(|error| error.to_string()).and_then(|row| columns.request(&row));
        requests.push(request.map_err(|why| wrong(format!("row {number}: {why}")))?);
    }
    if requests.is_empty() {
        return Err(wrong("there is no request in it".to_owned()));
    }
    requests.sort_by_key(|request| request.at);
    Ok(to_records(&requests))
}

fn to_records(requests: &[Request]) -> Records {
    let origin = requests[0].at;
    let mut records = Records::default();
    for request in requests {
        records.at.push(u64::try_from(request.at - origin).expect("they are sorted"));
        records.disk.push(0);
        records.op.push(request.op.index() as u8);
        records.fua.push(0);
        records.offset.push(request.offset);
        records.bytes.push(request.bytes);
        records.responses.push(request.response.unwrap_or(Records::NO_RESPONSE));
    }
    records
}

/// A row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Request {
    /// In ns, of whatever epoch.
    at: i128,
    op: Op,
    offset: u64,
    bytes: u64,
    response: Option<u64>,
}

/// A column and what one of its units is, in ns or bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Column {
    name: String,
    unit: u64,
}

/// The columns that a request is read from.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Columns {
    at: Column,
    op: Column,
    address: Column,
    length: Column,
    response: Column,
}

const TIME_UNITS: [(&str, u64); 4] = [("_ns", 1), ("_us", 1_000), ("_ms", 1_000_000), ("_s", 1_000_000_000)];

impl Columns {
    fn find(all: &[&str]) -> Result<Columns, String> {
        let plain = |what: &str, names: &[(&str, u64)]| {
            let found = names.iter().find(|(name, _)| all.contains(name));
            found.map(|&(name, unit)| Column { name: name.to_owned(), unit }).ok_or_else(|| {
                let names: Vec<&str> = names.iter().map(|&(name, _)| name).collect();
                format!("no column with the {what} ({}); it has {}", names.join(", "), all.join(", "))
            })
        };
        let timed = |what: &str, stems: &[&str], bare: bool| {
            let with_units = stems.iter().flat_map(|stem| {
                let bare = bare.then(|| ((*stem).to_owned(), 0));
                TIME_UNITS.iter().map(move |(suffix, unit)| (format!("{stem}{suffix}"), *unit)).chain(bare)
            });
            let names: Vec<(String, u64)> = with_units.collect();
            let names: Vec<(&str, u64)> = names.iter().map(|(name, unit)| (name.as_str(), *unit)).collect();
            plain(what, &names)
        };
        Ok(Columns {
            at: timed("time of issue", &["due", "submitted", "issued", "timestamp", "time"], true)?,
            op: plain("kind of request", &[("op", 1), ("kind", 1), ("type", 1), ("rw", 1)])?,
            address: plain("address", &[("sector", SECTOR_BYTES), ("offset", 1), ("offset_bytes", 1)])?,
            length: plain(
                "length",
                &[("sectors", SECTOR_BYTES), ("size", 1), ("size_bytes", 1), ("length", 1), ("bytes", 1)],
            )?,
            response: timed("response time", &["latency", "response", "response_time"], false)?,
        })
    }

    fn names(&self) -> [&str; 5] {
        [&self.at, &self.op, &self.address, &self.length, &self.response].map(|column| column.name.as_str())
    }

    fn request(&self, row: &Row) -> Result<Request, String> {
        let value = |column: &Column| {
            let found = row.get_column_iter().find(|(name, _)| **name == column.name);
            found.map_or(&Field::Null, |(_, field)| field)
        };
        let number = |column: &Column| {
            let field = value(column);
            let units = as_number(field, column.unit);
            units.ok_or_else(|| format!("{} is {field}: not a number with a unit", column.name))
        };
        let unsigned = |column: &Column| {
            let number = number(column)?;
            u64::try_from(number).map_err(|_| format!("{} is {number}: beyond 64 bits", column.name))
        };
        let op = op(value(&self.op))
            .ok_or_else(|| format!("{} is {}: no kind of request", self.op.name, value(&self.op)))?;
        let is_flush = op == Op::Flush;
        let offset = if is_flush { 0 } else { unsigned(&self.address)? };
        let bytes = if is_flush { 0 } else { unsigned(&self.length)? };
        let is_request = is_flush || (1..1 << 32).contains(&bytes);
        if !is_request || offset.checked_add(bytes).is_none_or(|end| end > u64::MAX - SECTOR_BYTES) {
            return Err(format!("{bytes} bytes at {offset} are no request of a drive"));
        }
        let response = match value(&self.response) {
            Field::Null => None,
            _ => Some(unsigned(&self.response)?).filter(|&nanos| nanos > 0 && nanos < Records::NO_RESPONSE),
        };
        Ok(Request { at: number(&self.at)?, op, offset, bytes, response })
    }
}

/// A value in units of ns or bytes; without a unit only timestamps have one.
fn as_number(field: &Field, unit: u64) -> Option<i128> {
    let whole: i128 = match *field {
        Field::Byte(number) => number.into(),
        Field::Short(number) => number.into(),
        Field::Int(number) => number.into(),
        Field::Long(number) => number.into(),
        Field::UByte(number) => number.into(),
        Field::UShort(number) => number.into(),
        Field::UInt(number) => number.into(),
        Field::ULong(number) => number.into(),
        Field::TimestampMillis(number) => return Some(i128::from(number) * 1_000_000),
        Field::TimestampMicros(number) => return Some(i128::from(number) * 1_000),
        Field::Float(number) => return scaled(number.into(), unit),
        Field::Double(number) => return scaled(number, unit),
        _ => return None,
    };
    (unit > 0).then(|| whole * i128::from(unit))
}

fn scaled(number: f64, unit: u64) -> Option<i128> {
    (unit > 0 && number.is_finite()).then(|| (number * unit as f64).round() as i128)
}

fn op(field: &Field) -> Option<Op> {
    let Field::Str(text) = field else { return None };
    match text.to_ascii_lowercase().as_str() {
        "r" | "read" => Some(Op::Read),
        "w" | "write" => Some(Op::Write),
        "t" | "trim" | "d" | "discard" => Some(Op::Trim),
        "f" | "flush" => Some(Op::Flush),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_found_under_the_names_of_other_programs() {
        let own = ["number", "op", "sector", "sectors", "due_ns", "submitted_ns", "latency_ns"];
        let found = Columns::find(&own).expect("all are there");
        assert_eq!(found.names(), ["due_ns", "op", "sector", "sectors", "latency_ns"]);
        let other = ["timestamp", "type", "offset", "size", "response_us"];
        let found = Columns::find(&other).expect("all are there");
        assert_eq!(found.names(), ["timestamp", "type", "offset", "size", "response_us"]);
        assert_eq!((found.at.unit, found.response.unit, found.length.unit), (0, 1_000, 1));
        let lacks = Columns::find(&["time_s", "op", "offset", "size"]).expect_err("no response time");
        assert!(lacks.contains("no column with the response time (latency_ns, "), "{lacks}");
        assert!(lacks.ends_with("it has time_s, op, offset, size"), "{lacks}");
    }

    #[test]
    fn numbers_are_scaled_and_those_without_a_unit_refused() {
        assert_eq!(as_number(&Field::Int(-3), 1_000), Some(-3_000));
        assert_eq!(as_number(&Field::Double(0.0015), 1_000_000_000), Some(1_500_000));
        assert_eq!(as_number(&Field::TimestampMicros(7), 0), Some(7_000));
        assert_eq!(as_number(&Field::Long(7), 0), None);
        assert_eq!(as_number(&Field::Double(f64::NAN), 1), None);
        assert_eq!(op(&Field::Str("W".to_owned())), Some(Op::Write));
        assert_eq!(op(&Field::Str("wait".to_owned())), None);
    }
}
