//! An expression as a tree. Chains are lists, so the tree is only as deep as brackets are nested.

use std::ops::Range;
use std::sync::Arc;

use regex::Regex;

use super::function::Function;
use super::operator::Operator;
use crate::Value;
use crate::plan::{Missing, Path, Read};

/// A part of an expression.
#[derive(Clone, Debug)]
pub(super) enum Tree {
    /// A known value.
    Literal(Value),
    /// A place outside of the expression, as it was parsed. Binding replaces it by [`Tree::Bound`].
    Read(Read),
    /// The value of the binding `index`.
    Bound(usize),
    /// The variable of an enclosing loop; 0 is the innermost.
    LoopVariable(usize),
    /// A list with these items.
    List(Vec<Tree>),
    /// An object with these keys and values.
    Object(Vec<(Tree, Tree)>),
    /// `!` once.
    Not(Box<Tree>),
    /// `-` once.
    Negate(Box<Tree>),
    /// Operators of one precedence, from left to right.
    Chain(Box<Tree>, Vec<(Operator, Tree)>),
    /// `&&` between all of these.
    And(Vec<Tree>),
    /// `||` between all of these.
    Or(Vec<Tree>),
    /// `condition ? value : condition ? value : … : otherwise`.
    Choice(Vec<(Tree, Tree)>, Box<Tree>),
    /// The first of these that exists (`??`). Binding takes out those that use no variable of an enclosing loop.
    FirstOf(Vec<CoalesceOperand>),
    /// Something, and what is then done to it, one after the other.
    Access(Box<Tree>, Vec<Accessor>),
    /// A call of a function that is not a method.
    Call(&'static Function, Vec<Tree>),
    /// Whether the path exists.
    Has(Box<Tree>),
}

/// One of several alternatives, with the stretch of text where it was written.
#[derive(Clone, Debug)]
pub(super) struct CoalesceOperand {
    pub(super) tree: Tree,
    pub(super) span: Range<usize>,
}

/// Something that is done to a value.
#[derive(Clone, Debug)]
pub(super) enum Accessor {
    /// Takes the part that a constant path leads to.
    Part(Path, Missing),
    /// Takes the item or field that a computed value names.
    Item(Tree),
    /// Calls a method.
    Call(&'static Function, Vec<Tree>),
    /// Calls `matches` with a pattern that is known already.
    Matches(Arc<Regex>),
    /// Goes over the items, or the keys of an object.
    Loop(Loop, Vec<Tree>),
}

/// What a loop makes of its items. Its variable is the innermost local in the trees that come with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Loop {
    /// Whether the condition holds for every item.
    All,
    /// Whether it holds for at least one.
    Exists,
    /// Whether it holds for exactly one.
    ExistsOne,
    /// The items for which it holds.
    Filter,
    /// What becomes of every item; with two trees, of those for which the first holds.
    Map,
    /// The items, sorted by what becomes of them.
    SortBy,
}

impl Loop {
    /// The loop that is written `name`, and the least and most trees that it takes.
    pub(super) fn named(name: &str) -> Option<(Self, usize, usize)> {
        Some(match name {
            "all" => (Self::All, 1, 1),
            "exists" => (Self::Exists, 1, 1),
            "exists_one" | "existsOne" => (Self::ExistsOne, 1, 1),
            "filter" => (Self::Filter, 1, 1),
            "map" => (Self::Map, 1, 2),
            "sortBy" => (Self::SortBy, 1, 1),
            _ => return None,
        })
    }
}
