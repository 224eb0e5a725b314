//! In the place of memcached: under its name, by Debian's scripts, on the sockets of a service manager, with
//! files that change while it serves.

use crate::support::{Place, has};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};

const BINARY: &str = env!("CARGO_BIN_EXE_tailcut");

fn stop(mut child: Child) {
    let id = child.id().to_string();
    Command::new("kill").args(["-TERM", &id]).status().expect("kill is everywhere");
    assert!(child.wait().expect("it is our child").success());
}

/// The whole reply to a request, until the server closes the connection.
fn said(mut stream: impl Read + Write, request: &[u8]) -> String {
    stream.write_all(request).expect("it listens");
    let mut told = String::new();
    stream.read_to_string(&mut told).expect("text");
    told
}

/// A program that finds this socket as the first of a service manager's (sd_listen_fds(3)).
fn activated(place: &Place, socket: OwnedFd, arguments: &[&str]) -> (Child, String) {
    let script = "LISTEN_PID=$$ LISTEN_FDS=1 exec \"$0\" \"$@\" 3<&0 0</dev/null";
    let mut command = Command::new("sh");
    command.args(["-c", script, BINARY]).args(arguments).current_dir(place.path(""));
    let mut child =
        command.stdin(socket).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("a shell");
    let mut greeting = String::new();
    BufReader::new(child.stdout.take().expect("its output")).read_line(&mut greeting).expect("text");
    (child, greeting)
}

#[test]
fn sockets_of_a_service_manager_are_served_and_stay() {
    let place = Place::new();
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let at = listener.local_addr().expect("it has one");
    let socket = OwnedFd::from(listener.try_clone().expect("a descriptor"));
    let (child, greeting) = activated(&place, socket, &["serve", "kv", "-q", "--memory-only"]);
    assert!(greeting.trim_end().ends_with(&at.to_string()), "{greeting}");
    let client = TcpStream::connect(at).expect("it listens");
    assert_eq!(said(client, b"set a 0 0 1\r\n1\r\nquit\r\n"), "STORED\r\n");
    stop(child);
    // A client that comes now waits for the next server.
    drop(TcpStream::connect(at).expect("the socket is still there"));
    let path = place.path("block.sock");
    let listener = UnixListener::bind(&path).expect("a path");
    let arguments = ["serve", "block", "-q", "--size", "1MiB"];
    let (child, greeting) = activated(&place, listener.into(), &arguments);
    assert!(greeting.contains("block.sock"), "{greeting}");
    let mut magic = [0; 8];
    UnixStream::connect(&path).and_then(|mut stream| stream.read_exact(&mut magic)).expect("it listens");
    assert_eq!(&magic, b"NBDMAGIC");
    stop(child);
    assert!(path.exists(), "its file belongs to the service manager");
}

#[test]
fn users_are_read_again_when_it_is_asked_to() {
    let place = Place::new();
    place.put("users", b"me:old\n");
    let mut command = place.command(&["serve", "kv", "-q", "--memory-only", "-s", "kv.sock", "-Y", "users"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the binary starts");
    child.stdout.as_mut().expect("its output").read_exact(&mut [0]).expect("it serves");
    let mut log = BufReader::new(child.stderr.take().expect("its log")).lines();
    let login = |token: &str| {
        let stream = UnixStream::connect(place.path("kv.sock")).expect("it listens");
        let length = token.len();
        said(stream, format!("set x 0 0 {length}\r\n{token}\r\nquit\r\n").as_bytes())
    };
    assert_eq!(login("me old"), "STORED\r\n");
    let id = child.id().to_string();
    let mut reload = |users: &[u8], expected: &str| {
        place.put("users", users);
        Command::new("kill").args(["-HUP", &id]).status().expect("kill is everywhere");
        log.by_ref()
            .map(|line| line.expect("text"))
            .find(|line| line.contains(expected))
            .expect("it says so");
    };
    reload(b"me:new\n", "read again, 1 users");
    assert_eq!(login("me new"), "STORED\r\n");
    // A file that is wrong changes nothing.
    reload(b"me\n", "the users of before are still let in");
    assert_eq!(login("me new"), "STORED\r\n");
    stop(child);
}

/// Debian's service with its configuration untouched, in mount and network namespaces of its own.
#[test]
fn debians_service_runs_it_in_the_place_of_memcached() {
    const WRAPPER: &str = "/usr/share/memcached/scripts/systemd-memcached-wrapper";
    let is_allowed = |program: &str, arguments: &[&str]| {
        Command::new(program).args(arguments).output().is_ok_and(|output| output.status.success())
    };
    let is_debian = Path::new(WRAPPER).exists() && Path::new("/etc/memcached.conf").exists();
    if !is_debian || !has(&["unshare", "ip", "bash"]) || !is_allowed("unshare", &["-mn", "true"]) {
        eprintln!("skipped: it needs root, and Debian's package of memcached");
        return;
    }
    let script = format!(
        "mount --make-rprivate / && ip link set lo up && mount -t tmpfs tmpfs /run && mkdir /run/memcached
         chown memcache /run/memcached && mount --bind {BINARY} /usr/bin/memcached && memcached -V
         {WRAPPER} /etc/memcached.conf >/dev/null 2>&1 &
         until exec 3<>/dev/tcp/127.0.0.1/11211; do kill -0 $! && sleep 0.05 || exit 1; done 2>/dev/null
         printf 'set a 0 0 1\\r\\n1\\r\\nget a\\r\\nstats\\r\\nquit\\r\\n' >&3 && cat <&3
         until test -s /run/memcached/memcached.pid; do sleep 0.05; done
         stat -c 'user %U' /proc/$(cat /run/memcached/memcached.pid)
         {BINARY} status | head -1; kill $!; wait $!; echo ended $?"
    );
    let output = Command::new("unshare").args(["-mn", "bash", "-c", &script]).output().expect("it is there");
    let told = String::from_utf8_lossy(&output.stdout).replace('\r', "");
    let errors = String::from_utf8_lossy(&output.stderr);
    for expected in [
        "memcached 1.6.",
        "STORED\nVALUE a 0 1\n1\nEND\n",
        "STAT limit_maxbytes 67108864\n",
        "\nuser memcache\n",
        "\nended 0\n",
    ] {
        assert!(told.contains(expected), "{expected}: {told}{errors}");
    }
}
