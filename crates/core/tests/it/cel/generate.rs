//! Random expressions and values, generated from a list of choices that shrinks well.

use std::ops::Range;

use planwright_core::{Number, Value};

use super::outcome::Bindings;
use super::shapes::{KINDS, Kind, kind_of, leaves, shapes};

/// Maximum nesting of operations.
const MAX_DEPTH: usize = 6;

/// Maximum length of an expression, in bytes.
const MAX_LENGTH: usize = 600;

/// The names of loop variables. One of them is also the name of a value.
const LOCALS: [&str; 3] = ["x", "y", "z"];

/// A random expression.
#[derive(Debug)]
pub(super) struct GeneratedExpression {
    pub(super) text: String,
    parts: Vec<Range<usize>>,
}

impl GeneratedExpression {
    /// Returns the texts of all subexpressions, innermost first, then the whole.
    pub(super) fn parts(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().map(|part| &self.text[part.clone()])
    }
}

/// Generates an expression from `choices`. Most are well typed; one operand in sixteen is of any kind.
pub(super) fn expression(choices: &[u8]) -> GeneratedExpression {
    let mut writer = Writer {
        choices: Choices(choices.iter()),
        text: String::new(),
        parts: Vec::new(),
        locals: Vec::new(),
    };
    let kind = writer.choices.one_of(&KINDS);
    writer.write(kind, MAX_DEPTH);
    GeneratedExpression {
        text: writer.text,
        parts: writer.parts,
    }
}

/// Generates values for all names that [`expression`] uses.
pub(super) fn bindings(choices: &[u8]) -> Bindings {
    let mut choices = Choices(choices.iter());
    let mut whole = || Value::from(choices.one_of(&[0, 1, 2, 3, -1, -7, i64::MAX, i64::MIN]));
    let wholes: Vec<Value> = (0..5).map(|_| whole()).collect();
    let mut double = || {
        let number = choices.one_of(&[0.0, 0.5, 2.0, -1.5, 1e300, 9.2e18]);
        Value::Number(Number::from_f64(number).unwrap())
    };
    let doubles = [double(), double()];
    let mut text = || Value::from(choices.one_of(&["", "a", "ab", "bä😀", "1", "true", "k"]));
    let texts: Vec<Value> = (0..5).map(|_| text()).collect();
    let mut object = || {
        let fields = [("k", &texts[0]), ("n", &wholes[0]), ("v", &doubles[1])];
        let field = fields.get(choices.pick(4));
        Value::object(field.map(|(key, value)| (*key, (*value).clone())))
    };
    let objects = [object(), object(), object()];
    let truth = Value::from(choices.pick(2) == 1);
    let mixed = [&wholes[1], &texts[1], &doubles[1], &Value::Null, &truth];
    Bindings(vec![
        ("g", Value::list(mixed.into_iter().cloned())),
        ("i", wholes[0].clone()),
        ("j", wholes[1].clone()),
        ("l", Value::list(wholes[2..].iter().cloned())),
        ("d", doubles[0].clone()),
        ("s", texts[0].clone()),
        ("t", texts[1].clone()),
        ("w", Value::list(texts[2..].iter().cloned())),
        ("o", objects[0].clone()),
        ("rows", Value::list(objects[1..].iter().cloned())),
        ("b", truth),
        ("z", Value::Null),
    ])
}

/// Returns a copy of `bindings` for each of its values, with that value as the loop variables, so that parts of loops can
/// be evaluated alone.
pub(super) fn loop_bindings(bindings: &Bindings) -> Vec<Bindings> {
    let with = |value: &Value| {
        let locals = LOCALS.map(|name| (name, value.clone()));
        Bindings(locals.into_iter().chain(bindings.0.clone()).collect())
    };
    bindings.0.iter().map(|(_, value)| with(value)).collect()
}

/// The remaining choices; once empty, always the first one.
struct Choices<'c>(std::slice::Iter<'c, u8>);

impl Choices<'_> {
    fn pick(&mut self, count: usize) -> usize {
        usize::from(self.0.next().copied().unwrap_or(0)) % count
    }

    fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.pick(all.len())]
    }

    fn is_empty(&self) -> bool {
        self.0.len() == 0
    }
}

struct Writer<'c> {
    choices: Choices<'c>,
    text: String,
    parts: Vec<Range<usize>>,
    locals: Vec<&'static str>,
}

impl Writer<'_> {
    fn write(&mut self, kind: Kind, depth: usize) {
        let start = self.text.len();
        self.operation(kind, depth);
        self.parts.push(start..self.text.len());
    }

    fn operation(&mut self, kind: Kind, depth: usize) {
        let kind = if self.choices.pick(16) == 15 {
            self.choices.one_of(&KINDS)
        } else {
            kind
        };
        if depth == 0 || self.choices.is_empty() || self.text.len() > MAX_LENGTH {
            return self.leaf(kind);
        }
        let shapes = shapes(kind);
        match self.choices.pick(shapes.len() + 3) {
            0 => self.leaf(kind),
            1 => self.shape("(@B ? @# : @#)", kind, depth),
            2 => self.shape("(@#)", kind, depth),
            shape => self.shape(shapes[shape - 3], kind, depth),
        }
    }

    /// Writes `shape`, with expressions in place of `@W` (an integer), `@D` (a double), `@B`, `@T`, `@L`, `@O` and `@#`
    /// (the same kind). `@x` is a loop variable, which later expressions may use.
    fn shape(&mut self, shape: &str, kind: Kind, depth: usize) {
        let outside = self.locals.len();
        let mut letters = shape.chars();
        while let Some(letter) = letters.next() {
            match letter {
                '@' => match letters.next() {
                    Some('x') => {
                        let local = self.choices.one_of(&LOCALS);
                        self.text.push_str(local);
                        self.locals.push(local);
                    }
                    sign => self.write(kind_of(sign).unwrap_or(kind), depth - 1),
                },
                ' ' => {
                    let space = self.choices.one_of(&[" ", " ", " ", "\n", "\n// why\n\t"]);
                    self.text.push_str(space);
                }
                letter => {
                    if letter == ')' && self.locals.len() > outside {
                        self.locals.pop();
                    }
                    self.text.push(letter);
                }
            }
        }
    }

    fn leaf(&mut self, kind: Kind) {
        if !self.locals.is_empty() && self.choices.pick(2) == 1 {
            let local = self.choices.pick(self.locals.len());
            self.text.push_str(self.locals[local]);
            return;
        }
        let leaf = self.choices.one_of(leaves(kind));
        self.text.push_str(leaf);
    }
}
