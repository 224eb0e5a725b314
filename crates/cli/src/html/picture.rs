//! Charts of a page as pictures, without a browser: the page's own scripts run in an engine for JavaScript,
//! QuickJS, and ECharts draws SVG.

use super::figure::Figure;
use super::markup::escape;
use super::page::{Page, SCRIPTS, echarts};
use rquickjs::{CatchResultExt, CaughtError, Context, Ctx, Function, Runtime};
use std::fmt::Write;

/// Widths of a picture in pixels.
pub(crate) const WIDTHS: std::ops::RangeInclusive<u32> = 200..=4000;

/// What the scripts take for a browser. A picture is drawn as for print: without the controls of a page.
const STAND_IN: &str = "globalThis.setTimeout = () => 0; globalThis.clearTimeout = () => {}; \
    globalThis.window = { addEventListener() {}, matchMedia: () => ({ matches: false }) }; \
    globalThis.document = { getElementById: (id) => id === 'data' ? { textContent: globalThis.DATA } : null, \
    documentElement: { dataset: { printing: 'yes' } } };";

/// Scripts recurse deeply in ECharts' layout.
const STACK_BYTES: usize = 8 << 20;

/// How pictures look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Look {
    width: u32,
    is_dark: bool,
}

impl Look {
    /// Pictures of this width in pixels, one of [`WIDTHS`], on white or dark paper.
    pub(crate) fn new(width: u32, is_dark: bool) -> Look {
        assert!(WIDTHS.contains(&width), "widths are checked where they are read");
        Look { width, is_dark }
    }
}

/// Draws charts of `page` as SVG, and hands each to `finished` with its figure. A figure that has nothing to
/// show is left out.
///
/// # Errors
/// What went wrong in a script, or the error of `finished`.
///
/// # Panics
/// If the system cannot start a thread.
pub(crate) fn draw<E: Send + From<String>>(
    page: &Page,
    figures: &[Figure],
    look: Look,
    finished: &mut (dyn FnMut(&Figure, &str) -> Result<(), E> + Send),
) -> Result<(), E> {
    let drawn = || -> Result<(), E> {
        let runtime = Runtime::new().map_err(|error| error.to_string())?;
        runtime.set_max_stack_size(STACK_BYTES / 2);
        let context = Context::full(&runtime).map_err(|error| error.to_string())?;
        context.with(|engine| {
            prepare(&engine, page.data())?;
            for figure in figures {
                if let Some(svg) = picture(&engine, figure, look)? {
                    finished(figure, &titled(&svg, figure.title()))?;
                }
            }
            Ok(())
        })
    };
    std::thread::scope(|scope| {
        let builder = std::thread::Builder::new().stack_size(STACK_BYTES);
        let thread = builder.spawn_scoped(scope, drawn).expect("the system has room for a thread");
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// Loads the library and the scripts of pages.
fn prepare(engine: &Ctx<'_>, data: &str) -> Result<(), String> {
    run(engine, &echarts())?;
    engine.globals().set("DATA", data).catch(engine).map_err(reason)?;
    run(engine, STAND_IN)?;
    let mut scripts = String::from("\"use strict\";\n");
    SCRIPTS.iter().for_each(|script| scripts.push_str(script));
    scripts.push_str(include_str!("script/picture.js"));
    run(engine, &scripts)
}

fn run(engine: &Ctx<'_>, script: &str) -> Result<(), String> {
    engine.eval::<(), _>(script).catch(engine).map_err(reason)
}

fn picture(engine: &Ctx<'_>, figure: &Figure, look: Look) -> Result<Option<String>, String> {
    let draw: Function<'_> = engine.globals().get("picture").catch(engine).map_err(reason)?;
    let attributes = serde_json::to_string(&figure.attributes()).expect("plain data becomes JSON");
    let drawn = draw.call((attributes, look.width, look.is_dark)).catch(engine);
    drawn.map_err(|error| format!("chart {}: {}", figure.name(), reason(error)))
}

fn reason(error: CaughtError<'_>) -> String {
    error.to_string().trim_end().to_owned()
}

/// The picture with its title, which viewers show and screen readers read.
fn titled(svg: &str, title: &str) -> String {
    let Some(end) = svg.find('>') else { return svg.to_owned() };
    let (head, rest) = svg.split_at(end + 1);
    let mut text = String::from(head);
    let _ = write!(text, "<title>{}</title>{rest}", escape(title));
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::html::markup::chart;

    /// A page with one curve.
    fn page() -> Page {
        let data = r#"{"kinds": [{"kind": "read", "requests": 1000, "latency": {"bare_ns": 50000.0}}],
            "detail": {"kinds": [{"kind": "read", "curve": [[1.0, 50000], [99.0, 90000], [100.0, 2e5]]}]}}"#;
        let mut page = Page::new("a page", String::new(), data.to_owned());
        let html =
            chart("latency", "Latency & more", "", &[], "") + &chart("tail", "", "", &[("kind", "none")], "");
        page.section("Latency", html);
        page
    }

    #[test]
    fn a_chart_is_drawn_by_the_scripts_of_the_page() {
        let page = page();
        let mut drawn = Vec::new();
        let keep = &mut |figure: &Figure, svg: &str| -> Result<(), String> {
            drawn.push((figure.name().to_owned(), svg.to_owned()));
            Ok(())
        };
        draw(&page, &page.figures()[..1], Look::new(640, false), keep).expect("a picture");
        let [(name, svg)] = drawn.as_slice() else { panic!("one picture: {drawn:?}") };
        assert_eq!(name, "latency");
        assert!(svg.starts_with("<svg ") && svg.contains("width=\"640\""), "{svg}");
        assert!(
            svg.contains("<title>Latency &amp; more</title>") && svg.contains("bare read 50.0 µs"),
            "{svg}"
        );
    }

    #[test]
    fn an_error_of_a_script_names_the_chart() {
        let page = page();
        let keep = &mut |_: &Figure, _: &str| -> Result<(), String> { Ok(()) };
        let error = draw(&page, &page.figures(), Look::new(640, true), keep).expect_err("no such kind");
        assert!(error.starts_with("chart tail-none: ") && error.contains("undefined"), "{error}");
    }
}
