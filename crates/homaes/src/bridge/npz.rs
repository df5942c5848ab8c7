//! `.hrl` files as arrays of numpy: a zip archive of `.npy` files, stored without compression.

use super::packed::{Packed, PackedFile};
use crate::error::At;
use crate::machine::disk;
use crate::output::folder_of;
use crate::{Output, Result};
use std::io::{self, Write};
use std::path::Path;

/// Writes the `.hrl` file `path` as an `.npz` file: `rlwe`, uint32, of shape (ciphertexts, 2, n), a mask and a body each
/// in units of 2^-32 of the torus; `place`, the coefficient of each byte of a ciphertext; `log2_t`, `bytes`; `link`, the
/// id of the link key. Calls `tick` with the ciphertexts written and all.
///
/// # Errors
/// The first fault of the file; `output` then does not appear.
pub fn export_npz(
    path: impl AsRef<Path>,
    mut output: Output,
    tick: &mut dyn FnMut(u64, u64),
) -> Result<Packed> {
    let mut file = PackedFile::open(path.as_ref())?;
    let (n, all) = (file.about.dimension, file.about.ciphertexts);
    disk::check(
        folder_of(output.path()),
        all.saturating_mul(8 * n as u64) + (1 << 16),
    )?;
    let target = output.path().to_owned();
    let mut zip = Zip::new(&mut output);
    let place = (0..n).flat_map(|x| (homaes_bridge::place(x, n) as i64).to_le_bytes());
    let number = |x: u64| (x as i64).to_le_bytes().to_vec();
    for (name, kind, shape, bytes) in [
        ("place", "<i8", format!("({n},)"), place.collect()),
        (
            "log2_t",
            "<i8",
            "()".into(),
            number(file.about.log2_t.into()),
        ),
        ("bytes", "<i8", "()".into(), number(file.about.bytes)),
        ("link", "|u1", "(16,)".into(), file.about.link.0.to_vec()),
    ] {
        zip.start(name, kind, &shape).at(&target)?;
        zip.write(&bytes).at(&target)?;
        zip.finish().at(&target)?;
    }
    zip.start("rlwe", "<u4", &format!("({all}, 2, {n})"))
        .at(&target)?;
    let mut done = 0;
    while let Some(halves) = file.next()? {
        for half in halves {
            let bytes: Vec<u8> = half.iter().flat_map(|x| x.to_le_bytes()).collect();
            zip.write(&bytes).at(&target)?;
        }
        done += 1;
        tick(done, all);
    }
    zip.finish().at(&target)?;
    zip.end().at(&target)?;
    output.commit()?;
    Ok(file.about)
}

/// A zip archive in the making. Lengths and checksums of entries follow their bytes, as 64-bit fields.
struct Zip<'o, W: Write> {
    output: &'o mut W,
    at: u64,
    /// name, start, length and checksum
    entries: Vec<(String, u64, u64, crc32fast::Hasher)>,
}

/// Fields that follow a signature: version 4.5, lengths after the bytes, stored, 1 January 1980.
const FIELDS: [u8; 10] = [45, 0, 8, 0, 0, 0, 0, 0, 0x21, 0];

impl<'o, W: Write> Zip<'o, W> {
    fn new(output: &'o mut W) -> Self {
        Self {
            output,
            at: 0,
            entries: Vec::new(),
        }
    }

    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.at += bytes.len() as u64;
        self.output.write_all(bytes)
    }

    /// Starts the array `name` of this type and shape.
    fn start(&mut self, name: &str, kind: &str, shape: &str) -> io::Result<()> {
        let name = format!("{name}.npy");
        let start = self.at;
        // the checksum is 0 and both lengths are in the 64-bit field, until the entry ends
        let lengths = [[0; 4], [0xff; 4], [0xff; 4]].concat();
        let sizes = [(name.len() as u16).to_le_bytes(), 20u16.to_le_bytes()].concat();
        let more = [&[1, 0, 16, 0][..], &[0; 16]].concat();
        let head = [
            &b"PK\x03\x04"[..],
            &FIELDS,
            &lengths,
            &sizes,
            name.as_bytes(),
            &more,
        ];
        self.put(&head.concat())?;
        self.entries
            .push((name, start, 0, crc32fast::Hasher::new()));
        let text = format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}");
        // magic, version and length make ten bytes; the whole is a multiple of 64
        let padded = (10 + text.len() + 1).next_multiple_of(64) - 11;
        let length = ((padded + 1) as u16).to_le_bytes();
        let text = format!("{text:padded$}\n");
        let head = [&b"\x93NUMPY\x01\x00"[..], &length, text.as_bytes()];
        self.write(&head.concat())
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        if let Some((_, _, length, sum)) = self.entries.last_mut() {
            *length += bytes.len() as u64;
            sum.update(bytes);
        }
        self.put(bytes)
    }

    /// Ends an array.
    fn finish(&mut self) -> io::Result<()> {
        let Some((_, _, length, sum)) = self.entries.last() else {
            return Ok(());
        };
        let (length, sum) = (length.to_le_bytes(), sum.clone().finalize().to_le_bytes());
        self.put(&[&b"PK\x07\x08"[..], &sum, &length, &length].concat())
    }

    /// Ends the archive.
    fn end(mut self) -> io::Result<()> {
        let start = self.at;
        let entries = std::mem::take(&mut self.entries);
        let count = entries.len() as u64;
        for (name, at, length, sum) in entries {
            let sizes = [(name.len() as u16).to_le_bytes(), 28u16.to_le_bytes()].concat();
            let sum = sum.finalize().to_le_bytes();
            let (length, at) = (length.to_le_bytes(), at.to_le_bytes());
            let entry = [
                &b"PK\x01\x02\x2d\x00"[..],
                &FIELDS,
                &sum,
                &[0xff; 8],
                &sizes,
                // no comment, first disk, no attributes, offset in the 64-bit field
                &[0; 10],
                &[0xff; 4],
                name.as_bytes(),
                &[1, 0, 24, 0],
                &length,
                &length,
                &at,
            ];
            self.put(&entry.concat())?;
        }
        let (bytes, record) = ((self.at - start).to_le_bytes(), self.at.to_le_bytes());
        let count = count.to_le_bytes();
        let end = [
            &b"PK\x06\x06"[..],
            &44u64.to_le_bytes(),
            &[45, 0, 45, 0],
            &[0; 8],
            &count,
            &count,
            &bytes,
            &start.to_le_bytes(),
            &b"PK\x06\x07"[..],
            &[0; 4],
            &record,
            &1u32.to_le_bytes(),
            &b"PK\x05\x06"[..],
            &[0; 4],
            &[0xff; 12],
            &[0; 2],
        ];
        self.put(&end.concat())
    }
}
