//! A socket's descriptor, for what other crates and the system can do with one.

/// `AsFd` and `AsRawFd`, for a type with a field `socket`.
macro_rules! descriptor {
    ($socket:ident) => {
        /// Options that have no method here are set through this. The socket must stay one that does not block.
        ///
        /// ```
        #[doc = concat!("# use heist::net::", stringify!($socket), ";")]
        /// use std::os::fd::{AsFd, OwnedFd};
        ///
        #[doc = concat!("fn duplicate(socket: &", stringify!($socket), ") -> std::io::Result<OwnedFd> {")]
        ///     socket.as_fd().try_clone_to_owned()
        /// }
        /// ```
        impl std::os::fd::AsFd for $socket {
            fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
                std::os::fd::AsFd::as_fd(&*self.socket)
            }
        }

        /// As `as_fd`, for those who want a number. It is closed together with the socket.
        ///
        /// ```
        #[doc = concat!("# use heist::net::", stringify!($socket), ";")]
        /// use std::os::fd::AsRawFd;
        ///
        #[doc = concat!("fn log(socket: &", stringify!($socket), ") {")]
        ///     println!("descriptor {}", socket.as_raw_fd());
        /// }
        /// ```
        impl std::os::fd::AsRawFd for $socket {
            fn as_raw_fd(&self) -> std::os::fd::RawFd {
                std::os::fd::AsRawFd::as_raw_fd(&*self.socket)
            }
        }
    };
}
pub(super) use descriptor;
