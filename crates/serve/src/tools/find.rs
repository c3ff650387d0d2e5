//! The gateway's tools that find tools, and those that call one without a plan.

use std::sync::Arc;

use planwright::loaded_plan::{LoadedPlan, single_call};
use planwright_core::{Catalog, Lookup, Tool, Value};
use planwright_dialects::native::Native;
use planwright_dialects::{Dialect, ReadOptions};
use planwright_engine::Decision;
use planwright_engine::RunId;
use planwright_engine::approval::{ApprovalRequest, Approver};
use planwright_engine::backend::{CallClock, CallContext, ToolBackend, ToolCall};
use planwright_engine::event::Address;
use planwright_engine::id::random_id;
use planwright_mcp::gateway::{
    CALL_GRACE, GatewayClient, HostCall, NOTIFIED_CLIENT_GRACE, request_until_complete,
};
use planwright_mcp::{Caller, UpstreamError};

use crate::host::PlanHost;
use crate::plans::approver::ClientApprover;
use crate::response::answer;
use crate::settings::GatewayMode;
use crate::signatures::{estimate_tokens, look_up_tools, signature};
use crate::tools::arguments::{BadRequest, GatewayArguments};
use crate::tools::snapshot::{ToolSnapshot, changes_of, with_answers};

/// The default number of results of a search.
const DEFAULT_RESULTS: u64 = 10;

/// The maximum number of results of a search.
const MAX_RESULTS: u64 = 50;

/// The maximum number of results that a search describes in full for clients without `describe_tools`.
const MAX_DESCRIBED: usize = 3;

/// The maximum number of tokens of these descriptions.
const MAX_DESCRIBED_TOKENS: usize = 1_000;

impl PlanHost {
    /// Handles `search_tools`.
    pub(crate) async fn search(&self, call: &HostCall) -> Result<Value, BadRequest> {
        let names = ["query", "server", "limit"];
        let request = GatewayArguments::read("search_tools", &call.arguments, &names)?;
        let query = request.optional_text("query")?.unwrap_or_default();
        let server = request.optional_text("server")?;
        let limit = request
            .number("limit")?
            .unwrap_or(DEFAULT_RESULTS)
            .min(MAX_RESULTS);
        let snapshot = self
            .settled_tools(&call.client, NOTIFIED_CLIENT_GRACE)
            .await;
        let policy = self.policy(&call.client);
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        // Forbidden tools are filtered out, so the search takes further results.
        let hits = snapshot.index().search_in_server(server, query, usize::MAX);
        let open = hits
            .iter()
            .filter(|hit| policy.objection(&hit.tool).is_none())
            .take(limit);
        let tools: Vec<&Tool> = open.map(|hit| &*hit.tool).collect();
        // The other modes have `describe_tools`.
        let lines = if self.settings.mode == GatewayMode::Search && !query.trim().is_empty() {
            self.best_described(&snapshot, &tools)
        } else {
            tools.iter().map(|tool| signature(tool)).collect()
        };
        let mut text = if lines.is_empty() {
            format!("no tool fits `{query}`")
        } else {
            lines.join("\n")
        };
        for missing in self.missing_servers() {
            text.push_str("\nnote: ");
            text.push_str(&missing);
        }
        let tools = lines.into_iter().map(Value::from).collect::<Vec<_>>();
        Ok(answer::text_only(
            text,
            Value::object([("tools", Value::from(tools))]),
        ))
    }

    /// Returns the descriptions of the first tools as `describe_tools` gives them, within a budget, and the signatures of the others.
    fn best_described(&self, snapshot: &ToolSnapshot, tools: &[&Tool]) -> Vec<String> {
        let catalog = with_answers(Catalog::clone(&snapshot.catalog), &self.settings);
        let mut budget = MAX_DESCRIBED_TOKENS;
        let described = tools.iter().enumerate().map(|(rank, tool)| {
            let short = signature(tool);
            if rank >= MAX_DESCRIBED {
                return short;
            }
            let name = tool.qualified_name().to_string();
            let found = look_up_tools(&catalog, [name.as_str()]);
            let text = found.iter().map(ToString::to_string).collect::<String>();
            let text = text.trim_end();
            match budget.checked_sub(estimate_tokens(text)) {
                Some(left) if found.iter().all(|found| found.tool().is_some()) => {
                    budget = left;
                    text.to_owned()
                }
                _ => short,
            }
        });
        described.collect()
    }

