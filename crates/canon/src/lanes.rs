//! Digests of many short messages at once.
//!
//! One SHA-256 waits for its own last instruction most of the time. Records of a journal hash independently, so three
//! of them share a core: their rounds are interleaved and fill each other's waits. Where the processor lacks the
//! instructions, every message goes through the library instead; both give the same digests, which tests compare.

use crate::Digest;

/// A message in two spans: a record without its own hash.
pub type Message<'a> = [&'a [u8]; 2];

/// Appends the digest of each message to `digests`, in order.
pub fn digest_each(messages: &[Message<'_>], digests: &mut Vec<Digest>) {
    #[cfg(target_arch = "x86_64")]
    if x86_64::digest_each(messages, digests) {
        return;
    }
    digests.extend(messages.iter().map(|message| Digest::of_parts(*message)));
}

#[cfg(target_arch = "x86_64")]
mod x86_64 {
    use std::arch::x86_64::{
        __m128i, _mm_add_epi32, _mm_alignr_epi8, _mm_extract_epi32, _mm_set_epi8, _mm_set_epi32,
        _mm_set_epi64x, _mm_setzero_si128, _mm_sha256msg1_epu32, _mm_sha256msg2_epu32, _mm_sha256rnds2_epu32,
        _mm_shuffle_epi8, _mm_shuffle_epi32,
    };

    use super::Message;
    use crate::Digest;

    /// How many messages share a core. A fourth would have no registers left to live in.
    const LANES: usize = 3;
    const BLOCK_BYTES: usize = 64;
    /// The end mark and the length in bits, which follow every message.
    const PADDING_BYTES_MIN: usize = 9;

    type Block = [u8; BLOCK_BYTES];

    /// Appends the digests and returns `true`, or does nothing where the processor cannot.
    #[allow(unsafe_code, reason = "the one place that calls instructions not every processor has")]
    pub(super) fn digest_each(messages: &[Message<'_>], digests: &mut Vec<Digest>) -> bool {
        let able = std::arch::is_x86_feature_detected!("sha")
            && std::arch::is_x86_feature_detected!("ssse3")
            && std::arch::is_x86_feature_detected!("sse4.1");
        if able {
            // SAFETY: the features the function is compiled for were just found on this processor.
            unsafe { interleaved(messages, digests) };
        }
        able
    }

    /// A message under way.
    #[derive(Clone, Copy)]
    struct Lane<'a> {
        message: Message<'a>,
        /// Which message it is; `None` for a lane that idles.
        number: Option<usize>,
        block: usize,
        state: State,
    }

    /// The eight words of a digest under way, in the two groups the instructions work on.
    #[derive(Clone, Copy)]
    struct State {
        abef: __m128i,
        cdgh: __m128i,
    }

    #[target_feature(enable = "sha,ssse3,sse4.1")]
    fn interleaved(messages: &[Message<'_>], digests: &mut Vec<Digest>) {
        let first = digests.len();
        digests.resize(first + messages.len(), Digest::from_bytes([0; 32]));
        let mut waiting = messages.iter().copied().enumerate();
        let mut take = || match waiting.next() {
            Some((number, message)) => Lane { message, number: Some(number), block: 0, state: initial() },
            None => Lane { message: [&[], &[]], number: None, block: 0, state: initial() },
        };
        let mut lanes: [Lane<'_>; LANES] = [take(), take(), take()];
        let mut scratch = [[0; BLOCK_BYTES]; LANES];
        while lanes.iter().any(|lane| lane.number.is_some()) {
            let [first_lane, second_lane, third_lane] = &mut lanes;
            let [first_scratch, second_scratch, third_scratch] = &mut scratch;
            let blocks = [
                block(&first_lane.message, first_lane.block, first_scratch),
                block(&second_lane.message, second_lane.block, second_scratch),
                block(&third_lane.message, third_lane.block, third_scratch),
            ];
            let states = compress([first_lane.state, second_lane.state, third_lane.state], blocks);
            for (lane, state) in lanes.iter_mut().zip(states) {
                lane.state = state;
                lane.block += 1;
                if lane.block < block_count(&lane.message) {
                    continue;
                }
                if let Some(slot) = lane.number.and_then(|number| digests.get_mut(first + number)) {
                    *slot = finish(lane.state);
                }
                *lane = take();
            }
        }
    }

    fn length(message: &Message<'_>) -> usize {
        message[0].len() + message[1].len()
    }

    fn block_count(message: &Message<'_>) -> usize {
        (length(message) + PADDING_BYTES_MIN).div_ceil(BLOCK_BYTES)
    }

    /// Returns a block of a message: where it lies, or put together in `scratch` at the seam and at the end.
    #[inline]
    fn block<'a>(message: &Message<'a>, number: usize, scratch: &'a mut Block) -> &'a Block {
        let [front, back] = *message;
        let start = number * BLOCK_BYTES;
        let inside = match start.checked_sub(front.len()) {
            Some(start) => back.get(start..),
            None => front.get(start..),
        };
        if let Some(block) = inside.and_then(<[u8]>::first_chunk) {
            return block;
        }
        assemble(message, start, scratch);
        scratch
    }

    #[cold]
    fn assemble(message: &Message<'_>, start: usize, scratch: &mut Block) {
        let [front, back] = *message;
        let length = length(message);
        scratch.fill(0);
        let from_front = front.get(start..).unwrap_or_default();
        let from_back = back.get(start.saturating_sub(front.len())..).unwrap_or_default();
        let rest = place(place(scratch, from_front), from_back);
        if start <= length
            && let Some(end_mark) = rest.first_mut()
        {
            *end_mark = 0x80;
        }
        if start + BLOCK_BYTES >= length + PADDING_BYTES_MIN
            && let Some(slot) = scratch.last_chunk_mut::<8>()
        {
            *slot = (length as u64 * 8).to_be_bytes();
        }
    }

    /// Copies as much as fits and returns what is left of the place.
    fn place<'p>(place: &'p mut [u8], bytes: &[u8]) -> &'p mut [u8] {
        let (filled, rest) = place.split_at_mut(bytes.len().min(place.len()));
        filled.copy_from_slice(bytes.get(..filled.len()).unwrap_or_default());
        rest
    }

    const INITIAL: [u32; 8] = [
        0x6a09_e667,
        0xbb67_ae85,
        0x3c6e_f372,
        0xa54f_f53a,
        0x510e_527f,
        0x9b05_688c,
        0x1f83_d9ab,
        0x5be0_cd19,
    ];

    #[target_feature(enable = "sha,ssse3,sse4.1")]
    fn initial() -> State {
        let [a, b, c, d, e, f, g, h] = INITIAL.map(u32::cast_signed);
        State { abef: _mm_set_epi32(a, b, e, f), cdgh: _mm_set_epi32(c, d, g, h) }
    }

    #[target_feature(enable = "sha,ssse3,sse4.1")]
    fn finish(state: State) -> Digest {
        let State { abef, cdgh } = state;
        let words = [
            _mm_extract_epi32::<3>(abef),
            _mm_extract_epi32::<2>(abef),
            _mm_extract_epi32::<3>(cdgh),
            _mm_extract_epi32::<2>(cdgh),
            _mm_extract_epi32::<1>(abef),
            _mm_extract_epi32::<0>(abef),
            _mm_extract_epi32::<1>(cdgh),
            _mm_extract_epi32::<0>(cdgh),
        ];
        let mut bytes = [0; 32];
        for (slot, word) in bytes.as_chunks_mut::<4>().0.iter_mut().zip(words) {
            *slot = word.to_be_bytes();
        }
        Digest::from_bytes(bytes)
    }

    /// The round constants, four to a group.
    #[rustfmt::skip]
    const ROUND_CONSTANTS: [[u32; 4]; 16] = [
        [0x428a_2f98, 0x7137_4491, 0xb5c0_fbcf, 0xe9b5_dba5], [0x3956_c25b, 0x59f1_11f1, 0x923f_82a4, 0xab1c_5ed5],
        [0xd807_aa98, 0x1283_5b01, 0x2431_85be, 0x550c_7dc3], [0x72be_5d74, 0x80de_b1fe, 0x9bdc_06a7, 0xc19b_f174],
        [0xe49b_69c1, 0xefbe_4786, 0x0fc1_9dc6, 0x240c_a1cc], [0x2de9_2c6f, 0x4a74_84aa, 0x5cb0_a9dc, 0x76f9_88da],
        [0x983e_5152, 0xa831_c66d, 0xb003_27c8, 0xbf59_7fc7], [0xc6e0_0bf3, 0xd5a7_9147, 0x06ca_6351, 0x1429_2967],
        [0x27b7_0a85, 0x2e1b_2138, 0x4d2c_6dfc, 0x5338_0d13], [0x650a_7354, 0x766a_0abb, 0x81c2_c92e, 0x9272_2c85],
        [0xa2bf_e8a1, 0xa81a_664b, 0xc24b_8b70, 0xc76c_51a3], [0xd192_e819, 0xd699_0624, 0xf40e_3585, 0x106a_a070],
        [0x19a4_c116, 0x1e37_6c08, 0x2748_774c, 0x34b0_bcb5], [0x391c_0cb3, 0x4ed8_aa4a, 0x5b9c_ca4f, 0x682e_6ff3],
        [0x748f_82ee, 0x78a5_636f, 0x84c8_7814, 0x8cc7_0208], [0x90be_fffa, 0xa450_6ceb, 0xbef9_a3f7, 0xc671_78f2],
    ];

    /// Takes one block into each state.
    ///
    /// Written out group by group: words that are indexed by constants live in registers.
    #[target_feature(enable = "sha,ssse3,sse4.1")]
    fn compress(states: [State; LANES], blocks: [&Block; LANES]) -> [State; LANES] {
        let [mut x, mut y, mut z] = states;
        let [mut x_words, mut y_words, mut z_words] = [load(blocks[0]), load(blocks[1]), load(blocks[2])];
        macro_rules! four_rounds {
            ($group:literal) => {
                x = rounds(x, x_words[$group % 4], constants($group));
                y = rounds(y, y_words[$group % 4], constants($group));
                z = rounds(z, z_words[$group % 4], constants($group));
            };
        }
        // The four next words take the place of the four oldest.
        macro_rules! four_words {
            ($words:ident, $group:literal) => {
                $words[$group % 4] = next_words(
                    $words[$group % 4],
                    $words[($group + 1) % 4],
                    $words[($group + 2) % 4],
                    $words[($group + 3) % 4],
                );
            };
        }
        macro_rules! groups {
            ($($first:literal)*; $($later:literal)*) => {
                $(four_rounds!($first);)*
                $(
                    four_words!(x_words, $later);
                    four_words!(y_words, $later);
                    four_words!(z_words, $later);
                    four_rounds!($later);
                )*
            };
        }
        groups!(0 1 2 3; 4 5 6 7 8 9 10 11 12 13 14 15);
        [add(x, states[0]), add(y, states[1]), add(z, states[2])]
    }

    #[inline]
    #[target_feature(enable = "sha,ssse3,sse4.1")]
    fn rounds(state: State, words: __m128i, constants: __m128i) -> State {
        let sum = _mm_add_epi32(words, constants);
        let cdgh = _mm_sha256rnds2_epu32(state.cdgh, state.abef, sum);
        let abef = _mm_sha256rnds2_epu32(state.abef, cdgh, _mm_shuffle_epi32::<0x0e>(sum));
        State { abef, cdgh }
    }

    #[inline]
    #[target_feature(enable = "sha,ssse3,sse4.1")]
    fn constants(group: usize) -> __m128i {
        let [k0, k1, k2, k3] = ROUND_CONSTANTS.get(group).copied().unwrap_or_default().map(u32::cast_signed);
        _mm_set_epi32(k3, k2, k1, k0)
    }

    #[inline]
    #[target_feature(enable = "sha,ssse3,sse4.1")]
    fn add(left: State, right: State) -> State {
        State { abef: _mm_add_epi32(left.abef, right.abef), cdgh: _mm_add_epi32(left.cdgh, right.cdgh) }
    }

    /// Reads a block as sixteen words, big end first.
    #[inline]
    #[target_feature(enable = "sha,ssse3,sse4.1")]
    fn load(block: &Block) -> [__m128i; 4] {
        let big_end_first = _mm_set_epi8(12, 13, 14, 15, 8, 9, 10, 11, 4, 5, 6, 7, 0, 1, 2, 3);
        let mut words = [_mm_setzero_si128(); 4];
        for (word, bytes) in words.iter_mut().zip(block.as_chunks::<16>().0) {
            let all = u128::from_le_bytes(*bytes);
            #[expect(clippy::cast_possible_truncation, reason = "both halves are taken")]
            let (high, low) = ((all >> 64) as i64, all as i64);
            *word = _mm_shuffle_epi8(_mm_set_epi64x(high, low), big_end_first);
        }
        words
    }

    /// Returns the four message words that follow sixteen.
    #[inline]
    #[target_feature(enable = "sha,ssse3,sse4.1")]
    fn next_words(w0: __m128i, w1: __m128i, w2: __m128i, w3: __m128i) -> __m128i {
        let sum = _mm_add_epi32(_mm_sha256msg1_epu32(w0, w1), _mm_alignr_epi8::<4>(w3, w2));
        _mm_sha256msg2_epu32(sum, w3)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn agree(messages: &[Vec<u8>], cuts: &[usize]) {
        let split: Vec<Message<'_>> = messages
            .iter()
            .zip(cuts)
            .map(|(message, cut)| message.split_at(*cut % (message.len() + 1)).into())
            .collect();
        let mut digests = Vec::new();
        digest_each(&split, &mut digests);
        let expected: Vec<Digest> = messages.iter().map(|message| Digest::of(message)).collect();
        assert_eq!(digests, expected);
    }

    #[test]
    fn every_length_around_the_block_and_every_cut_gives_the_digest_of_the_library() {
        for length in 0..=200usize {
            let message: Vec<u8> = (0..length).map(|at| u8::try_from(at % 251).unwrap()).collect();
            let messages = vec![message; length + 1];
            let cuts: Vec<usize> = (0..=length).collect();
            agree(&messages, &cuts);
        }
    }

    #[test]
    fn digests_are_appended() {
        let mut digests = vec![Digest::of(b"before")];
        digest_each(&[[b"a", b"b"]], &mut digests);
        digest_each(&[], &mut digests);
        assert_eq!(digests, [Digest::of(b"before"), Digest::of(b"ab")]);
    }

    proptest! {
        #[test]
        fn any_mix_of_messages_gives_the_digests_of_the_library(
            messages in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..300), 0..12),
            cuts in proptest::collection::vec(0..300usize, 12),
        ) {
            agree(&messages, &cuts);
        }
    }
}
