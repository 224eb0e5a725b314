//! Reports as pages of HTML: one file each, which loads nothing and can be read without this program.
//!
//! A page is made of its data alone: the JSON that is written beside it. Words and tables are made here;
//! charts are made in the browser from the same data, which the page contains, by the scripts of `script/`
//! with ECharts (`echarts/`). See `docs/decisions/html-report.md` for the reasons.

mod figure;
pub mod markup;
mod page;
#[cfg(feature = "svg")]
pub(crate) mod picture;
#[cfg(feature = "png")]
pub(crate) mod raster;
mod terms;

pub(crate) use figure::Figure;
pub use page::Page;
pub(crate) use page::STYLE;

use crate::failure::Failure;
use crate::output;
use std::fs;
use std::path::{Path, PathBuf};
use tailcut_base::BadValue;

/// The name of a page that is to be written, as an argument.
///
/// # Errors
/// What would be right, if it is not the name of a page.
pub fn page_file(name: &str) -> Result<PathBuf, BadValue> {
    let file = PathBuf::from(name);
    let is_page = matches!(file.extension().and_then(|extension| extension.to_str()), Some("html" | "htm"));
    if is_page {
        Ok(file)
    } else {
        Err(BadValue::new("name a file that ends in .html; its data goes beside it, as .json"))
    }
}

/// Where the data of a page stands: beside it.
pub fn data_file(page: &Path) -> PathBuf {
    page.with_extension("json")
}

/// Writes a page and its data beside it, unless that is where the data came from.
///
/// # Errors
/// [`Failure::Output`] if one of the two files cannot be written.
pub fn write(file: &Path, page: &Page, source: Option<&Path>) -> Result<(), Failure> {
    let data = data_file(file);
    let is_there = source.is_some_and(|source| is_same(source, &data));
    if !is_there {
        output::write_file(&data, format!("{}\n", page.data()).as_bytes())?;
    }
    Ok(output::write_file(file, page.render().as_bytes())?)
}

fn is_same(a: &Path, b: &Path) -> bool {
    matches!((fs::canonicalize(a), fs::canonicalize(b)), (Ok(a), Ok(b)) if a == b)
}
