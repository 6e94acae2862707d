//! `Input`: the bytes of the fuzzer, taken as choices from the front. Bytes that are missing count as zeros.

pub struct Input<'a>(&'a [u8]);

impl<'a> Input<'a> {
    pub fn new(bytes: &'a [u8]) -> Input<'a> {
        Input(bytes)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }

    pub fn short(&mut self) -> u16 {
        u16::from_be_bytes([self.byte(), self.byte()])
    }

    /// A number below `count`.
    pub fn below(&mut self, count: usize) -> usize {
        usize::from(self.byte()) % count
    }

    pub fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }

    /// A byte of size, and so many bytes.
    pub fn bytes(&mut self) -> &'a [u8] {
        let size = usize::from(self.byte()).min(self.0.len());
        let (bytes, rest) = self.0.split_at(size);
        self.0 = rest;
        bytes
    }

    pub fn flags(&mut self) -> Flags {
        Flags(self.byte())
    }
}

/// The bits of a byte, taken one by one.
pub struct Flags(u8);

impl Flags {
    pub fn next(&mut self) -> bool {
        let flag = self.0 & 1 == 1;
        self.0 >>= 1;
        flag
    }
}
