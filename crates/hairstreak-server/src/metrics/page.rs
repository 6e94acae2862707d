//! `Page`: the answer to a scrape, written while it is sent.

use std::collections::VecDeque;

use super::table::Block;
use crate::http::{Chunks, Share};

/// The size of the pieces of a page.
const PIECE_SIZE: usize = 64 * 1024;

/// A page as it is sent.
pub(super) struct Page {
    blocks: VecDeque<Box<dyn Block>>,
    /// The room of the page's rows.
    _share: Share,
}

impl Page {
    pub(super) fn new(blocks: Vec<Box<dyn Block>>, share: Share) -> Page {
        Page { blocks: blocks.into(), _share: share }
    }
}

impl Chunks for Page {
    fn next(&mut self) -> Option<Vec<u8>> {
        // A sample passes the size of a piece by at most two names and a virtual host's.
        let mut text = Vec::with_capacity(PIECE_SIZE + 1024);
        while let Some(block) = self.blocks.front_mut() {
            if block.write(&mut text, PIECE_SIZE) {
                break;
            }
            self.blocks.pop_front();
        }
        (!text.is_empty()).then_some(text)
    }
}
