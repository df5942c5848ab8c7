//! Searches AES ciphertext for public patterns; only the key owner can read the answers.

use crate::error::{self, other_direction, quoted, wrong_value};
use crate::input::aes_input::AesInput;
use crate::keys::random::generator;
use crate::keys::{EvalKey, WrappedKey};
use crate::machine::memory;
use crate::machine::pool::Pool;
use crate::programs::computed::Computed;
use crate::{Cancel, Error, ErrorKind, Result, Set};
use homaes_aes::{Block, Layout, Mode};
use homaes_bgv::scan::{Placement, Scanner, Verdict};
use homaes_bgv::{Aes, Error as Bgv, Params};
use homaes_scheme::{Mismatch, RunOptions};
use homaes_wire::hex;
use rand_core::Rng;

/// Random combinations per window; another text passes each with probability 2^-8.
const ROWS: usize = 6;
/// Least multiplications for a search: one for the noise of AES and of the sums, three for a comparison, three for the
/// product of six.
const LEVELS: usize = 7;

/// Begins the label of the value that names the search.
const HEADER: &str = "homaes scan of ";

const ANSWERS: &str =
    "all answers of one search, for exactly these labels and patterns and under the same set";
const OWN_LABEL: &str = "a label that does not begin with \"homaes scan of\"";

/// A search for public patterns at every byte offset of a message, in BGV.
///
/// The server gets AES ciphertext and keys, and learns nothing. For each pattern and each byte of the message it
/// computes a bit that says whether the pattern begins there, across blocks and batches. Every occurrence is found. A
/// false one is reported at a given byte with probability 2^-48 over coefficients that the server draws in every run.
/// Patterns that would extend beyond the message are not reported.
///
/// ```
/// # use homaes::{AesKey, Cancel, KeySet, Memory, Mode, Output, AesFile, Pool};
/// # use homaes::{Scan, Set, WrappedKey, WrapOptions};
/// # fn search(set: &Set, keys: &KeySet, wrapped: &WrappedKey, part: AesFile)
/// # -> Result<(), Box<dyn std::error::Error>> {
/// let scan = Scan::new(set, [("eicar".to_owned(), b"EICAR-STANDARD".to_vec())])?;
/// // server: `part` is AES ciphertext, and `wrapped` was made with `levels_left: Some(8)`
/// let answers = scan.run(&keys.eval, wrapped, part, &Pool::new(0), &Cancel::new())?;
/// answers.write(Output::create("answers.hcv", false)?)?;
/// // client
/// let values = keys.secret.open_values("answers.hcv")?;
/// let answers: Vec<_> = values.iter().map(|v| (&*v.meta.label, &v.numbers[..])).collect();
/// println!("{:?}", scan.starts(&answers)?);
/// # Ok(())
/// # }
/// ```
pub struct Scan {
    set: Set,
    placement: Placement,
    patterns: Vec<(String, Vec<u8>)>,
}

homaes_wire::debug_fields!(Scan, set);

impl Scan {
    /// A search for labelled patterns, with keys of `set`.
    ///
    /// # Errors
    /// `ErrorKind::Argument` if the set is not of BGV, if there is no pattern, or if one is empty or too long for the
    /// set.
    pub fn new(set: &Set, patterns: impl IntoIterator<Item = (String, Vec<u8>)>) -> Result<Self> {
        let patterns: Vec<_> = patterns.into_iter().collect();
        let params = set.params_of::<Params>();
        let params = params.ok_or_else(|| other_scheme(set))?;
        let of = |bytes| Placement::new(&params, bytes).filter(|_| bytes > 0);
        for (label, pattern) in &patterns {
            if of(pattern.len()).is_none() {
                let (label, found) = (quoted(label), pattern.len());
                let expected = format!("1 to {}", Placement::longest(&params));
                let message = format!("pattern {label}: found {found} bytes, expected {expected}");
                return Err(Error::refused(ErrorKind::Argument, message).with(found, expected));
            }
            if label.starts_with(HEADER) {
                return Err(wrong_value(label, OWN_LABEL));
            }
        }
        let longest = patterns.iter().map(|(_, pattern)| pattern.len()).max();
        let placement = longest.and_then(of);
        let placement = placement.ok_or_else(|| wrong_value("", "at least one pattern"))?;
        Ok(Self {
            set: set.clone(),
            placement,
            patterns,
        })
    }

