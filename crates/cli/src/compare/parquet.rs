//! The table of runs as Parquet: one row group, no compression, every column optional.
//!
//! Names and units of columns are those of the CSV file. Texts are UTF-8 strings, figures doubles, counts
//! 64-bit integers.

use super::csv::{Runs, Value};
use super::results::Results;
use parquet::basic::{LogicalType, Repetition, Type as Physical};
use parquet::column::writer::ColumnWriter;
use parquet::data_type::ByteArray;
use parquet::errors::Result;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type;
use std::sync::Arc;

/// The runs of `results` as a file.
///
/// # Errors
/// The error of the Parquet library.
pub fn to_parquet(results: &Results) -> Result<Vec<u8>> {
    let runs = Runs::of(results);
    let head = runs.head();
    let rows: Vec<Vec<Value>> = runs.rows().collect();
    let kinds: Vec<Kind> = (0..head.len()).map(|column| Kind::of(&rows, column)).collect();
    let columns: Result<Vec<Arc<Type>>> =
        head.iter().zip(&kinds).map(|(name, kind)| Ok(Arc::new(kind.column(name)?))).collect();
    let schema = Arc::new(Type::group_type_builder("runs").with_fields(columns?).build()?);
    let mut file = Vec::new();
    let mut writer = SerializedFileWriter::new(&mut file, schema, Arc::new(WriterProperties::default()))?;
    let mut group = writer.next_row_group()?;
    let mut number = 0;
    while let Some(mut column) = group.next_column()? {
        write(column.untyped(), rows.iter().map(|row| &row[number]))?;
        column.close()?;
        number += 1;
    }
    group.close()?;
    writer.close()?;
    Ok(file)
}

/// The type of a column's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Text,
    Number,
    Count,
}

impl Kind {
    /// Of the first value that is known; a column of which nothing is known holds numbers.
    fn of(rows: &[Vec<Value>], column: usize) -> Kind {
        let known = rows.iter().find_map(|row| match row[column] {
            Value::Text(_) => Some(Kind::Text),
            Value::Number(_) => Some(Kind::Number),
            Value::Count(_) => Some(Kind::Count),
            Value::Unknown => None,
        });
        known.unwrap_or(Kind::Number)
    }

    fn column(self, name: &str) -> Result<Type> {
        let (physical, logical) = match self {
            Kind::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
            Kind::Number => (Physical::DOUBLE, None),
            Kind::Count => (Physical::INT64, None),
        };
        let column = Type::primitive_type_builder(name, physical).with_repetition(Repetition::OPTIONAL);
        column.with_logical_type(logical).build()
    }
}

fn write<'v>(column: &mut ColumnWriter<'_>, values: impl Iterator<Item = &'v Value> + Clone) -> Result<()> {
    let known: Vec<i16> = values.clone().map(|value| i16::from(*value != Value::Unknown)).collect();
    match column {
        ColumnWriter::ByteArrayColumnWriter(writer) => {
            let texts = values.filter_map(|value| match value {
                Value::Text(text) => Some(ByteArray::from(text.as_str())),
                _ => None,
            });
            writer.write_batch(&texts.collect::<Vec<ByteArray>>(), Some(&known), None)?;
        }
        ColumnWriter::DoubleColumnWriter(writer) => {
            let numbers = values.filter_map(|value| match value {
                Value::Number(number) => Some(*number),
                _ => None,
            });
            writer.write_batch(&numbers.collect::<Vec<f64>>(), Some(&known), None)?;
        }
        ColumnWriter::Int64ColumnWriter(writer) => {
            let counts = values.filter_map(|value| match value {
                Value::Count(count) => Some(*count as i64),
                _ => None,
            });
            writer.write_batch(&counts.collect::<Vec<i64>>(), Some(&known), None)?;
        }
        _ => unreachable!("the schema has three kinds of columns"),
    }
    Ok(())
}
