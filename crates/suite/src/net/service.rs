//! What a far side does: it attends to one session, one service after another, until its client is gone.
//!
//! No loop here spins on an error or outlives its client: each wait has a limit after which the control connection is
//! looked at.

use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsFd;
use std::os::unix::net::UnixListener;
use std::time::Duration;

use super::control::{Control, is_timeout, wait_readable};
use super::{http, rpc, socket};

/// How often a waiting service looks whether its client is still there.
const TICK: Duration = Duration::from_secs(1);
/// A client that sends nothing for so long is given up.
const IDLE: Duration = Duration::from_secs(60);
/// Time for a data connection to show its key.
const KEY_PATIENCE: Duration = Duration::from_secs(3);
/// A client that takes nothing of what it asked for in so long is given up.
const SEND_PATIENCE: Duration = Duration::from_secs(10);
/// Largest request of the answering services, bytes.
const MOST_REQUEST: usize = 512;
/// Largest message of the stream service, and of one request's messages together, bytes.
const MOST_MESSAGE: u64 = 16 << 20;
const MOST_STREAMED: u64 = 4 << 30;

/// What data connections of a service must show first.
pub type Key = [u8; 16];
/// Behind the key in a datagram: begin and end.
pub const BEGIN: u8 = b'b';
/// See [`BEGIN`].
pub const END: u8 = b'e';

/// Answers requests: whether the bytes so far are a whole one, and the reply in its place, with its length.
#[derive(Clone, Copy)]
pub struct Answer {
    /// Whether the bytes so far are a whole request.
    pub is_whole: fn(&[u8]) -> bool,
    /// Turns the request in the buffer, of the length given, into the reply, and returns its length.
    pub reply: fn(&mut [u8; MOST_REQUEST], usize) -> usize,
}

/// The first byte comes back inverted, the others as they are.
const ECHO: Answer = Answer {
    is_whole: |request| !request.is_empty(),
    reply: |buffer, length| {
        buffer[0] = !buffer[0];
        length
    },
};

/// Attends to a client on `control`. Sockets are opened on `here`; data from another address than `client` is ignored.
pub fn attend(mut control: Control, here: IpAddr, client: IpAddr) -> io::Result<()> {
    loop {
        let Ok(service) = control.receive(IDLE) else { return Ok(()) };
        let mut session = Session { control: &mut control, here, client };
        match service.as_str() {
            "udp echo" => session.answer_datagrams(ECHO)?,
            "udp rpc" => session.answer_datagrams(rpc::ANSWER)?,
            "tcp echo" => session.answer_stream(ECHO)?,
            "tcp rpc" => session.answer_stream(rpc::ANSWER)?,
            "tcp stream" => session.stream()?,
            "tcp accept" => session.accept_each()?,
            "tcp http" => session.http()?,
            _ => control.send("no: unknown service")?,
        }
    }
}

struct Session<'a> {
    control: &'a mut Control,
    here: IpAddr,
    client: IpAddr,
}

