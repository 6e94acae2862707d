//! `Program`: the instructions of a pattern, and how a pattern becomes one.
//!
//! fancy-regex parses and checks the pattern, regex-syntax the classes in it. The program of a regular expression has no
//! registers. Groups take no instructions, and a repetition copies the instructions of its child for each possible occurrence.

use std::collections::HashSet;
use std::sync::Arc;

use fancy_regex::{Assertion, Expr, LookAround};
use regex_syntax::ParserBuilder;
use regex_syntax::hir::{Class, HirKind};

/// The most instructions of a program, fancy-regex's or ours.
pub(super) const PROGRAM_MAX: usize = 32_768;
/// Maximum number of sizes of the text of a look behind.
const BEHIND_SIZES_MAX: usize = 256;

/// A place in a program.
pub(super) type Place = usize;
/// The first of two registers.
pub(super) type Slot = usize;

/// A set of bytes. Instructions with the same bytes share one.
pub(super) type Set = Arc<[bool; 256]>;

/// One step of a match.
#[derive(Clone, Debug)]
pub(super) enum Instruction {
    /// The next byte is this one.
    Byte(u8),
    /// The next byte is in the set.
    Set(Set),
    Assert(Assertion),
    /// Continues at `first`, and later at `second`.
    Split {
        first: Place,
        second: Place,
    },
    Jump(Place),
    /// Notes the start of a group.
    Open(Slot),
    /// The group is complete: it began at its `start`.
    Close {
        group: Slot,
        start: Slot,
    },
    /// The text of a group follows.
    Repeat {
        group: Slot,
        is_caseless: bool,
    },
    /// Continues at `otherwise` if the group has no text.
    IfGroup {
        group: Slot,
        otherwise: Place,
    },
    /// Begins a loop: no repetition yet.
    Begin(Slot),
    /// Decides whether there is a further repetition, which begins at the next instruction.
    Loop {
        slot: Slot,
        least: usize,
        most: usize,
        is_greedy: bool,
        exit: Place,
    },
    /// Begins a repetition.
    Iterate(Slot),
    /// Notes the position and the ways that are open.
    Enter(Slot),
    /// Forgets the ways that were opened since.
    Cut(Slot),
    /// Forgets these ways, and returns to the position.
    Return(Slot),
    /// Forgets these ways, and fails.
    Refuse(Slot),
    /// Moves back by this number of bytes.
    Back(usize),
    /// The position is the noted one.
    At(Slot),
    Match,
}

/// A compiled pattern.
#[derive(Debug)]
pub(super) struct Program {
    pub instructions: Vec<Instruction>,
    pub register_count: usize,
    /// The pattern is a regular expression: all ways through the instructions are taken at once.
    pub is_regular: bool,
}

/// Returns true if a pattern is more than a regular expression: the pattern looks around or refers back.
fn is_irregular(expr: &Expr) -> bool {
    expr.has_descendant_or_self(|expr| {
        !matches!(
            expr,
            Expr::Empty
                | Expr::Any { .. }
                | Expr::Literal { .. }
                | Expr::LiteralBytes { .. }
                | Expr::Concat(_)
                | Expr::Alt(_)
                | Expr::Group(_)
                | Expr::Repeat { .. }
                | Expr::Delegate { .. }
                | Expr::Assertion(
                    Assertion::StartText
                        | Assertion::EndText
                        | Assertion::StartLine { .. }
                        | Assertion::EndLine { .. }
                        | Assertion::WordBoundary
                        | Assertion::NotWordBoundary
                )
        )
    })
}

