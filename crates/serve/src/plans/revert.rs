//! Reverts: the runs that undo what other runs of a client did. A model asks for one, and decides nothing about it: what cannot be undone is
//! left to a person, and each call asks as any call does.

use std::collections::BTreeSet;
use std::sync::Arc;

use planwright::service::{Revert, RevertRequest, RunSpec, RunStorage};
use planwright::stored::{StoredRun, StoredRunError};
use planwright_core::{Lookup, Object, Policy, Tool, Value};
use planwright_mcp::gateway::{ClientId, GatewayClient, HostCall};
use planwright_store::{LeaseHolder, RunInfo};

use crate::host::{PlanHost, spawn_blocking_limited};
use crate::plans::execute::{InvalidPlan, may_gain_tools};
use crate::response::answer;
use crate::runs::lookup::FoundRun;
use crate::runs::registry::{RunProgress, owner};
use crate::tools::arguments::{BadRequest, GatewayArguments};
use crate::tools::snapshot::ToolSnapshot;

impl PlanHost {
    /// Handles `revert_run`.
    pub(crate) async fn revert(&self, call: &HostCall) -> Result<Value, BadRequest> {
        let names = ["run", "from", "check"];
        let request = GatewayArguments::read("revert_run", &call.arguments, &names)?;
        let id = request.text("run")?;
        let from = request.optional_text("from")?.map(str::to_owned);
        let only_lists = request.get("check").and_then(Value::as_bool) == Some(true);
        let (info, stored) = self.ended_run(&call.client, id).await?;
        let of = stored.run.client.clone();
        let of = of.map_or_else(ClientId::local, ClientId::new);
        let mut policy = self.policy(&call.client);
        if let (Some(flow), Some(planner)) = (&mut policy.flow, stored.planner()) {
            flow.planner = planner;
        }
        let known = stored.process.iter().flat_map(|process| &process.tools);
        let known: BTreeSet<String> = known
            .map(|tool| Tool::from(tool).qualified_name().to_string())
            .collect();
        let snapshot = self.snapshot_with(&call.client, &known).await;
        let holder = self.holder(&call.client, &of);
        let prepared = self.prepare_revert((&info, from), snapshot, policy.clone(), holder);
        let mut revert = Box::pin(prepared).await?;
        let mut snapshot = self.snapshot_with(&call.client, &revert.tool_names()).await;
        // The rules for another client must not drop the approvals that the rules for the owner require.
        let is_own = stored.run.client == owner(&call.client.id);
        let asks = |tool: &Tool| !is_own && stored.asks_in_revert(tool);
        if snapshot.extracting.tools().any(|tool| asks(tool)) {
            snapshot = Arc::new(snapshot.asking(asks));
        }
        let checked = match revert.check(&snapshot.extracting, &policy) {
            Ok(checked) => checked,
            Err(loaded) => return Ok(self.rejection_response(&InvalidPlan::Diagnostics(loaded))),
        };
        let checked = checked.filter(|_| !only_lists && is_complete(&revert));
        let Some((plan, loaded)) = checked else {
            return Ok(proposal_response(&revert, only_lists));
        };
        let Some(store) = self.settings.store.clone() else {
            return Err(not_stored());
        };
        let slot = self.reserve(&call.client, &of)?;
        let now = (self.settings.now)();
        let spec = RunSpec {
            id: revert.id.clone(),
            options: self.options(&call.client, &plan)?,
            leases: revert.take_leases(),
            storage: RunStorage::New {
                store,
                holder: self.holder(&call.client, &of),
                run: Box::new(revert.new_run(&loaded, now)),
            },
            client: Some(of.as_str().into()),
            ..RunSpec::new(plan)
        };
        let warnings = Vec::new();
        let running = self
            .launch(call, &snapshot, (spec, slot), (now, warnings))
            .await?;
        self.wait(call, &running).await
    }

    /// Returns a stored run that is not in progress here.
    async fn ended_run(
        &self,
        client: &GatewayClient,
        id: &str,
    ) -> Result<(RunInfo, StoredRun), BadRequest> {
        let stored = match self.find(client, id).await? {
            FoundRun::Local(running)
                if matches!(running.progress(), RunProgress::InProgress { .. }) =>
            {
                return Err(BadRequest(format!(
                    "the run `{id}` is in progress; get_run says when it has ended"
                )));
            }
            FoundRun::Local(_) => self.read_stored_run(client, id).await?,
            FoundRun::Stored(stored) => Some(*stored),
        };
        stored.ok_or_else(not_stored)
    }

