//! Gzip.

use miniz_oxide::deflate::compress_to_vec;

/// The level of compression: what it gains above costs more time than it saves.
const LEVEL: u8 = 8;

/// The header of a gzip stream: deflate, no name, no time, an unknown system.
const HEADER: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];

/// Compresses bytes. The same bytes give the same stream.
pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut stream = HEADER.to_vec();
    stream.extend(compress_to_vec(bytes, LEVEL));
    stream.extend(crc32(bytes).to_le_bytes());
    // The format has the size modulo 2^32.
    let size = u32::try_from(bytes.len() as u64 & u64::from(u32::MAX)).unwrap_or_default();
    stream.extend(size.to_le_bytes());
    stream
}

/// The polynomial of the checksum, bits reversed.
const POLYNOMIAL: u32 = 0xedb8_8320;

const TABLE: [u32; 256] = table();

const fn table() -> [u32; 256] {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let (mut value, mut bit) = (byte as u32, 0);
        while bit < 8 {
            value = if value & 1 == 1 { (value >> 1) ^ POLYNOMIAL } else { value >> 1 };
            bit += 1;
        }
        #[allow(clippy::indexing_slicing, reason = "the loop counts to the length")]
        {
            table[byte] = value;
        }
        byte += 1;
    }
    table
}

fn crc32(bytes: &[u8]) -> u32 {
    let next = |sum: u32, byte: &u8| {
        let place = usize::from(sum.to_le_bytes().first().copied().unwrap_or_default() ^ byte);
        (sum >> 8) ^ TABLE.get(place).copied().unwrap_or_default()
    };
    !bytes.iter().fold(u32::MAX, next)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_has_the_published_checksum_and_reads_back() {
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
        assert_eq!(crc32(b""), 0);
        let text = b"the run is a journal ".repeat(1000);
        let stream = gzip(&text);
        assert!(stream.len() < text.len() / 10);
        let body = &stream[HEADER.len()..stream.len() - 8];
        assert_eq!(miniz_oxide::inflate::decompress_to_vec(body).expect("deflate"), text);
        assert_eq!(stream[stream.len() - 4..], (text.len() as u32).to_le_bytes());
        assert_eq!(stream, gzip(&text));
    }
}
