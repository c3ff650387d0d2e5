//! Stages of work: which tools each allows, moves between them, and refusals.

use std::sync::Arc;

use planwright::config::Stage;
use planwright_core::check::{Policy, StageRule};
use planwright_core::{Catalog, Object, Tool, ToolName, Value};
use planwright_dialects::document::nearest;

/// The current stage of one client, and its known values.
#[derive(Clone, Debug)]
pub struct Stages {
    all: Arc<[Stage]>,
    current: usize,
    known: Object,
}

impl Stages {
    /// Starts in the first of `stages`; `None` if there are none.
    pub fn new(stages: impl Into<Arc<[Stage]>>) -> Option<Self> {
        let all = stages.into();
        (!all.is_empty()).then(|| Self {
            all,
            current: 0,
            known: Object::default(),
        })
    }

    /// Returns the stage that the client is in.
    pub fn current(&self) -> &Stage {
        &self.all[self.current]
    }

    /// Returns all stages, in the order of the configuration.
    pub fn all(&self) -> &[Stage] {
        &self.all
    }

    /// Returns true if the current stage has `tool`.
    pub fn allows(&self, tool: &Tool) -> bool {
        has(self.current(), tool)
    }

    /// Checks that `tool` may be called now.
    ///
    /// # Errors
    ///
    /// The current stage does not have it.
    pub fn may_call(&self, tool: &Tool) -> Result<(), NotInStage> {
        if self.allows(tool) {
            return Ok(());
        }
        let others = self.others().filter(|stage| has(stage, tool));
        Err(NotInStage {
            tool: tool.qualified_name(),
            stage: Arc::clone(&self.current().name),
            others: others.map(|stage| Arc::clone(&stage.name)).collect(),
        })
    }

    /// Returns the tools of `catalog` that the current stage has.
    pub fn tools(&self, catalog: &Catalog) -> Catalog {
        let tools = catalog.tools().filter(|tool| self.allows(tool));
        tools.map(|tool| Tool::clone(tool)).collect()
    }

    /// Returns the policy, with plans confined to the tools of the current stage. A call of another tool becomes a diagnostic that
    /// names the stages that have it, so plans are checked against the whole catalog.
    pub fn restrict(&self, policy: Policy) -> Policy {
        let current = self.current();
        let others = self.others();
        policy.in_stage(StageRule {
            name: Arc::clone(&current.name),
            tools: current.tools.clone(),
            others: others
                .map(|stage| (Arc::clone(&stage.name), stage.tools.clone()))
                .collect(),
        })
    }

    /// Returns the values that the client has set.
    pub fn known(&self) -> &Object {
        &self.known
    }

    /// Sets a known value, for stages that need it; `null` removes it.
    pub fn tell(&mut self, name: impl Into<Arc<str>>, value: Value) {
        let name = name.into();
        if value.is_null() {
            self.known.shift_remove(&name);
        } else {
            self.known.insert(name, value);
        }
    }

    /// Moves to the stage `to`. The client can always stay in its stage.
    ///
    /// # Errors
    ///
    /// The stage does not exist, cannot be reached from here, or needs an unknown value; then nothing has changed.
    pub fn move_to(&mut self, to: &str) -> Result<(), MoveError> {
        self.current = self.target(to)?;
        Ok(())
    }

    /// Returns to the first stage, and clears the known values.
    pub fn restart(&mut self) {
        self.current = 0;
        self.known.clear();
    }

    fn others(&self) -> impl Iterator<Item = &Stage> {
        let current = self.current;
        let stages = self.all.iter().enumerate();
        stages
            .filter(move |(index, _)| *index != current)
            .map(|(_, stage)| stage)
    }

