//! Blocks of Salsa20 side by side: each lane of a vector computes one block, and lanes may belong to different messages.
//!
//! This is the block function of the Salsa20 specification (Bernstein, 2005, section 8) with vectors for words. The
//! vectors of the processor are detected at run time. The crates with Salsa20 compute at most the blocks of one
//! message side by side, and a short message has only one or two.
//!
//! Invariant: neither a branch nor an address depends on the key.

use fearless_simd::prelude::*;
use fearless_simd::{Level, Simd, dispatch, u32x4};

/// Size of a block of keystream, in bytes.
pub(super) const BLOCK_SIZE: usize = 64;
/// Number of blocks that the widest vectors compute at once.
pub(super) const LANES_MAX: usize = 16;

/// "expand 32-byte k".
const SIGMA: [u32; 4] = [0x6170_7865, 0x3320_646e, 0x7962_2d32, 0x6b20_6574];
const DOUBLE_ROUNDS: usize = 10;

/// Largest number of blocks of a message that fits the lanes of any processor.
pub(super) const EACH_MAX: usize = 4;

/// Computes the first `each` blocks for message `first`, then those of the next messages, until the lanes are used
/// up. Returns the number of messages. `each` is a power of two up to [`EACH_MAX`].
pub(super) fn compute(
    level: Level,
    key: &[u32; 8],
    first: u64,
    each: usize,
    blocks: &mut [[u8; BLOCK_SIZE]; LANES_MAX],
) -> usize {
    debug_assert!(each.is_power_of_two() && each <= EACH_MAX);
    dispatch!(level, simd => compute_with(simd, key, first, each, blocks))
}

#[inline(always)]
fn compute_with<S: Simd>(
    simd: S,
    key: &[u32; 8],
    first: u64,
    each: usize,
    blocks: &mut [[u8; BLOCK_SIZE]; LANES_MAX],
) -> usize {
    let lane_count = <S::u32s as SimdBase<S>>::LEN.min(LANES_MAX);
    let shift = each.trailing_zeros();
    // The nonce is the number as CURVE writes it, big endian, and Salsa20 reads little endian.
    let number = |lane: usize| first.wrapping_add(lane as u64 >> shift).swap_bytes();
    let same = |word: u32| <S::u32s as SimdBase<S>>::splat(simd, word);
    let input: [S::u32s; 16] = [
        same(SIGMA[0]),
        same(key[0]),
        same(key[1]),
        same(key[2]),
        same(key[3]),
        same(SIGMA[1]),
        SimdBase::from_fn(simd, |lane| number(lane) as u32),
        SimdBase::from_fn(simd, |lane| (number(lane) >> 32) as u32),
        SimdBase::from_fn(simd, |lane| lane as u32 & (each as u32 - 1)),
        same(0),
        same(SIGMA[2]),
        same(key[4]),
        same(key[5]),
        same(key[6]),
        same(key[7]),
        same(SIGMA[3]),
    ];
    let mut words = input;
    for _ in 0..DOUBLE_ROUNDS {
        double_round::<S>(&mut words);
    }
    for (word, input) in words.iter_mut().zip(input) {
        *word += input;
    }
    store(simd, &words, &mut blocks[..lane_count]);
    lane_count >> shift
}

#[inline(always)]
fn double_round<S: Simd>(words: &mut [S::u32s; 16]) {
    quarter_round::<S>(words, [0, 4, 8, 12]);
    quarter_round::<S>(words, [5, 9, 13, 1]);
    quarter_round::<S>(words, [10, 14, 2, 6]);
    quarter_round::<S>(words, [15, 3, 7, 11]);
    quarter_round::<S>(words, [0, 1, 2, 3]);
    quarter_round::<S>(words, [5, 6, 7, 4]);
    quarter_round::<S>(words, [10, 11, 8, 9]);
    quarter_round::<S>(words, [15, 12, 13, 14]);
}

#[inline(always)]
fn quarter_round<S: Simd>(words: &mut [S::u32s; 16], [a, b, c, d]: [usize; 4]) {
    words[b] ^= rotated::<S>(words[a] + words[d], 7);
    words[c] ^= rotated::<S>(words[b] + words[a], 9);
    words[d] ^= rotated::<S>(words[c] + words[b], 13);
    words[a] ^= rotated::<S>(words[d] + words[c], 18);
}