/// Compiles a pattern.
///
/// Errors: the pattern is too large, or has a construct that no pattern of PCRE needs.
pub(super) fn compile(expr: &Expr) -> Result<Program, &'static str> {
    let is_regular = !is_irregular(expr);
    let mut compiler = Compiler {
        instructions: Vec::new(),
        sets: HashSet::new(),
        group_count: 0,
        register_count: if is_regular { 0 } else { 2 * (count_groups(expr) + 1) },
        is_regular,
    };
    compiler.add(expr)?;
    compiler.push(Instruction::Match)?;
    let Compiler { mut instructions, register_count, .. } = compiler;
    instructions.shrink_to_fit();
    Ok(Program { instructions, register_count, is_regular })
}

fn count_groups(expr: &Expr) -> usize {
    let below: usize = expr.children_iter().map(count_groups).sum();
    below + usize::from(matches!(expr, Expr::Group(_)))
}

/// Instructions that were compiled for a place.
struct Fragment {
    start: Place,
    instructions: Vec<Instruction>,
}

struct Compiler {
    instructions: Vec<Instruction>,
    sets: HashSet<Set>,
    group_count: usize,
    register_count: usize,
    is_regular: bool,
}

impl Compiler {
    fn push(&mut self, instruction: Instruction) -> Result<Place, &'static str> {
        if self.instructions.len() == PROGRAM_MAX {
            return Err("the pattern is too large");
        }
        self.instructions.push(instruction);
        Ok(self.instructions.len() - 1)
    }

    fn push_set(&mut self, bytes: [bool; 256]) -> Result<(), &'static str> {
        let set = match self.sets.get(&bytes) {
            Some(set) => Arc::clone(set),
            None => Arc::new(bytes),
        };
        self.sets.insert(Arc::clone(&set));
        self.push(Instruction::Set(set)).map(drop)
    }

    fn here(&self) -> Place {
        self.instructions.len()
    }

    fn slot(&mut self) -> Slot {
        self.register_count += 2;
        self.register_count - 2
    }

    fn add(&mut self, expr: &Expr) -> Result<(), &'static str> {
        match expr {
            Expr::Empty | Expr::KeepOut => {}
            Expr::Any { newline, .. } => {
                let mut set = [true; 256];
                set[usize::from(b'\n')] = *newline;
                self.push_set(set)?;
            }
            Expr::Assertion(assertion) => drop(self.push(Instruction::Assert(*assertion))?),
            Expr::Literal { val, casei } => {
                for byte in val.bytes() {
                    self.add_byte(byte, *casei)?;
                }
            }
            Expr::LiteralBytes { bytes } => {
                for byte in bytes {
                    self.add_byte(*byte, false)?;
                }
            }
            Expr::Delegate { inner, casei } => self.push_set(set_of(inner, *casei)?)?,
            Expr::Concat(all) => all.iter().try_for_each(|one| self.add(one))?,
            Expr::Alt(all) => self.add_branches(all.len(), |compiler, index| compiler.add(&all[index]))?,
            Expr::Group(inner) if self.is_regular => self.add(inner)?,
            Expr::Group(inner) => self.add_group(inner)?,
            Expr::Repeat { child, lo, hi, .. } if self.is_regular => self.add_copies(child, *lo, *hi)?,
            Expr::Repeat { child, lo, hi, greedy } => self.add_loop(child, *lo, *hi, *greedy)?,
            Expr::LookAround(inner, kind) => self.add_look(inner, *kind)?,
            Expr::AtomicGroup(inner) => {
                let slot = self.slot();
                self.push(Instruction::Enter(slot))?;
                self.add(inner)?;
                self.push(Instruction::Cut(slot))?;
            }
            Expr::Backref { group, casei } => {
                self.push(Instruction::Repeat { group: 2 * group, is_caseless: *casei })?;
            }
            Expr::Conditional { condition, true_branch, false_branch } => {
                let Expr::BackrefExistsCondition { group, .. } = **condition else {
                    return Err("a condition that names no group is not supported");
                };
                let test = self.push(Instruction::IfGroup { group: 2 * group, otherwise: 0 })?;
                self.add(true_branch)?;
                let jump = self.push(Instruction::Jump(0))?;
                self.instructions[test] = Instruction::IfGroup { group: 2 * group, otherwise: self.here() };
                self.add(false_branch)?;
                self.instructions[jump] = Instruction::Jump(self.here());
            }
            _ => return Err("the pattern is not supported"),
        }
        Ok(())
    }

    fn add_byte(&mut self, byte: u8, is_caseless: bool) -> Result<(), &'static str> {
        if is_caseless && byte.is_ascii_alphabetic() {
            let mut set = [false; 256];
            set[usize::from(byte.to_ascii_lowercase())] = true;
            set[usize::from(byte.to_ascii_uppercase())] = true;
            self.push_set(set)?;
        } else {
            self.push(Instruction::Byte(byte))?;
        }
        Ok(())
    }

    /// Branches, the first of which is tried first.
    fn add_branches(
        &mut self,
        count: usize,
        mut add: impl FnMut(&mut Compiler, usize) -> Result<(), &'static str>,
    ) -> Result<(), &'static str> {
        let mut jumps = Vec::new();
        for index in 0..count {
            if index + 1 == count {
                add(self, index)?;
                continue;
            }
            let split = self.push(Instruction::Jump(0))?;
            add(self, index)?;
            jumps.push(self.push(Instruction::Jump(0))?);
            self.instructions[split] = Instruction::Split { first: split + 1, second: self.here() };
        }
        let end = self.here();
        jumps.into_iter().for_each(|jump| self.instructions[jump] = Instruction::Jump(end));
        Ok(())
    }

    fn add_group(&mut self, inner: &Expr) -> Result<(), &'static str> {
        self.group_count += 1;
        let (group, start) = (2 * self.group_count, self.slot());
        self.push(Instruction::Open(start))?;
        self.add(inner)?;
        self.push(Instruction::Close { group, start })?;
        Ok(())
    }

    /// Adds a repetition without a register: the required copies of the child, and then the optional ones.
    fn add_copies(&mut self, child: &Expr, least: usize, most: usize) -> Result<(), &'static str> {
        let start = self.here();
        self.add(child)?;
        let child = Fragment { start, instructions: self.instructions.split_off(start) };
        // A child without instructions matches any number of times.
        if child.instructions.is_empty() {
            return Ok(());
        }
        for _ in 0..least {
            self.copy(&child)?;
        }
        let mut splits = Vec::new();
        let copy_count = if most == usize::MAX { 1 } else { most.saturating_sub(least) };
        for _ in 0..copy_count {
            splits.push(self.push(Instruction::Jump(0))?);
            self.copy(&child)?;
        }
        if most == usize::MAX {
            self.push(Instruction::Jump(splits[0]))?;
        }
        let end = self.here();
        for at in splits {
            self.instructions[at] = Instruction::Split { first: at + 1, second: end };
        }
        Ok(())
    }

    /// Appends the instructions of a regular expression once more.
    fn copy(&mut self, fragment: &Fragment) -> Result<(), &'static str> {
        let start = self.here();
        let moved = |place: Place| place - fragment.start + start;
        for instruction in &fragment.instructions {
            self.push(match instruction {
                Instruction::Jump(target) => Instruction::Jump(moved(*target)),
                Instruction::Split { first, second } => {
                    Instruction::Split { first: moved(*first), second: moved(*second) }
                }
                other => other.clone(),
            })?;
        }
        Ok(())
    }

    fn add_loop(
        &mut self,
        child: &Expr,
        least: usize,
        most: usize,
        is_greedy: bool,
    ) -> Result<(), &'static str> {
        let slot = self.slot();
        self.push(Instruction::Begin(slot))?;
        let head = self.push(Instruction::Jump(0))?;
        self.push(Instruction::Iterate(slot))?;
        self.add(child)?;
        self.push(Instruction::Jump(head))?;
        self.instructions[head] = Instruction::Loop { slot, least, most, is_greedy, exit: self.here() };
        Ok(())
    }

    fn add_look(&mut self, inner: &Expr, kind: LookAround) -> Result<(), &'static str> {
        let is_behind = matches!(kind, LookAround::LookBehind | LookAround::LookBehindNeg);
        let is_negative = matches!(kind, LookAround::LookAheadNeg | LookAround::LookBehindNeg);
        let slot = self.slot();
        self.push(Instruction::Enter(slot))?;
        let split = if is_negative { Some(self.push(Instruction::Jump(0))?) } else { None };
        if is_behind {
            self.add_behind(inner, slot)?;
        } else {
            self.add(inner)?;
        }
        self.push(if is_negative { Instruction::Refuse(slot) } else { Instruction::Return(slot) })?;
        if let Some(split) = split {
            self.instructions[split] = Instruction::Split { first: split + 1, second: self.here() };
        }
        Ok(())
    }

    /// Tries each size that the text may have.
    fn add_behind(&mut self, inner: &Expr, slot: Slot) -> Result<(), &'static str> {
        let (least, most) = sizes(inner);
        let count = most.saturating_sub(least).saturating_add(1);
        if count > BEHIND_SIZES_MAX {
            return Err("lookbehind assertion is not fixed length");
        }
        let first_group = self.group_count;
        self.add_branches(count, |compiler, index| {
            compiler.group_count = first_group;
            compiler.push(Instruction::Back(least + index))?;
            compiler.add(inner)?;
            compiler.push(Instruction::At(slot)).map(drop)
        })
    }
}

