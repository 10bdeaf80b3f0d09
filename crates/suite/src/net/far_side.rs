//! The timed side's view of the far side: where it is, how to reach it, and what a failure means.

use std::io::{self, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream, ToSocketAddrs, UdpSocket};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use harness::RemotePeer;
use harness::prelude::*;

use super::control::{Control, is_timeout};
use super::service::{BEGIN, END, Key, attend};
use super::socket;

/// A reply that takes longer than this is none.
pub const PATIENCE: Duration = Duration::from_secs(5);
/// Time to reach a remote peer and be let in.
const REACH_PATIENCE: Duration = Duration::from_secs(3);
/// A datagram's reply is waited for this long before the request is repeated.
const REPEAT_AFTER: Duration = Duration::from_secs(1);
/// Requests sent before a datagram's reply is given up.
const MOST_REQUESTS: u32 = 5;

/// Where the far side is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// A second process on this machine, over loopback.
    Loopback,
    /// `tlbench serve` on another host.
    Remote,
}

impl Place {
    /// What stands in a metric's name.
    pub fn infix(self) -> &'static str {
        match self {
            Place::Loopback => "",
            Place::Remote => "remote.",
        }
    }

    /// The end of a doc sentence.
    pub fn words(self) -> &'static str {
        match self {
            Place::Loopback => "over loopback with both sides on one CPU",
            Place::Remote => "against tlbench serve on another host",
        }
    }
}

/// A far side that attends to us.
pub struct FarSide {
    control: Control,
    host: IpAddr,
    place: Place,
    _process: Option<Peer>,
}

/// A service it offers.
pub struct Service {
    /// Where.
    pub address: SocketAddr,
    /// What to show there.
    pub key: Key,
}

impl FarSide {
    /// Starts the process on the peer's CPU, or reaches the remote peer.
    pub fn open(bench: &Bench, place: Place) -> Result<Self, Stop> {
        match place {
            Place::Loopback => FarSide::start_process(bench),
            Place::Remote => {
                let remote = bench.job().remote.as_ref().ok_or_else(|| {
                    Stop::skip("needs --remote HOST:PORT, the address of a `tlbench serve` on another host")
                })?;
                let stream = reach(remote).map_err(|e| Stop::fail(e.to_string()))?;
                let host = stream.peer_addr().map_err(|e| Stop::fail(e.to_string()))?.ip();
                Ok(FarSide { control: Control::Tcp(stream), host, place, _process: None })
            }
        }
    }

    fn start_process(bench: &Bench) -> Result<Self, Stop> {
        let host = IpAddr::from(Ipv4Addr::LOCALHOST);
        let mut ends = Some(UnixStream::pair().map_err(|e| Stop::unavailable("a control connection", &e))?);
        let process = Peer::spawn(bench.peer_cpu(), || match ends.take() {
            Some((_, theirs)) => {
                attend(Control::Unix(theirs), host, host).map_err(|e| Stop::fail(e.to_string()))
            }
            None => Ok(()),
        })?;
        let Some((mine, _)) = ends else { return Err(Stop::fail("the control connection is gone")) };
        Ok(FarSide { control: Control::Unix(mine), host, place: Place::Loopback, _process: Some(process) })
    }

    /// Has it start a service.
    pub fn start(&mut self, service: &str) -> Result<Service, Stop> {
        let reply = self
            .control
            .send(service)
            .and_then(|()| self.control.receive(PATIENCE))
            .map_err(|e| self.failed("the far side", &e))?;
        let strange = || Stop::fail(format!("the far side answers {reply:?}; is it the same version?"));
        let mut words = reply.split(' ');
        let (Some("port"), Some(port), Some(key)) = (words.next(), words.next(), words.next()) else {
            return Err(strange());
        };
        let port = port.parse().map_err(|_| strange())?;
        let key = key_from_hex(key).ok_or_else(strange)?;
        Ok(Service { address: SocketAddr::new(self.host, port), key })
    }

    /// Has it start a service and connects to that.
    pub fn connect(&mut self, service: &str) -> Result<TcpStream, Stop> {
        let service = self.start(service)?;
        let open = || {
            let mut stream = TcpStream::connect_timeout(&service.address, PATIENCE)?;
            socket::set_patience(&stream, PATIENCE)?;
            stream.write_all(&service.key)?;
            Ok(stream)
        };
        open().map_err(|e| self.failed("connecting", &e))
    }

    /// Its control connection.
    pub fn control(&mut self) -> &mut Control {
        &mut self.control
    }

