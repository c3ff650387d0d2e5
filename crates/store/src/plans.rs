//! Stored plans: all versions, by name.

use std::time::SystemTime;

use planwright_core::Value;

use super::values;
use super::values::{from_nanos, to_nanos};
use crate::database::{QueryError, SqlRow, SqlSession, SqlValue, params};
use crate::error::StoreError;
use crate::store::Store;
use planwright_format::journal::{Digest, parse_value, value_json};

/// The maximum number of ids that an error for an ambiguous selector names.
const MAX_CANDIDATES: usize = 8;

/// A plan to store.
#[derive(Clone, Debug, PartialEq)]
pub struct NewPlan {
    /// The name: letters, digits, `_`, `-` and `.`.
    pub name: String,
    /// The source text of the plan.
    pub text: String,
    /// The dialect that it is written in.
    pub dialect: Option<String>,
    /// The declaration of its inputs, in a form that the caller chooses.
    pub inputs: Value,
    /// The time of storing.
    pub saved: SystemTime,
}

/// A version of a stored plan.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredPlan {
    /// The id of this version.
    pub id: String,
    /// The name.
    pub name: String,
    /// The number of this version, beginning with 1.
    pub version: u32,
    /// The source text of the plan.
    pub text: String,
    /// The dialect that it is written in.
    pub dialect: Option<String>,
    /// The declaration of its inputs.
    pub inputs: Value,
    /// The time of storing.
    pub saved: SystemTime,
}

/// The result of [`Store::save_plan`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SavedPlan {
    /// The id of the version.
    pub id: String,
    /// The number of the version.
    pub version: u32,
    /// True if the version is new; false if the newest version had the same text and dialect.
    pub is_new: bool,
}

impl Store {
    /// Stores a plan as the newest version of its name, unless the newest version is equal.
    ///
    /// # Errors
    ///
    /// [`StoreError::BadName`] if the name is invalid, [`StoreError::File`].
    pub fn save_plan(&self, new: NewPlan) -> Result<SavedPlan, StoreError> {
        values::check_name("name of a plan", &new.name)?;
        let inputs = value_json(&new.inputs).map_err(StoreError::Format)?;
        self.writer().change(move |session| {
            // Only the newest version is compared: a return to an older text is a change that the list of versions must show.
            let newest = read_newest(session, &new.name)?;
            if let Some(same) = newest
                .as_ref()
                .filter(|newest| newest.text == new.text && newest.dialect == new.dialect)
            {
                return Ok(SavedPlan {
                    id: same.id.clone(),
                    version: same.version,
                    is_new: false,
                });
            }
            let version = newest.map_or(1, |newest| newest.version + 1);
            // The version is a part of the digest, so that a text that returns later gets a new id.
            let digest = Digest::of(&format!("{}\n{version}\n{}", new.name, new.text)).to_string();
            // 64 bits are enough for one store, and short enough for a command line.
            let id = digest.chars().take(16).collect::<String>();
            session.execute(
                "INSERT INTO plans (id, name, version, dialect, inputs, saved_ns, text)
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
                params![
                    id,
                    new.name,
                    version,
                    new.dialect,
                    inputs,
                    to_nanos(new.saved),
                    new.text,
                ],
            )?;
            Ok(SavedPlan {
                id,
                version,
                is_new: true,
            })
        })
    }

    /// Returns the newest version of every stored plan, sorted by name.
    ///
    /// # Errors
    ///
    /// [`StoreError::File`].
    pub fn plans(&self) -> Result<Vec<StoredPlan>, StoreError> {
        self.read(|session| {
            let condition =
                "version = (SELECT max(version) FROM plans AS other WHERE other.name = plans.name)
                ORDER BY name";
            select(session, condition, params![])
        })
    }

    /// Returns all versions of a plan, the oldest first.
    ///
    /// # Errors
    ///
    /// Those of [`Store::plan`].
    pub fn plan_versions(&self, selector: &str) -> Result<Vec<StoredPlan>, StoreError> {
        self.read(|session| {
            let plan = find(session, selector, None)?;
            select(session, "name = ?1 ORDER BY version", params![plan.name])
        })
    }

