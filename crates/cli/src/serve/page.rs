//! The page of runs on the port of the gateway. Each client logs in with its token; without tokens, the page is for the local user only.

use std::sync::Arc;

use planwright::config::Config;
use planwright::mcp::gateway::ClientId;
use planwright_serve::{HttpServer, PageRoutes, TokenClients};
use planwright_store::Store;
use planwright_web::{Access, NoTools, Page, PageClients, PageToken, PageTools};

use crate::error::CommandError;
use crate::serve::ui::page_settings;
use crate::view::printer::Printer;

/// The page of runs of a gateway.
pub(crate) struct ServedPage {
    pub(crate) page: Page,
    /// The address, without a token.
    pub(crate) origin: String,
}

impl ServedPage {
    /// Creates the page over `store`, and prints its address. `tools` are the tools of the user. Clients with tokens do not get them,
    /// because they run plans through the gateway.
    pub(crate) fn new(
        server: &HttpServer,
        store: &Store,
        config: &Config,
        tools: Arc<dyn PageTools>,
        printer: Printer,
    ) -> Result<Self, CommandError> {
        let address = server.address()?;
        let origin = format!("http://{address}/");
        let (access, tools): (_, Arc<dyn PageTools>) = match server.clients() {
            Some(clients) => {
                printer.status(&format!(
                    "the page of runs: {origin}, where each client logs in with its token"
                ));
                (
                    Access::Clients(Arc::new(Clients(clients))),
                    Arc::new(NoTools),
                )
            }
            None => {
                let token = PageToken::random().map_err(|error| {
                    CommandError::new("the system has no random numbers".to_owned()).internal(error)
                })?;
                printer.status(&format!(
                    "the page of runs: {origin}#token={}",
                    token.as_str()
                ));
                (Access::Owner(token), tools)
            }
        };
        let settings = page_settings(store, config, tools)?;
        let page = Page::behind(settings, access, address.port(), server.host_rule());
        Ok(Self { page, origin })
    }

    /// The routes of the page.
    pub(crate) fn routes(&self) -> PageRoutes {
        let page = self.page.clone();
        PageRoutes {
            router: page.router(),
            client: Arc::new(move |headers| {
                let client = page.session_client(headers)?;
                Some(client.map_or_else(ClientId::local, |name| ClientId::new(&*name)))
            }),
        }
    }
}

/// The clients of a gateway, by their tokens.
struct Clients(TokenClients);

impl PageClients for Clients {
    fn client(&self, token: &[u8; 32]) -> Option<Arc<str>> {
        Some(self.0.client(token)?.as_str().into())
    }
}
