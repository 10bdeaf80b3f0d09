//! Sockets by raw system calls where the standard library adds some of its own, and two options it does not offer.

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::path::Path;
use std::time::Duration;

/// A socket address as the kernel takes it.
pub struct Address {
    storage: libc::sockaddr_storage,
    length: libc::socklen_t,
}

impl Address {
    /// An Internet address.
    pub fn internet(address: SocketAddr) -> Self {
        match address {
            SocketAddr::V4(v4) => Address::of(libc::sockaddr_in {
                sin_family: libc::AF_INET as libc::sa_family_t,
                sin_port: v4.port().to_be(),
                sin_addr: libc::in_addr { s_addr: u32::from_ne_bytes(v4.ip().octets()) },
                sin_zero: [0; 8],
            }),
            SocketAddr::V6(v6) => Address::of(libc::sockaddr_in6 {
                sin6_family: libc::AF_INET6 as libc::sa_family_t,
                sin6_port: v6.port().to_be(),
                sin6_flowinfo: v6.flowinfo(),
                sin6_addr: libc::in6_addr { s6_addr: v6.ip().octets() },
                sin6_scope_id: v6.scope_id(),
            }),
        }
    }

    /// A path of at most 107 bytes.
    pub fn unix(path: &Path) -> io::Result<Self> {
        use std::os::unix::ffi::OsStrExt;
        // SAFETY: an all-zero sockaddr_un is valid.
        let mut address: libc::sockaddr_un = unsafe { std::mem::zeroed() };
        let bytes = path.as_os_str().as_bytes();
        if bytes.len() >= address.sun_path.len() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "the path is too long for a socket"));
        }
        address.sun_family = libc::AF_UNIX as libc::sa_family_t;
        for (to, from) in address.sun_path.iter_mut().zip(bytes) {
            *to = *from as libc::c_char;
        }
        Ok(Address::of(address))
    }

    fn of<T>(address: T) -> Self {
        const { assert!(size_of::<T>() <= size_of::<libc::sockaddr_storage>()) };
        const { assert!(align_of::<T>() <= align_of::<libc::sockaddr_storage>()) };
        // SAFETY: all-zero storage is valid, and by the assertions any socket address fits in and is aligned.
        let storage = unsafe {
            let mut storage: libc::sockaddr_storage = std::mem::zeroed();
            (&raw mut storage).cast::<T>().write(address);
            storage
        };
        Address { storage, length: size_of::<T>() as libc::socklen_t }
    }
}

/// A stream socket.
pub struct Socket(OwnedFd);

impl Socket {
    /// A new one of the address's family.
    #[inline]
    pub fn stream(address: &Address) -> io::Result<Self> {
        let family = libc::c_int::from(address.storage.ss_family);
        // SAFETY: no pointers; a non-negative return is a new descriptor that nothing else owns.
        unsafe {
            match libc::socket(family, libc::SOCK_STREAM | libc::SOCK_CLOEXEC, 0) {
                -1 => Err(io::Error::last_os_error()),
                fd => Ok(Socket(OwnedFd::from_raw_fd(fd))),
            }
        }
    }

    /// Connects it; a time limit set before holds for this too.
    #[inline]
    pub fn connect(&self, address: &Address) -> io::Result<()> {
        // SAFETY: the storage holds an address of the length told.
        let returned =
            unsafe { libc::connect(self.0.as_raw_fd(), (&raw const address.storage).cast(), address.length) };
        match returned {
            0 => Ok(()),
            _ => match io::Error::last_os_error() {
                // How Linux says that the time limit passed (socket(7), SO_SNDTIMEO).
                error if error.raw_os_error() == Some(libc::EINPROGRESS) => {
                    Err(io::ErrorKind::TimedOut.into())
                }
                error => Err(error),
            },
        }
    }

    /// The descriptor.
    pub fn into_fd(self) -> OwnedFd {
        self.0
    }
}

impl AsRawFd for Socket {
    fn as_raw_fd(&self) -> i32 {
        self.0.as_raw_fd()
    }
}

/// Time limit of each sending, receiving and connecting call.
pub fn set_patience(socket: &impl AsRawFd, patience: Duration) -> io::Result<()> {
    let limit = libc::timeval {
        tv_sec: patience.as_secs() as libc::time_t,
        tv_usec: patience.subsec_micros() as libc::suseconds_t,
    };
    set(socket, libc::SO_SNDTIMEO, &limit)?;
    set(socket, libc::SO_RCVTIMEO, &limit)
}

/// Closing resets the connection, so that its port is not held for a minute afterwards.
pub fn reset_on_close(socket: &impl AsRawFd) -> io::Result<()> {
    set(socket, libc::SO_LINGER, &libc::linger { l_onoff: 1, l_linger: 0 })
}

fn set<T>(socket: &impl AsRawFd, option: libc::c_int, value: &T) -> io::Result<()> {
    let length = size_of::<T>() as libc::socklen_t;
    // SAFETY: value is a valid structure of the length told.
    match unsafe {
        libc::setsockopt(socket.as_raw_fd(), libc::SOL_SOCKET, option, (&raw const *value).cast(), length)
    } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