    /// Returns the given version, or else the newest one, of the plan with the name `selector`. If no plan has this name, returns the
    /// only version whose id begins with `selector`.
    ///
    /// # Errors
    ///
    /// [`StoreError::Missing`] if nothing matches, [`StoreError::Ambiguous`] if several versions do.
    pub fn plan(&self, selector: &str, version: Option<u32>) -> Result<StoredPlan, StoreError> {
        self.read(|session| find(session, selector, version))
    }

    /// Deletes one version of a plan, or all of them, and returns the deleted ones. Runs of the plan do not need them.
    ///
    /// # Errors
    ///
    /// Those of [`Store::plan`].
    pub fn delete_plan(
        &self,
        selector: &str,
        version: Option<u32>,
    ) -> Result<Vec<StoredPlan>, StoreError> {
        let selector = selector.to_owned();
        self.writer().change(move |session| {
            let plan = find(session, &selector, version)?;
            // A name means all versions, an id a single one.
            let deleted = if version.is_some() || plan.name != selector {
                vec![plan]
            } else {
                select(session, "name = ?1 ORDER BY version", params![plan.name])?
            };
            for plan in &deleted {
                session.execute("DELETE FROM plans WHERE id = ?1", params![&plan.id])?;
            }
            Ok(deleted)
        })
    }
}

fn read_newest(session: &dyn SqlSession, name: &str) -> Result<Option<StoredPlan>, QueryError> {
    let found = select(
        session,
        "name = ?1 ORDER BY version DESC LIMIT 1",
        params![name],
    )?;
    Ok(found.into_iter().next())
}

fn find(
    session: &dyn SqlSession,
    selector: &str,
    version: Option<u32>,
) -> Result<StoredPlan, QueryError> {
    let missing = || {
        let version = version.map_or(String::new(), |version| format!(", version {version}"));
        StoreError::Missing {
            what: "plan",
            selector: format!("{selector}{version}"),
        }
    };
    if !values::is_name(selector) {
        return Err(missing().into());
    }
    let is_known: Option<i64> = session.row(
        "SELECT 1 FROM plans WHERE name = ?1 LIMIT 1",
        params![selector],
        |row| row.get(0),
    )?;
    // A name takes precedence over an id that begins with it.
    let mut found = match (is_known, version) {
        (Some(_), None) => read_newest(session, selector)?.into_iter().collect(),
        (Some(_), Some(version)) => select(
            session,
            "name = ?1 AND version = ?2",
            params![selector, version],
        )?,
        (None, _) => {
            // Ids are hexadecimal, so this character sorts after every character of an id.
            let condition =
                "?1 <= id AND id < ?2 AND (CAST(?3 AS BIGINT) IS NULL OR version = ?3) ORDER BY id";
            let end = format!("{selector}\u{7f}");
            select(session, condition, params![selector, end, version])?
        }
    };
    if 1 < found.len() {
        return Err(QueryError::Store(StoreError::Ambiguous {
            what: "plan",
            selector: selector.to_owned(),
            candidates: found
                .iter()
                .take(MAX_CANDIDATES)
                .map(|plan| format!("{} ({}, version {})", plan.id, plan.name, plan.version))
                .collect(),
        }));
    }
    found.pop().ok_or_else(|| missing().into())
}

fn select(
    session: &dyn SqlSession,
    condition: &str,
    params: &[SqlValue<'_>],
) -> Result<Vec<StoredPlan>, QueryError> {
    let sql = format!(
        "SELECT id, name, version, text, dialect, saved_ns, inputs FROM plans WHERE {condition}"
    );
    session.rows(&sql, params, |row| {
        let (mut plan, inputs) = read_row(row)?;
        plan.inputs = parse_value(&inputs).map_err(|reason| {
            StoreError::Format(format!("the plan `{}` cannot be read: {reason}", plan.name))
        })?;
        Ok(plan)
    })
}

fn read_row(row: &dyn SqlRow) -> Result<(StoredPlan, String), QueryError> {
    let plan = StoredPlan {
        id: row.get(0)?,
        name: row.get(1)?,
        version: row.get(2)?,
        text: row.get(3)?,
        dialect: row.get(4)?,
        saved: from_nanos(row.get(5)?),
        inputs: Value::Null,
    };
    Ok((plan, row.get(6)?))
}
