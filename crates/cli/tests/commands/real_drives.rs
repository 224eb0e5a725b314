//! The study real-drives: points of files, rows beside measured figures, and errors.

use crate::support::Place;
use serde_json::Value;

const RUN: [&str; 7] = ["study", "run", "real-drives", "--quick", "--virtual-time", "300ms", "--json"];

fn row<'t>(table: &'t Value, case: &str, quantity: &str) -> &'t Value {
    let rows = table["rows"].as_array().expect("a list");
    let found = rows.iter().find(|row| row["case"] == case && row["quantity"] == quantity);
    found.unwrap_or_else(|| panic!("no row '{case}', '{quantity}': {table:#}"))
}

#[test]
fn points_of_every_kind_have_the_same_rows_on_any_number_of_threads() {
    let place = Place::new();
    place.put("points.csv", b"drive,offered\ng-1g,6000\nz-ssd,8000\n");
    let table = |jobs: &str, file: &str| {
        place.text(&[&RUN[..], &[file, "--points", "points.csv", "--seeds", "2", "--jobs", jobs]].concat());
        place.json(file)
    };
    let one = table("1", "one.json");
    assert_eq!(one, table("3", "three.json"));
    let writes = row(&one, "z-ssd 8000", "writes/s");
    assert_eq!(
        (&writes["unit"], &writes["paper"], &writes["ratio"]),
        (&"1/s".into(), &Value::Null, &Value::Null)
    );
    let reached = writes["measured"].as_f64().expect("a number");
    assert!((reached / 7_970.0 - 1.0).abs() < 0.1, "5,000 of the first thread and 99 % of 3,000: {reached}");
    let read = row(&one, "z-ssd 8000", "read p50");
    assert_eq!(read["unit"], "us");
    assert!((10.0..1_000.0).contains(&read["measured"].as_f64().expect("a number")), "{read}");
    // 1,500 reads: ten lie beyond p99, and not beyond p99.5.
    assert!(one["rows"].as_array().expect("a list").iter().all(|row| row["quantity"] != "read p99.9"));

    place.put("mixes.csv", b"drive,reads_percent,depth\ng-1g,70,4\n");
    place.text(&[&RUN[..], &["mixes.json", "--points", "mixes.csv"]].concat());
    assert!(row(&place.json("mixes.json"), "g-1g 70 4", "reads/s")["measured"].as_f64() > Some(0.0));

    place.put("fills.csv", b"drive,pattern,fill_percent\ng-1g,uniform,50\n");
    place.text(&[&RUN[..], &["fills.json", "--points", "fills.csv"]].concat());
    let fills = place.json("fills.json");
    let amplification = row(&fills, "g-1g uniform 50", "write amplification")["measured"].as_f64();
    assert!((1.0..2.0).contains(&amplification.expect("a number")), "{fills:#}");
}

#[test]
fn measured_figures_stand_beside_predicted_ones_and_no_difference_is_a_failure() {
    let place = Place::new();
    place.put(
        "measured.csv",
        b"drive,offered,reads_per_s,writes_per_s,measured_reads,r_50p,r_90p,r_95p,r_99p,r_99p5,r_99p9,r_99p99,w_50p,w_90p,w_95p,w_99p,w_99p5,w_99p9,w_99p99\n\
          g-1g,6000,5010,5990,1000000,1,2,3,4,5,6,7,10,11,12,13,14,15,16\n",
    );
    place.text(&[&RUN[..], &["rows.json", "--measured", "measured.csv"]].concat());
    let table = place.json("rows.json");
    let read = row(&table, "g-1g 6000", "read p50");
    assert_eq!(read["paper"], 1.0);
    assert!(read["ratio"].as_f64() > Some(2.0) && read["note"].as_str().is_some(), "{read}");
    assert!(row(&table, "g-1g", "median error of reads up to p99.9")["measured"].as_f64() > Some(1.0));
}