impl Session<'_> {
    /// Tells the client where the service is and what to show there.
    fn announce(&mut self, address: SocketAddr) -> io::Result<Key> {
        let mut key = Key::default();
        std::fs::File::open("/dev/urandom")?.read_exact(&mut key)?;
        self.control.send(&format!("port {} {}", address.port(), hex(&key)))?;
        Ok(key)
    }

    fn listen(&mut self) -> io::Result<(TcpListener, Key)> {
        let listener = TcpListener::bind((self.here, 0))?;
        let key = self.announce(listener.local_addr()?)?;
        Ok((listener, key))
    }

    /// The next connection from the client; `None` when the control connection ends the service.
    fn accept(&mut self, listener: &TcpListener) -> io::Result<Option<TcpStream>> {
        loop {
            let [control, connection] = wait_readable(&[self.control.as_fd(), listener.as_fd()], IDLE)?;
            if control || !connection {
                return Ok(None);
            }
            let (stream, from) = listener.accept()?;
            if from.ip() == self.client {
                return Ok(Some(stream));
            }
        }
    }

    /// The next connection that shows the key.
    fn accept_with_key(&mut self) -> io::Result<Option<TcpStream>> {
        let (listener, key) = self.listen()?;
        while let Some(mut stream) = self.accept(&listener)? {
            let mut shown = Key::default();
            socket::set_patience(&stream, KEY_PATIENCE)?;
            if stream.read_exact(&mut shown).is_ok() && shown == key {
                stream.set_read_timeout(Some(TICK))?;
                stream.set_write_timeout(Some(SEND_PATIENCE))?;
                return Ok(Some(stream));
            }
        }
        Ok(None)
    }

    /// Whether to give up after `waits` waits of one [`TICK`] without data.
    fn is_over(&self, waits: u32) -> bool {
        self.control.is_waiting() || TICK * waits > IDLE
    }

    fn answer_datagrams(&mut self, answer: Answer) -> io::Result<()> {
        let socket = UdpSocket::bind((self.here, 0))?;
        let key = self.announce(socket.local_addr()?)?;
        socket.set_read_timeout(Some(TICK))?;
        let mut buffer = [0; MOST_REQUEST];
        let is = |datagram: &[u8], word| datagram.split_last() == Some((&word, &key[..]));
        let mut waits = 0;
        let client = loop {
            match socket.recv_from(&mut buffer) {
                Ok((n, from)) if from.ip() == self.client && is(&buffer[..n], BEGIN) => break from,
                Ok(_) => {}
                Err(error) if is_timeout(&error) => waits += 1,
                Err(error) => return Err(error),
            }
            if self.is_over(waits) {
                return Ok(());
            }
        };
        socket.connect(client)?;
        socket.send(&buffer[..key.len() + 1])?;
        waits = 0;
        loop {
            let received = socket.recv(&mut buffer);
            waits = if received.is_ok() { 0 } else { waits + 1 };
            match received {
                Ok(n) if n == key.len() + 1 && is(&buffer[..n], END) => return Ok(()),
                Ok(n) if n == key.len() + 1 && is(&buffer[..n], BEGIN) => drop(socket.send(&buffer[..n])),
                Ok(n) if (answer.is_whole)(&buffer[..n]) => {
                    let length = (answer.reply)(&mut buffer, n);
                    // A reply that can't be sent is a lost one: the client asks again.
                    let _ = socket.send(&buffer[..length]);
                }
                Ok(_) => {}
                Err(error) if is_timeout(&error) && !self.is_over(waits) => {}
                Err(_) => return Ok(()),
            }
        }
    }

    fn answer_stream(&mut self, answer: Answer) -> io::Result<()> {
        let Some(mut stream) = self.accept_with_key()? else { return Ok(()) };
        stream.set_nodelay(true)?;
        let mut buffer = [0; MOST_REQUEST];
        let mut length = 0;
        while length < MOST_REQUEST {
            match self.read(&mut stream, &mut buffer[length..])? {
                0 => break,
                n => length += n,
            }
            if (answer.is_whole)(&buffer[..length]) {
                let reply = (answer.reply)(&mut buffer, length);
                stream.write_all(&buffer[..reply])?;
                length = 0;
            }
        }
        Ok(())
    }

    /// Reads, waiting as long as the client is there; 0 at the end of the connection or the service.
    fn read(&self, stream: &mut TcpStream, buffer: &mut [u8]) -> io::Result<usize> {
        let mut waits = 0;
        loop {
            match stream.read(buffer) {
                Err(error) if is_timeout(&error) => {
                    waits += 1;
                    if self.is_over(waits) {
                        return Ok(0);
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::ConnectionReset => return Ok(0),
                other => return other,
            }
        }
    }

    fn stream(&mut self) -> io::Result<()> {
        let Some(mut stream) = self.accept_with_key()? else { return Ok(()) };
        let mut sender = stream.try_clone()?;
        send_on_request(|request| self.read(&mut stream, request), |message| sender.write_all(message))
    }

    /// For each byte on the control connection, accepts one connection, waits for its end, and says so.
    fn accept_each(&mut self) -> io::Result<()> {
        let (listener, _) = self.listen()?;
        let client = self.client;
        accept_on_request(self.control, || {
            loop {
                if !wait_readable(&[listener.as_fd()], KEY_PATIENCE)?[0] {
                    return Err(io::ErrorKind::TimedOut.into());
                }
                let (mut stream, from) = listener.accept()?;
                if from.ip() == client {
                    socket::set_patience(&stream, KEY_PATIENCE)?;
                    read_to_end(&mut stream)?;
                    // The client has closed first; a reset now frees its port at once.
                    return socket::reset_on_close(&stream);
                }
            }
        })
    }

    fn http(&mut self) -> io::Result<()> {
        let (listener, key) = self.listen()?;
        let (path, page) = (format!("/{}", hex(&key)), http::page());
        while let Some(mut stream) = self.accept(&listener)? {
            socket::set_patience(&stream, KEY_PATIENCE)?;
            stream.set_nodelay(true)?;
            // A client that breaks off its connection is no reason to end the service.
            let _ = http::answer(&mut stream, &path, &page);
        }
        Ok(())
    }
}

/// For each byte on `control`, has `accept` take one connection to its end, and answers with a byte.
pub fn accept_on_request(
    control: &mut Control,
    mut accept: impl FnMut() -> io::Result<()>,
) -> io::Result<()> {
    while control.receive_byte(IDLE).is_ok() {
        accept()?;
        control.send_byte(b'd')?;
    }
    Ok(())
}

/// The far side of `net.unix_connect`.
pub fn accept_unix(mut control: Control, listener: &UnixListener) -> io::Result<()> {
    accept_on_request(&mut control, || read_to_end(&mut listener.accept()?.0))
}

fn read_to_end(stream: &mut impl Read) -> io::Result<()> {
    let mut buffer = [0; 64];
    while stream.read(&mut buffer)? > 0 {}
    Ok(())
}

/// Answers each request of 16 bytes (message length and number of messages) with that many messages, each by one
/// `write`; ends with the requests.
pub fn send_on_request(
    mut read: impl FnMut(&mut [u8]) -> io::Result<usize>,
    mut write: impl FnMut(&[u8]) -> io::Result<()>,
) -> io::Result<()> {
    let mut message = Vec::new();
    loop {
        let mut request = [0; 16];
        let mut length = 0;
        while length < request.len() {
            match read(&mut request[length..])? {
                0 => return Ok(()),
                n => length += n,
            }
        }
        let [bytes, count] = [0, 8].map(|at| {
            let mut word = [0; 8];
            word.copy_from_slice(&request[at..at + 8]);
            u64::from_be_bytes(word)
        });
        if bytes == 0
            || bytes > MOST_MESSAGE
            || count.checked_mul(bytes).is_none_or(|all| all > MOST_STREAMED)
        {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "too much asked for"));
        }
        if message.len() as u64 != bytes {
            message = pattern(bytes as usize);
        }
        for _ in 0..count {
            write(&message)?;
        }
    }
}

/// What every message of the stream service holds.
pub fn pattern(bytes: usize) -> Vec<u8> {
    (0..bytes).map(|i| (i.wrapping_mul(31) >> 3) as u8 ^ 0x5a).collect()
}

/// Bytes as hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