    /// Handles `describe_tools`.
    pub(crate) async fn describe(&self, call: &HostCall) -> Result<Value, BadRequest> {
        let request = GatewayArguments::read("describe_tools", &call.arguments, &["tools"])?;
        let names = request.texts("tools")?;
        if names.is_empty() {
            return Err(BadRequest(
                "name the tools: {\"tools\": [\"NAME\", …]}".to_owned(),
            ));
        }
        let names: Vec<&str> = names.iter().map(|name| &**name).collect();
        let snapshot = self
            .settled_tools_for(&call.client, &names, NOTIFIED_CLIENT_GRACE)
            .await;
        // Runs may have recorded more answers since the snapshot was made.
        let catalog = with_answers(Catalog::clone(&snapshot.catalog), &self.settings);
        let found = look_up_tools(&catalog, names);
        let texts: Vec<String> = found
            .iter()
            .map(|found| found.to_string().trim_end().to_owned())
            .collect();
        let mut text = texts.join("\n\n");
        if found.iter().any(|found| found.tool().is_none()) {
            for missing in self.missing_servers() {
                text.push_str("\nnote: ");
                text.push_str(&missing);
            }
        }
        let tools = texts.into_iter().map(Value::from).collect::<Vec<_>>();
        Ok(answer::text_only(
            text,
            Value::object([("tools", Value::from(tools))]),
        ))
    }

    /// `call_tool`: one call, as the server answers it.
    pub(crate) async fn call_tool(
        self: &Arc<Self>,
        call: &HostCall,
    ) -> Result<Value, UpstreamError> {
        let read = || {
            let names = ["tool", "arguments"];
            let request = GatewayArguments::read("call_tool", &call.arguments, &names)?;
            let arguments = request.object("arguments")?.unwrap_or_default();
            Ok::<_, BadRequest>((request.text("tool")?.to_owned(), arguments))
        };
        let (name, arguments) = match read() {
            Ok(read) => read,
            Err(error) => return Ok(answer::refusal_response(&error.0)),
        };
        let snapshot = self
            .settled_tools_for(&call.client, &[&name], CALL_GRACE)
            .await;
        let Lookup::Found(tool) = snapshot.catalog.find(&name) else {
            let found = look_up_tools(&snapshot.catalog, [name.as_str()]);
            let mut lines: Vec<String> = found.iter().map(ToString::to_string).collect();
            lines.extend(
                self.missing_servers()
                    .iter()
                    .map(|missing| format!("note: {missing}")),
            );
            return Ok(answer::refusal_response(&lines.join("\n")));
        };
        if let Some((message, help)) = self.policy(&call.client).objection(&tool) {
            return Ok(answer::refusal_response(&format!("{message}; {help}")));
        }
        let arguments = Value::from(arguments);
        let mut tool = tool;
        match self.objection_to_literals(&call.client, &tool, &arguments) {
            Ok(None) => {}
            Ok(Some(reason)) => {
                let asked = Arc::make_mut(&mut tool);
                asked.approval = true;
                asked.approval_reason = Some(reason);
            }
            Err(error) => return Ok(answer::refusal_response(&error.0)),
        }
        if tool.needs_approval() {
            let (asked, caller) = (Tool::clone(&tool), Arc::clone(&call.caller));
            let began = (self.settings.now)();
            let decision = ask_about_call(&call.client, asked, arguments.clone(), caller);
            let refusal = match decision.await {
                Decision::Approve { .. } => self.is_as_shown(&tool).err(),
                Decision::Reject { because } => Some(rejection(&tool, because)),
                Decision::Later => {
                    let waiting = self.wait_for_decision(call, &snapshot, &tool, &arguments);
                    let answered = waiting.await;
                    return Ok(answered.unwrap_or_else(|error| answer::refusal_response(&error.0)));
                }
            };
            if let Some(error) = refusal {
                self.record_refused_call(&call.client, &tool, &arguments, began, &error.0);
                return Ok(answer::refusal_response(&error.0));
            }
        }
        self.note_answer_of(&call.client, &tool);
        self.call_one(call, tool, arguments).await
    }

    /// Stores a call, for a client without forms, as a run that waits for a decision.
    async fn wait_for_decision(
        self: &Arc<Self>,
        call: &HostCall,
        snapshot: &ToolSnapshot,
        tool: &Tool,
        arguments: &Value,
    ) -> Result<Value, BadRequest> {
        let name = snapshot.catalog.unambiguous_name(tool);
        if self.settings.store.is_none() {
            return Err(BadRequest(format!(
                "a person has to decide about calls of `{name}`, and none can: this client cannot ask one, and calls that wait are not stored here"
            )));
        }
        let plan = single_call(&snapshot.catalog, tool, arguments);
        let (Some(text), _) = Native.print(&plan) else {
            return Err(BadRequest(format!(
                "the arguments of `{name}` cannot be stored until a person decides"
            )));
        };
        let read = || {
            let options = ReadOptions::new(&name).in_dialect(Native.name());
            let parsed = planwright_dialects::parse(text.as_bytes(), &options);
            LoadedPlan::new(&name, parsed)
        };
        match self.check_as_servers_start(&call.client, read).await {
            // A client that can show forms was asked already.
            Ok(valid) => {
                let began = (self.settings.now)();
                let started = self.start(&without_forms(call), valid).await;
                if started.is_ok() {
                    self.record_waiting_call(&call.client, tool, arguments, began);
                }
                started
            }
            Err(invalid) => Ok(self.rejection_response(&invalid)),
        }
    }

