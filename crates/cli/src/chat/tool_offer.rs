//! The tools that the model is offered in a turn: all of them if their definitions fit the budget, or else those that match the
//! words of the person, those that were called before, and those that the model finds with `find_tools`.

use std::sync::{Arc, Mutex, PoisonError};

use indexmap::{IndexMap, IndexSet};
use planwright::core::text::{without_hidden, without_hidden_texts};
use planwright::core::{Catalog, Tool, Value};
use planwright::planner::model::ToolDefinition;
use planwright::planner::tools::search::SearchIndex;
use planwright::planner::tools::signatures::{estimate_tokens, signature};

pub(super) const CREATE: &str = "plan_create";
pub(super) const EXECUTE: &str = "plan_execute";
pub(super) const CREATE_AND_EXECUTE: &str = "plan_create_and_execute";
pub(super) const FIND: &str = "find_tools";

/// Maximum number of tools in a request; providers refuse more.
const MAX_TOOLS: usize = 128;

/// Maximum number of tools that `find_tools` finds.
const MAX_FOUND: usize = 10;

/// The size of the definitions, as a multiple of `--tool-tokens`: a definition has about twice the tokens of a signature.
const DEFINITION_FACTOR: usize = 2;

/// The tools by the names that the model uses.
pub(super) fn tools_by_name(catalog: &Catalog) -> IndexMap<String, Arc<Tool>> {
    let mut tools = IndexMap::new();
    for tool in catalog.tools() {
        let name = tool.model_name();
        let mut free = name.clone();
        let mut count = 1;
        while tools.contains_key(&free) {
            count += 1;
            free = format!("{name}_{count}");
        }
        tools.insert(free, Arc::clone(tool));
    }
    tools
}

/// The tools that the model is offered.
pub(super) struct ToolOffer<'a> {
    tools: &'a IndexMap<String, Arc<Tool>>,
    index: Option<SearchIndex>,
    /// The names of the tools to offer if not all fit, the most important last.
    wanted: Mutex<IndexSet<String>>,
    budget: usize,
    with_plans: bool,
}