/// The least and the most bytes of a text.
fn sizes(expr: &Expr) -> (usize, usize) {
    let either =
        |(least, most): (usize, usize), (less, more): (usize, usize)| (least.min(less), most.max(more));
    match expr {
        Expr::Any { .. } | Expr::Delegate { .. } => (1, 1),
        Expr::Literal { val, .. } => (val.len(), val.len()),
        Expr::LiteralBytes { bytes } => (bytes.len(), bytes.len()),
        Expr::Concat(all) => all.iter().map(sizes).fold((0, 0), |(least, most), (less, more)| {
            (least.saturating_add(less), most.saturating_add(more))
        }),
        Expr::Alt(all) => all.iter().map(sizes).reduce(either).unwrap_or_default(),
        Expr::Group(inner) => sizes(inner),
        Expr::AtomicGroup(inner) => sizes(inner),
        Expr::Repeat { child, lo, hi, .. } => {
            let (least, most) = sizes(child);
            (least.saturating_mul(*lo), most.saturating_mul(*hi))
        }
        Expr::Conditional { true_branch, false_branch, .. } => {
            either(sizes(true_branch), sizes(false_branch))
        }
        Expr::Backref { .. } => (0, usize::MAX),
        _ => (0, 0),
    }
}

/// The bytes of a class.
fn set_of(class: &str, is_caseless: bool) -> Result<[bool; 256], &'static str> {
    let mut parser = ParserBuilder::new().unicode(false).utf8(false).case_insensitive(is_caseless).build();
    let hir = parser.parse(class).map_err(|_| "the class is not supported")?;
    let mut set = [false; 256];
    match hir.kind() {
        HirKind::Class(Class::Bytes(bytes)) => {
            for range in bytes.iter() {
                set[usize::from(range.start())..=usize::from(range.end())].fill(true);
            }
        }
        HirKind::Class(Class::Unicode(chars)) => {
            for range in chars.iter() {
                let [start, end] = [range.start(), range.end()].map(u8::try_from);
                let (Ok(start), Ok(end)) = (start, end) else { return Err("the class is not supported") };
                set[usize::from(start)..=usize::from(end)].fill(true);
            }
        }
        HirKind::Literal(literal) if literal.0.len() == 1 => set[usize::from(literal.0[0])] = true,
        _ => return Err("the class is not supported"),
    }
    Ok(set)
}
