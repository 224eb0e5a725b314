//! Reports as pages of HTML: one file each, which loads nothing and can be read without this program.
//!
//! A page is made of its data alone: the JSON that is written beside it. Words and tables are made here; charts are made in
//! the browser from the same data, which the page contains, by the scripts of `script/` with ECharts
//! (`echarts/`). `docs/decisions/html-report.md` says why.

mod markup;
mod page;
mod run;

pub use page::Page;

use crate::failure::Failure;
use crate::output;
use std::path::{Path, PathBuf};

/// The name of a page that is to be written, as an argument.
pub fn page_file(name: &str) -> Result<PathBuf, String> {
    let file = PathBuf::from(name);
    let is_page = matches!(file.extension().and_then(|extension| extension.to_str()), Some("html" | "htm"));
    if is_page {
        Ok(file)
    } else {
        Err(String::from("name a file that ends in .html; its data goes beside it, as .json"))
    }
}

/// Where the data of a page stands: beside it.
pub fn data_file(page: &Path) -> PathBuf {
    page.with_extension("json")
}

/// Writes a page and its data beside it.
pub fn write(file: &Path, page: &Page) -> Result<(), Failure> {
    output::write_file(&data_file(file), format!("{}\n", page.data()).as_bytes())?;
    Ok(output::write_file(file, page.render().as_bytes())?)
}

/// The page of a run.
pub fn of_run(saved: &crate::run::Saved, scenario: &crate::run::Scenario) -> Page {
    run::page(saved, scenario)
}
