//! Man pages in roff.

use super::CommandHelp;
use clap::Command;
use clap::builder::Resettable;
use clap_mangen::Man;
use clap_mangen::roff::{Inline, Roff, bold, roman};
use std::io;

/// The man page of a command of a built definition, with the sections of the command named by `path`: its
/// names below `tailcut`, separated by spaces.
///
/// # Errors
/// None: memory takes everything.
pub fn page(command: &Command, path: &str) -> io::Result<Vec<u8>> {
    // clap_mangen would render the text of --help as one paragraph.
    let plain = command.clone().before_help(Resettable::Reset).after_help(Resettable::Reset);
    let plain = plain.after_long_help(Resettable::Reset);
    let mut page = Vec::new();
    let source = concat!("tailcut ", env!("CARGO_PKG_VERSION"));
    Man::new(plain).source(source).manual("tailcut manual").render(&mut page)?;
    if let Some(help) = CommandHelp::of(path) {
        page.extend_from_slice(sections(help).as_bytes());
    }
    Ok(page)
}

/// The sections in the order of man-pages(7).
fn sections(help: &CommandHelp) -> String {
    let mut roff = Roff::new();
    terms(&mut roff, "EXIT STATUS", help.exit_status);
    terms(&mut roff, "FILES", help.files);
    roff.control("SH", ["EXAMPLES"]);
    for (purpose, line) in help.examples {
        roff.control("PP", []).text([roman(format!("{purpose}:"))]);
        roff.control("PP", []).control("RS", ["4"]).control("EX", []);
        roff.text([roman(*line)]).control("EE", []).control("RE", []);
    }
    if !help.see_also.is_empty() {
        roff.control("SH", ["SEE ALSO"]);
        roff.text(see_also(help.see_also));
    }
    // Apostrophes are escaped as in the pages of clap_mangen, whose preamble defines the string.
    let text = roff.render();
    text.split_once(".SH").map_or(String::new(), |(_, sections)| format!(".SH{sections}"))
}

/// A section of terms and their meanings; none without terms.
fn terms(roff: &mut Roff, title: &str, terms: &[(&str, &str)]) {
    if !terms.is_empty() {
        roff.control("SH", [title]);
    }
    for (term, meaning) in terms {
        roff.control("TP", []).text([bold(*term)]).text([roman(*meaning)]);
    }
}

/// `tailcut-run(1), tailcut-serve-kv(1)`.
fn see_also(paths: &[&str]) -> Vec<Inline> {
    let mut line = Vec::new();
    for path in paths {
        if !line.is_empty() {
            line.push(roman(", "));
        }
        let name = format!("tailcut {path}").trim().replace(' ', "-");
        line.extend([bold(name), roman("(1)")]);
    }
    line
}
