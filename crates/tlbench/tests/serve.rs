//! `tlbench serve` and `run --remote`: who is let in, what is measured, and what becomes of it when the peer is lost.

mod program;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use program::{Started, json_lines, left_after, tlbench};
use record::Record;

/// Only a hang takes as long.
const PATIENCE: Duration = Duration::from_secs(90);

/// A server and what it printed.
struct Server {
    process: Started,
    address: String,
    token: String,
}

/// Starts `command` followed by the arguments of a server that prints JSON.
fn start(mut command: Command, more: &[&str]) -> Server {
    command.args(["serve", "--json"]).args(more).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let printed: serde_json::Value = serde_json::from_str(&line).unwrap();
    let text = |key: &str| printed[key].as_str().unwrap().to_owned();
    Server { process: Started(child), address: text("address"), token: text("token") }
}

fn measure(mut command: Command, server: &Server, token: &str, more: &[&str]) -> Output {
    command.args(["run", "--remote", &server.address, "--token", token]).args(more).output().unwrap()
}

fn said(out: &Output) -> String {
    String::from_utf8_lossy(&out.stderr).into_owned()
}

#[test]
fn only_who_shows_the_token_is_let_in_and_only_so_many() {
    let place = tempfile::tempdir().unwrap();
    let server = start(tlbench(place.path()), &["--bind", "127.0.0.1", "--sessions", "1"]);
    assert!(server.address.starts_with("127.0.0.1:") && server.token.len() == 32);
    let out = measure(tlbench(place.path()), &server, "0123", &["net.remote.tcp"]);
    assert_eq!(out.status.code(), Some(2), "{out:?}");
    assert!(said(&out).contains("the token is not the one printed"), "{}", said(&out));

    let hello = |token: &str| {
        let mut stream = TcpStream::connect(&server.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        writeln!(stream, "tlbench-peer 1 {token}").unwrap();
        let mut reply = String::new();
        BufReader::new(&stream).read_line(&mut reply).unwrap();
        (stream, reply)
    };
    // The session of the refused run was none; this one takes the only place, and a second has to wait for its end.
    let (first, reply) = hello(&server.token);
    assert_eq!(reply, "ok\n");
    assert!(hello(&server.token).1.starts_with("refused: as many sessions"), "a second session");
    drop(first);
    let waited = Instant::now();
    while hello(&server.token).1 != "ok\n" {
        assert!(waited.elapsed() < PATIENCE, "the place of an ended session is never free again");
        std::thread::sleep(Duration::from_millis(20));
    }
    // Nonsense is no way in, and ends the connection.
    let mut stream = TcpStream::connect(&server.address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let _ = stream.write_all(&[0xff; 4096]);
    let mut rest = Vec::new();
    let _ = stream.read_to_end(&mut rest);
    assert!(!String::from_utf8_lossy(&rest).contains("ok"));
}

#[test]
fn a_server_ends_by_itself_and_on_request() {
    let place = tempfile::tempdir().unwrap();
    let mut idle = start(tlbench(place.path()), &["--bind", "127.0.0.1", "--idle", "0.2s"]);
    assert_eq!(idle.process.ended(PATIENCE).and_then(|s| s.code()), Some(0));
    let mut told = start(tlbench(place.path()), &["--bind", "127.0.0.1"]);
    told.process.signal("TERM");
    assert_eq!(told.process.ended(PATIENCE).and_then(|s| s.code()), Some(143));
    let elsewhere = tlbench(place.path()).args(["serve", "--bind", "203.0.113.7"]).output().unwrap();
    assert_eq!(elsewhere.status.code(), Some(2), "binding to an address of another host: {elsewhere:?}");
}

#[test]
fn a_port_that_never_answers_or_is_shut_is_an_error() {
    let place = tempfile::tempdir().unwrap();
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = silent.local_addr().unwrap().to_string();
    let run = |address: &str| {
        tlbench(place.path()).args(["run", "--remote", address, "--token", "x", "--json"]).output().unwrap()
    };
    let out = run(&address);
    assert_eq!(out.status.code(), Some(2));
    assert!(said(&out).contains("no answer within"), "{}", said(&out));
    drop(silent);
    let out = run(&address);
    assert_eq!(out.status.code(), Some(2));
    assert!(said(&out).contains("does `tlbench serve` run there?"), "{}", said(&out));
    assert!(out.stdout.is_empty());
    assert!(left_after(place.path(), PATIENCE).is_empty());
}

/// Starts a long run against `server`, waits until it measures, does `harm`, and checks that it ends by itself with exit
/// code 1, says so, keeps what it measured, and leaves nothing running.
fn lost_half_way(place: &Path, mut command: Command, server: &Server, harm: impl FnOnce()) {
    let path = place.join("lost.jsonl");
    command
        .args(["run", "--remote", &server.address, "--token", &server.token, "--budget", "60s", "-o"])
        .arg(&path);
    let mut run = Started::spawn(command);
    let waited = Instant::now();
    while !Record::open(&path).is_ok_and(|record| !record.invocations.is_empty()) {
        assert!(waited.elapsed() < PATIENCE, "nothing measured");
        std::thread::sleep(Duration::from_millis(20));
    }
    harm();
    assert_eq!(run.ended(PATIENCE).and_then(|status| status.code()), Some(1));
    let record = Record::open(&path).unwrap();
    let footer = record.footer.unwrap();
    assert!(!footer.complete);
    assert!(
        footer.extra["ended_by"].as_str().unwrap().contains("the remote peer was lost"),
        "{:?}",
        footer.extra
    );
    let failed: Vec<_> =
        record.invocations.iter().filter(|i| i.value.is_none() && i.reason.is_some()).collect();
    assert!(!failed.is_empty());
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn a_peer_that_dies_half_way_ends_the_run() {
    let place = tempfile::tempdir().unwrap();
    let served = tempfile::tempdir().unwrap();
    let mut server = start(tlbench(served.path()), &["--bind", "127.0.0.1"]);
    let process = std::mem::replace(&mut server.process, Started(Command::new("true").spawn().unwrap()));
    lost_half_way(place.path(), tlbench(place.path()), &server, || drop(process));
    assert!(left_after(place.path(), PATIENCE).is_empty());
}

/// Two network namespaces with a veth pair between them; gone when dropped.
struct Namespaces {
    names: [String; 2],
}

impl Namespaces {
    /// `None`, with the reason printed, where they can't be made.
    fn make(tag: &str) -> Option<Namespaces> {
        let id = std::process::id();
        let namespaces = Namespaces { names: ["a", "b"].map(|side| format!("tlb-{tag}{side}-{id}")) };
        let [a, b] = &namespaces.names;
        let (link_a, link_b) = (format!("tl{tag}a{id}"), format!("tl{tag}b{id}"));
        let lines = [
            format!("netns add {a}"),
            format!("netns add {b}"),
            format!("link add {link_a} netns {a} type veth peer name {link_b} netns {b}"),
            format!("-n {a} addr add 198.51.100.1/24 dev {link_a}"),
            format!("-n {b} addr add 198.51.100.2/24 dev {link_b}"),
            format!("-n {a} link set {link_a} up"),
            format!("-n {b} link set {link_b} up"),
            format!("-n {a} link set lo up"),
            format!("-n {b} link set lo up"),
        ];
        for line in lines {
            if let Err(why) = ip(&line) {
                println!("skipped: network namespaces can't be made here: ip {line}: {why}");
                return None;
            }
        }
        Some(namespaces)
    }

    fn command(&self, side: usize, place: &Path) -> Command {
        let program = tlbench(place);
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.names[side]]).arg(program.get_program());
        command.current_dir(place).env("TMPDIR", place).stdin(Stdio::null());
        command
    }

    fn ip(&self, side: usize, line: &str) {
        ip(&format!("-n {} {line}", self.names[side])).unwrap();
    }

    fn link(&self, side: usize) -> String {
        let out = Command::new("ip").args(["-n", &self.names[side], "-o", "link"]).output().unwrap();
        let text = String::from_utf8(out.stdout).unwrap();
        let line = text.lines().find(|line| line.contains("@if")).unwrap().to_owned();
        line.split([' ', '@']).nth(1).unwrap().to_owned()
    }
}

impl Drop for Namespaces {
    fn drop(&mut self) {
        for name in &self.names {
            let _ = ip(&format!("netns del {name}"));
        }
    }
}

fn ip(line: &str) -> Result<(), String> {
    match Command::new("ip").args(line.split(' ')).output() {
        Err(error) => Err(error.to_string()),
        Ok(out) if out.status.success() => Ok(()),
        Ok(out) => Err(String::from_utf8_lossy(&out.stderr).trim().to_owned()),
    }
}

#[test]
fn another_host_is_measured_in_every_metric() {
    let Some(hosts) = Namespaces::make("m") else { return };
    let (here, there) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let server = start(hosts.command(1, there.path()), &["--bind", "198.51.100.2"]);
    let out = measure(
        hosts.command(0, here.path()),
        &server,
        &server.token,
        &["--quick", "--blocks", "1", "--json"],
    );
    assert_eq!(out.status.code(), Some(0), "{}", said(&out));
    let text = String::from_utf8_lossy(&out.stdout);
    assert!(!text.contains(&server.token), "the token is in the record");
    let rows: Vec<_> =
        json_lines(&out.stdout).into_iter().filter(|line| line["type"] == "invocation").collect();
    let names: Vec<&str> = rows.iter().map(|row| row["metric"].as_str().unwrap()).collect();
    for what in ["udp", "tcp", "tcp_connect", "rpc_udp", "rpc_tcp", "http"] {
        assert!(names.contains(&format!("net.remote.{what}").as_str()), "{names:?}");
    }
    for size in ["1", "64", "1437", "64k", "10m"] {
        assert!(names.contains(&format!("bw.remote.tcp.{size}").as_str()), "{names:?}");
    }
    for row in rows {
        // Tails need more single operations than a short run has time for.
        let tail = row["metric"].as_str().unwrap().contains(".p99");
        assert!(row["status"] == "ok" || tail && row["status"] == "skipped", "{row}");
    }
    assert!(left_after(here.path(), PATIENCE).is_empty());
}

#[test]
fn a_blackhole_and_a_dead_link_end_the_run() {
    let Some(hosts) = Namespaces::make("l") else { return };
    let (here, there) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let server = start(hosts.command(1, there.path()), &["--bind", "198.51.100.2"]);
    let run = || hosts.command(0, here.path());
    lost_half_way(here.path(), run(), &server, || hosts.ip(0, "route add blackhole 198.51.100.2/32"));
    hosts.ip(0, "route del blackhole 198.51.100.2/32");
    let link = hosts.link(1);
    lost_half_way(here.path(), run(), &server, || hosts.ip(1, &format!("link set {link} down")));
    assert!(left_after(here.path(), PATIENCE).is_empty());
}