#[test]
fn wrong_points_and_options_are_refused() {
    let place = Place::new();
    let refused = |points: &str| {
        place.put("points.csv", points.as_bytes());
        place.refused(2, &["study", "run", "real-drives", "--points", "points.csv"])
    };
    let report = refused("drive,offered\ns1,10000\n");
    assert!(
        report.contains("there is no drive 's1'; did you mean 's0'?") && report.contains("calibrate"),
        "{report}"
    );
    let report = refused("drive,offered\ns0,many\ns0,100\n");
    assert!(report.contains("points.csv: line 2: 'many' in 'offered' is not a number"), "{report}");
    assert!(report.contains("points.csv: line 3: an offered rate of 100"), "all at once: {report}");
    let report = place.refused(2, &["study", "run", "real-drives", "--points", "nowhere.csv"]);
    assert!(report.contains("cannot read nowhere.csv"), "{report}");
    let report = place.refused(2, &["study", "run", "sprinkler-1", "--points", "points.csv"]);
    assert!(report.contains("--points is an option of one study"), "{report}");
    let report = place.refused(2, &["study", "run", "real-drives", "--virtual-time", "1ms"]);
    assert!(report.contains("100ms to 24h"), "{report}");
    let report = place.refused(2, &["study", "show", "real-drives", "--case", "s0"]);
    assert!(report.contains("no run that is a scenario"), "{report}");
}

const RATE: &str = "6000";

#[test]
fn a_scenario_and_keys_of_the_drive_take_the_place_of_presets() {
    let place = Place::new();
    place.put("points.csv", format!("drive,offered\nmine,{RATE}\nother,{RATE}\n").as_bytes());
    place.put("mine.toml", b"[device]\npreset = \"g-1g\"\n");
    let of = |file: &str, more: &[&str]| {
        let points = [file, "--points", "points.csv", "--drive", "mine", "--scenario", "mine.toml"];
        place.text(&[&RUN[..], &points, more].concat());
        place.json(file)
    };
    let plain = of("plain.json", &[]);
    let p50 = |table: &Value| row(table, "mine 6000", "read p50")["measured"].as_f64().expect("a number");
    let (slow, large) =
        (of("slow.json", &["--set", "device.timing.read=1ms"]), of("large.json", &["--scale", "2"]));
    assert!(p50(&slow) > p50(&plain) + 900.0, "{} beside {}", p50(&slow), p50(&plain));
    assert!((p50(&large) / p50(&plain) - 1.0).abs() < 0.5, "{} beside {}", p50(&large), p50(&plain));
    let notes = large["notes"].to_string();
    assert!(notes.contains("2 times as many superblocks") && notes.contains("mine.toml"), "{notes}");

    let refused = |more: &[&str]| {
        place.refused(2, &[&["study", "run", "real-drives", "--points", "points.csv"][..], more].concat())
    };
    let report = refused(&["--scenario", "mine.toml"]);
    assert!(report.contains("the points are of 'mine', 'other'; choose one with --drive"), "{report}");
    let report = refused(&["--scenario", "mine.toml", "--drive", "third"]);
    assert!(report.contains("no point is of this drive; they are of 'mine', 'other'"), "{report}");
    let report = refused(&["--scenario", "mine.toml", "--drive", "mine", "--set", "host.cpus=4"]);
    assert!(report.contains("only keys of the drive"), "{report}");
    let report = refused(&["--scenario", "mine.toml", "--drive", "mine", "--set", "device.gc.lo=4"]);
    assert!(report.contains("did you mean 'low'?"), "{report}");
}

#[test]
fn a_changed_preset_is_not_said_to_be_fitted() {
    let place = Place::new();
    let note = |file: &str, more: &[&str]| {
        place.put("point.csv", b"drive,offered\ns0,10000\n");
        place.text(&[&RUN[..], &[file, "--points", "point.csv"], more].concat());
        row(&place.json(file), "s0 10000", "read p50")["note"].as_str().map(String::from)
    };
    assert_eq!(note("fitted.json", &[]).as_deref(), Some("fitted"));
    assert_eq!(note("changed.json", &["--set", "device.preempt.program=none"]), None);
}

#[test]
fn the_cases_are_shown() {
    let text = Place::new().text(&["study", "show", "real-drives"]);
    assert_eq!(text.lines().count(), 24);
    assert_eq!(text.lines().next(), Some("s0 10000"));
}
