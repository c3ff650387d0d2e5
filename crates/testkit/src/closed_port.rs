//! A port at which nobody listens, and nobody else can meanwhile.

use std::net::SocketAddr;

use tokio::net::TcpSocket;

/// A port that refuses connections until this is dropped: it is bound, but nobody listens at it. One that was merely free a
/// moment ago may be somebody else's by now.
#[derive(Debug)]
pub struct ClosedPort(TcpSocket);

impl ClosedPort {
    /// Takes one of this machine's ports.
    ///
    /// # Panics
    ///
    /// Where there is none.
    pub fn take() -> Self {
        let socket = TcpSocket::new_v4().expect("there are sockets");
        let any = SocketAddr::from(([127, 0, 0, 1], 0));
        socket.bind(any).expect("a port is free");
        Self(socket)
    }

    /// Where connections are refused.
    ///
    /// # Panics
    ///
    /// Never: it is bound.
    pub fn url(&self) -> String {
        let address = self.0.local_addr().expect("it is bound");
        format!("http://{address}")
    }
}

#[cfg(test)]
mod tests {
    use std::io::ErrorKind;
    use std::net::TcpStream;

    use super::ClosedPort;

    #[test]
    fn nobody_can_connect_or_take_it() {
        let closed = ClosedPort::take();
        let url = closed.url();
        let address = url.strip_prefix("http://").unwrap();
        let refused = TcpStream::connect(address).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
        let taken = std::net::TcpListener::bind(address).unwrap_err();
        assert_eq!(taken.kind(), ErrorKind::AddrInUse);
    }
}
