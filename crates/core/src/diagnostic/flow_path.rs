//! The path of a value through a plan, which is searched on first use.

use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, LazyLock};

use serde::{Serialize, Serializer};

/// A place on the path of a value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FlowHop {
    /// The place as a JSON pointer into the text of the plan; empty if it has none.
    pub place: String,
    /// The operation on the value at that place.
    pub text: String,
}

/// The path of a value from its source: a list of places. A check may find thousands of paths, and few of them are read, so each is
/// searched on first use. Clones share the path.
#[derive(Clone, Default)]
pub struct FlowPath(Option<Arc<LazyPath>>);

type LazyPath = LazyLock<Vec<FlowHop>, Box<dyn FnOnce() -> Vec<FlowHop> + Send + Sync>>;

impl FlowPath {
    /// Creates a path that `search` finds.
    pub(crate) fn searched(search: impl FnOnce() -> Vec<FlowHop> + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(LazyLock::new(Box::new(search)))))
    }
}

impl From<Vec<FlowHop>> for FlowPath {
    fn from(hops: Vec<FlowHop>) -> Self {
        Self::searched(|| hops)
    }
}

impl Deref for FlowPath {
    type Target = [FlowHop];

    fn deref(&self) -> &[FlowHop] {
        self.0.as_ref().map_or(&[], |path| path)
    }
}

impl fmt::Debug for FlowPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(&**self).finish()
    }
}

impl PartialEq for FlowPath {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Serialize for FlowPath {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (**self).serialize(serializer)
    }
}
