//! The command line of `tailcut report`.

use clap::Args;
use std::path::PathBuf;

/// `tailcut report`.
#[derive(Debug, Args)]
pub struct ReportArguments {
    /// Folder of a run or a comparison, or JSON of a run, studies, a comparison or a server's history
    pub path: PathBuf,
    /// Page to write; default: report.html in the folder, or the input's name with .html
    #[arg(long, value_name = "FILE", value_parser = crate::html::page_file)]
    pub html: Option<PathBuf>,
    /// Write the claims of papers as Markdown instead, those that do not hold first; needs JSON of 'study
    /// run', or a folder of it
    #[arg(long, value_name = "FILE", conflicts_with = "html")]
    pub markdown: Option<PathBuf>,
}