    /// What an error while talking to it means: a loopback that is down is a reason to skip, all else a failure.
    pub fn failed(&self, what: &str, error: &io::Error) -> Stop {
        let no_network = [libc::ENETUNREACH, libc::EADDRNOTAVAIL, libc::EAFNOSUPPORT];
        match error.raw_os_error() {
            Some(code) if self.place == Place::Loopback && no_network.contains(&code) => {
                Stop::skip(format!("{what}: the loopback interface is down: {error}"))
            }
            _ if is_timeout(error) => {
                Stop::fail(format!("{what}: no answer from {} within {} s", self.host, PATIENCE.as_secs()))
            }
            _ => Stop::fail(format!("{what}: {error}")),
        }
    }
}

/// Connects to a remote peer and shows its token. Errors say what to do.
pub fn reach(remote: &RemotePeer) -> io::Result<TcpStream> {
    let place = &remote.address;
    let explain = |error: io::Error, what: &str| {
        let why = if is_timeout(&error) {
            format!("no answer within {} s", REACH_PATIENCE.as_secs())
        } else {
            error.to_string()
        };
        io::Error::new(error.kind(), format!("{place}: {what}{why}"))
    };
    let addresses = place.to_socket_addrs().map_err(|e| explain(e, "not a reachable HOST:PORT: "))?;
    let mut last = io::Error::new(io::ErrorKind::NotFound, "no address");
    for address in addresses {
        match TcpStream::connect_timeout(&address, REACH_PATIENCE) {
            Ok(stream) => return show_token(stream, remote).map_err(|e| explain(e, "the peer: ")),
            Err(error) => last = error,
        }
    }
    Err(explain(last, "connecting (does `tlbench serve` run there?): "))
}

fn show_token(stream: TcpStream, remote: &RemotePeer) -> io::Result<TcpStream> {
    stream.set_nodelay(true)?;
    socket::set_patience(&stream, REACH_PATIENCE)?;
    let mut control = Control::Tcp(stream.try_clone()?);
    control.send(&format!("{} {}", super::peer_server::GREETING, remote.token))?;
    match control.receive(REACH_PATIENCE)?.as_str() {
        "ok" => Ok(stream),
        refusal => Err(io::Error::new(io::ErrorKind::PermissionDenied, refusal.to_owned())),
    }
}

fn key_from_hex(text: &str) -> Option<Key> {
    let mut key = Key::default();
    if text.len() != 2 * key.len() || !text.is_ascii() {
        return None;
    }
    for (byte, digits) in key.iter_mut().zip(text.as_bytes().chunks(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
    }
    Some(key)
}

/// Requests and replies by datagrams. A lost one is asked for again, and the wait is part of its sample.
pub struct Datagrams {
    socket: UdpSocket,
    key: Key,
    repeated: u64,
}

impl Datagrams {
    /// Has `far` start a service of datagrams, and is taken as its client.
    pub fn begin(far: &mut FarSide, service: &str) -> Result<Self, Stop> {
        let service = far.start(service)?;
        let any: IpAddr = match service.address {
            SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
            SocketAddr::V6(_) => std::net::Ipv6Addr::UNSPECIFIED.into(),
        };
        let open = || {
            let socket = UdpSocket::bind((any, 0))?;
            socket.connect(service.address)?;
            socket.set_read_timeout(Some(REPEAT_AFTER))?;
            Ok(socket)
        };
        let socket = open().map_err(|e| far.failed("a UDP socket", &e))?;
        let mut datagrams = Datagrams { socket, key: service.key, repeated: 0 };
        let hello = datagrams.marked(BEGIN);
        datagrams.exchange(&hello, |reply| reply == hello)?;
        Ok(datagrams)
    }

    /// Sends `request` until the reply comes that `is_reply` accepts; others, late ones of repeated requests, are dropped.
    #[inline]
    pub fn exchange(&mut self, request: &[u8], is_reply: impl Fn(&[u8]) -> bool) -> Result<(), Stop> {
        let mut reply = [0; 64];
        for _ in 0..MOST_REQUESTS {
            self.socket.send(request).map_err(|e| Stop::fail(format!("sending a datagram: {e}")))?;
            loop {
                match self.socket.recv(&mut reply) {
                    Ok(length) if is_reply(&reply[..length]) => return Ok(()),
                    Ok(_) => {}
                    Err(error) if is_timeout(&error) => break,
                    Err(error) => return Err(Stop::fail(format!("waiting for a datagram: {error}"))),
                }
            }
            self.repeated += 1;
        }
        Err(Stop::fail(format!("no reply to {MOST_REQUESTS} datagrams, {} s apart", REPEAT_AFTER.as_secs())))
    }

    /// Ends the service; returns how many requests had to be repeated.
    pub fn end(self) -> u64 {
        // A lost one ends it too, a moment later: the control connection closes.
        let _ = self.socket.send(&self.marked(END));
        self.repeated
    }

    fn marked(&self, mark: u8) -> [u8; 17] {
        let mut datagram = [mark; 17];
        datagram[..16].copy_from_slice(&self.key);
        datagram
    }
}