    /// Evaluates AES on `message`, of one part, in layout sliced, and searches. Each pattern gives a value whose
    /// numbers have a bit for each byte of a block; a further value without numbers names the search by its label.
    /// [`starts`](Self::starts) decodes the bits.
    ///
    /// The work runs on the threads of `pool` and ends within a second after `cancel` is cancelled.
    ///
    /// # Errors
    /// [`Error::Keys`] if the keys do not match or are of another set, if the wrapped key is not for layout sliced or
    /// leaves fewer than seven multiplications, or if the set has no rotation keys; `ErrorKind::Direction`;
    /// `ErrorKind::Argument` if a label is invalid or occurs twice, or for several parts; the fault of the part;
    /// [`Error::Cancelled`].
    pub fn run(
        &self,
        eval: &EvalKey,
        wrapped: &WrappedKey,
        message: impl Into<AesInput>,
        pool: &Pool,
        cancel: &Cancel,
    ) -> Result<Computed> {
        let message = message.into();
        let [part] = message.parts() else {
            let found = message.parts().len();
            let reason = format!("a search of {found} files at once, expected one");
            return Err(Error::refused(ErrorKind::Argument, reason).with(found, 1_usize));
        };
        let (mode, bytes) = (part.mode(), part.bytes());
        let key = self.checked(eval, wrapped, mode)?;
        let mut computed = Computed::new(eval);
        // checks the labels before the work
        let mut labels = Computed::new(eval);
        labels.add::<homaes_bgv::Ciphertext>(&self.label(bytes), 0, 16, [])?;
        for (label, _) in &self.patterns {
            labels.add::<homaes_bgv::Ciphertext>(label, 0, 16, [])?;
        }
        let longest = self.patterns.iter().map(|(_, pattern)| pattern.len()).max();
        let stream = Placement::memory(key.params(), longest.unwrap_or(0));
        memory::check(
            self.set
                .params()
                .memory_of_run(Layout::Sliced)
                .saturating_add(stream),
        )?;
        computed.add::<homaes_bgv::Ciphertext>(&self.label(bytes), 0, 16, [])?;
        let batches = self.batches(message.blocks());
        let mut answers: Vec<Vec<Verdict>> = Vec::new();
        if batches > 0 {
            let wrapped = wrapped.of_scheme(mode.direction());
            let wrapped = wrapped.ok_or_else(|| other_scheme(&self.set))?;
            let aes = pool.install(|| Aes::new_until(key, wrapped, Layout::Sliced, cancel));
            let aes = aes.map_err(Error::keys)?;
            let params = self.set.params();
            let [all, one] = [
                params.blocks_per_batch(Layout::Sliced),
                params.blocks_per_record(Layout::Sliced),
            ];
            for batch in (0..batches).step_by((all / one) as usize) {
                let (mut input, mut mask) = (Vec::new(), Vec::new());
                for result in batch..batches.min(batch + all / one) {
                    let (blocks, public) = self.blocks(&message, result)?;
                    input.extend(blocks);
                    mask.extend(public);
                }
                let found = pool.install(|| self.batch(&aes, &input, &mask, cancel))?;
                answers.extend(found.map_err(|error| Error::batch(batch, error.into()))?);
            }
        }
        message.finish()?;
        let params = key.params();
        let numbers = batches * params.slots().count() as u64;
        for (number, (label, _)) in self.patterns.iter().enumerate() {
            let planes = answers.iter().flat_map(|found| &found[number]);
            computed.add(label, numbers, 16, planes)?;
        }
        Ok(computed)
    }

    /// The positions of each pattern, ascending, in the order of the patterns; `answers` are the opened labels and
    /// numbers.
    ///
    /// # Errors
    /// `ErrorKind::Argument` if they are not all answers of this search.
    pub fn starts(&self, answers: &[(&str, &[u64])]) -> Result<Vec<Vec<u64>>> {
        let wrong = |label: &str| wrong_value(label, ANSWERS);
        let find = |label: &str| answers.iter().find(|(own, _)| *own == label);
        let said = answers.iter().find_map(|(label, _)| {
            let (bytes, _) = label.strip_prefix(HEADER)?.split_once(' ')?;
            Some((*label, bytes.parse().ok()?))
        });
        let (found, bytes) = said.ok_or_else(|| wrong(""))?;
        find(&self.label(bytes)).ok_or_else(|| wrong(found))?;
        let slots = self.set.params().blocks_per_record(Layout::Sliced);
        let batches = self.batches(bytes.div_ceil(16));
        self.patterns
            .iter()
            .map(|(label, pattern)| {
                let (_, numbers) = find(label).ok_or_else(|| wrong(label))?;
                match numbers.len() as u64 == batches.saturating_mul(slots) {
                    true => Ok(self.starts_of(numbers, pattern.len() as u64, bytes)),
                    false => Err(wrong(label)),
                }
            })
            .collect()
    }

    fn starts_of(&self, numbers: &[u64], length: u64, bytes: u64) -> Vec<u64> {
        let mut out = Vec::new();
        for (slot, bits) in numbers.iter().enumerate() {
            let set = (0..16).filter(|offset| bits >> offset & 1 == 1);
            let starts = set.filter_map(|offset| self.placement.start(slot, offset));
            out.extend(starts.map(|start| start as u64));
        }
        out.retain(|start| start + length <= bytes);
        out.sort_unstable();
        out
    }

