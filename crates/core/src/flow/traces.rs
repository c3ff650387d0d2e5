//! The sources and ways of the values of parameters. They are searched when they are read: a plan may have thousands of
//! parameters, and a check shows few of them.

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use super::graph::{Flag, GraphSearch, LabelGraph, LabelOrigin, NodeId, Passage};
use super::report::{FlowHop, FlowOrigin, FlowPath, FlowSources};
use crate::plan::reference::shortened;
use crate::{Code, Place, Sources};

/// Maximum number of sources of a parameter in the report.
pub(super) const MAX_ORIGINS: usize = 100;

/// Maximum number of nodes that all searches in the graph of one plan visit. After that, sources and paths are omitted: a hostile
/// plan may have many parameters with long paths.
const MAX_VISITS: usize = 500_000;

/// The label graph of a plan whose analysis is complete, and the texts with the places in it.
pub(super) struct FlowGraph {
    pub(super) graph: LabelGraph,
    texts: Vec<Sources>,
    visits_left: AtomicUsize,
}

impl FlowGraph {
    pub(super) fn new(graph: LabelGraph, texts: Vec<Sources>) -> Self {
        Self {
            graph,
            texts,
            visits_left: AtomicUsize::new(MAX_VISITS),
        }
    }

    /// Returns the text at `position` of the analysis.
    pub(super) fn text(&self, position: usize) -> Option<&Sources> {
        self.texts.get(position)
    }

    /// Runs a search, which may visit as many nodes as earlier ones have left.
    pub(super) fn search<'g, T>(&'g self, run: impl FnOnce(&mut GraphSearch<'g>) -> T) -> T {
        let mut search = self.graph.search(self.visits_left.load(Ordering::Relaxed));
        let found = run(&mut search);
        // Searches at the same time share what is left; a bound for the work need not be exact.
        self.visits_left
            .store(search.visits_left(), Ordering::Relaxed);
        found
    }

    /// Returns the sources of `node` with `flag`; none if the budget of all searches is spent.
    pub(super) fn origins(&self, node: NodeId, flag: Option<Flag>) -> Vec<LabelOrigin> {
        self.search(|search| search.origins(node, flag, MAX_ORIGINS))
    }

    /// Returns all sources of `node`.
    pub(super) fn sources(&self, node: NodeId) -> FlowSources {
        let (origins, is_spent) = self.search(|search| {
            let origins = search.origins(node, None, MAX_ORIGINS);
            (origins, search.visits_left() == 0)
        });
        if origins.len() == MAX_ORIGINS || is_spent {
            return FlowSources::TooMany;
        }
        FlowSources::Listed(origins.into_iter().map(FlowOrigin::from).collect())
    }

    fn path(&self, node: NodeId, flag: Flag) -> Vec<FlowHop> {
        let found = self.search(|search| search.path_to(node, flag));
        let Some((origin, passages)) = found else {
            return Vec::new();
        };
        let source = FlowHop {
            place: String::new(),
            text: describe_origin(&origin),
        };
        let passages = passages.into_iter().map(|passage| self.hop(passage));
        std::iter::once(source).chain(passages).collect()
    }

    fn hop(&self, passage: &Passage) -> FlowHop {
        let reference = shortened(&passage.reference);
        FlowHop {
            place: self.pointer(passage.text, passage.place),
            text: match &passage.step {
                Some(step) => format!("passes `{reference}` in `{step}`"),
                None => format!("passes `{reference}` in the output"),
            },
        }
    }

    fn pointer(&self, text: usize, place: Place) -> String {
        let sources = self.text(text);
        sources
            .and_then(|sources| sources.pointer(place))
            .unwrap_or_default()
    }
}

impl fmt::Debug for FlowGraph {
    /// Leaves out the nodes: each parameter has the graph of the whole plan.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FlowGraph").finish_non_exhaustive()
    }
}

/// The violation of the policy by a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LabelViolation {
    pub(super) code: Code,
    pub(super) flag: Flag,
    /// The label with the flag.
    pub(super) node: NodeId,
}

/// The labels of a parameter, and the search results for them.
#[derive(Clone, Debug)]
pub(super) struct Traces {
    graph: Arc<FlowGraph>,
    pub(super) label: NodeId,
    /// The label of what decides the call, if it counts.
    pub(super) control: Option<NodeId>,
    pub(super) text: usize,
    pub(super) place: Place,
    pub(super) violation: Option<LabelViolation>,
    sources: OnceLock<Box<SourcesOfParameter>>,
    shown: OnceLock<Box<ShownTraces>>,
}

#[derive(Clone, Debug)]
struct SourcesOfParameter {
    value: FlowSources,
    deciding: FlowSources,
}

/// The traces of a parameter that a person sees.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ShownTraces {
    pub(super) origins: Vec<FlowOrigin>,
    pub(super) path: FlowPath,
}

/// The parameter at the end of the way of a violation.
pub(super) struct PathEnd {
    pub(super) code: Code,
    pub(super) step: Arc<str>,
    pub(super) tool: Arc<str>,
    pub(super) parameter: Arc<str>,
}

