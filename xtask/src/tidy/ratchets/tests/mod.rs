//! Tests of the ratchets on small trees.

mod circles;
mod comparing;
mod sizes;
