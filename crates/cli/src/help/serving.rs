//! Help of the servers, and of the commands that operate them.

use super::CommandHelp;

/// The servers, and the commands that operate them.
pub(super) const ALL: &[CommandHelp] = &[
    CommandHelp {
        path: "demo",
        examples: &[
            ("Watch a drive under load in the browser", "tailcut demo"),
            (
                "The same for half a minute, reads first",
                "tailcut demo --time 30s --set device.schedule.chip=reads-first",
            ),
        ],
        exit_status: SERVES,
        files: &[
            ("tailcut-demo.sock", "the server's unix socket"),
            ("tailcut-demo.ctl", "its control socket, for 'status' and 'ctl'"),
        ],
        see_also: &["serve block", "run", "status"],
    },
    CommandHelp {
        path: "serve",
        examples: &[
            ("Export the simulated drive over NBD", "tailcut serve block"),
            ("Serve memcached clients from DRAM and flash", "tailcut serve kv"),
        ],
        exit_status: SERVES,
        files: &[("*.ctl", "control sockets in the working directory, for 'status' and 'ctl'")],
        see_also: &["serve block", "serve kv", "status", "ctl"],
    },
    CommandHelp {
        path: "serve block",
        examples: &[
            ("Export the simulated drive over NBD", "tailcut serve block"),
            (
                "Export an emulated RAID 5 array on a TCP port",
                "tailcut serve block --set array.drives=4 --set array.layout=raid5 \\\n      \
                 --tcp 127.0.0.1:10809",
            ),
            (
                "Create the array on real drives",
                "tailcut serve block --set array.drives=3 --set array.layout=raid5 --create \\\n      \
                 --device /dev/sdb --device /dev/sdc --device /dev/sdd",
            ),
            ("Attach the simulated drive as /dev/ublkb0", "sudo tailcut serve block --ublk 0"),
            ("Require client certificates", "tailcut serve block --tls-certificates pki --tls-verify-peer"),
        ],
        exit_status: SERVES_BLOCK,
        files: &[
            ("tailcut.sock", "the server's unix socket"),
            ("tailcut.ctl", "its control socket, for 'status' and 'ctl'"),
            ("DIR/server-cert.pem", "its certificate (--tls-certificates)"),
            ("DIR/server-key.pem", "its private key"),
            ("DIR/ca-cert.pem", "the authority that signs clients' certificates"),
            ("DIR/ca-crl.pem", "certificates that the authority revoked"),
        ],
        see_also: &["status", "ctl", "serve kv", "bench block"],
    },
    CommandHelp {
        path: "serve kv",
        examples: &[
            ("Serve memcached clients on port 11211", "tailcut serve kv"),
            ("Use 1 GiB of DRAM and a real drive as a cache", "tailcut serve kv -m 1024 --device /dev/sdb"),
            ("Serve a store: acknowledged is durable", "tailcut serve kv -M --durable --device /dev/sdb"),
            ("Serve from DRAM alone, as memcached does", "tailcut serve kv --memory-only -m 4096 -t 4"),
            ("Export metrics to Prometheus", "tailcut serve kv --metrics 127.0.0.1:9100"),
        ],
        exit_status: SERVES,
        files: &[("tailcut-11211.ctl", "the control socket of the server on port 11211")],
        see_also: &["status", "ctl", "serve block", "bench kv"],
    },
    CommandHelp {
        path: "ctl",
        examples: &[
            ("List the requests of a server", "tailcut ctl help"),
            ("Print each drive's free blocks", "tailcut ctl free-blocks"),
            ("Collect garbage for 10 ms", "tailcut ctl run-gc 10ms"),
            ("Replace the third drive of an array", "tailcut ctl replace 2 /dev/sde"),
            ("Scrub the array of the key-value server on port 11211", "tailcut ctl tailcut-11211.ctl scrub"),
        ],
        exit_status: ASKS,
        files: &[("tailcut.ctl", "the control socket of a block server")],
        see_also: &["status", "serve block", "serve kv"],
    },
    CommandHelp {
        path: "status",
        examples: &[
            ("Show the only server of this folder, or of this machine", "tailcut status"),
            ("Show the key-value server on port 11211", "tailcut status tailcut-11211.ctl"),
            ("Print status, warnings and metrics as JSON", "tailcut status --json"),
        ],
        exit_status: ASKS,
        files: &[("*.ctl", "control sockets in the working directory")],
        see_also: &["ctl", "serve block", "serve kv"],
    },
];

/// Exit codes of a server.
const SERVES: &[(&str, &str)] = &[
    ("0", "stopped by SIGINT or SIGTERM, after all acknowledged data was written"),
    ("1", "a failure while serving"),
    UNUSABLE,
];

/// Exit codes of a server that may serve for a command, and has bounds to keep.
const SERVES_BLOCK: &[(&str, &str)] =
    &[SERVES[0], ("1", "a failure while serving, of --run or --expect"), UNUSABLE];

const UNUSABLE: (&str, &str) =
    ("2", "invalid arguments or input, an address or a device that cannot be used");

/// Exit codes of a request to a server.
const ASKS: &[(&str, &str)] = &[
    ("0", "the server answered"),
    ("1", "the connection failed"),
    ("2", "no server listens on the socket, or it refused the request"),
];
