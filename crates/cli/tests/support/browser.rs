//! Headless Chromium, controlled over a pipe by its DevTools protocol.

use serde_json::{Value, json};
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use tempfile::TempDir;

/// The programs that these tests require.
pub(crate) const PROGRAMS: [&str; 2] = ["chromium", "mkfifo"];

/// A browser with one empty page.
pub(crate) struct Browser {
    process: Child,
    asks: File,
    answers: BufReader<File>,
    session: Option<String>,
    asked: u64,
    /// Errors in pages, as the browser reports them.
    complaints: Vec<String>,
    _folder: TempDir,
}

/// The viewport width and colour scheme of a page.
#[derive(Clone, Copy)]
pub(crate) struct View {
    pub width: u32,
    pub dark: bool,
}

impl Browser {
    pub(crate) fn start() -> Browser {
        let folder = TempDir::new().expect("the temporary folder is writable");
        let pipe = |name: &str| folder.path().join(name);
        let made = Command::new("mkfifo").args([pipe("asks"), pipe("answers")]).status();
        assert!(made.expect("mkfifo starts").success());
        // The browser reads descriptor 3 and writes to 4.
        let script = "exec chromium --headless=new --no-sandbox --disable-gpu --hide-scrollbars \
            --user-data-dir=\"$0/profile\" --remote-debugging-pipe about:blank 3<\"$0/asks\" \
            4>\"$0/answers\"";
        let process = Command::new("sh")
            .args(["-c", script])
            .arg(folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("sh starts");
        let asks = File::options().write(true).open(pipe("asks")).expect("the browser listens");
        let answers = BufReader::new(File::open(pipe("answers")).expect("the browser answers"));
        let (session, complaints) = (None, Vec::new());
        let mut browser = Browser { process, asks, answers, session, asked: 0, complaints, _folder: folder };
        browser.attach();
        browser
    }

    fn attach(&mut self) {
        let all = self.ask("Target.getTargets", json!({}));
        let targets = all["targetInfos"].as_array().expect("a list").clone();
        let page = targets.iter().find(|target| target["type"] == "page").expect("it has a page");
        let attached =
            self.ask("Target.attachToTarget", json!({"targetId": page["targetId"], "flatten": true}));
        self.session = attached["sessionId"].as_str().map(str::to_owned);
        for domain in ["Page", "Runtime", "Log"] {
            self.ask(&format!("{domain}.enable"), json!({}));
        }
    }

    fn ask(&mut self, method: &str, params: Value) -> Value {
        self.asked += 1;
        let mut message = json!({"id": self.asked, "method": method, "params": params});
        if let Some(session) = &self.session {
            message["sessionId"] = json!(session);
        }
        self.asks.write_all(format!("{message}\0").as_bytes()).expect("the browser listens");
        loop {
            let mut bytes = Vec::new();
            self.answers.read_until(0, &mut bytes).expect("the browser answers");
            assert_eq!(bytes.pop(), Some(0), "the browser has ended while it was asked {method}");
            let mut answer: Value = serde_json::from_slice(&bytes).expect("it speaks JSON");
            if answer["id"] == json!(self.asked) {
                assert!(answer.get("error").is_none(), "{method}: {answer}");
                return answer["result"].take();
            }
            if ["Runtime.exceptionThrown", "Log.entryAdded"].iter().any(|bad| answer["method"] == *bad) {
                self.complaints.push(answer["params"].to_string());
            }
        }
    }

    /// Opens a page and waits until its charts are drawn.
    pub(crate) fn open(&mut self, file: &Path, view: View) {
        self.open_address(&format!("file://{}", file.display()), view);
        let ready = "new Promise((done) => { const look = () => document.documentElement?.dataset.ready === \
            'yes' ? done(true) : setTimeout(look, 20); look(); })";
        self.evaluate(ready);
    }

    /// Opens an address.
    pub(crate) fn open_address(&mut self, address: &str, view: View) {
        let is_phone = view.width < 600;
        let metrics = json!({"width": view.width, "height": 900, "deviceScaleFactor": 1, "mobile": is_phone});
        self.ask("Emulation.setDeviceMetricsOverride", metrics);
        let scheme = if view.dark { "dark" } else { "light" };
        let features = json!([{"name": "prefers-color-scheme", "value": scheme}]);
        self.ask("Emulation.setEmulatedMedia", json!({"media": "", "features": features}));
        self.ask("Page.navigate", json!({"url": address}));
    }

    /// The value of an expression in the page, awaited if it is a promise.
    pub(crate) fn evaluate(&mut self, expression: &str) -> Value {
        let how = json!({"expression": expression, "returnByValue": true, "awaitPromise": true});
        let mut answer = self.ask("Runtime.evaluate", how);
        assert!(answer.get("exceptionDetails").is_none(), "{expression}: {answer}");
        answer["result"]["value"].take()
    }

    /// Presses a key.
    pub(crate) fn press(&mut self, key: &str, code: u32) {
        for kind in ["keyDown", "keyUp"] {
            let text = if key == "Enter" { "\r" } else { "" };
            let event = json!({"type": kind, "key": key, "windowsVirtualKeyCode": code, "text": text});
            self.ask("Input.dispatchKeyEvent", event);
        }
    }

    /// Emulates print media until the next page is opened.
    pub(crate) fn print(&mut self) {
        self.ask("Emulation.setEmulatedMedia", json!({"media": "print"}));
        self.evaluate("window.dispatchEvent(new Event('beforeprint'))");
    }

    /// The page as PDF, in base64.
    pub(crate) fn pdf(&mut self) -> String {
        let mut answer = self.ask("Page.printToPDF", json!({"printBackground": true}));
        answer["data"].take().as_str().expect("text").to_owned()
    }

    /// Asserts that no page has had an error so far.
    pub(crate) fn assert_content(&mut self, what: &str) {
        let errors = self.evaluate("document.documentElement.dataset.errors || ''");
        assert_eq!((errors.as_str(), self.complaints.as_slice()), (Some(""), &[][..]), "{what}");
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // The browser exits when its pipe is closed; a failed test does not wait for that.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
