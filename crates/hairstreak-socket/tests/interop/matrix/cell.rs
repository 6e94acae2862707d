//! `Cell`: one combination of all dimensions but the pair of types.

use super::ours::Ours;
use super::talk::Talk;
use crate::endpoints::endpoint;
use crate::python::Python;
use crate::soak::amount;

#[derive(Clone, Copy, Debug)]
pub struct Cell {
    transport: &'static str,
    they_bind: bool,
}

fn cells() -> impl Iterator<Item = Cell> {
    let transports = ["tcp", "ipc"].into_iter();
    transports.flat_map(|transport| [true, false].map(|they_bind| Cell { transport, they_bind }))
}

/// Has our end talk to theirs in every cell.
pub fn check(ours: impl Fn() -> Ours, their_role: &str, talk: Talk) {
    let mut script = Python::start("cells.py", [""; 0]);
    let count = amount(1000, 100_000);
    for cell in cells() {
        println!("{their_role}, {talk:?}, {cell:?}");
        let ours = ours();
        let ask = |join: &str, place: &str| format!("{their_role} {join} {place} {} {count}", talk.theirs());
        if cell.they_bind {
            script.say(&ask("bind", &endpoint(cell.transport)));
            (ours.connect)(&script.hear("bound"));
        } else {
            let place = (ours.bind)(&endpoint(cell.transport));
            script.say(&ask("connect", &place));
        }
        (ours.wait)();
        talk.run(&ours, &mut script, count);
        script.hear("done");
    }
    script.end_input();
    script.finish();
}
