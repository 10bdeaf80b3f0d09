//! The control connection of a session: short lines of text, and single bytes in the loops that need one.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// Longest line accepted.
const MOST_LINE: usize = 256;

/// One end of a control connection.
pub enum Control {
    /// To a process of this machine.
    Unix(UnixStream),
    /// To another host.
    Tcp(TcpStream),
}

impl Control {
    /// Sends a line.
    pub fn send(&mut self, line: &str) -> io::Result<()> {
        self.write(format!("{line}\n").as_bytes())
    }

    /// Receives a line, all of it within `patience`.
    pub fn receive(&mut self, patience: Duration) -> io::Result<String> {
        let deadline = Instant::now() + patience;
        let mut line = Vec::new();
        loop {
            let byte = self.receive_byte(deadline.saturating_duration_since(Instant::now()))?;
            if byte == b'\n' {
                return String::from_utf8(line).map_err(|e| io::Error::new(io::ErrorKind::InvalidData, e));
            }
            if line.len() == MOST_LINE {
                return Err(io::Error::new(io::ErrorKind::InvalidData, "a control line is too long"));
            }
            line.push(byte);
        }
    }

    /// Sends one byte.
    pub fn send_byte(&mut self, byte: u8) -> io::Result<()> {
        self.write(&[byte])
    }

    /// Receives one byte within `patience`.
    pub fn receive_byte(&mut self, patience: Duration) -> io::Result<u8> {
        if !wait_readable(&[self.as_fd()], patience)?[0] {
            return Err(io::ErrorKind::TimedOut.into());
        }
        let mut byte = [0];
        match self {
            Control::Unix(stream) => stream.read_exact(&mut byte)?,
            Control::Tcp(stream) => stream.read_exact(&mut byte)?,
        }
        Ok(byte[0])
    }

    /// Whether the other end has closed, or has something to say: a service in progress then ends.
    pub fn is_waiting(&self) -> bool {
        wait_readable(&[self.as_fd()], Duration::ZERO).map_or(true, |ready| ready[0])
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Control::Unix(stream) => stream.write_all(bytes),
            Control::Tcp(stream) => stream.write_all(bytes),
        }
    }
}

impl AsFd for Control {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Control::Unix(stream) => stream.as_fd(),
            Control::Tcp(stream) => stream.as_fd(),
        }
    }
}

/// Which of `fds` can be read, or have been closed at the other end, within `patience`.
pub fn wait_readable<const N: usize>(fds: &[BorrowedFd; N], patience: Duration) -> io::Result<[bool; N]> {
    let timeout = Timespec { tv_sec: patience.as_secs() as i64, tv_nsec: i64::from(patience.subsec_nanos()) };
    let mut asked = fds.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN));
    loop {
        match poll(&mut asked, Some(&timeout)) {
            Ok(_) => return Ok(asked.map(|fd| !fd.revents().is_empty())),
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Whether an error says that a socket's time limit has passed.
pub fn is_timeout(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_pass_and_endless_ones_do_not() {
        let (a, b) = UnixStream::pair().unwrap();
        let (mut a, mut b) = (Control::Unix(a), Control::Unix(b));
        assert!(!b.is_waiting());
        a.send("udp echo").unwrap();
        assert!(b.is_waiting());
        assert_eq!(b.receive(Duration::from_secs(5)).unwrap(), "udp echo");
        assert!(is_timeout(&b.receive(Duration::from_millis(1)).unwrap_err()));
        a.send(&"x".repeat(MOST_LINE + 1)).unwrap();
        assert_eq!(b.receive(Duration::from_secs(5)).unwrap_err().kind(), io::ErrorKind::InvalidData);
        drop(a);
        assert!(b.is_waiting());
    }
}
