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
    /// Write a chart as SVG into the folder of the results instead, such as tail; all for every chart
    #[arg(long, value_name = "CHART", conflicts_with = "markdown")]
    pub svg: Vec<String>,
    /// Likewise as PNG, two pixels for each of --width; only if built with the feature 'png'
    #[arg(long, value_name = "CHART", conflicts_with = "markdown")]
    pub png: Vec<String>,
    /// Width of pictures in pixels
    #[arg(long, value_name = "PIXELS", default_value_t = WIDTH, value_parser = clap::value_parser!(u32).range(200..=4000))]
    pub width: u32,
    /// Draw pictures for dark paper
    #[arg(long)]
    pub dark: bool,
}

impl ReportArguments {
    /// Whether charts are to be written as pictures.
    pub(super) fn wants_pictures(&self) -> bool {
        !self.svg.is_empty() || !self.png.is_empty()
    }

    /// An option of pictures without any.
    pub(super) fn misplaced(&self) -> Option<&'static str> {
        let is_left = !self.wants_pictures();
        let options = [(self.dark, "--dark"), (self.width != WIDTH, "--width")];
        options.into_iter().find(|&(is_given, _)| is_given && is_left).map(|(_, name)| name)
    }
}

/// The width of pictures unless another is given.
const WIDTH: u32 = 960;