#[inline(always)]
fn rotated<S: Simd>(words: S::u32s, by: u32) -> S::u32s {
    (words << by) | (words >> (32 - by))
}

/// A block has one lane of each vector: four lanes of four vectors are transposed at a time.
#[inline(always)]
fn store<S: Simd>(simd: S, words: &[S::u32s; 16], blocks: &mut [[u8; BLOCK_SIZE]]) {
    for (quad, blocks) in blocks.as_chunks_mut::<4>().0.iter_mut().enumerate() {
        for group in 0..4 {
            let part = |word: usize| {
                let lanes = &words[4 * group + word].as_slice()[4 * quad..4 * quad + 4];
                u32x4::from_slice(simd, lanes)
            };
            let mut turned = [0; 16];
            simd.store_four_interleaved_u32x4([part(0), part(1), part(2), part(3)], &mut turned);
            for (block, four) in blocks.iter_mut().zip(turned.as_chunks::<4>().0) {
                let bytes = four.map(u32::to_le_bytes);
                block[16 * group..16 * group + 16].copy_from_slice(bytes.as_flattened());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use salsa20::SalsaCore;
    use salsa20::cipher::consts::U10;
    use salsa20::cipher::{KeyIvInit, StreamCipherCore};

    use super::*;

    /// Returns the vector levels of this machine: the lowest, the highest, and on x86-64 all between.
    fn levels() -> Vec<Level> {
        let most = Level::new();
        let mut levels = vec![Level::baseline(), most];
        #[cfg(target_arch = "x86_64")]
        levels.extend(
            [most.as_sse4_2().map(Level::Sse4_2), most.as_avx2().map(Level::Avx2)].into_iter().flatten(),
        );
        levels
    }

    /// Computes the blocks of a message one after the other, with another crate.
    fn one_by_one(key: &[u8; 32], number: u64, count: usize) -> Vec<[u8; BLOCK_SIZE]> {
        let mut core = SalsaCore::<U10>::new(key.into(), &number.to_be_bytes().into());
        let mut blocks = vec![[0; BLOCK_SIZE]; count];
        for block in &mut blocks {
            core.write_keystream_block(block.into());
        }
        blocks
    }

    fn check(key: [u8; 32], first: u64) {
        let words: [u32; 8] = std::array::from_fn(|i| u32::from_le_bytes(key.as_chunks::<4>().0[i]));
        for level in levels() {
            for each in [1, 2, 4] {
                let mut blocks = [[0; BLOCK_SIZE]; LANES_MAX];
                let count = compute(level, &words, first, each, &mut blocks);
                assert!((1..=LANES_MAX / each).contains(&count), "{level:?}: {count}");
                for (index, blocks) in blocks.chunks(each).take(count).enumerate() {
                    let number = first.wrapping_add(index as u64);
                    assert_eq!(blocks, one_by_one(&key, number, each), "{level:?}, {number} of {first}");
                }
            }
        }
    }

    /// The eSTREAM test vectors of Salsa20 with 256 bits, set 1, vector 0: the key has one bit, the nonce none.
    #[test]
    fn the_stream_of_estreams_first_vector_comes_out() {
        let mut blocks = [[0; BLOCK_SIZE]; LANES_MAX];
        let expected = concat!(
            "e3be8fdd8beca2e3ea8ef9475b29a6e7003951e1097a5c38d23b7a5fad9f6844",
            "b22c97559e2723c7cbbd3fe4fc8d9a0744652a83e72a9c461876af4d7ef1a117",
        );
        for level in levels() {
            compute(level, &[0x80, 0, 0, 0, 0, 0, 0, 0], 0, 1, &mut blocks);
            let hex: String = blocks[0].iter().map(|byte| format!("{byte:02x}")).collect();
            assert_eq!(hex, expected, "{level:?}");
        }
    }

    #[test]
    fn numbers_at_the_end_of_their_range_go_on_from_zero() {
        for back in 0..20 {
            check([9; 32], u64::MAX - back);
            check([9; 32], (1 << 32) - back);
        }
    }

    proptest! {
        #[test]
        fn blocks_side_by_side_are_those_computed_one_by_one(key: [u8; 32], first: u64) {
            check(key, first);
        }
    }
}
