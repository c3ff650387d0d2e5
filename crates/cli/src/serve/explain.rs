//! `planwright serve --explain`: the rules that apply to a client of the gateway, and what they leave.

use std::sync::Arc;

use planwright::config::{AuthenticatedClient, ClientPolicy, ClientSelector, Config};
use planwright::core::{Catalog, Tool};
use planwright::format::SettingV1;
use planwright::terminal_text;
use planwright_serve::claimed_identity;
use serde::Serialize;

use crate::args::{Format, RunFormat, ServeArguments};
use crate::error::{CommandError, Exit};
use crate::tools::open_servers::ServerUse;
use crate::tools::toolbox::Toolbox;
use crate::view::output;
use crate::view::printer::Printer;

/// The rules that apply to a client.
#[derive(Serialize)]
struct Explanation {
    client: String,
    groups: Vec<Arc<str>>,
    rules: Vec<AppliedTable>,
    tools: Vec<ExplainedTool>,
    bounds: Vec<SettingV1>,
    max_plans: usize,
    runs_of: Vec<String>,
}

/// A table of rules that selects the client.
#[derive(Serialize)]
struct AppliedTable {
    name: Arc<str>,
    set_in: Arc<str>,
    who: Vec<String>,
}

#[derive(Serialize)]
struct ExplainedTool {
    tool: String,
    access: ToolAccess,
    /// The rule, unless calls are allowed.
    #[serde(skip_serializing_if = "Option::is_none")]
    rule: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum ToolAccess {
    Allowed,
    Asked,
    Denied,
}

/// Prints the rules that apply to `client`.
pub(super) async fn explain(
    client: &str,
    arguments: &ServeArguments,
    config: Config,
    printer: Printer,
) -> Result<Exit, CommandError> {
    let identity = identity(client, &config)?;
    let toolbox = Toolbox::open(&arguments.tools, None, ServerUse::Lists, printer).await?;
    toolbox.servers.close().await;
    for note in toolbox.notes() {
        printer.status(&note);
    }
    // As in a gateway.
    let config = config.with_flow_by_default();
    let explanation = Explanation::of(&identity, &config, &toolbox.catalog);
    match arguments.format {
        Format::Json => output::json(&explanation, RunFormat::Json, printer)?,
        Format::Text => explanation.print(printer),
    }
    Ok(Exit::Success)
}

/// Returns the client that a person means.
fn identity(client: &str, config: &Config) -> Result<AuthenticatedClient, CommandError> {
    if client.trim_start().starts_with('{') {
        let claims = serde_json::from_str(client).map_err(|error| {
            CommandError::new(format!("the claims are not JSON: {error}"))
                .hint(r#"write them as `{"sub": "ada", "groups": ["staff"]}`"#)
        })?;
        let oauth = config.serve().oauth.as_ref().ok_or_else(|| {
            CommandError::new("no issuer of access tokens is set".to_owned())
                .hint("write `[serve.oauth]` into your own planwright.toml")
        })?;
        return claimed_identity(&claims, oauth).map_err(|reason| {
            CommandError::new(format!("a token with these claims is refused: {reason}"))
        });
    }
    match ClientSelector::try_from(client.to_owned()) {
        Ok(ClientSelector::Name(name)) => Ok(AuthenticatedClient {
            name,
            groups: Arc::default(),
        }),
        Ok(_) | Err(_) => Err(CommandError::new(format!("`{client}` is no client"))
            .hint("write `token:NAME`, `subject:NAME`, or the claims of a token as JSON")),
    }
}

impl Explanation {
    fn of(client: &AuthenticatedClient, config: &Config, catalog: &Catalog) -> Self {
        let policy = config.client_policy(client);
        let configured = config.catalog_asking(catalog, |_| true);
        let tools = configured.tools().map(|tool| {
            let (access, rule) = access(tool, config, &policy);
            ExplainedTool {
                tool: tool.qualified_name().to_string(),
                access,
                rule,
            }
        });
        let rules = policy.tables().map(|table| AppliedTable {
            name: Arc::clone(&table.name),
            set_in: Arc::clone(&table.set_in),
            who: table.who.iter().map(ToString::to_string).collect(),
        });
        let runs_of = policy.tables().flat_map(|table| &table.runs_of);
        let max_plans = config.serve().max_plans.as_ref();
        let max_plans = max_plans.map_or(planwright::config::Serve::MAX_PLANS, |bound| bound.limit);
        Self {
            client: client.name.to_string(),
            groups: client.groups.to_vec(),
            rules: rules.collect(),
            tools: tools.collect(),
            bounds: config.client_bounds(&policy),
            max_plans: policy.max_plans(usize::try_from(max_plans.get()).unwrap_or(usize::MAX)),
            runs_of: runs_of.map(ToString::to_string).collect(),
        }
    }

    fn print(&self, printer: Printer) {
        let line = |text: String| printer.data_line(&terminal_text::one_line(&text));
        line(format!("client   {}", self.client));
        if !self.groups.is_empty() {
            line(format!("groups   {}", self.groups.join(", ")));
        }
        if self.rules.is_empty() {
            line(
                "rules    none of `[clients]`: all that the rest of the configuration allows"
                    .to_owned(),
            );
        }
        for table in &self.rules {
            line(format!(
                "rules    clients.{} ({}), for {}",
                table.name,
                table.set_in,
                table.who.join(", ")
            ));
        }
        for (access, word) in [
            (ToolAccess::Allowed, "allowed"),
            (ToolAccess::Asked, "asked  "),
            (ToolAccess::Denied, "denied "),
        ] {
            for tool in self.tools.iter().filter(|tool| tool.access == access) {
                let rule = tool
                    .rule
                    .as_ref()
                    .map_or(String::new(), |rule| format!(": {rule}"));
                line(format!("{word}  {}{rule}", tool.tool));
            }
        }
        for bound in &self.bounds {
            line(format!(
                "bound    {} = {} ({})",
                bound.key, bound.value, bound.set_in
            ));
        }
        line(format!("plans    {} in progress", self.max_plans));
        for owner in &self.runs_of {
            line(format!("sees     runs of {owner}"));
        }
    }
}

/// Returns the access of a client to a tool, and the rule that restricts it.
fn access(tool: &Tool, config: &Config, policy: &ClientPolicy) -> (ToolAccess, Option<String>) {
    let forbidden = config.forbidding_rule(tool);
    if let Some(rule) = forbidden.or_else(|| policy.hiding_rule(tool)) {
        return (ToolAccess::Denied, Some(rule));
    }
    if let Some(reason) = policy.approval_reason(tool) {
        return (ToolAccess::Asked, Some(reason.to_string()));
    }
    if tool.needs_approval() {
        let reason = tool.approval_reason.as_deref();
        let reason = reason.unwrap_or("its server states that it may destroy something");
        return (ToolAccess::Asked, Some(reason.to_owned()));
    }
    (ToolAccess::Allowed, None)
}