    fn target(&self, to: &str) -> Result<usize, MoveError> {
        let current = self.current();
        let Some((index, stage)) = self
            .all
            .iter()
            .enumerate()
            .find(|(_, stage)| *stage.name == *to)
        else {
            let names = self.all.iter().map(|stage| &*stage.name);
            return Err(MoveError::Unknown {
                to: to.into(),
                nearest: nearest(to, names).map(Arc::from),
                next: current.next.clone(),
            });
        };
        if index == self.current {
            return Ok(index);
        }
        if !current.next.contains(&stage.name) {
            return Err(MoveError::Unreachable {
                from: Arc::clone(&current.name),
                to: Arc::clone(&stage.name),
                next: current.next.clone(),
            });
        }
        let missing = stage
            .needs
            .iter()
            .filter(|name| !self.known.contains_key(*name));
        let missing: Vec<Arc<str>> = missing.cloned().collect();
        if missing.is_empty() {
            return Ok(index);
        }
        Err(MoveError::Missing {
            to: Arc::clone(&stage.name),
            missing,
        })
    }
}

fn has(stage: &Stage, tool: &Tool) -> bool {
    stage.tools.iter().any(|pattern| pattern.covers(tool))
}

/// A tool that the current stage does not have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the stage `{stage}` does not have the tool `{tool}`")]
pub struct NotInStage {
    /// The tool.
    pub tool: ToolName,
    /// The current stage.
    pub stage: Arc<str>,
    /// The stages with the tool.
    pub others: Vec<Arc<str>>,
}

impl NotInStage {
    /// Returns a hint for the client.
    pub fn help(&self) -> String {
        if self.others.is_empty() {
            return "no stage has this tool".to_owned();
        }
        format!("move to the stage {} first", either(&self.others))
    }
}

/// The reason why a client cannot move to a stage.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MoveError {
    /// The stage does not exist.
    #[error("there is no stage `{to}`")]
    Unknown {
        /// The requested stage.
        to: Arc<str>,
        /// The probably intended name.
        nearest: Option<Arc<str>>,
        /// The stages that can follow.
        next: Vec<Arc<str>>,
    },
    /// The current stage does not lead there.
    #[error("the stage `{to}` cannot be reached from `{from}`")]
    Unreachable {
        /// The current stage.
        from: Arc<str>,
        /// The requested stage.
        to: Arc<str>,
        /// The stages that can follow.
        next: Vec<Arc<str>>,
    },
    /// The stage needs values that are not known.
    #[error("the stage `{to}` needs {}", each(.missing))]
    Missing {
        /// The requested stage.
        to: Arc<str>,
        /// The names without a value.
        missing: Vec<Arc<str>>,
    },
}

impl MoveError {
    /// Returns a hint for the client.
    pub fn help(&self) -> String {
        match self {
            Self::Unknown {
                nearest: Some(near),
                ..
            } => format!("did you mean `{near}`?"),
            Self::Unknown { next, .. } | Self::Unreachable { next, .. } if next.is_empty() => {
                "this stage is the last one: stay in it".to_owned()
            }
            Self::Unknown { next, .. } | Self::Unreachable { next, .. } => {
                format!("from here you can move to {}", either(next))
            }
            Self::Missing { missing, .. } => format!("give {} a value, then move", each(missing)),
        }
    }
}

fn either(names: &[Arc<str>]) -> String {
    quoted(names).join(" or ")
}

fn each(names: &[Arc<str>]) -> String {
    quoted(names).join(" and ")
}

fn quoted(names: &[Arc<str>]) -> Vec<String> {
    names.iter().map(|name| format!("`{name}`")).collect()
}

#[cfg(test)]
mod tests {
    use planwright::config::{Config, ConfigSource, Origin};
    use planwright_core::check::Policy;
    use planwright_core::{Catalog, CheckContext, Tool, ToolName, Value, check};

    use super::Stages;

    const SHOP: &str = r#"
[stages.browse]
tools = ["shop.list", "find_*"]
next = ["checkout"]
[stages.checkout]
tools = ["shop.pay"]
needs = ["cart", "address"]
next = ["browse", "done"]
[stages.done]
tools = []
"#;

    fn stages(text: &str) -> Option<Stages> {
        let source = ConfigSource::read(Origin::User, "planwright.toml", text).unwrap();
        Stages::new(Config::of([&source]).stages())
    }

    fn shop() -> Stages {
        stages(SHOP).unwrap()
    }