    /// Requires the agreement of the person at a client to a call of a tool that is passed through.
    pub(crate) async fn require_consent(
        &self,
        client: &GatewayClient,
        tool: Tool,
        arguments: Value,
        caller: Arc<dyn Caller>,
    ) -> Result<(), BadRequest> {
        match ask_about_call(client, tool.clone(), arguments, caller).await {
            Decision::Approve { .. } => Ok(()),
            Decision::Reject { because } => Err(rejection(&tool, because)),
            Decision::Later => Err(BadRequest(format!(
                "`{}` needs a person's consent, and this client cannot ask for it",
                tool.qualified_name()
            ))),
        }
    }

    async fn call_one(
        &self,
        call: &HostCall,
        tool: Arc<Tool>,
        arguments: Value,
    ) -> Result<Value, UpstreamError> {
        let is_own = self
            .settings
            .own
            .0
            .tools()
            .any(|own| own.server == tool.server);
        let began = (self.settings.now)();
        if is_own {
            let tool_call = ToolCall {
                context: CallContext::new("call", random_id()),
                clock: CallClock::default(),
                args: arguments.clone(),
                tool: Arc::clone(&tool),
            };
            let answered = self.settings.own.1.call(tool_call).await;
            self.record_own_call(&call.client, &tool, &arguments, began, &answered);
            return Ok(match answered {
                Ok(output) => answer::tool_result(output),
                Err(error) => {
                    self.note_unknown_answer(&call.client);
                    answer::refusal_response(&error.message)
                }
            });
        }
        let mut params = vec![
            ("name", Value::Text(Arc::clone(&tool.name))),
            ("arguments", arguments.clone()),
        ];
        if let Some(token) = &call.progress_token {
            let meta = Value::object([("progressToken", token.clone())]);
            params.push(("_meta", meta));
        }
        let caller = Arc::clone(&call.caller);
        let params = Value::object(params);
        let result =
            request_until_complete(&self.upstreams, &tool.server, "tools/call", params, caller)
                .await;
        self.record_call(&call.client, &tool, &arguments, began, &result);
        self.note_result_of(&call.client, &tool, &result);
        result
    }

    /// Handles `move_to_stage`.
    pub(crate) fn move_to_stage(&self, call: &HostCall) -> Result<Value, BadRequest> {
        let request =
            GatewayArguments::read("move_to_stage", &call.arguments, &["stage", "known"])?;
        let to = request.text("stage")?;
        let known = request.object("known")?.unwrap_or_default();
        let moved = self.stage(&call.client.id, |stages| {
            let before = stages.clone();
            for (name, value) in known {
                stages.tell(name, value);
            }
            let moved = stages.move_to(to);
            if moved.is_err() {
                *stages = before;
            }
            moved.map(|()| stages.current().name.to_string())
        });
        match moved {
            Some(Ok(stage)) => {
                self.announce();
                Ok(answer::text_only(
                    format!("the stage is `{stage}` now"),
                    Value::object([("stage", Value::from(stage))]),
                ))
            }
            Some(Err(error)) => Err(BadRequest(format!("{error}; {}", error.help()))),
            None => Err(BadRequest("there are no stages".to_owned())),
        }
    }
}

impl PlanHost {
    /// Checks that a tool has not changed since a person decided about a call of it.
    pub(crate) fn is_as_shown(&self, tool: &Tool) -> Result<(), BadRequest> {
        match changes_of(&self.upstreams, tool, u64::MAX) {
            None => Ok(()),
            Some(changes) => Err(BadRequest(format!(
                "`{}` changed while it was waiting for a decision ({}), so it was not called; call it again for a new decision",
                tool.qualified_name(),
                changes.names().join(", ")
            ))),
        }
    }
}

/// Asks a person at a client about a call without a plan.
async fn ask_about_call(
    client: &GatewayClient,
    tool: Tool,
    arguments: Value,
    caller: Arc<dyn Caller>,
) -> Decision {
    let approver = ClientApprover {
        form: client.supports_forms().then_some(caller),
        task: None,
    };
    let at = Arc::new(Address {
        inside: None,
        instance: None,
        step: "call".into(),
        item: None,
        round: None,
    });
    let request = ApprovalRequest::new(RunId::random(), at, Arc::new(tool), arguments);
    approver.decide(request).await
}

fn rejection(tool: &Tool, because: Option<String>) -> BadRequest {
    let because = because.map_or(String::new(), |because| format!(": {because}"));
    BadRequest(format!(
        "a person rejected the call of `{}`{because}",
        tool.qualified_name()
    ))
}

/// Returns the call as if its client showed no forms.
fn without_forms(call: &HostCall) -> HostCall {
    let mut call = call.clone();
    let mut capabilities = call.client.capabilities.as_object().cloned();
    if let Some(capabilities) = &mut capabilities {
        capabilities.shift_remove("elicitation");
    }
    call.client.capabilities = capabilities.unwrap_or_default().into();
    call
}
