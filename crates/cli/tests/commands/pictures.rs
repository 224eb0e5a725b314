//! Charts of pages as pictures: `tailcut report --svg` and `--png`.

use crate::support::Place;
use std::collections::BTreeSet;

/// The names of the files of a folder with this extension.
fn files(place: &Place, folder: &str, extension: &str) -> BTreeSet<String> {
    let entries = std::fs::read_dir(place.path(folder)).expect("a folder");
    let names = entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned());
    names.filter_map(|name| name.strip_suffix(&format!(".{extension}")).map(str::to_owned)).collect()
}

/// The texts of a picture.
fn texts(svg: &str) -> Vec<String> {
    let tree = roxmltree::Document::parse(svg).expect("XML");
    tree.descendants()
        .filter(|node| node.has_tag_name("text"))
        .filter_map(|node| node.text())
        .map(str::to_owned)
        .collect()
}

#[cfg(feature = "svg")]
#[test]
fn every_chart_of_a_run_is_written_as_svg() {
    let place = Place::new();
    place.text(&["run", "small.toml", "--quiet", "--timeline", "--out", "out"]);
    let printed = place.text(&["report", "out", "--svg", "all"]);
    let kinds = ["waits-all", "waits-flush", "waits-read", "waits-write"];
    let time = ["chips", "latencies-flush", "latencies-read", "latencies-write", "throughput"];
    let all = [&["latency", "tail-read"][..], &kinds, &time].concat();
    let mut written = files(&place, "out", "svg");
    let request = written.iter().find(|name| name.starts_with("request-")).cloned();
    written.remove(&request.expect("the slowest request"));
    assert!(written.iter().map(String::as_str).eq(BTreeSet::from_iter(all.iter().copied())), "{written:?}");
    assert_eq!(printed.lines().count(), written.len() + 1, "{printed}");
    assert!(!place.path("out/report.html").exists(), "only pictures were asked for");
    for name in &written {
        let svg = std::fs::read_to_string(place.path(&format!("out/{name}.svg"))).expect("it was written");
        assert!(svg.contains("width=\"960\"") && svg.contains("<title>"), "{name}");
        assert!(texts(&svg).len() > 3 && svg.matches("<path").count() > 3, "{name}: axes, and what is drawn");
    }
    // What the chart shows is what the report has.
    let svg = std::fs::read_to_string(place.path("out/tail-read.svg")).expect("it was written");
    let report = place.json("out/report.json");
    let reads = report["kinds"].as_array().expect("a list").iter().find(|kind| kind["kind"] == "read");
    let bare = reads.expect("reads")["latency"]["bare_ns"].as_f64().expect("a time");
    let bare = format!("bare {:.1} µs", bare / 1e3);
    assert!(texts(&svg).contains(&bare), "{bare}: {:?}", texts(&svg));
    assert!(texts(&svg).iter().any(|text| text == "99.9"), "{:?}", texts(&svg));
}

#[cfg(feature = "svg")]
#[test]
fn one_chart_is_written_as_wide_and_as_dark_as_asked() {
    let place = Place::new();
    place.text(&["run", "small.toml", "--quiet", "--out", "out"]);
    let light = place.text(&["report", "out", "--svg", "tail"]);
    assert_eq!(light, "out/tail-read.svg\n");
    let read = || std::fs::read_to_string(place.path("out/tail-read.svg")).expect("it was written");
    let light = read();
    place.text(&["report", "out", "--svg", "tail-read", "--width", "390", "--dark"]);
    let dark = read();
    assert!(light.contains("#ffffff") && light.contains("width=\"960\""));
    assert!(dark.contains("#14171b") && dark.contains("width=\"390\""));
    // Again, to the byte.
    place.text(&["report", "out", "--svg", "tail-read", "--width", "390", "--dark"]);
    assert_eq!(read(), dark);
    assert_eq!(files(&place, "out", "svg").len(), 1);
    // A file of results has its pictures beside it.
    assert_eq!(place.text(&["report", "out/report.json", "--svg", "latency"]), "out/report-latency.svg\n");
}

#[cfg(feature = "svg")]
#[test]
fn comparisons_and_studies_have_pictures() {
    let place = Place::new();
    let vary = ["compare", "small.toml", "--vary", "workload.read=70%,90%", "--seeds", "1", "--quiet"];
    place.text(&[&vary[..], &["--out", "compared"]].concat());
    place.text(&["report", "compared", "--svg", "all"]);
    let compared = files(&place, "compared", "svg");
    for chart in ["effects-", "scatter-"] {
        assert!(compared.iter().any(|name| name.starts_with(chart)), "{chart}: {compared:?}");
    }
    place.text(&["study", "run", "shin-3.9", "--quick", "--quiet", "--json", "rows.json"]);
    let printed = place.text(&["report", "rows.json", "--svg", "all"]);
    assert!(
        !printed.is_empty()
            && printed.lines().all(|line| line.starts_with("rows-") && line.ends_with(".svg")),
        "{printed}"
    );
}

#[test]
fn what_cannot_be_drawn_is_refused_with_the_charts_that_there_are() {
    let place = Place::new();
    place.text(&["run", "small.toml", "--quiet", "--out", "out"]);
    let unknown = place.refused(2, &["report", "out", "--svg", "tial"]);
    assert!(
        unknown.contains("no chart 'tial'") && unknown.contains("there are tail-read, latency, waits-"),
        "{unknown}"
    );
    let report = std::fs::read_to_string(place.path("out/report.json")).expect("a report");
    let mut report: serde_json::Value = serde_json::from_str(&report).expect("JSON");
    report["kinds"] = serde_json::json!([]);
    place.put("damaged.json", report.to_string().as_bytes());
    let damaged = place.refused(2, &["report", "damaged.json", "--svg", "all"]);
    assert!(damaged.contains("neither a run, nor studies"), "{damaged}");
    place.put("none.json", b"[]");
    let none = place.refused(2, &["report", "none.json", "--svg", "tail"]);
    assert!(none.contains("its page has no charts"), "{none}");
    std::fs::create_dir(place.path("empty")).expect("a folder");
    let empty = place.refused(2, &["report", "empty", "--svg", "all"]);
    assert!(empty.contains("neither report.json of 'tailcut run' nor"), "{empty}");
    let alone = place.refused(2, &["report", "out", "--dark"]);
    assert!(alone.contains("--dark is for --svg and --png"), "{alone}");
    if cfg!(not(feature = "png")) {
        let png = place.refused(2, &["report", "out", "--png", "tail"]);
        assert!(png.contains("--features png"), "{png}");
    }
    if cfg!(not(feature = "svg")) {
        let svg = place.refused(2, &["report", "out", "--svg", "tail"]);
        assert!(svg.contains("--features svg"), "{svg}");
    }
}

#[cfg(feature = "png")]
#[test]
fn png_has_two_pixels_for_each_of_the_width() {
    let place = Place::new();
    place.text(&["run", "small.toml", "--quiet", "--out", "out"]);
    place.text(&["report", "out", "--png", "tail", "--width", "500"]);
    let bytes = std::fs::read(place.path("out/tail-read.png")).expect("it was written");
    assert_eq!(bytes[..8], *b"\x89PNG\r\n\x1a\n");
    let width = u32::from_be_bytes(bytes[16..20].try_into().expect("four bytes"));
    assert_eq!(width, 1000);
    assert!(bytes.len() > 10_000, "more than paper: {} bytes", bytes.len());
}
