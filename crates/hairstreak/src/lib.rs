//! Messaging for applications that are split into components.

pub mod topology;
