//! Native expressions, with their known properties.

/// Knowledge about the value of an expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Path,
    Text,
    Number,
    /// A number that is divided as one with a fraction, even if it is whole.
    Decimal,
    Truth,
    List,
    Other,
}

/// Binding strength of the outermost operator of an expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Binding {
    Choice,
    Or,
    And,
    Comparison,
    Sum,
    Product,
    Prefix,
    Value,
}

/// An expression in this dialect.
#[derive(Clone, Debug)]
pub(super) struct Form {
    pub(super) text: String,
    pub(super) binding: Binding,
    pub(super) kind: Kind,
}

impl Form {
    pub(super) fn value(text: impl Into<String>, kind: Kind) -> Self {
        Self::new(text, Binding::Value, kind)
    }

    pub(super) fn new(text: impl Into<String>, binding: Binding, kind: Kind) -> Self {
        Self {
            text: text.into(),
            binding,
            kind,
        }
    }

    /// The text, in brackets unless it binds at least as tightly as `binding`.
    pub(super) fn within(&self, binding: Binding) -> String {
        if self.binding < binding {
            format!("({})", self.text)
        } else {
            self.text.clone()
        }
    }

    /// The form of a value that the expression fails without, where a path had a `?` for a missing part.
    pub(super) fn required(&self) -> Self {
        match self.text.strip_suffix('?') {
            Some(path) => Self::new(path, self.binding, self.kind),
            None => self.clone(),
        }
    }

    /// The form as a condition, in which a missing part counts as false.
    pub(super) fn as_condition(&self) -> Self {
        match self.text.strip_suffix('?') {
            Some(path) => Self::new(format!("{path} ?? false"), Binding::Or, Kind::Truth),
            None => self.clone(),
        }
    }

    /// The items of a list, or the keys of an object: what a loop of Python goes over.
    pub(super) fn items(&self) -> Self {
        let form = self.required();
        if form.kind == Kind::List {
            return form;
        }
        let within = form.within(Binding::Value);
        Self::value(format!("{within}.map(x, x)"), Kind::List)
    }

    /// The form as text: `string(…)` of it unless it is text.
    pub(super) fn as_text(&self) -> String {
        if self.kind == Kind::Text {
            self.within(Binding::Sum)
        } else {
            let first = self.first_value();
            format!("string({})", first.as_ref().unwrap_or(&self.text))
        }
    }

    /// `a ?? b` for `a || b`, which is one of the values in a text, and no condition; `None` for any other form.
    pub(super) fn first_value(&self) -> Option<String> {
        let is_path = |part: &str| {
            let is_name = |sign: char| sign.is_alphanumeric() || "_.[]".contains(sign);
            part.starts_with(|sign: char| sign.is_alphabetic() || sign == '_')
                && part.chars().all(is_name)
        };
        let inside = self
            .text
            .strip_prefix('(')
            .and_then(|text| text.strip_suffix(')'));
        let values: Vec<&str> = inside.unwrap_or(&self.text).split(" || ").collect();
        (values.len() > 1 && values.iter().all(|value| is_path(value))).then(|| values.join(" ?? "))
    }
}

/// The difference of `??` from an operator of another language that also replaces values that count as false.
pub(super) const ONLY_MISSING: &str =
    "`??` replaces a missing value, and not one that is empty or zero";

/// An argument of a call.
#[derive(Clone, Debug)]
pub(super) enum Argument {
    Value(Form),
    /// `key=value`.
    Named(String, Box<Argument>),
    /// `x => body`, `lambda x: body`.
    Function(Vec<String>, Form),
    /// `value for x in list if condition`.
    Loop(LoopForm),
}

/// `value for variable in list if condition`.
#[derive(Clone, Debug)]
pub(super) struct LoopForm {
    pub(super) value: Form,
    pub(super) variable: String,
    pub(super) list: Form,
    pub(super) condition: Option<Form>,
    /// True if each value is the list of an inner loop.
    pub(super) is_nested: bool,
}

impl LoopForm {
    /// The list, without the items that do not fulfil the condition.
    pub(super) fn filtered(&self) -> String {
        let list = self.list.required().within(Binding::Value);
        match &self.condition {
            Some(condition) => {
                let condition = condition.as_condition();
                format!("{list}.filter({}, {})", self.variable, condition.text)
            }
            None => list,
        }
    }

    /// The list of values.
    pub(super) fn mapped(&self) -> Form {
        let list = self.filtered();
        // A loop over an object goes over its keys, also without a condition.
        let is_list = self.condition.is_some() || self.list.kind == Kind::List;
        let text = if self.value.text == self.variable && is_list {
            list
        } else {
            format!("{list}.map({}, {})", self.variable, self.value.text)
        };
        let text = if self.is_nested {
            text + ".flatten()"
        } else {
            text
        };
        Form::value(text, Kind::List)
    }
}

