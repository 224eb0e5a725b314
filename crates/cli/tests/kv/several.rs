//! Several servers, with the keys divided among them by clients or a proxy.

use crate::kv::server::{Client, Server};
use crate::support::{Place, has};
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};

const KEYS: usize = 300;

fn three() -> Vec<Server> {
    (0..3).map(|_| Server::start(&["--memory-only"])).collect()
}

fn key(number: usize) -> String {
    format!("key{number}")
}

/// Number of items of a server.
fn items(server: &Server) -> usize {
    server.stats()["curr_items"].parse().expect("a number")
}

/// A port that was free a moment ago.
fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").and_then(|socket| socket.local_addr()).expect("a port").port()
}

/// Twemproxy (nutcracker) before servers, with libmemcached's weighted ketama hash. A server that does not
/// respond is ejected.
struct Proxy {
    child: Child,
    at: String,
    _place: Place,
}

impl Proxy {
    /// `None` if it is not installed.
    fn before(servers: &[Server]) -> Option<Proxy> {
        if !has(&["nutcracker"]) {
            return None;
        }
        let (place, at) = (Place::new(), format!("127.0.0.1:{}", free_port()));
        let mut settings = format!(
            "alpha:\n  listen: {at}\n  hash: md5\n  distribution: ketama\n  auto_eject_hosts: true\n  \
             server_retry_timeout: 3600000\n  server_failure_limit: 1\n  servers:\n"
        );
        servers.iter().for_each(|server| settings += &format!("   - {}:1\n", server.at));
        place.put("proxy.yml", settings.as_bytes());
        let statistics = free_port().to_string();
        let mut command = Command::new("nutcracker");
        command.env("PATH", format!("{}:/usr/sbin", std::env::var("PATH").unwrap_or_default()));
        command.args(["-c", "proxy.yml", "-o", "proxy.log", "-a", "127.0.0.1", "-s", &statistics]);
        let child =
            command.current_dir(place.path("")).stdin(Stdio::null()).spawn().expect("it is installed");
        let mut proxy = Proxy { child, at, _place: place };
        while Client::at(&proxy.at).is_none() {
            assert!(proxy.child.try_wait().is_ok_and(|ended| ended.is_none()), "the proxy has ended");
            std::thread::yield_now();
        }
        Some(proxy)
    }

