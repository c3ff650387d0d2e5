//! A port that refuses connections and that no other process can bind.

use std::net::SocketAddr;

use tokio::net::TcpSocket;

/// A port that refuses connections until it is dropped: it is bound, but no socket listens. A port that was merely
/// free a moment ago may be in use by now.
#[derive(Debug)]
pub struct ClosedPort(TcpSocket);

impl ClosedPort {
    /// Binds a free port of this machine.
    ///
    /// # Panics
    ///
    /// If no port is free.
    pub fn take() -> Self {
        let socket = TcpSocket::new_v4().expect("there are sockets");
        let any = SocketAddr::from(([127, 0, 0, 1], 0));
        socket.bind(any).expect("a port is free");
        Self(socket)
    }

    /// The URL at which connections are refused.
    ///
    /// # Panics
    ///
    /// Never: the socket is bound.
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
    fn the_port_can_neither_be_reached_nor_bound() {
        let closed = ClosedPort::take();
        let url = closed.url();
        let address = url.strip_prefix("http://").unwrap();
        let refused = TcpStream::connect(address).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
        let taken = std::net::TcpListener::bind(address).unwrap_err();
        assert_eq!(taken.kind(), ErrorKind::AddrInUse);
    }
}