/// `then` if `condition` holds, else `otherwise`.
pub(super) fn choice(condition: &Form, then: &Form, otherwise: &Form) -> Form {
    let kind = if then.kind == otherwise.kind {
        then.kind
    } else {
        Kind::Other
    };
    let text = format!(
        "{} ? {} : {}",
        condition.as_condition().within(Binding::Or),
        then.within(Binding::Or),
        otherwise.text
    );
    Form::new(text, Binding::Choice, kind)
}

/// The opposite of a condition.
pub(super) fn negated(form: &Form) -> Form {
    let text = format!("!{}", form.as_condition().within(Binding::Prefix));
    Form::new(text, Binding::Prefix, Kind::Truth)
}

/// The quotient of other languages, which has a fraction; that of whole numbers is whole here.
pub(super) fn quotient(left: &Form, right: &Form) -> Form {
    let (left, right) = (left.required(), right.required());
    let is_decimal = |form: &Form| {
        form.kind == Kind::Decimal
            || (form.kind == Kind::Number
                && form.text.parse::<f64>().is_ok()
                && form.text.contains('.'))
    };
    let is_whole = |form: &Form| form.text.parse::<u64>().is_ok();
    if let Some(mean) = mean(&left.text, &right.text) {
        return Form::value(mean, Kind::Decimal);
    }
    let (first, second) = (left.within(Binding::Product), right.within(Binding::Prefix));
    let text = if is_decimal(&left) || is_decimal(&right) {
        format!("{first} / {second}")
    } else if is_whole(&right) {
        format!("{first} / {second}.0")
    } else if is_whole(&left) {
        format!("{first}.0 / {second}")
    } else {
        format!("double({}) / {second}", left.text)
    };
    Form::new(text, Binding::Product, Kind::Decimal)
}

/// The mean of a list, whose sum is `left` and whose size is `right`.
fn mean(left: &str, right: &str) -> Option<String> {
    let method = |form: &str, name: &str| {
        let list = form.strip_suffix(&format!(".{name}()"))?;
        Some(list.to_owned())
    };
    let function = |form: &str, name: &str| {
        let list = form.strip_prefix(name)?.strip_prefix('(')?;
        let list = list.strip_suffix(')')?;
        // The brackets are those of one call.
        let is_one = !list.contains(')') || list.find('(') < list.find(')');
        is_one.then(|| list.to_owned())
    };
    let of = |form: &str, name: &str| function(form, name).or_else(|| method(form, name));
    let (summed, counted) = (of(left, "sum")?, of(right, "size")?);
    let rest = summed.strip_prefix(&counted)?;
    let has_same_items = rest.is_empty() || rest.starts_with("[*]") || rest.starts_with(".map(");
    (has_same_items && !rest.contains(".filter(")).then(|| format!("avg({summed})"))
}

/// The quotient rounded down of Python, `left // right`.
pub(super) fn floor_quotient(left: &Form, right: &Form) -> Form {
    let quotient = quotient(left, right);
    Form::value(format!("math.floor({})", quotient.text), Kind::Number)
}

/// The text with the content `inside`, which has escapes as other languages have.
pub(super) fn text(inside: &str) -> Form {
    let inside = inside.replace("\\\"", "\"").replace('\'', "\\'");
    let inside = inside.replace("\\\\'", "\\'").replace('\n', "\\n");
    Form::value(format!("'{inside}'"), Kind::Text)
}

/// The list of `values`, with spread lists concatenated.
pub(super) fn list(values: Vec<Argument>) -> Option<Form> {
    if let [Argument::Loop(comprehension)] = values.as_slice() {
        return Some(comprehension.mapped());
    }
    let mut lists: Vec<String> = Vec::new();
    let mut items: Vec<String> = Vec::new();
    for value in values {
        match value {
            Argument::Value(form) => items.push(form.text),
            Argument::Named(name, value) if name == "..." => {
                let Argument::Value(list) = *value else {
                    return None;
                };
                if !items.is_empty() {
                    lists.push(format!("[{}]", std::mem::take(&mut items).join(", ")));
                }
                lists.push(list.within(Binding::Sum));
            }
            Argument::Named(..) | Argument::Function(..) | Argument::Loop(_) => return None,
        }
    }
    if !items.is_empty() || lists.is_empty() {
        lists.push(format!("[{}]", items.join(", ")));
    }
    let binding = if lists.len() > 1 {
        Binding::Sum
    } else {
        Binding::Value
    };
    Some(Form::new(lists.join(" + "), binding, Kind::List))
}

/// The texts with the values between them.
pub(super) fn joined(texts: &[&str], values: &[Form]) -> Option<Form> {
    if texts.len() != values.len() + 1 {
        return None;
    }
    let mut parts = Vec::new();
    for (at, between) in texts.iter().enumerate() {
        if !between.is_empty() {
            parts.push(text(between).text);
        }
        if let Some(value) = values.get(at) {
            parts.push(value.as_text());
        }
    }
    let binding = if parts.len() > 1 {
        Binding::Sum
    } else {
        Binding::Value
    };
    Some(Form::new(parts.join(" + "), binding, Kind::Text)).filter(|form| !form.text.is_empty())
}