impl<'a> ToolOffer<'a> {
    /// Selects from `tools` for a message with `words`, after calls of the tools in `called`. The budget is `--tool-tokens`.
    pub(super) fn new<'c>(
        tools: &'a IndexMap<String, Arc<Tool>>,
        words: &str,
        called: impl IntoIterator<Item = &'c str>,
        tool_tokens: usize,
        with_plans: bool,
    ) -> Self {
        let mut offer = Self {
            tools,
            index: None,
            wanted: Mutex::default(),
            budget: tool_tokens.saturating_mul(DEFINITION_FACTOR),
            with_plans,
        };
        if !offer.fits_all() {
            let index = SearchIndex::new(tools.values());
            let hits = index.search(words, MAX_TOOLS);
            let hits = hits.iter().rev().filter_map(|hit| offer.name(&hit.tool));
            let mut wanted: IndexSet<String> = hits.map(str::to_owned).collect();
            // A model that sees its calls expects their tools.
            for name in called.into_iter().filter(|name| tools.contains_key(*name)) {
                wanted.shift_remove(name);
                wanted.insert(name.to_owned());
            }
            offer.wanted = Mutex::new(wanted);
            offer.index = Some(index);
        }
        offer
    }

    /// Returns the definitions, in the order of the catalog.
    pub(super) fn definitions(&self) -> Vec<ToolDefinition> {
        let mut definitions: Vec<ToolDefinition> = match &self.index {
            None => self.tools.iter().map(definition_of).collect(),
            Some(_) => {
                let offered = self.offered();
                let listed = self
                    .tools
                    .iter()
                    .filter(|(name, _)| offered.contains(*name));
                let mut definitions: Vec<ToolDefinition> = listed.map(definition_of).collect();
                definitions.push(find_tool(self.tools.len() - offered.len()));
                definitions
            }
        };
        if self.with_plans {
            definitions.extend(plan_tools());
        }
        definitions
    }

    /// Returns true if `name` is one of our own tools that the model is offered.
    pub(super) fn has_own(&self, name: &str) -> bool {
        match name {
            CREATE | EXECUTE | CREATE_AND_EXECUTE => self.with_plans,
            FIND => self.index.is_some(),
            _ => false,
        }
    }

    /// Finds tools by words and adds them to the offer. Returns their signatures.
    pub(super) fn find(&self, query: &str) -> Vec<String> {
        let Some(index) = &self.index else {
            return Vec::new();
        };
        let hits = index.search(query, MAX_FOUND);
        let mut wanted = self.wanted.lock().unwrap_or_else(PoisonError::into_inner);
        // The best tool is inserted last, so that it is the last to be removed.
        for name in hits.iter().rev().filter_map(|hit| self.name(&hit.tool)) {
            wanted.shift_remove(name);
            wanted.insert(name.to_owned());
        }
        let lines = hits.iter().filter_map(|hit| {
            let name = self.name(&hit.tool)?;
            Some(format!("`{name}`: {}", signature(&hit.tool)))
        });
        lines.collect()
    }

    fn fits_all(&self) -> bool {
        self.tools.len() <= max_tools() && self.tools.iter().map(cost).sum::<usize>() <= self.budget
    }

    /// Returns the names of the most important tools that fit the budget.
    fn offered(&self) -> IndexSet<String> {
        let wanted = self.wanted.lock().unwrap_or_else(PoisonError::into_inner);
        let mut left = self.budget;
        let mut offered = IndexSet::new();
        for name in wanted.iter().rev() {
            let Some(rest) = self
                .tools
                .get_key_value(name)
                .and_then(|tool| left.checked_sub(cost(tool)))
            else {
                continue;
            };
            if offered.len() == max_tools() {
                break;
            }
            left = rest;
            offered.insert(name.clone());
        }
        offered
    }

    /// Returns the name by which the model calls `tool`.
    fn name(&self, tool: &Arc<Tool>) -> Option<&'a str> {
        let found = self
            .tools
            .iter()
            .find(|(_, known)| Arc::ptr_eq(known, tool));
        found.map(|(name, _)| name.as_str())
    }
}

/// Estimates the tokens of a definition.
fn cost(tool: (&String, &Arc<Tool>)) -> usize {
    let definition = definition_of(tool);
    let parameters = definition.parameters.to_json();
    let texts = [&definition.name, &definition.description, &parameters];
    texts.into_iter().map(|text| estimate_tokens(text)).sum()
}

fn definition_of((name, tool): (&String, &Arc<Tool>)) -> ToolDefinition {
    let description = tool.description.as_deref().or(tool.title.as_deref());
    ToolDefinition {
        name: name.clone(),
        description: description
            .map(without_hidden)
            .unwrap_or_default()
            .into_owned(),
        parameters: parameters(tool),
    }
}

/// Returns the input schema of a tool for the model, without hidden characters. `type` and `properties` are added if they are
/// missing, because providers require them.
fn parameters(tool: &Tool) -> Value {
    let schema = tool.input.as_value();
    let seen = without_hidden_texts(schema);
    let schema = seen.as_ref().unwrap_or(schema);
    let mut fields = schema.as_object().cloned().unwrap_or_default();
    if !fields.contains_key("type") {
        fields.insert("type".into(), Value::from("object"));
    }
    if !fields.contains_key("properties") {
        fields.insert("properties".into(), Value::empty_object());
    }
    fields.into()
}

/// The tool that finds tools. `hidden` is the number of tools that are not offered now.
fn find_tool(hidden: usize) -> ToolDefinition {
    definition(
        FIND,
        &format!(
            "Find further tools by words: {hidden} tools are not listed. You can call those that it finds. Plans may call all tools."
        ),
        ("query", "A few words about what the tool does."),
    )
}

