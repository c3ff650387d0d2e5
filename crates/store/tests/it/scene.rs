//! A store in a file, for a test.

use planwright_store::Store;
use tempfile::TempDir;

/// A store in a temporary folder.
pub(crate) struct Scene {
    pub(crate) folder: TempDir,
    pub(crate) store: Store,
}

impl Scene {
    /// Opens the same store once more, as another process does.
    pub(crate) fn open_again(&self) -> Store {
        Store::open(self.folder.path().join("store.db")).unwrap()
    }
}

pub(crate) fn scene() -> Scene {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path().join("store.db")).unwrap();
    Scene { folder, store }
}