    /// The label that names the search.
    fn label(&self, bytes: u64) -> String {
        let mut hasher = blake3::Hasher::new();
        hasher.update(self.set.digest());
        for (label, pattern) in &self.patterns {
            for part in [label.as_bytes(), pattern] {
                hasher.update(&(part.len() as u64).to_le_bytes());
                hasher.update(part);
            }
        }
        let digest = hasher.finalize();
        format!("{HEADER}{bytes} bytes, {}", hex(&digest.as_bytes()[..16]))
    }

    fn batches(&self, blocks: u64) -> u64 {
        blocks.div_ceil(self.placement.blocks_per_batch() as u64)
    }

    /// Checks that keys and part match; returns the evaluation key.
    fn checked<'k>(
        &self,
        eval: &'k EvalKey,
        wrapped: &WrappedKey,
        mode: Mode,
    ) -> Result<&'k homaes_bgv::EvalKey> {
        if eval.set().name() != self.set.name() {
            return Err(Error::keys(Mismatch::OtherSet {
                what: "evaluation key",
                found: eval.set().name(),
                expected: self.set.name(),
            }));
        }
        wrapped.check_of(eval.set().id(), eval.key_id())?;
        let key: &homaes_bgv::EvalKey = eval.of_scheme().ok_or_else(|| other_scheme(eval.set()))?;
        if !wrapped.directions().contains(&mode.direction()) {
            return Err(other_direction(mode));
        }
        // blocks of one part are in every slot
        let keys = wrapped.names().len();
        if keys > 0 {
            let message =
                format!("a search under a wrapped key with {keys} AES keys, expected one");
            return Err(Error::refused(ErrorKind::Argument, message).with(keys, 1_usize));
        }
        let level = wrapped.checked_level(Layout::Sliced)?;
        let (set, most) = (self.set.name(), key.params().rotation_level());
        if most == 0 {
            let what = "rotation";
            return Err(Error::keys(Bgv::NoKey {
                what,
                level,
                most,
                set,
            }));
        }
        let left = level.saturating_sub(1);
        if left < LEVELS {
            return Err(Error::keys(Bgv::TooDeep {
                needed: LEVELS,
                left,
                set,
            }));
        }
        let longest = Placement::longest_with(key.params(), left);
        for (label, pattern) in &self.patterns {
            if pattern.len() > longest {
                let (label, found) = (quoted(label), pattern.len());
                let message = format!(
                    "pattern {label}: found {found} bytes, expected at most {longest} with {left} multiplications left"
                );
                return Err(Error::refused(ErrorKind::Argument, message).with(found, longest));
            }
        }
        Ok(key)
    }

    /// Input and mask for the slots of a batch: the blocks of the message, and zeros beyond its end.
    fn blocks(&self, message: &AesInput, batch: u64) -> Result<(Vec<Block>, Vec<Block>)> {
        let params = self.set.params();
        let slots = params.blocks_per_record(Layout::Sliced) as usize;
        let own = self.placement.blocks_per_batch() as u64;
        let first = batch * own;
        // the last slots extend into the next batch
        let reach = (0..slots).map(|slot| self.placement.block_of(slot)).max();
        let left = message.blocks() - first;
        let count = left.min(reach.unwrap_or(0) as u64 + 1);
        let read = message.read(first, count as usize)?;
        let placed = |blocks: &[Block]| {
            let places = (0..slots).map(|slot| self.placement.block_of(slot));
            let block = |at: usize| blocks.get(at).copied().unwrap_or_default();
            places.map(block).collect::<Vec<_>>()
        };
        let mask = match read.mask.is_empty() {
            true => Vec::new(),
            false => placed(&read.mask),
        };
        Ok((placed(&read.input), mask))
    }

    fn batch(
        &self,
        aes: &Aes<'_>,
        input: &[Block],
        mask: &[Block],
        cancel: &Cancel,
    ) -> Result<homaes_bgv::Result<Vec<Vec<Verdict>>>> {
        let patterns: Vec<&[u8]> = self.patterns.iter().map(|(_, bytes)| &**bytes).collect();
        let longest = patterns.iter().map(|bytes| bytes.len()).max().unwrap_or(0);
        let mut rng = generator()?;
        let alphas = (0..ROWS).map(|_| {
            let mut row = vec![0; longest];
            rng.fill_bytes(&mut row);
            row
        });
        let alphas = alphas.collect();
        let search = || {
            let run = RunOptions {
                cancel: cancel.clone(),
                ..RunOptions::default()
            };
            let results = aes.run(input, mask, run)?;
            let evaluator = aes.evaluator().clone().until(cancel);
            let scanner = Scanner::new(&evaluator, alphas);
            let found = results.iter().map(|state| scanner.scan(state, &patterns));
            found.collect()
        };
        Ok(search())
    }
}

fn other_scheme(set: &Set) -> Error {
    error::other_scheme(set.name(), "a set of BGV")
}
