//! memcached clients.

use crate::kv::server::Server;
use crate::support::has;

/// The results of libmemcached's own server test.
#[test]
fn libmemcached_finds_it_capable() {
    if !has(&["memccapable"]) {
        return;
    }
    let server = Server::start(&["--memory-only"]);
    let (host, port) = server.at.split_once(':').expect("an address and a port");
    let output = server.place.attempt("memccapable", &["-a", "-v", "-h", host, "-p", port]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(text.lines().filter(|line| line.contains("[pass]")).count(), 27, "{text}");
}

#[test]
fn files_are_copied_there_and_back() {
    if !has(&["memccp", "memccat", "memcrm", "memcstat", "memcexist"]) {
        return;
    }
    let server = Server::start(&[]);
    let servers = format!("--servers={}", server.at);
    let content = "one line\n".repeat(20_000);
    server.place.put("letter", content.as_bytes());
    server.run("memccp", &[&servers, "letter"]);
    server.run("memcexist", &[&servers, "letter"]);
    assert!(server.run("memccat", &[&servers, "letter"]).trim_end() == content.trim_end());
    let told = server.run("memcstat", &[&servers]);
    assert!(told.contains("curr_items: 1") && told.contains("limit_maxbytes: 67108864"), "{told}");
    server.run("memcrm", &[&servers, "letter"]);
    assert!(!server.place.attempt("memcexist", &[&servers, "letter"]).status.success());
}

/// A script for a client in Python that prints "good" at the end.
fn run_python(module: &str, script: &str) {
    let python = "/usr/bin/python3";
    let server = Server::start(&[]);
    if !server.place.attempt(python, &["-c", &format!("import {module}")]).status.success() {
        eprintln!("skipped: Python's {module} is not installed; see .ci/programs");
        return;
    }
    let (host, port) = server.at.split_once(':').expect("an address and a port");
    let text = server.run(python, &["-c", script, host, port]);
    assert_eq!(text.trim(), "good");
}

#[test]
fn pymemcache_is_served() {
    run_python(
        "pymemcache",
        "
import sys
from pymemcache.client.base import Client
client = Client((sys.argv[1], \
            int(sys.argv[2])), default_noreply=False, timeout=60)
values = {'key%d' % n: (b'%d,' % n) * 5000 \
            for n in range(400)}
assert client.set_many(values) == []
keys = list(values)
assert \
            all(client.get_many(keys[at:at + 50]) == {k: values[k] for k in keys[at:at + 50]} for at in \
            range(0, 400, 50))
assert client.set('n', 5) and client.incr('n', 3) == 8 and client.decr('n', \
            9) == 0
assert client.add('n', 1) is False and client.replace('n', b'1') and client.append('n', \
            b'2')
value, cas = client.gets('n')
assert value == b'12' and client.cas('n', b'x', cas) is True \
            and client.cas('n', b'y', cas) is False
assert client.touch('n', 100) and client.delete('n') and \
            client.get('n') is None
assert client.stats()[b'curr_items'] == 400 and \
            client.version().startswith(b'1.6')
assert client.flush_all() and client.get('key1') is \
            None
print('good')
",
    );
}

#[test]
fn python_memcached_is_served() {
    run_python(
        "memcache",
        "
import sys
import memcache
client = memcache.Client(['%s:%s' % tuple(sys.argv[1:3])], cache_cas=True)
assert client.set('pickled', {'list': [1, 2, 3]}) and client.get('pickled') == {'list': [1, 2, 3]}
assert client.set_multi({'a': 'x' * 100000, 'b': 2}, min_compress_len=1000) == []
assert client.get_multi(['a', 'b', 'c']) == {'a': 'x' * 100000, 'b': 2}
assert client.incr('b') == 3 and client.gets('b') == 3 and client.cas('b', 4) and client.delete('a')
print('good')
",
    );
}

#[test]
fn pylibmc_is_served() {
    run_python(
        "pylibmc",
        "
import sys
import pylibmc
client = pylibmc.Client(['%s:%s' % tuple(sys.argv[1:3])], behaviors={'tcp_nodelay': True, 'cas': True})
values = {'key%d' % n: 'value' * n for n in range(300)}
assert not client.set_multi(values) and client.get_multi(list(values)) == values
value, cas = client.gets('key7')
assert client.cas('key7', 'new', cas) and not client.cas('key7', 'newer', cas)
assert client.get('key7') == 'new' and client.delete('key7') and 'key7' not in client
print('good')
",
    );
}
