//! Every request of a run as Parquet: the columns of the CSV file, in row groups of a million, compressed by
//! Snappy. Texts are UTF-8 strings, everything else 64-bit integers.

use super::files::column;
use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
use parquet::column::writer::ColumnWriter;
use parquet::data_type::ByteArray;
use parquet::errors::Result;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type;
use std::io::{self, Write};
use std::ops::Range;
use std::sync::Arc;
use tailcut_base::config::Choice;
use tailcut_base::{Cause, Op};
use tailcut_sim::request_log::{RequestLog, STATUSES, held_up_names};

/// Rows of a row group.
const GROUP: usize = 1 << 20;

/// Writes the requests of `log` to `out`.
///
/// # Errors
/// `out` takes no more, or the error of the Parquet library.
pub(super) fn write(out: &mut dyn Write, log: &RequestLog) -> io::Result<()> {
    let causes: Vec<String> = Cause::ALL.into_iter().map(column).collect();
    let columns = columns(log, &causes);
    let fields: Result<Vec<Arc<Type>>> = columns.iter().map(|column| column.field().map(Arc::new)).collect();
    let schema = Type::group_type_builder("requests").with_fields(fields?).build()?;
    let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
    let mut writer = SerializedFileWriter::new(Vec::new(), Arc::new(schema), Arc::new(properties))?;
    for start in (0..log.len()).step_by(GROUP) {
        let rows = start..log.len().min(start + GROUP);
        let mut group = writer.next_row_group()?;
        for column in &columns {
            let mut next = group.next_column()?.expect("the schema has this column");
            column.write(next.untyped(), rows.clone())?;
            next.close()?;
        }
        group.close()?;
        // The writer counts what went through it, so that the file needs not be in memory.
        out.write_all(&std::mem::take(writer.inner_mut()))?;
    }
    out.write_all(&writer.into_inner()?)
}

/// A column.
struct Column<'l> {
    name: &'l str,
    values: Values<'l>,
}

/// The values of a column, by row.
enum Values<'l> {
    Numbers(&'l [u64]),
    Counts(&'l [u32]),
    Bytes(&'l [u8]),
    /// Each value is the number of a text.
    Texts(&'l [u8], Vec<String>),
    /// No request has waited for this.
    Zero,
}

fn columns<'l>(log: &'l RequestLog, causes: &'l [String]) -> Vec<Column<'l>> {
    let ops = Op::NAMES.iter().map(|name| (*name).to_owned()).collect();
    let statuses = STATUSES.iter().map(ToString::to_string).collect();
    let mut all = vec![
        Column { name: "number", values: Values::Numbers(&log.number) },
        Column { name: "source", values: Values::Counts(&log.source) },
        Column { name: "op", values: Values::Texts(&log.op, ops) },
        Column { name: "class", values: Values::Bytes(&log.class) },
        Column { name: "status", values: Values::Texts(&log.status, statuses) },
        Column { name: "sector", values: Values::Numbers(&log.sector) },
        Column { name: "sectors", values: Values::Counts(&log.sectors) },
        Column { name: "due_ns", values: Values::Numbers(&log.due) },
        Column { name: "submitted_ns", values: Values::Numbers(&log.submitted) },
        Column { name: "completed_ns", values: Values::Numbers(&log.completed) },
        Column { name: "latency_ns", values: Values::Numbers(&log.latency) },
    ];
    for (name, cause) in causes.iter().zip(Cause::ALL) {
        let values = log.waits(cause).map_or(Values::Zero, Values::Numbers);
        all.push(Column { name, values });
    }
    if !log.held_up.is_empty() {
        all.push(Column { name: "held_up_by", values: Values::Texts(&log.held_up_by, held_up_names()) });
        all.push(Column { name: "held_up_ns", values: Values::Numbers(&log.held_up) });
    }
    all
}

impl Column<'_> {
    fn field(&self) -> Result<Type> {
        let (physical, logical) = match self.values {
            Values::Texts(..) => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
            _ => (Physical::INT64, None),
        };
        let field = Type::primitive_type_builder(self.name, physical).with_repetition(Repetition::REQUIRED);
        field.with_logical_type(logical).build()
    }

    fn write(&self, writer: &mut ColumnWriter<'_>, rows: Range<usize>) -> Result<()> {
        match writer {
            ColumnWriter::Int64ColumnWriter(writer) => {
                writer.write_batch(&self.numbers(rows), None, None)?;
            }
            ColumnWriter::ByteArrayColumnWriter(writer) => {
                let Values::Texts(numbers, texts) = &self.values else {
                    unreachable!("only texts are byte arrays in the schema")
                };
                let texts: Vec<ByteArray> = texts.iter().map(|text| ByteArray::from(text.as_str())).collect();
                let values: Vec<ByteArray> =
                    numbers[rows].iter().map(|&number| texts[usize::from(number)].clone()).collect();
                writer.write_batch(&values, None, None)?;
            }
            _ => unreachable!("the schema has two kinds of columns"),
        }
        Ok(())
    }

    /// Virtual time in ns stays far below 2^63.
    fn numbers(&self, rows: Range<usize>) -> Vec<i64> {
        match &self.values {
            Values::Numbers(values) => values[rows].iter().map(|&value| value.cast_signed()).collect(),
            Values::Counts(values) => values[rows].iter().map(|&value| value.into()).collect(),
            Values::Bytes(values) | Values::Texts(values, _) => {
                values[rows].iter().map(|&value| value.into()).collect()
            }
            Values::Zero => vec![0; rows.len()],
        }
    }
}