    /// Returns the tools of a client, once the servers that may have `names` have started.
    async fn snapshot_with(
        &self,
        client: &GatewayClient,
        names: &BTreeSet<String>,
    ) -> Arc<ToolSnapshot> {
        let mut changes = self.upstreams.changes();
        loop {
            changes.mark_unchanged();
            // The servers are read before the tools: a server that becomes ready in between has its tools in the snapshot.
            let seen = self.upstreams.view();
            let snapshot = self.tools_of(client);
            let catalog = &snapshot.extracting;
            let is_unknown = |name: &String| matches!(catalog.find(name), Lookup::Unknown);
            if names.iter().any(is_unknown)
                && may_gain_tools(&seen, catalog.servers(), names)
                && changes.changed().await.is_ok()
            {
                continue;
            }
            return snapshot;
        }
    }

    /// Reads what a run did, and computes the undos.
    async fn prepare_revert(
        &self,
        (info, from): (&RunInfo, Option<String>),
        snapshot: Arc<ToolSnapshot>,
        policy: Policy,
        holder: LeaseHolder,
    ) -> Result<Revert, BadRequest> {
        let Some(store) = self.settings.store.clone() else {
            return Err(not_stored());
        };
        let (run, runtime) = (info.id.clone(), tokio::runtime::Handle::current());
        let prepare = move || {
            // The tools of the snapshot have the settings of the configuration already.
            let configured =
                |tool: Tool| match snapshot.extracting.find(tool.qualified_name().as_str()) {
                    Lookup::Found(known) => Tool::clone(&known),
                    Lookup::Ambiguous(_) | Lookup::Unknown => tool,
                };
            let request = RevertRequest {
                run: run.as_str(),
                from: from.as_deref(),
                configured: &configured,
                policy: &policy,
                holder: &holder,
                is_leased: false,
            };
            runtime.block_on(Revert::prepare(&store, request))
        };
        spawn_blocking_limited(prepare)
            .await
            .map_err(|error| BadRequest(error.to_string()))?
            .map_err(|error: StoredRunError| BadRequest(error.to_string()))
    }
}

fn not_stored() -> BadRequest {
    BadRequest("the run is not stored, so what it did is not known".to_owned())
}

/// Returns true if the revert leaves no call that cannot be undone, also none that ended before those to undo: which part of such a run is
/// undone is for a person to decide.
fn is_complete(revert: &Revert) -> bool {
    revert.is_complete() && revert.left_out.is_empty()
}

/// Returns the response for a revert that does not start. It has no arguments and no texts of tools: the client may not have read the
/// results of the run.
fn proposal_response(revert: &Revert, only_lists: bool) -> Value {
    let call = |at: String, tool: &str| {
        vec![
            ("call", Value::from(at.as_str())),
            ("tool", Value::from(tool)),
        ]
    };
    let undos = revert.undos.iter().map(|undo| {
        let mut fields = call(undo.at.to_string(), undo.called.as_str());
        fields.push(("undo", Value::Text(Arc::clone(&undo.tool))));
        Value::object(fields)
    });
    let unreverted = revert.left_out.iter().chain(&revert.unreverted);
    let unreverted =
        unreverted.map(|left| Value::object(call(left.at.to_string(), left.tool.as_str())));
    let in_doubt = revert.in_doubt.iter();
    let in_doubt =
        in_doubt.map(|left| Value::object(call(left.at.to_string(), left.tool.as_str())));
    let (status, next) = match (is_complete(revert), revert.undos.is_empty()) {
        (false, _) => (
            "rejected",
            format!(
                "not everything can be undone, so nothing was called; a person decides about the rest with `planwright revert {} --partial`",
                revert.run
            ),
        ),
        (true, true) => ("sound", "there is nothing to undo".to_owned()),
        (true, false) => (
            "sound",
            format!(
                "revert_run with {{\"run\": \"{}\"}} undoes these calls",
                revert.run
            ),
        ),
    };
    let mut fields = Object::default();
    fields.insert("status".into(), Value::from(status));
    fields.insert("run".into(), Value::from(revert.run.as_str()));
    fields.insert("undos".into(), Value::list(undos));
    fields.insert("not_undone".into(), Value::list(unreverted));
    fields.insert("unknown".into(), Value::list(in_doubt));
    let before = u64::try_from(revert.undone_before).unwrap_or(u64::MAX);
    fields.insert("undone_before".into(), Value::from(before));
    fields.insert("next".into(), Value::from(next));
    answer::structured(fields, status == "rejected" && !only_lists)
}
