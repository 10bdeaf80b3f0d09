//! `net.http` (and `net.remote.http`): one GET of a page of 4 KiB from a small server.
//!
//! Timed: a new TCP connection, the request, the reply up to its `Content-Length`, and the close. Per GET. The server is one
//! process that answers from memory. The client closes by a reset, so that thousands of ports are not held for a minute.
//! Proof: every status is 200 and every body is the server's, byte for byte.

use std::io::{self, Read, Write};
use std::net::TcpStream;

use harness::prelude::*;

use super::far_side::{FarSide, PATIENCE, Place};
use super::service::{hex, pattern};
use super::socket::{self, Address, Socket};

/// Bytes of the page.
const BODY: usize = 4096;
/// Longest request head the server reads, and reply head the client does.
const MOST_HEAD: usize = 1024;

/// The benchmark.
pub fn benchmark(place: Place) -> Benchmark {
    super::benchmark(place, "http", "GET", "An HTTP GET of 4 KiB on a connection of its own", run)
}

fn run(bench: &mut Bench, place: Place, metric: &str) -> Result<(), Stop> {
    let mut far = FarSide::open(bench, place)?;
    let service = far.start("tcp http")?;
    let address = Address::internet(service.address);
    let request = format!("GET /{} HTTP/1.1\r\nHost: tlbench\r\n\r\n", hex(&service.key));
    let body = pattern(BODY);
    bench.note(metric, "body_bytes", BODY);
    bench.measure(metric, |iterations, timer| {
        (0..iterations).try_for_each(|_| {
            let failed = |e| far.failed("the GET", &e);
            let client = timer.time(|| Socket::stream(&address)).map_err(failed)?;
            socket::set_patience(&client, PATIENCE).map_err(failed)?;
            socket::reset_on_close(&client).map_err(failed)?;
            let page = timer.time(|| get(client, &address, &request)).map_err(failed)?;
            check(page == body, "the page is not the server's")
        })
    })
}

/// Connects, asks, reads the page and closes.
fn get(client: Socket, address: &Address, request: &str) -> io::Result<Vec<u8>> {
    client.connect(address)?;
    let mut stream = TcpStream::from(client.into_fd());
    stream.write_all(request.as_bytes())?;
    let mut reply = Vec::with_capacity(MOST_HEAD + BODY);
    let mut buffer = [0; MOST_HEAD + BODY];
    let (head, body) = loop {
        match stream.read(&mut buffer)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            n => reply.extend_from_slice(&buffer[..n]),
        }
        if let Some(parsed) = reply_head(&reply)? {
            break parsed;
        }
    };
    while reply.len() < head + body {
        match stream.read(&mut buffer)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            n => reply.extend_from_slice(&buffer[..n]),
        }
    }
    Ok(reply.split_off(head))
}

/// Lengths of head and body of a reply; `None` while the head is not all there.
fn reply_head(reply: &[u8]) -> io::Result<Option<(usize, usize)>> {
    let invalid = |what: &str| io::Error::new(io::ErrorKind::InvalidData, what.to_owned());
    let Some(head) = head_length(reply) else {
        return if reply.len() > MOST_HEAD { Err(invalid("the reply has no head")) } else { Ok(None) };
    };
    let text = std::str::from_utf8(&reply[..head]).map_err(|_| invalid("the head is no text"))?;
    if !text.starts_with("HTTP/1.1 200 ") {
        return Err(invalid(&format!("the server answers {}", text.lines().next().unwrap_or_default())));
    }
    let length = text.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().ok())?
    });
    match length {
        Some(body) if body <= BODY => Ok(Some((head, body))),
        _ => Err(invalid("the reply has no usable Content-Length")),
    }
}

/// Length of a head with the empty line that ends it.
fn head_length(bytes: &[u8]) -> Option<usize> {
    bytes.windows(4).position(|four| four == b"\r\n\r\n").map(|at| at + 4)
}

/// The server's reply to a GET of its page.
pub fn page() -> Vec<u8> {
    let mut reply = format!("HTTP/1.1 200 OK\r\nContent-Length: {BODY}\r\n\r\n").into_bytes();
    reply.extend_from_slice(&pattern(BODY));
    reply
}

/// The server's part: answers the requests of one connection until it ends, those for `path` with `page`.
pub fn answer(stream: &mut TcpStream, path: &str, page: &[u8]) -> io::Result<()> {
    let mut head = [0; MOST_HEAD];
    let mut length = 0;
    loop {
        match stream.read(&mut head[length..])? {
            0 => return Ok(()),
            n => length += n,
        }
        let Some(end) = head_length(&head[..length]) else {
            if length == head.len() {
                return stream
                    .write_all(b"HTTP/1.1 431 Request Header Fields Too Large\r\nContent-Length: 0\r\n\r\n");
            }
            continue;
        };
        let line = head[..end].split(|&b| b == b'\r').next().unwrap_or_default();
        let words: Vec<&[u8]> = line.split(|&b| b == b' ').collect();
        if words.len() == 3 && words[0] == b"GET" && words[1] == path.as_bytes() {
            stream.write_all(page)?;
        } else {
            stream.write_all(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")?;
        }
        head.copy_within(end..length, 0);
        length -= end;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_are_parsed_or_refused() {
        assert_eq!(reply_head(b"HTTP/1.1 200 OK\r\nContent-").unwrap(), None);
        let head = b"HTTP/1.1 200 OK\r\ncontent-length: 12\r\n\r\nhello";
        assert_eq!(reply_head(head).unwrap(), Some((head.len() - 5, 12)));
        assert!(reply_head(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n").is_err());
        assert!(reply_head(b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n").is_err());
        assert!(reply_head(&[b'x'; 2000]).is_err());
    }
}
