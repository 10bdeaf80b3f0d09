//! The far side for other hosts, behind `tlbench serve`.
//!
//! It binds only where it is told, attends only to clients that show its token within a few seconds, to a limited number
//! of them at a time, and ends after a time without any.

use std::io::{self, Read};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use super::control::{Control, wait_readable};
use super::service::{attend, hex};
use super::socket;

/// First words of a client, before the token: program and protocol version.
pub const GREETING: &str = "tlbench-peer 1";
/// Time to show the token.
const TOKEN_PATIENCE: Duration = Duration::from_secs(3);
/// Clients that may be showing their tokens at the same time.
const MOST_AT_THE_DOOR: usize = 16;
/// A session's longest wait for its client to take what it is sent.
const SEND_PATIENCE: Duration = Duration::from_secs(10);
/// How often the end of the idle time is looked for.
const TICK: Duration = Duration::from_millis(250);

/// Bounds of a server.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Sessions at a time.
    pub sessions: usize,
    /// Time without a session after which it ends.
    pub idle: Duration,
}

/// Why a server ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerEnd {
    /// No session for the idle time.
    Idle,
    /// Told to.
    Interrupted,
}

/// A server that is bound but not yet attending.
pub struct PeerServer {
    listener: TcpListener,
    token: String,
    limits: Limits,
}

/// Who is in.
#[derive(Default)]
struct Counts {
    at_the_door: AtomicUsize,
    sessions: AtomicUsize,
}

impl PeerServer {
    /// Binds `address` (port 0: any free one) and draws a token of 128 bits.
    pub fn bind(address: SocketAddr, limits: Limits) -> io::Result<Self> {
        let listener = TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        let mut token = [0; 16];
        std::fs::File::open("/dev/urandom")?.read_exact(&mut token)?;
        Ok(PeerServer { listener, token: hex(&token), limits })
    }

    /// Where it is bound.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// What clients must show.
    pub fn token(&self) -> &str {
        &self.token
    }

    /// Attends to clients until the idle time passes or `interrupted` says so; `wake` is readable when it may. `log`
    /// gets a line for each client.
    pub fn serve(
        self,
        wake: BorrowedFd,
        interrupted: impl Fn() -> bool,
        log: fn(&str),
    ) -> io::Result<ServerEnd> {
        let counts = Arc::new(Counts::default());
        let token: Arc<str> = self.token.into();
        let mut last_session = Instant::now();
        loop {
            let [connection, _] = wait_readable(&[self.listener.as_fd(), wake], TICK)?;
            if interrupted() {
                return Ok(ServerEnd::Interrupted);
            }
            if counts.sessions.load(Ordering::Acquire) > 0 {
                last_session = Instant::now();
            } else if last_session.elapsed() > self.limits.idle {
                return Ok(ServerEnd::Idle);
            }
            if !connection {
                continue;
            }
            match self.listener.accept() {
                Ok((stream, from)) => {
                    if counts.at_the_door.fetch_add(1, Ordering::AcqRel) < MOST_AT_THE_DOOR {
                        let (visitors, token, most) =
                            (Arc::clone(&counts), Arc::clone(&token), self.limits.sessions);
                        let visit = move || {
                            log(&format!("{from}: {}", receive(stream, from, &token, most, &visitors)))
                        };
                        if std::thread::Builder::new().spawn(visit).is_ok() {
                            continue;
                        }
                    }
                    // Turned away: too many at the door, or no thread to be had.
                    counts.at_the_door.fetch_sub(1, Ordering::AcqRel);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                // The client is gone already, or descriptors are short for a moment.
                Err(_) => std::thread::sleep(TICK),
            }
        }
    }
}

/// Lets a client in or not, attends to it, and says how it went.
fn receive(stream: TcpStream, from: SocketAddr, token: &str, most: usize, counts: &Counts) -> String {
    let admitted = admit(&stream, token, most, counts);
    counts.at_the_door.fetch_sub(1, Ordering::AcqRel);
    match admitted {
        Err(error) => format!("not let in: {error}"),
        Ok(here) => {
            let ended = attend(Control::Tcp(stream), here.ip(), from.ip());
            counts.sessions.fetch_sub(1, Ordering::AcqRel);
            match ended {
                Ok(()) => "session ended".to_owned(),
                Err(error) => format!("session broken off: {error}"),
            }
        }
    }
}

/// Checks the token and takes a session's place; returns the address the client reached.
fn admit(stream: &TcpStream, token: &str, most: usize, counts: &Counts) -> io::Result<SocketAddr> {
    stream.set_nonblocking(false)?;
    stream.set_nodelay(true)?;
    socket::set_patience(stream, SEND_PATIENCE)?;
    let here = stream.local_addr()?;
    let mut control = Control::Tcp(stream.try_clone()?);
    let shown = control.receive(TOKEN_PATIENCE)?;
    let refuse = |control: &mut Control, why: &str| {
        control.send(&format!("refused: {why}"))?;
        Err(io::Error::new(io::ErrorKind::PermissionDenied, why.to_owned()))
    };
    if !same(shown.as_bytes(), format!("{GREETING} {token}").as_bytes()) {
        return refuse(&mut control, "the token is not the one printed when `tlbench serve` started");
    }
    if counts.sessions.fetch_add(1, Ordering::AcqRel) >= most {
        counts.sessions.fetch_sub(1, Ordering::AcqRel);
        return refuse(&mut control, "as many sessions as allowed are open");
    }
    control.send("ok").inspect_err(|_| {
        counts.sessions.fetch_sub(1, Ordering::AcqRel);
    })?;
    Ok(here)
}

/// Equality in a time that does not tell where the first difference is.
fn same(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0, |all, (x, y)| all | (x ^ y)) == 0
}
