//! `Mutation`: one bug that is made on purpose, as `mutations.toml` of its crate lists it.

use std::collections::BTreeMap;

/// The name of each list.
pub(crate) const FILE_NAME: &str = "mutations.toml";

/// A text of one file, and another text that stands there instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mutation {
    pub(crate) name: String,
    /// Relative to the checkout.
    pub(crate) file: String,
    pub(crate) find: String,
    pub(crate) replace: String,
    /// Why the short form of the tests is too short.
    pub(crate) thorough: Option<String>,
}

/// Reads the list at `path`, which is relative to the checkout.
///
/// # Errors
///
/// An error of the list.
pub(crate) fn read(path: &str, text: &str) -> Result<Vec<Mutation>, String> {
    let folder = path.strip_suffix(FILE_NAME).unwrap_or_default();
    let mut table: toml::Table = text.parse().map_err(|error| format!("{error}"))?;
    let entries = table.remove("mutation").ok_or("a list has entries `[[mutation]]`")?;
    let entries: Vec<BTreeMap<String, String>> = entries.try_into().map_err(|error| format!("{error}"))?;
    let mutations: Vec<Mutation> =
        entries.into_iter().map(|entry| mutation(folder, entry)).collect::<Result<_, String>>()?;
    let is_again = |(index, mutation): (usize, &Mutation)| {
        mutations[..index].iter().any(|other| other.name == mutation.name).then(|| mutation.name.clone())
    };
    match mutations.iter().enumerate().find_map(is_again) {
        Some(name) => Err(format!("{name}: the name is taken")),
        None => Ok(mutations),
    }
}

fn mutation(folder: &str, mut entry: BTreeMap<String, String>) -> Result<Mutation, String> {
    let thorough = entry.remove("thorough");
    let mut field =
        |name: &str| entry.remove(name).ok_or_else(|| format!("a mutation has no `{name}`: {entry:?}"));
    let (name, file) = (field("name")?, field("file")?);
    let mutation = Mutation {
        name,
        file: format!("{folder}{file}"),
        find: field("find")?,
        replace: field("replace")?,
        thorough,
    };
    match entry.keys().next() {
        Some(unknown) => Err(format!("{}: the field `{unknown}` is unknown", mutation.name)),
        None => Ok(mutation),
    }
}

impl Mutation {
    /// The text of the file with the mutation.
    ///
    /// # Errors
    ///
    /// The text to find is not there, or is there more than once.
    pub(crate) fn apply(&self, text: &str) -> Result<String, String> {
        match text.matches(&self.find).count() {
            1 if self.find != self.replace => Ok(text.replacen(&self.find, &self.replace, 1)),
            1 => Err(format!("{}: the mutation changes nothing", self.name)),
            count => Err(format!("{}: {} has the text {count} times, not once", self.name, self.file)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENTRY: &str = "[[mutation]]\nname = \"late\"\nfile = \"src/a.rs\"\nfind = '<='\nreplace = '<'\n";

    #[test]
    fn a_mutation_changes_the_one_place_with_its_text() {
        let mutations = read("crates/a/mutations.toml", ENTRY).unwrap();
        let [late] = &mutations[..] else { panic!("{mutations:?}") };
        assert_eq!((&*late.name, &*late.file), ("late", "crates/a/src/a.rs"));
        assert_eq!(late.apply("a <= b"), Ok("a < b".to_owned()));
        assert!(late.apply("a < b").unwrap_err().contains("0 times"));
        assert!(late.apply("a <= b <= c").unwrap_err().contains("2 times"));
    }

    #[test]
    fn a_list_with_the_same_name_twice_or_an_unknown_field_is_refused() {
        assert!(read("mutations.toml", &format!("{ENTRY}{ENTRY}")).unwrap_err().contains("taken"));
        assert!(read("mutations.toml", &format!("{ENTRY}why = ''\n")).unwrap_err().contains("`why`"));
        assert!(read("mutations.toml", "[[mutation]]\nname = 'a'\n").unwrap_err().contains("`file`"));
        assert!(read("mutations.toml", "").is_err());
    }
}
