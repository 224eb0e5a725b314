//! The status of a server as JSON: what it reports in words, and its metrics.

use serde_json::{Map, Value, json};

/// The document for what a server at `control` has answered to `status` and `metrics`.
pub fn document(control: &str, status: &str, metrics: &str) -> Value {
    let lines = || status.lines();
    let warnings: Vec<&str> = lines().filter_map(|line| line.strip_prefix("warning: ")).collect();
    let status: Vec<&str> = lines().filter(|line| !line.starts_with("warning: ")).collect();
    json!({ "control": control, "warnings": warnings, "status": status, "metrics": values(metrics) })
}

/// Metrics by name: the number of one without labels, a list of objects with labels and `value` otherwise.
fn values(page: &str) -> Map<String, Value> {
    let mut all = Map::new();
    for line in page.lines().filter(|line| !line.starts_with('#')) {
        let Some((name, labels, value)) = sample(line) else { continue };
        if labels.is_empty() {
            all.insert(name.into(), value);
            continue;
        }
        let mut of = labels;
        of.insert("value".into(), value);
        let list = all.entry(name).or_insert_with(|| json!([]));
        list.as_array_mut().expect("a metric has labels or none").push(Value::Object(of));
    }
    all
}

/// Name, labels and value of a line in the text format of Prometheus.
fn sample(line: &str) -> Option<(&str, Map<String, Value>, Value)> {
    let (head, value) = line.rsplit_once(' ')?;
    let value = value.parse::<f64>().ok().map(number)?;
    let Some((name, mut rest)) = head.split_once('{') else { return Some((head, Map::new(), value)) };
    let mut labels = Map::new();
    while let Some((label, behind)) = rest.split_once("=\"") {
        let (text, end) = quoted(behind)?;
        labels.insert(label.trim_start_matches(',').into(), text.into());
        rest = &behind[end..];
    }
    Some((name, labels, value))
}

/// Whole numbers are printed without a fraction, others with twelve digits: what follows comes from sums of
/// floating-point numbers.
fn number(value: f64) -> Value {
    let is_whole = value.fract() == 0.0 && value.abs() < 9e15;
    if is_whole {
        return json!(value as i64);
    }
    json!(format!("{value:.11e}").parse().unwrap_or(value))
}

/// A label's value, and where it ends.
fn quoted(text: &str) -> Option<(String, usize)> {
    let (mut value, mut letters) = (String::new(), text.char_indices());
    while let Some((at, letter)) = letters.next() {
        match letter {
            '"' => return Some((value, at + 1)),
            '\\' => value.push(match letters.next()?.1 {
                'n' => '\n',
                letter => letter,
            }),
            letter => value.push(letter),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_metrics_are_one_document() {
        let status = "store kv\nitems 3\nwarning: the drive is full\nversion 0.1.0\n";
        let metrics = "# HELP tailcut_x Help.\n# TYPE tailcut_x gauge\n\
            tailcut_x{kind=\"get\",store=\"a\\\"b,c=\"} 3\ntailcut_x{kind=\"set\"} 0.18104199999999998\n\
            process_open_fds 17\n";
        let all = document("a.ctl", status, metrics);
        let want = json!({
            "control": "a.ctl",
            "warnings": ["the drive is full"],
            "status": ["store kv", "items 3", "version 0.1.0"],
            "metrics": {
                "tailcut_x": [
                    { "kind": "get", "store": "a\"b,c=", "value": 3 },
                    { "kind": "set", "value": 0.181042 },
                ],
                "process_open_fds": 17,
            },
        });
        assert_eq!(all, want);
    }
}
