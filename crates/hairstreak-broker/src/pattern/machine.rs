//! `find`: matches a program with a name, and counts the steps.
//!
//! A step is one instruction. A program that looks around or refers back takes one way after the other. Each open way and each
//! overwritten register value is kept until the match returns there, so that memory, too, is bounded by steps. The program of a
//! regular expression takes all ways at once, and visits each instruction once for each byte of the name.

use fancy_regex::Assertion;

use super::program::{Instruction, Place, Program};

/// The value of a register that has none.
const NONE: usize = usize::MAX;
/// The bytes of repeated text, and the registers or marks that are prepared, for one step.
const STEP_SIZE: usize = 16;

/// The steps were not enough.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct OutOfSteps;

/// A way that is left open.
struct Way {
    place: Place,
    position: usize,
    /// The number of overwritten values to keep.
    overwritten_count: usize,
}

struct Machine<'a> {
    name: &'a [u8],
    position: usize,
    registers: Vec<usize>,
    /// Registers that were overwritten, and their values before.
    overwritten: Vec<(usize, usize)>,
    ways: Vec<Way>,
}

/// Takes steps from the steps that are left.
fn take_steps(steps: &mut usize, count: usize) -> Result<(), OutOfSteps> {
    let left = steps.checked_sub(count);
    *steps = left.unwrap_or(0);
    left.map(drop).ok_or(OutOfSteps)
}

/// Returns true if the pattern matches somewhere in `name`. Takes the steps from `steps`.
///
/// Errors: the steps are not enough.
pub(super) fn find(program: &Program, name: &[u8], steps: &mut usize) -> Result<bool, OutOfSteps> {
    if program.is_regular { find_at_once(program, name, steps) } else { find_in_turn(program, name, steps) }
}

fn find_in_turn(program: &Program, name: &[u8], steps: &mut usize) -> Result<bool, OutOfSteps> {
    take_steps(steps, program.register_count / STEP_SIZE)?;
    let mut machine = Machine {
        name,
        position: 0,
        registers: vec![NONE; program.register_count],
        overwritten: Vec::new(),
        ways: Vec::new(),
    };
    for start in 0..=name.len() {
        machine.position = start;
        if machine.run(&program.instructions, steps)? {
            return Ok(true);
        }
        machine.restore(0);
    }
    Ok(false)
}

/// As `find`, for a regular expression.
fn find_at_once(program: &Program, name: &[u8], steps: &mut usize) -> Result<bool, OutOfSteps> {
    take_steps(steps, program.instructions.len() / STEP_SIZE)?;
    // The position behind the last one at which the match came to each instruction.
    let mut marks = vec![0; program.instructions.len()];
    let (mut places, mut next_places) = (Vec::new(), Vec::new());
    for position in 0..=name.len() {
        places.push(0);
        while let Some(place) = places.pop() {
            take_steps(steps, 1)?;
            if std::mem::replace(&mut marks[place], position + 1) == position + 1 {
                continue;
            }
            let byte = name.get(position);
            let is_next = match &program.instructions[place] {
                Instruction::Byte(meant) => byte == Some(meant),
                Instruction::Set(set) => byte.is_some_and(|byte| set[usize::from(*byte)]),
                Instruction::Assert(assertion) => {
                    if holds(*assertion, name, position) {
                        places.push(place + 1);
                    }
                    false
                }
                Instruction::Split { first, second } => {
                    places.extend([*first, *second]);
                    false
                }
                Instruction::Jump(target) => {
                    places.push(*target);
                    false
                }
                Instruction::Match => return Ok(true),
                // Programs of regular expressions have no others.
                _ => false,
            };
            if is_next {
                next_places.push(place + 1);
            }
        }
        std::mem::swap(&mut places, &mut next_places);
    }
    Ok(false)
}

