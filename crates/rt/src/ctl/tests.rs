use super::*;

/// A socket, served by hand: what is said is said back.
struct Rig {
    folder: tempfile::TempDir,
    socket: ControlSocket,
}

impl Rig {
    fn new() -> Rig {
        let folder = tempfile::tempdir().expect("a folder");
        let socket = ControlSocket::bind(&folder.path().join("control")).expect("a socket");
        Rig { folder, socket }
    }

    fn serve(&mut self) {
        self.socket.serve(|line| format!("you said {line}\n"));
    }

    fn connect(&self) -> UnixStream {
        UnixStream::connect(self.folder.path().join("control")).expect("it listens")
    }

    /// Says something and reads `answers` answers.
    fn talk(&mut self, stream: &mut UnixStream, said: &[u8], answers: usize) -> String {
        stream.write_all(said).expect("it listens");
        stream.set_nonblocking(true).expect("a socket");
        let (mut heard, mut bytes) = (String::new(), [0; 4096]);
        while heard.matches("\n\n").count() < answers {
            self.serve();
            match stream.read(&mut bytes) {
                Ok(0) => break,
                // It was hung up on with something said that nobody has heard.
                Err(why) if why.kind() == ErrorKind::ConnectionReset => break,
                Ok(count) => heard += std::str::from_utf8(&bytes[..count]).expect("it is text"),
                Err(why) => assert_eq!(why.kind(), ErrorKind::WouldBlock),
            }
        }
        heard
    }
}

#[test]
fn each_line_gets_its_answer() {
    let mut rig = Rig::new();
    let mut stream = rig.connect();
    assert_eq!(rig.talk(&mut stream, b"one\ntwo\n", 2), "you said one\n\nyou said two\n\n");
}

#[test]
fn garbage_and_endless_lines_disturb_nobody() {
    let mut rig = Rig::new();
    let (mut loud, mut good) = (rig.connect(), rig.connect());
    let said = rig.talk(&mut loud, &[0xff; 3 * LINE_MAX], 1);
    assert_eq!(said, "refused: that line is too long\n\n");
    assert_eq!(rig.talk(&mut loud, b"", 1), "", "it is hung up on");
    let mut many: Vec<UnixStream> = (0..3 * PEERS).map(|_| rig.connect()).collect();
    rig.serve();
    assert_eq!(rig.socket.peers.len(), PEERS);
    many.clear();
    // Half a line, and gone.
    drop(rig.talk(&mut rig.connect(), b"free", 0));
    assert_eq!(rig.talk(&mut good, b"free-blocks\n", 1), "you said free-blocks\n\n");
}

#[test]
fn a_socket_has_one_listener_and_outlives_none() {
    let rig = Rig::new();
    let path = rig.folder.path().join("control");
    let taken = ControlSocket::bind(&path).expect_err("it is taken").to_string();
    assert!(taken.contains("is in use by a server that answers"), "{taken}");
    // As after kill -9: the file is there, and nobody listens.
    let left = path.with_extension("left");
    drop(std::os::unix::net::UnixListener::bind(&left).expect("a socket"));
    drop(ControlSocket::bind(&left).expect("it is replaced"));
    assert!(!left.exists());
    assert_eq!(ask(&left, "status").expect_err("nobody").kind(), ErrorKind::NotFound);
}

#[test]
fn the_dashboard_asks_for_what_there_is() {
    check_dashboard(
        include_str!("../../../../dashboards/tailcut.json"),
        include_str!("../serve/service/questions.rs"),
    );
    check_dashboard(
        include_str!("../../../../dashboards/tailcut-kv.json"),
        include_str!("../kv/questions.rs"),
    );
}

fn check_dashboard(dashboard: &str, told_by_server: &str) {
    let told = [include_str!("figures.rs"), told_by_server].concat();
    let asked: Vec<&str> = dashboard.split("tailcut_").skip(1).collect();
    assert!(asked.len() > 8);
    for after in asked {
        let end = after.find(|c: char| !c.is_ascii_lowercase() && c != '_').expect("a name ends");
        let name = after[..end].trim_end_matches("_bucket").trim_end_matches("_count");
        assert!(told.contains(&format!("\"{name}\"")), "{name} is not told");
    }
}
