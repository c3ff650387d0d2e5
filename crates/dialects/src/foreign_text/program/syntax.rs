//! The parts of a program.

use planwright_core::Value;

/// An expression.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Expression {
    Literal(Value),
    /// A text with inserted values.
    Template(Vec<Expression>),
    Name(String),
    Field(Box<Expression>, String),
    Index(Box<Expression>, Box<Expression>),
    Call(Box<Expression>, Vec<Argument>),
    List(Vec<Expression>),
    Object(Vec<(String, Expression)>),
    Binary(&'static str, Box<Expression>, Box<Expression>),
    Not(Box<Expression>),
    Negative(Box<Expression>),
    /// The condition, the value if it is true, the other value.
    Choice(Box<Expression>, Box<Expression>, Box<Expression>),
    Comprehension(Box<Comprehension>),
    Function(Function),
}

/// An argument of a call, with its name if it has one.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Argument {
    pub(super) name: Option<String>,
    pub(super) value: Expression,
}

/// `[value for name in list if condition]`.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Comprehension {
    pub(super) value: Expression,
    pub(super) name: String,
    pub(super) list: Expression,
    pub(super) condition: Option<Expression>,
}

/// A function with its parameters.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Function {
    pub(super) parameters: Vec<Parameter>,
    pub(super) body: Vec<Statement>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Parameter {
    pub(super) name: String,
    pub(super) kind: Option<String>,
    pub(super) default: Option<Expression>,
}

/// A statement.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Statement {
    Assign(Vec<String>, Expression),
    Run(Expression),
    If(Expression, Vec<Statement>, Vec<Statement>),
    ForEach(String, Expression, Vec<Statement>),
    /// The statements, and those that run if one of them fails.
    Try(Vec<Statement>, Vec<Statement>),
    Return(Option<Expression>),
    Define(String, Function),
    Parallel(Vec<Statement>),
}

impl Expression {
    pub(super) fn text(text: impl Into<std::sync::Arc<str>>) -> Self {
        Self::Literal(Value::text(text))
    }

    /// The literal text, if it is one.
    pub(super) fn as_text(&self) -> Option<&str> {
        match self {
            Self::Literal(value) => value.as_text(),
            _ => None,
        }
    }

    /// The names of a path such as `a.b.c`; empty if it is none.
    pub(super) fn dotted(&self) -> Vec<&str> {
        match self {
            Self::Name(name) => vec![name],
            Self::Field(of, name) => {
                let mut names = of.dotted();
                if !names.is_empty() {
                    names.push(name);
                }
                names
            }
            _ => Vec::new(),
        }
    }
}
