//! Paths in expressions: what a path up to the cursor leads to, and its type.

use planwright::core::plan::{Keyword as _, Segment};
use planwright::core::schema::{PathLookup, Type};

use crate::analysis::AnalyzedPlan;
use crate::cursor::CursorPlace;

/// Maximum number of loops around a variable that are followed.
const MAX_LOOPS: usize = 8;

/// The place of an expression, which decides what it can read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CursorScope<'a> {
    /// The id of the step.
    pub(crate) step: Option<&'a str>,
    /// True within the undo of the step, which reads the output and the arguments of its call and nothing else.
    pub(crate) in_undo: bool,
}

impl<'a> CursorScope<'a> {
    /// The scope of an expression at a place.
    pub(crate) fn at(place: &'a CursorPlace) -> Self {
        Self {
            step: place.step.as_deref(),
            in_undo: place.in_undo,
        }
    }
}

/// A path at the end of an expression: `weather[0].te`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TrailingPath {
    /// The name at its root.
    pub(crate) root: String,
    /// The segments after it.
    pub(crate) segments: Vec<Segment>,
    /// The expression before the path.
    pub(crate) before: String,
}

impl TrailingPath {
    /// Reads the path at the end of `expression`; `None` if it does not end with one.
    pub(crate) fn read(expression: &str) -> Option<Self> {
        let start = path_start(expression);
        let path = &expression[start..];
        let root_end = path.find(|other| !is_word(other)).unwrap_or(path.len());
        let (root, rest) = path.split_at(root_end);
        if root.is_empty() {
            return None;
        }
        Some(Self {
            root: root.to_owned(),
            segments: segments(rest)?,
            before: expression[..start].to_owned(),
        })
    }

    /// The type of the value at the path, in `scope`.
    pub(crate) fn shape(&self, plan: &AnalyzedPlan, scope: CursorScope<'_>) -> Option<Type> {
        self.shape_within(plan, scope, MAX_LOOPS)
    }

    fn shape_within(
        &self,
        plan: &AnalyzedPlan,
        scope: CursorScope<'_>,
        loops_left: usize,
    ) -> Option<Type> {
        let (root, taken) = self.root_shape(plan, scope, loops_left)?;
        let path = self.segments.get(taken..)?;
        if path.is_empty() {
            return Some(root);
        }
        match root.at(path) {
            PathLookup::Found(shape) => Some(shape),
            PathLookup::Impossible { .. } | PathLookup::Unlisted { .. } | PathLookup::Unknown => {
                None
            }
        }
    }

    /// The type of the source of the path, and the number of segments that name it.
    fn root_shape(
        &self,
        plan: &AnalyzedPlan,
        scope: CursorScope<'_>,
        loops_left: usize,
    ) -> Option<(Type, usize)> {
        if let Some(list) = self.loop_list(loops_left) {
            let shape = list.shape_within(plan, scope, loops_left - 1)?;
            return Some((each(&shape)?, 0));
        }
        let step = scope.step;
        if scope.in_undo {
            let tool = plan.types(step?)?.tool.as_ref()?;
            return match self.root.as_str() {
                "output" => Some((tool.output.structure().clone(), 0)),
                "arguments" => Some((tool.input.structure().clone(), 0)),
                _ => None,
            };
        }
        let key = |index: usize| match self.segments.get(index) {
            Some(Segment::Key(key)) => Some(&**key),
            Some(Segment::Index(_) | Segment::Each) | None => None,
        };
        let slot = |kind: &str, name: &str| {
            let mut slots = plan.inspection.slots.iter();
            let found = slots.find(|(known, slot, _)| known.as_str() == kind && &**slot == name);
            found.map(|(_, _, shape)| shape.clone())
        };
        match self.root.as_str() {
            "item" => Some((plan.types(step?)?.item.clone(), 0)),
            "index" => Some((Type::Integer, 0)),
            "inputs" | "vars" => Some((slot(&self.root, key(0)?)?, 1)),
            "slots" => Some((slot(key(0)?, key(1)?)?, 2)),
            "steps" => Some((plan.types(key(0)?)?.output.clone(), 1)),
            "results" => {
                let output = plan.types(key(0)?)?.output.clone();
                match key(1)? {
                    "success" => Some((Type::Boolean, 2)),
                    "tool" => Some((Type::Text, 2)),
                    "data" => Some((output, 2)),
                    _ => None,
                }
            }
            root => Some((plan.types(root)?.output.clone(), 0)),
        }
    }

    /// The list of the loop whose variable is the root: of `weather.map(w, w.`, `weather`.
    fn loop_list(&self, loops_left: usize) -> Option<Self> {
        if loops_left == 0 {
            return None;
        }
        let variable = format!("({},", self.root);
        let call = self.before.rfind(&variable)?;
        let method = self.before[..call].rfind('.')?;
        let is_name = self.before[method + 1..call].chars().all(is_word);
        is_name
            .then(|| Self::read(&self.before[..method]))
            .flatten()
    }
}

/// The names that may follow the path: fields, of the items too if it leads to a list.
pub(crate) fn fields(shape: &Type) -> Vec<(String, Type, bool)> {
    let mut found: Vec<(String, Type, bool)> = Vec::new();
    for member in shape.members() {
        match member {
            Type::Object(object) => {
                let fields = object.properties.iter();
                found.extend(fields.map(|(name, property)| {
                    (name.to_string(), property.shape.clone(), property.required)
                }));
            }
            Type::Literal(value) => {
                let fields = value.as_object().into_iter().flatten();
                found.extend(
                    fields.map(|(name, value)| {
                        (name.to_string(), Type::Literal(value.clone()), true)
                    }),
                );
            }
            Type::Any
            | Type::Never
            | Type::Null
            | Type::Boolean
            | Type::Integer
            | Type::Number
            | Type::Text
            | Type::List(_)
            | Type::Union(_) => {}
        }
    }
    found
}

/// The type of the items of a list.
pub(crate) fn each(shape: &Type) -> Option<Type> {
    match shape.at(&[Segment::Each]) {
        PathLookup::Found(Type::List(list)) => Some(list.any_item()),
        PathLookup::Found(_)
        | PathLookup::Impossible { .. }
        | PathLookup::Unlisted { .. }
        | PathLookup::Unknown => None,
    }
}

/// The byte at which the path at the end of `expression` begins.
fn path_start(expression: &str) -> usize {
    let mut start = expression.len();
    while let Some(character) = expression[..start].chars().next_back() {
        match character {
            ']' => match expression[..start].rfind('[') {
                Some(open) => start = open,
                None => break,
            },
            _ if is_word(character) || character == '.' => start -= character.len_utf8(),
            _ => break,
        }
    }
    start
}

/// Reads `.name[0][*]["key"]`.
fn segments(mut rest: &str) -> Option<Vec<Segment>> {
    let mut found = Vec::new();
    while !rest.is_empty() {
        if let Some(after) = rest.strip_prefix('.') {
            let end = after.find(|other| !is_word(other)).unwrap_or(after.len());
            let (name, left) = after.split_at(end);
            if name.is_empty() {
                return None;
            }
            found.push(Segment::key(name));
            rest = left;
            continue;
        }
        let (inner, left) = rest.strip_prefix('[')?.split_once(']')?;
        found.push(match inner.trim() {
            "*" => Segment::Each,
            number if number.parse::<i64>().is_ok() => Segment::Index(number.parse().ok()?),
            name => Segment::key(name.strip_prefix(['"', '\''])?.strip_suffix(['"', '\''])?),
        });
        rest = left;
    }
    Some(found)
}

pub(crate) fn is_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}