    fn catalog() -> Catalog {
        let tools = [
            ("shop", "list"),
            ("shop", "pay"),
            ("mail", "find_letter"),
            ("mail", "send"),
        ];
        tools
            .into_iter()
            .map(|(server, name)| Tool::new(server, name))
            .collect()
    }

    /// Returns the names of the available tools.
    fn tools(stages: &Stages) -> Vec<ToolName> {
        let catalog = stages.tools(&catalog());
        catalog.tools().map(|tool| tool.qualified_name()).collect()
    }

    /// Returns the error of a move, with its help.
    fn refused(stages: &mut Stages, to: &str) -> String {
        let before = stages.current().name.clone();
        let error = stages.move_to(to).unwrap_err();
        assert_eq!(before, stages.current().name);
        format!("{error} ({})", error.help())
    }

    #[test]
    fn each_stage_has_its_tools() {
        let mut stages = shop();
        assert_eq!(tools(&stages), ["shop.list", "mail.find_letter"]);
        stages.tell("cart", Value::from(7));
        stages.tell("address", Value::from("Oslo"));
        stages.move_to("checkout").unwrap();
        assert_eq!(tools(&stages), ["shop.pay"]);
        stages.move_to("done").unwrap();
        assert_eq!(tools(&stages), [""; 0]);
        stages.restart();
        assert_eq!(
            (&*stages.current().name, stages.known().len()),
            ("browse", 0)
        );
        assert!(self::stages("").is_none());
    }

    #[test]
    fn moves_that_are_refused() {
        let mut stages = shop();
        assert!(stages.move_to("browse").is_ok());
        assert_eq!(
            refused(&mut stages, "chekout"),
            "there is no stage `chekout` (did you mean `checkout`?)"
        );
        assert_eq!(
            refused(&mut stages, "x"),
            "there is no stage `x` (from here you can move to `checkout`)"
        );
        assert_eq!(
            refused(&mut stages, "done"),
            "the stage `done` cannot be reached from `browse` (from here you can move to `checkout`)"
        );
        assert_eq!(
            refused(&mut stages, "checkout"),
            "the stage `checkout` needs `cart` and `address` (give `cart` and `address` a value, then move)"
        );
        stages.tell("address", Value::from("Oslo"));
        stages.tell("cart", Value::from(true));
        stages.tell("address", Value::Null);
        assert_eq!(
            refused(&mut stages, "checkout"),
            "the stage `checkout` needs `address` (give `address` a value, then move)"
        );
        stages.tell("address", Value::from(""));
        stages.move_to("checkout").unwrap();
        stages.move_to("done").unwrap();
        assert_eq!(
            refused(&mut stages, "browse"),
            "the stage `browse` cannot be reached from `done` (this stage is the last one: stay in it)"
        );
    }

    #[test]
    fn calls_that_are_refused() {
        let refused = |name: &str| {
            let error = shop().may_call(&Tool::new("shop", name)).unwrap_err();
            format!("{error} ({})", error.help())
        };
        assert!(shop().may_call(&Tool::new("shop", "list")).is_ok());
        assert_eq!(
            refused("pay"),
            "the stage `browse` does not have the tool `shop.pay` (move to the stage `checkout` first)"
        );
        assert_eq!(
            refused("send"),
            "the stage `browse` does not have the tool `shop.send` (no stage has this tool)"
        );
    }

    #[test]
    fn plans_are_confined_as_calls_are() {
        let plan = planwright::parse(
            r#"{"steps": [{"id": "a", "tool": "list"}, {"id": "b", "tool": "pay"}]}"#,
        );
        let catalog = catalog();
        let policy = shop().restrict(Policy::new());
        let (checked, findings) = check(
            plan.plan.unwrap(),
            &CheckContext::new(&catalog).with_policy(&policy),
        );
        assert!(checked.is_none());
        let texts: Vec<String> = findings
            .iter()
            .map(|finding| format!("{} {}", finding.code, finding.message))
            .collect();
        assert_eq!(
            texts,
            ["PW0602 the stage `browse` does not have the tool `pay`"]
        );
    }
}
