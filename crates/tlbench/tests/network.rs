//! Loopback networking and bandwidth as `tlbench run` shows them: work proved, relations that must hold.

mod program;

use std::time::Duration;

use program::{json_lines, left_after, tlbench};

#[test]
fn every_loopback_metric_is_measured_or_says_why_not() {
    let place = tempfile::tempdir().unwrap();
    let out = tlbench(place.path())
        .args(["run", "--quick", "--blocks", "1", "--json", "net", "bw"])
        .output()
        .unwrap();
    let rows: Vec<_> =
        json_lines(&out.stdout).into_iter().filter(|line| line["type"] == "invocation").collect();
    let row =
        |name: &str| rows.iter().find(|row| row["metric"] == name).unwrap_or_else(|| panic!("no {name}"));
    for name in [
        "net.udp",
        "net.tcp",
        "net.tcp_connect",
        "net.unix_connect",
        "net.rpc_udp",
        "net.rpc_tcp",
        "net.http",
    ] {
        let row = row(name);
        // Another program's connections may have been refused or retried meanwhile; then the number must be too.
        let refused = name == "net.tcp_connect" && row["status"] == "failed";
        assert!(
            row["status"] == "ok" || refused && row["reason"].as_str().unwrap().contains("netstat"),
            "{row}"
        );
    }
    assert_eq!(row("net.http")["body_bytes"], 4096);
    for (name, bytes) in
        [("bw.tcp.1", 1), ("bw.tcp.1437", 1437), ("bw.tcp.10m", 10 << 20), ("bw.pipe", 64 << 10)]
    {
        let row = row(name);
        assert_eq!(
            (&row["status"], &row["unit"], &row["direction"]),
            (&"ok".into(), &"MB/s".into(), &"bigger".into())
        );
        assert_eq!(row["message_bytes"], bytes);
    }
    let value = |name: &str| row(name)["value"].as_f64().unwrap_or_else(|| panic!("{}", row(name)));
    // A system call per byte can't be as fast as one per 64 KiB.
    assert!(value("bw.tcp.1") * 10.0 < value("bw.tcp.64k"));
    for name in
        ["bw.file_read", "bw.file_open2close", "bw.mmap_read", "bw.mmap_open2close", "bw.unix", "bw.tcp.64"]
    {
        assert!(value(name) > 0.0);
    }
    assert!(value("bw.mmap_open2close") < value("bw.mmap_read"), "faults cost nothing");
    assert!(
        rows.iter().all(|row| !row["metric"].as_str().unwrap().contains("remote")),
        "no peer, no remote rows"
    );
    assert!(left_after(place.path(), Duration::from_secs(20)).is_empty());
}

#[test]
fn a_remote_metric_without_a_peer_says_what_it_needs() {
    let place = tempfile::tempdir().unwrap();
    let out = tlbench(place.path())
        .args(["run", "--quick", "--blocks", "1", "--json", "net.remote.tcp"])
        .output()
        .unwrap();
    assert_eq!(out.status.code(), Some(0), "a skipped row is no error");
    let rows = json_lines(&out.stdout);
    let row =
        rows.iter().find(|row| row["type"] == "invocation" && row["metric"] == "net.remote.tcp").unwrap();
    assert_eq!(row["status"], "skipped");
    assert!(row["reason"].as_str().unwrap().contains("--remote HOST:PORT"), "{row}");
}