impl PathEnd {
    /// Words the last hop.
    fn text(&self) -> String {
        let Self { step, tool, .. } = self;
        match self.code {
            Code::UntrustedDecision => format!("decides whether `{step}` calls `{tool}`"),
            _ => {
                let parameter = ParameterWords(&self.parameter);
                format!("reaches {parameter} of `{tool}` in `{step}`")
            }
        }
    }
}

/// The phrase for the parameter at a path.
struct ParameterWords<'a>(&'a str);

impl fmt::Display for ParameterWords<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            "" => f.write_str("the arguments"),
            parameter => write!(f, "the parameter `{parameter}`"),
        }
    }
}

impl Traces {
    pub(super) fn new(
        graph: &Arc<FlowGraph>,
        label: NodeId,
        control: Option<NodeId>,
        (text, place): (usize, Place),
    ) -> Self {
        Self {
            graph: Arc::clone(graph),
            label,
            control,
            text,
            place,
            violation: None,
            sources: OnceLock::new(),
            shown: OnceLock::new(),
        }
    }

    fn found_sources(&self) -> &SourcesOfParameter {
        self.sources.get_or_init(|| {
            let of = |node| self.graph.sources(node);
            Box::new(SourcesOfParameter {
                value: of(self.label),
                deciding: self.control.map(of).unwrap_or_default(),
            })
        })
    }

    /// Returns all sources of the value.
    pub(super) fn sources(&self) -> &FlowSources {
        &self.found_sources().value
    }

    /// Returns all sources of what decides the call.
    pub(super) fn deciding(&self) -> &FlowSources {
        &self.found_sources().deciding
    }

    /// Returns the origins and the way of the violating value; without a violation, the origins of the value.
    /// `end` words the last hop.
    pub(super) fn shown(&self, end: impl FnOnce(Code) -> PathEnd) -> &ShownTraces {
        self.shown.get_or_init(|| {
            Box::new(match self.violation {
                Some(violation) => self.of_violation(violation, end(violation.code)),
                None => ShownTraces {
                    origins: match self.sources() {
                        FlowSources::Listed(sources) => sources.to_vec(),
                        FlowSources::TooMany => self.origins(self.label, None),
                    },
                    path: FlowPath::default(),
                },
            })
        })
    }

    /// Returns the origins and the way of a violation, which ends with `end`.
    pub(super) fn of_violation(&self, violation: LabelViolation, end: PathEnd) -> ShownTraces {
        let LabelViolation { node, flag, .. } = violation;
        let (graph, text, place) = (Arc::clone(&self.graph), self.text, self.place);
        ShownTraces {
            origins: self.origins(node, Some(flag)),
            path: FlowPath::searched(move || {
                let mut path = graph.path(node, flag);
                path.push(FlowHop {
                    place: graph.pointer(text, place),
                    text: end.text(),
                });
                path
            }),
        }
    }

    /// Replaces the shown labels by those that became known while the plan runs.
    pub(super) fn show(&mut self, shown: ShownTraces) {
        self.shown = OnceLock::from(Box::new(shown));
    }

    pub(super) fn retain_sources(&mut self, is_retained: impl Fn(&FlowOrigin) -> bool) {
        let mut found = self.found_sources().clone();
        if let FlowSources::Listed(sources) = &found.value {
            let retained = sources.iter().filter(|origin| is_retained(origin)).cloned();
            found.value = FlowSources::Listed(retained.collect());
        }
        self.sources = OnceLock::from(Box::new(found));
    }

    fn origins(&self, node: NodeId, flag: Option<Flag>) -> Vec<FlowOrigin> {
        let origins = self.graph.origins(node, flag).into_iter();
        origins.map(FlowOrigin::from).collect()
    }
}

impl From<LabelOrigin> for FlowOrigin {
    fn from(origin: LabelOrigin) -> Self {
        match origin {
            LabelOrigin::Output {
                step,
                tool,
                field,
                is_error,
            } => Self {
                step,
                tool,
                field,
                is_error,
            },
            LabelOrigin::Retained(step) => Self {
                step,
                tool: Arc::from(""),
                field: Arc::from(""),
                is_error: false,
            },
            LabelOrigin::Planner => Self {
                step: Arc::from(""),
                tool: Arc::from("plan"),
                field: Arc::from(""),
                is_error: false,
            },
            LabelOrigin::Secret(name) => Self {
                step: Arc::from(""),
                tool: Arc::from("secrets"),
                field: name,
                is_error: false,
            },
        }
    }
}

fn describe_origin(origin: &LabelOrigin) -> String {
    match origin {
        LabelOrigin::Output {
            step, tool, field, ..
        } if field.is_empty() => {
            format!("`{tool}` gives it in `{step}`")
        }
        // The error of a step that calls no tool.
        LabelOrigin::Output {
            step, tool, field, ..
        } if tool.is_empty() => {
            format!("`{step}` gives `{field}`")
        }
        LabelOrigin::Output {
            step, tool, field, ..
        } => {
            format!("`{tool}` gives `{field}` in `{step}`")
        }
        LabelOrigin::Retained(step) => {
            format!("`{step}` has a result that was set, or is from an earlier plan of the run")
        }
        LabelOrigin::Planner => {
            "the author of the plan wrote it after reading untrusted text".to_owned()
        }
        LabelOrigin::Secret(name) => format!("the secret `{name}` gives it"),
    }
}
