//! What can name a place to bind or connect to.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};

/// Addresses, or a name to look up: what [`lookup`](super::lookup), `bind` and `connect` take. Only a name takes time, on a
/// thread that may block.
///
/// ```
/// # heist::block_on(async {
/// let found = heist::net::lookup(("127.0.0.1", 80)).await.unwrap();
/// assert_eq!(found, ["127.0.0.1:80".parse().unwrap()]);
/// # });
/// ```
pub trait ToSocketAddrs: sealed::Sealed {}

/// What a [`ToSocketAddrs`] stands for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Place {
    /// One address.
    At(SocketAddr),
    /// Several.
    AtAny(Vec<SocketAddr>),
    /// A name with its port, `host:port`.
    Named(String),
    /// A name and a port.
    NamedAt(String, u16),
}

/// Keeps the trait closed, so that kinds of places can be added.
pub mod sealed {
    /// What the trait really does.
    pub trait Sealed {
        /// What it stands for.
        fn place(&self) -> super::Place;
    }
}
use sealed::Sealed;

impl<T: ToSocketAddrs + ?Sized> ToSocketAddrs for &T {}
impl<T: Sealed + ?Sized> Sealed for &T {
    fn place(&self) -> Place {
        T::place(self)
    }
}

macro_rules! at {
    ($($from:ty),*) => {$(
        impl ToSocketAddrs for $from {}
        impl Sealed for $from {
            fn place(&self) -> Place {
                Place::At(SocketAddr::from(*self))
            }
        }
    )*};
}
at!(SocketAddr, SocketAddrV4, SocketAddrV6, (IpAddr, u16), (Ipv4Addr, u16), (Ipv6Addr, u16));

impl ToSocketAddrs for [SocketAddr] {}
impl Sealed for [SocketAddr] {
    fn place(&self) -> Place {
        Place::AtAny(self.to_vec())
    }
}

impl<const N: usize> ToSocketAddrs for [SocketAddr; N] {}
impl<const N: usize> Sealed for [SocketAddr; N] {
    fn place(&self) -> Place {
        self.as_slice().place()
    }
}

impl ToSocketAddrs for Vec<SocketAddr> {}
impl Sealed for Vec<SocketAddr> {
    fn place(&self) -> Place {
        self.as_slice().place()
    }
}

impl ToSocketAddrs for str {}
impl Sealed for str {
    fn place(&self) -> Place {
        self.parse().map_or_else(|_| Place::Named(self.to_owned()), Place::At)
    }
}

impl ToSocketAddrs for String {}
impl Sealed for String {
    fn place(&self) -> Place {
        self.as_str().place()
    }
}

impl ToSocketAddrs for (&str, u16) {}
impl Sealed for (&str, u16) {
    fn place(&self) -> Place {
        let (host, port) = *self;
        match host.parse::<IpAddr>() {
            Ok(ip) => Place::At((ip, port).into()),
            Err(_) => Place::NamedAt(host.to_owned(), port),
        }
    }
}

impl ToSocketAddrs for (String, u16) {}
impl Sealed for (String, u16) {
    fn place(&self) -> Place {
        (self.0.as_str(), self.1).place()
    }
}

#[cfg(all(test, not(heist_model)))]
mod tests {
    use super::*;

    #[test]
    fn only_names_are_looked_up() {
        let at = |text: &str| Place::At(text.parse().unwrap());
        assert_eq!("127.0.0.1:80".place(), at("127.0.0.1:80"));
        assert_eq!("[::1]:80".to_owned().place(), at("[::1]:80"));
        assert_eq!(("::1", 80).place(), at("[::1]:80"));
        assert_eq!((Ipv4Addr::LOCALHOST, 80).place(), at("127.0.0.1:80"));
        assert_eq!("heist.test:80".place(), Place::Named("heist.test:80".into()));
        assert_eq!(("heist.test".to_owned(), 80).place(), Place::NamedAt("heist.test".into(), 80));
        assert_eq!([SocketAddr::from((Ipv4Addr::LOCALHOST, 1)); 2].place(), {
            Place::AtAny(vec!["127.0.0.1:1".parse().unwrap(); 2])
        });
    }
}
