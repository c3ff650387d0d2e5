use std::borrow::Cow;

use rmcp::RoleServer;
use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    ClientNotification, ClientRequest, CustomResult, ErrorData, ProtocolVersion, ServerConfig,
    ServerResult,
};
use rmcp::service::{NotificationContext, RequestContext, Service};

use super::deliver::Slot;
use super::front::Front;

/// The service over a stream: a handler whose results bypass the types of `rmcp`.
#[derive(Debug)]
pub(super) struct Raw(pub(super) Front);

impl Service<RoleServer> for Raw {
    async fn handle_request(
        &self,
        request: ClientRequest,
        mut context: RequestContext<RoleServer>,
    ) -> Result<ServerResult, ErrorData> {
        let slot = Slot::default();
        context.extensions.insert(slot.clone());
        let result = Service::handle_request(&self.0, request, context).await?;
        Ok(match slot.take() {
            Some(raw) => ServerResult::CustomResult(CustomResult::new(raw.into())),
            None => result,
        })
    }

    async fn handle_notification(
        &self,
        notification: ClientNotification,
        context: NotificationContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        Service::handle_notification(&self.0, notification, context).await
    }

    fn get_info(&self) -> ServerConfig {
        ServerHandler::get_info(&self.0)
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        ServerHandler::supported_protocol_versions(&self.0)
    }
}
