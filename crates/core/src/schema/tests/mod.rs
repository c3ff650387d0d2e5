//! Tests of schemas: tables of cases, and properties of all schemas and values.

mod properties;
mod values;
