//! One byte through a socket.

use heist::net::UnixStream;
use std::io::ErrorKind;
use std::os::unix::net::UnixStream as Blocking;

/// Two ends: one for the outside, and one to be made into a socket of a pool by whoever reads from it.
pub fn ends() -> (Blocking, Blocking) {
    let (near, far) = Blocking::pair().expect("two ends");
    far.set_nonblocking(true).expect("a mode");
    (near, far)
}

/// Waits for the byte. The socket is the pool's on whose thread this is first polled.
pub async fn read(far: Blocking) -> u8 {
    let far = UnixStream::from_std(far).expect("a socket of the pool's");
    let mut byte = [0];
    loop {
        match far.try_read(&mut byte) {
            Ok(1) => return byte[0],
            Ok(n) => panic!("{n} bytes from an open socket"),
            Err(error) if error.kind() == ErrorKind::WouldBlock => far.readable().await.expect("open"),
            Err(error) => panic!("{error}"),
        }
    }
}
