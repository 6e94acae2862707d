//! `Tags`: the rights of a user over HTTP. Tags never widen the user's rights over AMQP.

use std::sync::Arc;

use super::error::AccessError;

/// The most tags of a user.
const TAGS_COUNT_MAX: usize = 64;
/// The most bytes of a tag.
const TAG_SIZE_MAX: usize = 255;

/// A user's tags, in the order given, each once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tags(Arc<[Box<str>]>);

impl Tags {
    /// The tags of a list.
    ///
    /// Errors: too many tags, or a tag that is too long.
    pub fn from_names<'a>(names: impl IntoIterator<Item = &'a str>) -> Result<Tags, AccessError> {
        let mut tags: Vec<Box<str>> = Vec::new();
        for name in names.into_iter().map(str::trim).filter(|name| !name.is_empty()) {
            if name.len() > TAG_SIZE_MAX || tags.len() == TAGS_COUNT_MAX {
                return Err(AccessError::Tags { count_max: TAGS_COUNT_MAX, size_max: TAG_SIZE_MAX });
            }
            if !tags.iter().any(|tag| **tag == *name) {
                tags.push(name.into());
            }
        }
        Ok(Tags(tags.into()))
    }

    /// The tags of a text with commas, as old definitions and `PUT /api/users` have them.
    ///
    /// Errors: as [`Tags::from_names`].
    pub fn from_text(text: &str) -> Result<Tags, AccessError> {
        Tags::from_names(text.split(','))
    }

    /// The names, in the order given.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &str> {
        self.0.iter().map(|tag| &**tag)
    }

    /// Returns true if the tag is present.
    pub fn has(&self, name: &str) -> bool {
        self.iter().any(|tag| tag == name)
    }

    fn has_any(&self, names: &[&str]) -> bool {
        names.iter().any(|name| self.has(name))
    }

    /// Returns true if the user may log in over HTTP: any of `management`, `policymaker`, `monitoring` and `administrator`.
    pub fn may_manage(&self) -> bool {
        self.has_any(&["management", "policymaker", "monitoring", "administrator"])
    }

    /// Returns true if the user may set policies and parameters of its virtual hosts: `policymaker` and `administrator`.
    pub fn may_set_policies(&self) -> bool {
        self.has_any(&["policymaker", "administrator"])
    }

    /// Returns true if the user sees all virtual hosts, connections and nodes: `monitoring` and `administrator`.
    pub fn may_monitor(&self) -> bool {
        self.has_any(&["monitoring", "administrator"])
    }

    /// Returns true if lists show virtual hosts without a permission of the user: as [`Tags::may_monitor`].
    pub fn sees_all_virtual_hosts(&self) -> bool {
        self.may_monitor()
    }

    /// Returns true if the user may do everything over HTTP: `administrator`.
    pub fn may_administer(&self) -> bool {
        self.has("administrator")
    }

    /// Returns true if messages of the user may have another user's `user-id`: `impersonator`.
    pub fn may_impersonate(&self) -> bool {
        self.has("impersonator")
    }

    /// Returns true if the user cannot be changed over HTTP: `protected`.
    pub fn is_protected(&self) -> bool {
        self.has("protected")
    }
}