    fn client(&self) -> Client {
        Client::at(&self.at).expect("it listens")
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_proxy_divides_keys_among_servers_and_goes_on_without_one() {
    let mut servers = three();
    let Some(proxy) = Proxy::before(&servers) else { return };
    let mut client = proxy.client();
    (0..KEYS).for_each(|number| assert!(client.set(&key(number), &format!("value{number}"))));
    for number in 0..KEYS {
        assert_eq!(client.get(&key(number)), Some(format!("value{number}")));
    }
    assert_eq!(servers.iter().map(items).sum::<usize>(), KEYS);
    assert!(servers.iter().all(|server| items(server) > KEYS / 10), "each has its share");
    // Many keys in one line, with values from all servers.
    let line: String = (0..50).map(|number| format!(" {}", key(number))).collect();
    let mut told = client.say(&format!("get{line}")).expect("it answers");
    let mut values = 0;
    while told != "END" {
        values += usize::from(told.starts_with("VALUE "));
        told = client.hear().expect("it answers");
    }
    assert_eq!(values, 50);
    for number in 0..20 {
        assert_eq!(client.say(&format!("delete {}", key(number))).as_deref(), Some("DELETED"));
        assert_eq!(client.get(&key(number)), None);
    }

    let mut gone = servers.remove(0);
    let is_left = |number: usize| servers.iter().any(|server| server.client().get(&key(number)).is_some());
    let left: Vec<usize> = (20..KEYS).filter(|&number| is_left(number)).collect();
    assert!(left.len() < KEYS - 20);
    gone.stop();
    // The first request for one of its keys may fail, because the server is gone.
    for number in 20..KEYS {
        let mut client = proxy.client();
        let told = client.say(&format!("get {}", key(number))).expect("it answers");
        match left.contains(&number) {
            true => assert!(told.starts_with("VALUE "), "{number}: {told}"),
            false => assert!(told == "END" || told.starts_with("SERVER_ERROR"), "{number}: {told}"),
        }
    }
    let mut client = proxy.client();
    for number in 20..KEYS {
        assert!(client.set(&key(number), "new") && client.get(&key(number)).as_deref() == Some("new"));
    }
}

/// Runs a script with the servers' addresses as arguments, which prints "good" at the end. False if one of
/// its modules is missing.
fn run_python(modules: &str, script: &str, at: &[&str]) -> bool {
    let (python, place) = ("/usr/bin/python3", Place::new());
    if !place.attempt(python, &["-c", &format!("import {modules}")]).status.success() {
        eprintln!("skipped: Python has not all of {modules}; see .ci/programs");
        return false;
    }
    let output = place.attempt(python, &[&["-c", script], at].concat());
    let said = String::from_utf8_lossy(&output.stdout);
    assert_eq!(said.trim(), "good", "{}", String::from_utf8_lossy(&output.stderr));
    true
}

/// Each client library alone: it finds all that it has stored, on all servers, and without one of the servers
/// it misses exactly that one's share.
const ALONE: &str = "
import sys
at, gone = sys.argv[2:5], sys.argv[5:]
keys = ['key%d' % n for n in \
    range(300)]
if sys.argv[1] == 'pymemcache':
    from pymemcache.client.hash import HashClient
    client \
    = HashClient(at, default_noreply=False, ignore_exc=True, retry_attempts=0, dead_timeout=3600, \
    timeout=60)
else:
    import pylibmc
    client = pylibmc.Client(at, behaviors={'ketama_weighted': True, \
    'remove_failed': 1, 'retry_timeout': 3600})
def get(key):
    try:
        return client.get(key)
    except \
    Exception as error:
        assert gone, error
if not gone:
    assert all(client.set(key, key.encode()) \
    for key in keys)
found = [key for key in keys if get(key) == key.encode()]
if gone:
    assert \
    len(found) == int(gone[0]), (len(found), gone)
else:
    assert found == keys
print('good')
";

#[test]
fn clients_divide_keys_among_servers_and_miss_no_more_than_one_had() {
    for library in ["pymemcache", "pylibmc"] {
        let mut servers = three();
        let at: Vec<String> = servers.iter().map(|server| server.at.clone()).collect();
        let at: Vec<&str> = at.iter().map(String::as_str).collect();
        if !run_python(library, ALONE, &[&[library], &at[..]].concat()) {
            continue;
        }
        let shares: Vec<usize> = servers.iter().map(items).collect();
        assert_eq!(shares.iter().sum::<usize>(), KEYS);
        assert!(shares.iter().all(|&share| share > KEYS / 10), "{library}: {shares:?}");
        servers[1].stop();
        let left = (KEYS - shares[1]).to_string();
        run_python(library, ALONE, &[&[library], &at[..], &[&left]].concat());
    }
}

/// With the same hash, that of libmemcached, both look for a key on the same server.
const TOGETHER: &str = "
import sys, pylibmc, uhashring
from pymemcache.client.hash import HashClient
class Ketama:
    def __init__(self):
        self.nodes = []
    def add_node(self, node):
        self.nodes.append(node)
        self.ring = uhashring.HashRing(self.nodes, hash_fn='ketama')
    def get_node(self, key):
        return self.ring.get_node(key)
at = sys.argv[1:4]
keys = ['key%d' % n for n in range(300)]
one = pylibmc.Client(at, behaviors={'ketama_weighted': True})
other = HashClient(at, hasher=Ketama, default_noreply=False, timeout=60)
assert all(one.set(key, key.encode()) for key in keys[:150])
assert all(other.set(key, key.encode()) for key in keys[150:])
assert all(client.get(key) == key.encode() for key in keys for client in (one, other))
print('good')
";

#[test]
fn clients_with_the_same_hash_agree_and_so_does_the_proxy() {
    let servers = three();
    let at: Vec<&str> = servers.iter().map(|server| server.at.as_str()).collect();
    if !run_python("pylibmc, pymemcache, uhashring", TOGETHER, &at) {
        return;
    }
    let Some(proxy) = Proxy::before(&servers) else { return };
    let mut client = proxy.client();
    (0..KEYS).for_each(|number| assert_eq!(client.get(&key(number)), Some(key(number))));
}
