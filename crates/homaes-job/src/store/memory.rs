use crate::store::objects::{check_name, check_prefix, fits};
use crate::store::{Created, Listing, Store, StoreError};
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Objects in the memory of this process.
#[derive(Debug, Default)]
pub struct Memory(Mutex<BTreeMap<String, Vec<u8>>>);

impl Memory {
    /// An empty store.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    fn objects(&self) -> MutexGuard<'_, BTreeMap<String, Vec<u8>>> {
        // every change is a single call on the map, so a panic elsewhere leaves no half-done change
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Store for Memory {
    fn describe(&self, name: &str) -> String {
        format!("memory:{name}")
    }

    fn bytes(&self, name: &str) -> Result<Option<u64>, StoreError> {
        check_name(name)?;
        Ok(self.objects().get(name).map(|bytes| bytes.len() as u64))
    }

    fn read(&self, name: &str, most: u64) -> Result<Option<Vec<u8>>, StoreError> {
        check_name(name)?;
        let objects = self.objects();
        let Some(bytes) = objects.get(name) else {
            return Ok(None);
        };
        fits(bytes.len() as u64, most, || self.describe(name))?;
        Ok(Some(bytes.clone()))
    }

    fn read_at(&self, name: &str, offset: u64, into: &mut [u8]) -> Result<(), StoreError> {
        check_name(name)?;
        let objects = self.objects();
        let bytes = objects.get(name).ok_or_else(|| StoreError::Missing {
            name: self.describe(name),
        })?;
        let start = usize::try_from(offset).ok();
        let end = start.and_then(|start| start.checked_add(into.len()));
        let found = start
            .zip(end)
            .and_then(|(start, end)| bytes.get(start..end));
        let found = found.ok_or_else(|| StoreError::TooShort {
            name: self.describe(name),
            found: bytes.len() as u64,
            expected: offset.saturating_add(into.len() as u64),
        })?;
        into.copy_from_slice(found);
        Ok(())
    }

    fn create(&self, name: &str, bytes: &[u8]) -> Result<Created, StoreError> {
        use std::collections::btree_map::Entry;
        check_name(name)?;
        match self.objects().entry(name.to_owned()) {
            Entry::Occupied(_) => Ok(Created::Existed),
            Entry::Vacant(entry) => {
                entry.insert(bytes.to_vec());
                Ok(Created::New)
            }
        }
    }

    fn list(&self, prefix: &str) -> Result<Listing, StoreError> {
        check_prefix(prefix)?;
        let below = |name: &str| {
            let rest = name.strip_prefix(prefix);
            prefix.is_empty() || rest.is_some_and(|rest| rest.starts_with('/'))
        };
        let objects = self.objects();
        let found = objects.iter().filter(|(name, _)| below(name));
        let objects = found.map(|(name, bytes)| (name.clone(), bytes.len() as u64));
        Ok(Listing {
            objects: objects.collect(),
            others: Vec::new(),
        })
    }

    fn remove(&self, name: &str) -> Result<(), StoreError> {
        check_name(name)?;
        self.objects().remove(name);
        Ok(())
    }
}
