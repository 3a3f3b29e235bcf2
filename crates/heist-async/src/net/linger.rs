//! `SO_LINGER`, which neither std nor mio offer.

use std::io;
use std::os::fd::AsRawFd;
use std::time::Duration;

/// In seconds; Apple's option of the plain name counts ticks.
#[cfg(target_vendor = "apple")]
const OPTION: libc::c_int = libc::SO_LINGER_SEC;
#[cfg(not(target_vendor = "apple"))]
const OPTION: libc::c_int = libc::SO_LINGER;

pub(super) fn get(socket: &impl AsRawFd) -> io::Result<Option<Duration>> {
    let mut linger = libc::linger { l_onoff: 0, l_linger: 0 };
    let mut len = size_of_val(&linger) as libc::socklen_t;
    // SAFETY: the descriptor is open as long as its socket; the system writes at most `len` bytes.
    let result = unsafe {
        libc::getsockopt(socket.as_raw_fd(), libc::SOL_SOCKET, OPTION, (&raw mut linger).cast(), &raw mut len)
    };
    if result != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok((linger.l_onoff != 0).then(|| Duration::from_secs(linger.l_linger as u64)))
}

pub(super) fn set(socket: &impl AsRawFd, value: Option<Duration>) -> io::Result<()> {
    // Rounded up, so that a wait that was asked for is not none.
    let seconds = value.unwrap_or_default().as_nanos().div_ceil(1_000_000_000);
    let seconds = libc::c_int::try_from(seconds).map_err(|_| io::ErrorKind::InvalidInput)?;
    let linger = libc::linger { l_onoff: value.is_some().into(), l_linger: seconds };
    // SAFETY: the descriptor is open as long as its socket; the system reads one `linger`.
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            OPTION,
            (&raw const linger).cast(),
            size_of_val(&linger) as libc::socklen_t,
        )
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
