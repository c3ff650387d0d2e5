//! The requests of clients that a gateway passes to its host: lists and calls of tools, consent, tasks and resources.

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use planwright_core::{Catalog, Tool, Value};
use planwright_mcp::gateway::{
    ClientId, GatewayClient, Host, HostCall, PassthroughMode, SuspendedCall, TaskRequest,
};
use planwright_mcp::{Caller, UpstreamError};
use tokio::sync::watch;

use crate::host::PlanHost;
use crate::settings::GatewayMode;
use crate::tools::arguments::BadRequest;
use crate::tools::{CallFailure, GatewayTool, MOVE_TO_STAGE, instructions};

impl Host for PlanHost {
    fn instructions(&self) -> Option<String> {
        match self.settings.compat {
            Some(_) => None,
            None => instructions(self.settings.mode),
        }
    }

    fn passthrough_mode(&self) -> PassthroughMode {
        if self.settings.mode.passes() {
            PassthroughMode::Everything
        } else {
            PassthroughMode::Nothing
        }
    }

    fn supports_tasks(&self) -> bool {
        self.settings.mode != GatewayMode::Plain || self.settings.compat.is_some()
    }

    fn tools(self: Arc<Self>, client: GatewayClient) -> BoxFuture<'static, Vec<Value>> {
        Box::pin(async move {
            if let Some(profile) = self.settings.compat {
                return self.profile_definitions(&client, profile).await;
            }
            GatewayTool::definitions(&self, &client)
        })
    }

    fn owns(&self, client: &GatewayClient, name: &str) -> bool {
        if let Some(profile) = self.settings.compat {
            return self.profile_owns(client, profile, name);
        }
        GatewayTool::is_visible(self, client, name)
    }

    fn reserves(&self, name: &str) -> bool {
        let own = match self.settings.compat {
            Some(profile) => self.profile_reserves(profile, name),
            None => GatewayTool::is_reserved(self, name),
        };
        own || name == MOVE_TO_STAGE && !self.settings.config.stages().is_empty()
    }

    fn knows(&self, client: &GatewayClient, tool: &Tool) -> bool {
        self.client_policy(client).hiding_rule(tool).is_none()
    }

    fn allows(&self, client: &GatewayClient, tool: &Tool) -> Result<(), UpstreamError> {
        // The client calls such a tool for a view that it shows, not for its model.
        let shown = (tool.for_views && client.supports_views()).then(|| Tool {
            for_views: false,
            ..tool.clone()
        });
        match self
            .policy(client)
            .objection(shown.as_ref().unwrap_or(tool))
        {
            None => Ok(()),
            Some((message, help)) => Err(UpstreamError::new(
                UpstreamError::INVALID,
                format!("{message}; {help}"),
            )),
        }
    }

    fn note_result(
        &self,
        client: &GatewayClient,
        tool: &Tool,
        arguments: &Value,
        duration: Duration,
        result: &Result<Value, UpstreamError>,
    ) {
        let now = (self.settings.now)();
        let began = now.checked_sub(duration).unwrap_or(now);
        self.record_call(client, tool, arguments, began, result);
        self.note_answer_of(client, tool);
        self.note_result_of(client, tool, result);
    }

    fn note_text(&self, client: &GatewayClient) {
        self.note_unknown_answer(client);
    }

    fn consent(
        self: Arc<Self>,
        client: GatewayClient,
        tool: Tool,
        arguments: Value,
        caller: Arc<dyn Caller>,
    ) -> BoxFuture<'static, Result<(), UpstreamError>> {
        Box::pin(async move {
            let verdicts = &self.tool_snapshot().verdicts;
            let rules = &self.settings.config;
            // Clients see the annotations of a tool and can ask by themselves; they cannot see that the tool changed since it was pinned.
            let configured = rules.catalog(&Catalog::from_iter([tool.clone()]));
            let mut asked = configured
                .get(&tool.server, &tool.name)
                .map_or(tool.clone(), |tool| Tool::clone(tool));
            let client_reason = self.client_policy(&client).approval_reason(&tool);
            let is_ruled = rules.asks_about(&tool)
                || client_reason.is_some()
                || verdicts.reason(&tool).is_some();
            // Calls of destructive tools need an approval here as well, if the client can show a form.
            let is_asked = asked.needs_approval() && client.supports_forms();
            let refused = |error: BadRequest| UpstreamError::new(UpstreamError::INVALID, error.0);
            let objection = self
                .objection_to_literals(&client, &asked, &arguments)
                .map_err(refused)?;
            if !(is_ruled || is_asked || objection.is_some()) {
                return Ok(());
            }
            if let Some(reason) = objection {
                asked.approval = true;
                asked.approval_reason = Some(reason);
            }
            if client_reason.is_some() {
                asked.approval = true;
                asked.approval_reason = client_reason;
            }
            verdicts.apply(&mut asked);
            let began = (self.settings.now)();
            let agreed = self
                .require_consent(&client, asked, arguments.clone(), caller)
                .await
                .and_then(|()| self.is_as_shown(&tool));
            if let Err(error) = &agreed {
                self.record_refused_call(&client, &tool, &arguments, began, &error.0);
            }
            agreed.map_err(refused)
        })
    }

    fn call(self: Arc<Self>, call: HostCall) -> BoxFuture<'static, Result<Value, UpstreamError>> {
        Box::pin(async move {
            if let Some(profile) = self.settings.compat {
                let answered = self.call_profile_tool(&call, profile).await;
                return Ok(answered.unwrap_or_else(|error| self.refusal_response(&error.0)));
            }
            let client = call.client.clone();
            let has_view = GatewayTool::has_view(&call.name);
            let result = match GatewayTool::call(Arc::clone(&self), call).await {
                Err(CallFailure::Refused(error)) => self.refusal_response(&error.0),
                Err(CallFailure::Upstream(error)) => return Err(error),
                Ok(result) => result,
            };
            Ok(if has_view {
                self.with_view_token(&client, result)
            } else {
                result
            })
        })
    }

    fn request_state(&self, call: &SuspendedCall<'_>) -> Option<String> {
        self.state_of(call)
    }

    fn continue_call(
        self: Arc<Self>,
        call: HostCall,
        state: String,
        answers: Value,
    ) -> BoxFuture<'static, Result<Value, UpstreamError>> {
        Box::pin(async move {
            // Apart, since the future is large.
            Box::pin(self.continue_run(&call, &state, &answers)).await
        })
    }

    fn end_client(&self, client: &ClientId) {
        self.exposed.remove(client);
        self.runs.cancel_all(client);
    }

    fn resources(self: Arc<Self>, client: GatewayClient) -> BoxFuture<'static, Vec<Value>> {
        // Resources of runs are linked in answers; a list of all of them would help no client.
        let view = self.view_entry(&client);
        Box::pin(std::future::ready(view.into_iter().collect()))
    }

    fn read(
        self: Arc<Self>,
        client: GatewayClient,
        uri: String,
    ) -> BoxFuture<'static, Option<Result<Value, UpstreamError>>> {
        Box::pin(async move {
            match self.read_document(&client, &uri) {
                Some(read) => Some(read),
                None => self.read_resource(&client, &uri).await,
            }
        })
    }

    fn task(
        self: Arc<Self>,
        client: GatewayClient,
        request: TaskRequest,
    ) -> BoxFuture<'static, Result<Value, UpstreamError>> {
        Box::pin(async move { Box::pin(self.task_request(client, request)).await })
    }

    fn changes(&self) -> watch::Receiver<u64> {
        self.ticks.subscribe()
    }
}
