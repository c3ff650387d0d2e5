//! The server of the page on loopback.

use std::future::IntoFuture;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use tokio::net::TcpListener;

use crate::page::{Page, PageSettings};
use crate::session::{Access, PageToken};

/// A server that is bound to its port, and does not accept requests yet.
#[derive(Debug)]
pub struct PageServer {
    listener: TcpListener,
    address: SocketAddr,
    token: PageToken,
}

impl PageServer {
    /// Binds to a port of the loopback address; 0 selects a free one. Creates a new token.
    ///
    /// # Errors
    ///
    /// The port is in use, or the system has no random numbers.
    pub async fn bind(port: u16) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
        let address = listener.local_addr()?;
        let token = PageToken::random().map_err(io::Error::other)?;
        Ok(Self {
            listener,
            address,
            token,
        })
    }

    /// The address that opens the page, with its token.
    pub fn url(&self) -> String {
        format!("http://{}/#token={}", self.address, self.token.as_str())
    }

    /// Returns the address without its token. It suffices for a session that is already open.
    pub fn origin(&self) -> String {
        format!("http://{}/", self.address)
    }

    /// Serves the page until `end`, then drains its runs: calls in flight are cancelled after `drain_limit`.
    ///
    /// # Errors
    ///
    /// An error of the port.
    pub async fn serve(
        self,
        settings: PageSettings,
        drain_limit: Duration,
        end: impl Future<Output = ()> + Send + 'static,
    ) -> io::Result<()> {
        let page = Page::new(settings, Access::Owner(self.token), self.address.port());
        let watching = page.watch();
        // Streams of events never end by themselves, so this does not wait for requests in progress.
        let serving = axum::serve(self.listener, page.router()).into_future();
        let ending = async {
            end.await;
            page.drain(drain_limit).await;
        };
        tokio::select! {
            served = serving => served,
            never = watching => match never {},
            () = ending => Ok(()),
        }
    }
}
