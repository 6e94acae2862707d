//! All mutations, or those with the names that are given, one after the other.

use std::path::{Path, PathBuf};
use std::time::Instant;

use super::scratch::Scratch;
use super::table::{FILE_NAME, Mutation, read};
use super::trial::{Outcome, Trial};

/// Makes the mutations of these names, or all, and prints for each which test finds it. Returns whether all were found.
///
/// # Errors
///
/// A list cannot be read, a text is not there, a mutation does not compile, or the tests fail without one.
pub fn check(checkout: &Path, names: &[&str]) -> Result<bool, String> {
    let folder = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| checkout.join("target"), PathBuf::from);
    let folder = std::path::absolute(folder.join("mutations")).map_err(|error| error.to_string())?;
    let scratch = Scratch::copy(checkout, folder.join("checkout"))?;
    let lists = lists(&scratch)?;
    let is_known =
        |name: &&&str| !lists.iter().flat_map(|list| &list.mutations).any(|known| known.name == **name);
    if let Some(name) = names.iter().find(is_known) {
        return Err(format!("there is no mutation {name}"));
    }
    let mut missed = Vec::new();
    for list in &lists {
        let trial = Trial { root: &scratch.root, target: &folder.join("target"), folder: &list.folder };
        let chosen = |mutation: &&Mutation| names.is_empty() || names.contains(&&*mutation.name);
        let chosen: Vec<&Mutation> = list.mutations.iter().filter(chosen).collect();
        if chosen.is_empty() {
            continue;
        }
        if let Outcome::Failed(finder) = trial.run(false)? {
            return Err(format!("the tests of {} fail without a mutation: {finder}", list.folder));
        }
        for mutation in chosen {
            let start = Instant::now();
            let outcome = run(&scratch, &trial, mutation)?;
            let found = match &outcome {
                Outcome::Failed(finder) => finder,
                Outcome::Passed => "NOT FOUND",
            };
            println!("{:<45} {found:<60} {:>4} s", mutation.name, start.elapsed().as_secs());
            missed.extend((outcome == Outcome::Passed).then_some(&*mutation.name));
        }
    }
    if !missed.is_empty() {
        println!("not found: {}", missed.join(", "));
    }
    Ok(missed.is_empty())
}

/// The mutations of one crate.
struct List {
    /// The folder of the crate.
    folder: String,
    mutations: Vec<Mutation>,
}

fn lists(scratch: &Scratch) -> Result<Vec<List>, String> {
    let files = scratch.tree().ending_in(FILE_NAME);
    let list = files.map(|file| {
        let mutations = read(&file.path, &file.text).map_err(|error| format!("{}: {error}", file.path))?;
        let folder = file.path.trim_end_matches(FILE_NAME).trim_end_matches('/').to_owned();
        Ok(List { folder, mutations })
    });
    list.collect()
}

/// Runs the tests with the mutation, and takes it back.
fn run(scratch: &Scratch, trial: &Trial<'_>, mutation: &Mutation) -> Result<Outcome, String> {
    let text = scratch.tree().text_of(&mutation.file);
    let text = text.ok_or_else(|| format!("{}: there is no {}", mutation.name, mutation.file))?;
    scratch.write(&mutation.file, &mutation.apply(text)?)?;
    let outcome = trial.run(mutation.thorough.is_some());
    scratch.write(&mutation.file, text)?;
    outcome.map_err(|error| format!("{}: {error}", mutation.name))
}
