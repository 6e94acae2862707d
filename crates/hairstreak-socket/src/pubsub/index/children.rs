//! `Children`: the children of a node; a few stand in the node itself, so that a look-up fetches one cache line less.

/// How many stand in the node.
const FEW: usize = 4;

pub(super) enum Children {
    /// Sorted by the first byte of their labels, as far as `count`.
    Few { count: u8, firsts: [u8; FEW], numbers: [u32; FEW] },
    /// The first byte of each child's label, and the child; sorted, and more than a few.
    Many(Box<[(u8, u32)]>),
}

const _: () = assert!(size_of::<Children>() == 24);

impl Children {
    pub const NONE: Children = Children::Few { count: 0, firsts: [0; FEW], numbers: [0; FEW] };

    /// The child whose label begins with `first`.
    #[inline]
    pub fn find(&self, first: u8) -> Option<u32> {
        match self {
            Children::Few { count, firsts, numbers } => {
                let at = firsts[..usize::from(*count)].iter().position(|other| *other == first)?;
                Some(numbers[at])
            }
            Children::Many(children) => {
                let at = children.binary_search_by_key(&first, |child| child.0).ok()?;
                Some(children[at].1)
            }
        }
    }

    pub fn count(&self) -> usize {
        match self {
            Children::Few { count, .. } => usize::from(*count),
            Children::Many(children) => children.len(),
        }
    }

    /// Each first byte and its child, sorted.
    pub fn iter(&self) -> impl Iterator<Item = (u8, u32)> {
        let few = |at| match self {
            Children::Few { firsts, numbers, .. } => (firsts[at], numbers[at]),
            Children::Many(children) => children[at],
        };
        (0..self.count()).map(few)
    }

    /// Sets the child whose label begins with `first`.
    pub fn set(&mut self, first: u8, child: u32) {
        let mut all: Vec<_> = self.iter().collect();
        match all.binary_search_by_key(&first, |child| child.0) {
            Ok(at) => all[at].1 = child,
            Err(at) => all.insert(at, (first, child)),
        }
        *self = all.into();
    }

    pub fn remove(&mut self, first: u8) {
        *self = self.iter().filter(|child| child.0 != first).collect::<Vec<_>>().into();
    }
}

/// Of children that are sorted.
impl From<Vec<(u8, u32)>> for Children {
    fn from(children: Vec<(u8, u32)>) -> Children {
        if children.len() > FEW {
            return Children::Many(children.into());
        }
        let (mut firsts, mut numbers) = ([0; FEW], [0; FEW]);
        for (at, (first, number)) in children.iter().enumerate() {
            (firsts[at], numbers[at]) = (*first, *number);
        }
        Children::Few { count: children.len() as u8, firsts, numbers }
    }
}
