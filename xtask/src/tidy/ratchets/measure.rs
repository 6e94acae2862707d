//! `Measure`: what the ratchets measure of one crate, with the places that a finding names.

use std::collections::BTreeMap;

use super::super::tree::Tree;
use super::circles::Imports;
use super::krate::Crate;
use super::reader;
use super::record::{Record, Sizes};
use super::types::{self, Size};

/// One crate, measured.
pub(super) struct Measure {
    pub(super) krate: Crate,
    pub(super) imports: Imports,
    /// The files of each circle, the largest circle first.
    pub(super) circles: Vec<Vec<usize>>,
    /// The types with more methods than the house wants.
    pub(super) methods: BTreeMap<String, Size>,
    /// The structs with more fields than the house wants.
    pub(super) fields: BTreeMap<String, Size>,
    /// Types with inherent impls outside of their files, and the number of these.
    pub(super) impls: BTreeMap<String, Size>,
}

impl Measure {
    /// Measures every crate of the checkout.
    pub(super) fn all(tree: &Tree) -> Vec<Measure> {
        reader::crates(tree).into_iter().map(|krate| Measure::of(tree, krate)).collect()
    }

    fn of(tree: &Tree, krate: Crate) -> Measure {
        let imports = Imports::of(&krate);
        Measure {
            circles: imports.circles(),
            methods: types::methods(tree, &krate),
            fields: types::fields(tree, &krate),
            impls: types::impls(tree, &krate),
            imports,
            krate,
        }
    }

    /// The names of the files of a circle.
    pub(super) fn names(&self, circle: &[usize]) -> Vec<String> {
        let mut names: Vec<String> = circle.iter().map(|&file| self.krate.files[file].clone()).collect();
        names.sort();
        names
    }
}

/// The record of what was measured.
pub(super) fn record(measures: &[Measure]) -> Record {
    let mut record = Record::default();
    for measure in measures {
        let name = &measure.krate.name;
        if !measure.circles.is_empty() {
            let mut circles: Vec<Vec<String>> =
                measure.circles.iter().map(|circle| measure.names(circle)).collect();
            circles.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
            record.circles.insert(name.clone(), circles);
        }
        record_sizes(&mut record.methods, name, &measure.methods);
        record_sizes(&mut record.fields, name, &measure.fields);
        record_sizes(&mut record.impls, name, &measure.impls);
    }
    record
}

fn record_sizes(record: &mut Sizes, krate: &str, sizes: &BTreeMap<String, Size>) {
    if !sizes.is_empty() {
        let values = sizes.iter().map(|(name, size)| (name.clone(), size.value)).collect();
        record.insert(krate.to_owned(), values);
    }
}