/// The tools that write and run plans.
fn plan_tools() -> [ToolDefinition; 3] {
    let goal = "What is wanted, with every name, number and condition that matters.";
    [
        definition(
            CREATE,
            "Write a plan of tool calls for a goal, and check it. Nothing is called. Gives the plan's id and its steps.",
            ("goal", goal),
        ),
        definition(
            EXECUTE,
            "Run a plan that was written in this conversation.",
            ("plan_id", "The plan's id."),
        ),
        definition(
            CREATE_AND_EXECUTE,
            "Write a plan of tool calls for a goal, check it and run it. Calls that do not need each other run at the same time.",
            ("goal", goal),
        ),
    ]
}

/// Returns the definition of a tool with one parameter of text.
fn definition(name: &str, description: &str, parameter: (&str, &str)) -> ToolDefinition {
    let (parameter, about) = parameter;
    let text = Value::object([
        ("type", Value::from("string")),
        ("description", Value::from(about)),
    ]);
    ToolDefinition {
        name: name.to_owned(),
        description: description.to_owned(),
        parameters: Value::object([
            ("type", Value::from("object")),
            ("properties", Value::object([(parameter, text)])),
            ("required", Value::list([Value::from(parameter)])),
        ]),
    }
}

/// Returns the number of tools that can be offered in addition to our own.
fn max_tools() -> usize {
    MAX_TOOLS - plan_tools().len() - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn catalog(count: usize) -> IndexMap<String, Arc<Tool>> {
        let tools = (0..count).map(|index| Tool {
            description: Some(format!("Reads the gauge of tank{index}.").into()),
            ..Tool::new("plant", format!("gauge_{index}"))
        });
        tools_by_name(&tools.collect())
    }

    fn names(offer: &ToolOffer<'_>) -> Vec<String> {
        offer
            .definitions()
            .into_iter()
            .map(|tool| tool.name)
            .collect()
    }

    #[test]
    fn all_tools_are_offered_if_they_fit() {
        let tools = catalog(20);
        let offer = ToolOffer::new(&tools, "tank3", [], 6000, true);
        assert_eq!(names(&offer).len(), 23);
        assert_eq!(
            names(&ToolOffer::new(&tools, "tank3", [], 6000, false)).len(),
            20
        );
        assert!(offer.find("tank3").is_empty());
    }

    #[test]
    fn a_request_has_a_bounded_number_of_tools() {
        for count in [124, 125, 500] {
            let tools = catalog(count);
            let offer = ToolOffer::new(&tools, "gauge", [], 1_000_000, true);
            assert!(
                names(&offer).len() <= 128,
                "{count}: {}",
                names(&offer).len()
            );
        }
    }

    #[test]
    fn the_best_tools_are_offered_within_the_budget() {
        let tools = catalog(500);
        let offer = ToolOffer::new(
            &tools,
            "How full is tank77?",
            ["plant__gauge_5", "gone"],
            200,
            true,
        );
        let offered = names(&offer);
        for name in [
            "plant__gauge_77",
            "plant__gauge_5",
            FIND,
            CREATE_AND_EXECUTE,
        ] {
            assert!(
                offered.iter().any(|offered| offered == name),
                "{name}: {offered:?}"
            );
        }
        let spent: usize = tools
            .iter()
            .filter(|(name, _)| offered.contains(*name))
            .map(cost)
            .sum();
        assert!(spent <= 400, "{spent}");
        let found = offer.find("tank444");
        assert!(
            found[0].starts_with("`plant__gauge_444`: plant.gauge_444("),
            "{found:?}"
        );
        let offered = names(&offer);
        assert!(
            offered.iter().any(|name| name == "plant__gauge_444"),
            "{offered:?}"
        );
        // Found tools come before tools that were offered earlier.
        assert_eq!(offer.find("nothing of that sort"), Vec::<String>::new());
        assert_eq!(names(&offer), offered);
    }
}