impl Machine<'_> {
    fn run(&mut self, instructions: &[Instruction], steps: &mut usize) -> Result<bool, OutOfSteps> {
        let mut place = 0;
        loop {
            take_steps(steps, 1)?;
            let Some(instruction) = instructions.get(place) else { return Ok(false) };
            if matches!(instruction, Instruction::Match) {
                return Ok(true);
            }
            if let Instruction::Repeat { group, .. } = instruction {
                let size = self.registers[*group + 1].saturating_sub(self.registers[*group]);
                take_steps(steps, size / STEP_SIZE)?;
            }
            match self.step(instruction, place) {
                Some(next) => place = next,
                None => match self.return_to_way() {
                    Some(next) => place = next,
                    None => return Ok(false),
                },
            }
        }
    }

    /// Returns the place of the next instruction; `None` if this way does not lead to a match.
    fn step(&mut self, instruction: &Instruction, place: Place) -> Option<Place> {
        let next = place + 1;
        match instruction {
            Instruction::Byte(byte) => self.take(|other| other == *byte)?,
            Instruction::Set(set) => self.take(|byte| set[usize::from(byte)])?,
            Instruction::Assert(assertion) => {
                return holds(*assertion, self.name, self.position).then_some(next);
            }
            Instruction::Split { first, second } => {
                self.open(*second);
                return Some(*first);
            }
            Instruction::Jump(target) => return Some(*target),
            Instruction::Open(start) => self.set(*start, self.position),
            Instruction::Close { group, start } => {
                self.set(*group, self.registers[*start]);
                self.set(*group + 1, self.position);
            }
            Instruction::Repeat { group, is_caseless } => self.repeat(*group, *is_caseless)?,
            Instruction::IfGroup { group, otherwise } => {
                return Some(if self.registers[*group + 1] == NONE { *otherwise } else { next });
            }
            Instruction::Begin(slot) => {
                self.set(*slot, 0);
                self.set(*slot + 1, NONE);
            }
            Instruction::Loop { slot, least, most, is_greedy, exit } => {
                let count = self.registers[*slot];
                // As in PCRE a repetition of an empty text is the last one.
                if count == *most || self.registers[*slot + 1] == self.position {
                    return Some(*exit);
                }
                if count >= *least {
                    self.open(if *is_greedy { *exit } else { next });
                    return Some(if *is_greedy { next } else { *exit });
                }
            }
            Instruction::Iterate(slot) => {
                self.set(*slot, self.registers[*slot] + 1);
                self.set(*slot + 1, self.position);
            }
            Instruction::Enter(slot) => {
                self.set(*slot, self.ways.len());
                self.set(*slot + 1, self.position);
            }
            Instruction::Cut(slot) => self.ways.truncate(self.registers[*slot]),
            Instruction::Return(slot) => {
                self.ways.truncate(self.registers[*slot]);
                self.position = self.registers[*slot + 1];
            }
            Instruction::Refuse(slot) => {
                self.ways.truncate(self.registers[*slot]);
                return None;
            }
            Instruction::Back(size) => self.position = self.position.checked_sub(*size)?,
            Instruction::At(slot) => return (self.position == self.registers[*slot + 1]).then_some(next),
            // `run` ends there.
            Instruction::Match => {}
        }
        Some(next)
    }

    fn take(&mut self, is_meant: impl Fn(u8) -> bool) -> Option<()> {
        self.name.get(self.position).filter(|byte| is_meant(**byte))?;
        self.position += 1;
        Some(())
    }

    fn repeat(&mut self, group: usize, is_caseless: bool) -> Option<()> {
        let text = self.name.get(self.registers[group]..self.registers[group + 1])?;
        let next = self.name.get(self.position..self.position + text.len())?;
        let is_same = if is_caseless { next.eq_ignore_ascii_case(text) } else { next == text };
        self.position += text.len();
        is_same.then_some(())
    }

    fn set(&mut self, register: usize, value: usize) {
        let before = std::mem::replace(&mut self.registers[register], value);
        self.overwritten.push((register, before));
    }

    fn open(&mut self, place: Place) {
        let overwritten_count = self.overwritten.len();
        self.ways.push(Way { place, position: self.position, overwritten_count });
    }

    /// Returns to the last open way.
    fn return_to_way(&mut self) -> Option<Place> {
        let way = self.ways.pop()?;
        self.restore(way.overwritten_count);
        self.position = way.position;
        Some(way.place)
    }

    /// Restores overwritten registers, except the first `count` values.
    fn restore(&mut self, count: usize) {
        for (register, value) in self.overwritten.drain(count..).rev() {
            self.registers[register] = value;
        }
    }
}

/// Returns true if an assertion holds at a position of a name.
fn holds(assertion: Assertion, name: &[u8], position: usize) -> bool {
    let (before, rest) = name.split_at(position);
    let is_word = |byte: Option<&u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
    let is_boundary = is_word(before.last()) != is_word(rest.first());
    match assertion {
        Assertion::StartText => before.is_empty(),
        Assertion::EndText => rest.is_empty(),
        Assertion::EndTextIgnoreTrailingNewlines { .. } => matches!(rest, [] | [b'\n']),
        Assertion::StartLine { .. } => matches!(before, [] | [.., b'\n']),
        Assertion::EndLine { .. } => matches!(rest, [] | [b'\n', ..]),
        Assertion::WordBoundary => is_boundary,
        Assertion::NotWordBoundary => !is_boundary,
        // No pattern of PCRE has these.
        _ => false,
    }
}
