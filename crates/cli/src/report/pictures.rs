//! `tailcut report --svg NAME|all` and `--png NAME|all`: charts of a page as files.

use super::arguments::ReportArguments;
use crate::failure::Failure;
use crate::html::{Figure, Page};
use std::io::Write;
use std::path::{Path, PathBuf};

/// The name for all charts of a page.
const ALL: &str = "all";

/// A kind of picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Svg,
    Png,
}

impl Format {
    fn extension(self) -> &'static str {
        match self {
            Format::Svg => "svg",
            Format::Png => "png",
        }
    }
}

/// Writes the pictures that the arguments ask for and prints their paths; nothing if they ask for none.
///
/// # Errors
/// A chart is unknown, cannot be drawn or written, or this build draws no such pictures.
pub(super) fn write(arguments: &ReportArguments, page: &Page, out: &mut dyn Write) -> Result<(), Failure> {
    let figures = page.figures();
    for (format, names) in [(Format::Svg, &arguments.svg), (Format::Png, &arguments.png)] {
        if !names.is_empty() {
            let chosen = choose(&figures, names, &arguments.path)?;
            draw(arguments, page, &chosen, format, out)?;
        }
    }
    Ok(())
}

fn choose(figures: &[Figure], names: &[String], source: &Path) -> Result<Vec<Figure>, Failure> {
    if figures.is_empty() {
        return Err(Failure::Input(format!("{}: its page has no charts", source.display())));
    }
    if names.iter().any(|name| name == ALL) {
        return Ok(figures.to_vec());
    }
    let mut chosen = Vec::new();
    for name in names {
        let found: Vec<&Figure> = figures.iter().filter(|figure| is_called(figure, name)).collect();
        if found.is_empty() {
            let known: Vec<&str> = figures.iter().map(Figure::name).collect();
            return Err(Failure::Input(format!(
                "{}: there is no chart '{name}' in its page; there are {}, or {ALL} (charts over time are \
                 those of runs with --timeline or --html)",
                source.display(),
                known.join(", ")
            )));
        }
        chosen.extend(found.into_iter().cloned());
    }
    chosen.dedup_by(|one, other| one.name() == other.name());
    Ok(chosen)
}

/// `tail` is every tail, and `tail-read` one of them.
fn is_called(figure: &Figure, name: &str) -> bool {
    figure.name() == name || figure.chart() == name
}

/// Beside the data: `tail-read.svg` in the folder of a run, `rows-ratios.svg` beside `rows.json`.
#[cfg(feature = "svg")]
fn file(source: &Path, figure: &Figure, format: Format) -> PathBuf {
    let name = format!("{}.{}", figure.name(), format.extension());
    if source.is_dir() {
        return source.join(name);
    }
    let stem = source.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    source.with_file_name(format!("{stem}-{name}"))
}

#[cfg(feature = "svg")]
fn draw(
    arguments: &ReportArguments,
    page: &Page,
    figures: &[Figure],
    format: Format,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    use crate::html::picture::{self, Look};
    use crate::output::write_file;
    use crate::terminal::Waiting;
    let encoder = Encoder::new(format)?;
    let waiting = Waiting::new("drawing charts", false);
    let mut written = Vec::new();
    let mut keep = |figure: &Figure, svg: &str| -> Result<(), Drawing> {
        waiting.show(format!("drawing charts: {} of {}", written.len() + 1, figures.len()));
        let file = file(&arguments.path, figure, format);
        write_file(&file, &encoder.encode(svg)?).map_err(|error| Drawing(error.into()))?;
        written.push(file);
        Ok(())
    };
    let look = Look::new(arguments.width, arguments.dark);
    let drawn = picture::draw(page, figures, look, &mut keep);
    drop(waiting);
    for file in &written {
        writeln!(out, "{}", file.display())?;
    }
    out.flush()?;
    drawn.map_err(|error| error.0)?;
    if written.is_empty() {
        return Err(Failure::Input(format!(
            "{}: the chosen charts have nothing to show",
            arguments.path.display()
        )));
    }
    Ok(())
}

/// The failure of a picture.
#[cfg(feature = "svg")]
struct Drawing(Failure);

#[cfg(feature = "svg")]
impl From<String> for Drawing {
    fn from(why: String) -> Drawing {
        Drawing(Failure::Operation(format!("cannot draw: {why}")))
    }
}

/// What makes the bytes of a file.
#[cfg(feature = "svg")]
enum Encoder {
    Svg,
    #[cfg(feature = "png")]
    Png(Box<crate::html::raster::Rasterizer>),
}

#[cfg(feature = "svg")]
impl Encoder {
    fn new(format: Format) -> Result<Encoder, Failure> {
        match format {
            Format::Svg => Ok(Encoder::Svg),
            #[cfg(feature = "png")]
            Format::Png => {
                let rasterizer = crate::html::raster::Rasterizer::new().map_err(Failure::Operation)?;
                Ok(Encoder::Png(Box::new(rasterizer)))
            }
            #[cfg(not(feature = "png"))]
            Format::Png => Err(Failure::Input(
                "--png: this tailcut was built without PNG; build it with --features png, or convert what \
                 --svg writes, by rsvg-convert for example"
                    .into(),
            )),
        }
    }

    fn encode(&self, svg: &str) -> Result<Vec<u8>, Drawing> {
        match self {
            Encoder::Svg => Ok(format!("{svg}\n").into_bytes()),
            #[cfg(feature = "png")]
            Encoder::Png(rasterizer) => Ok(rasterizer.png(svg)?),
        }
    }
}

#[cfg(not(feature = "svg"))]
fn draw(
    _: &ReportArguments,
    _: &Page,
    _: &[Figure],
    format: Format,
    _: &mut dyn Write,
) -> Result<(), Failure> {
    let option = format.extension();
    Err(Failure::Input(format!(
        "--{option}: this tailcut was built without pictures; build it with --features {option}"
    )))
}
