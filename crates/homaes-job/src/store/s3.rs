use crate::store::objects::{check_name, check_prefix, fits};
use crate::store::{Created, Listing, Store, StoreError};
use core::fmt;
use futures_util::TryStreamExt;
use object_store::aws::{AmazonS3, AmazonS3Builder, AmazonS3ConfigKey};
use object_store::client::HttpError;
use object_store::path::Path as Key;
use object_store::{
    ClientConfigKey, Error, GetOptions, GetRange, ObjectMeta, ObjectStore, ObjectStoreExt, PutMode,
    PutPayload, RetryConfig,
};
use std::error::Error as AnyError;
use std::io;
use std::sync::LazyLock;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};

/// Threads for requests, shared by all buckets.
static RUNTIME: LazyLock<io::Result<Runtime>> = LazyLock::new(|| {
    Builder::new_multi_thread()
        .worker_threads(2)
        .thread_name("homaes-store")
        .enable_all()
        .build()
});

/// Attempts to write an object while the service reports a conflict but has no such object.
const CONFLICTS: u32 = 5;

/// The objects of a bucket below a key.
///
/// Region, endpoint and credentials come from the environment: `AWS_REGION`, `AWS_ENDPOINT_URL`, `AWS_ALLOW_HTTP`,
/// `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY`, `AWS_SESSION_TOKEN`, `AWS_ROLE_ARN` with
/// `AWS_WEB_IDENTITY_TOKEN_FILE`, container credentials, or the instance's credential service; not from profiles.
///
/// An object is written by one conditional request (`If-None-Match: *`), which the service must support. Requests are
/// repeated after temporary failures, within limits; a minute without data counts as one. A call takes at most 15
/// minutes.
///
/// A missing bucket has no objects for [`bytes`](Store::bytes); the other calls report it.
pub struct S3 {
    bucket: String,
    /// Empty, or the prefix of all names before a `/`.
    key: String,
    client: AmazonS3,
    /// The same with a limit per read of an answer. The limit would include the time of sending, so writes do without.
    reader: AmazonS3,
    /// Limit of a call.
    patience: Duration,
}

/// Limits of time and of retries.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// Retries per call.
    pub(crate) retries: usize,
    /// No retry after this time.
    pub(crate) retrying: Duration,
    /// One request and its answer.
    pub(crate) request: Duration,
    /// Between two pieces of an answer, when reading.
    pub(crate) stall: Duration,
    /// The whole call.
    pub(crate) call: Duration,
}

/// A request can move 512 MiB at 1 MiB/s.
const LIMITS: Limits = Limits {
    retries: 8,
    retrying: Duration::from_secs(180),
    request: Duration::from_secs(600),
    stall: Duration::from_secs(60),
    call: Duration::from_secs(900),
};

impl S3 {
    /// The objects below `key` (all if empty) of a bucket described by the environment. Sends nothing. Fails if the
    /// environment or the key is wrong.
    pub fn from_env(bucket: &str, key: &str) -> Result<Self, StoreError> {
        Self::new(AmazonS3Builder::from_env(), bucket, key, LIMITS)
    }

    pub(crate) fn new(
        builder: AmazonS3Builder,
        bucket: &str,
        key: &str,
        limits: Limits,
    ) -> Result<Self, StoreError> {
        check_prefix(key)?;
        let refused = |message: String| StoreError::Service {
            name: format!("s3://{bucket}"),
            message,
            temporary: false,
        };
        let endpoint = [AmazonS3ConfigKey::S3Endpoint, AmazonS3ConfigKey::Endpoint]
            .iter()
            .find_map(|key| builder.get_config_value(key));
        if let Some(endpoint) = &endpoint
            && !is_endpoint(endpoint)
        {
            let what = "AWS_ENDPOINT_URL: expected http://HOST:PORT or https://HOST";
            return Err(refused(format!("{what}, found {endpoint:?}")));
        }
        let allowed = |text: String| !NO.contains(&&*text.to_ascii_lowercase());
        if let Some(endpoint) = endpoint
            && endpoint.starts_with("http:")
            && !builder.get_config_value(&ALLOW_HTTP).is_some_and(allowed)
        {
            let what = "AWS_ENDPOINT_URL: expected https://, or AWS_ALLOW_HTTP=true";
            return Err(refused(format!("{what}, found {endpoint:?}")));
        }
        let timeout = AmazonS3ConfigKey::Client(ClientConfigKey::Timeout);
        let builder = builder.with_config(timeout, format!("{} s", limits.request.as_secs()));
        let retry = RetryConfig {
            max_retries: limits.retries,
            retry_timeout: limits.retrying,
            ..RetryConfig::default()
        };
        let builder = builder
            .with_bucket_name(bucket)
            .with_retry(retry)
            .with_disable_bulk_delete(true);
        let stall = AmazonS3ConfigKey::Client(ClientConfigKey::ReadTimeout);
        let reading = builder.clone();
        let reading = reading.with_config(stall, format!("{} ms", limits.stall.as_millis()));
        let build = |builder: AmazonS3Builder| {
            let built = builder.build();
            built.map_err(|error| refused(one_line(&error.to_string())))
        };
        Ok(Self {
            bucket: bucket.to_owned(),
            key: key.to_owned(),
            client: build(builder)?,
            reader: build(reading)?,
            patience: limits.call,
        })
    }

    fn key(&self, name: &str) -> Result<Key, StoreError> {
        check_name(name)?;
        self.key_of(name)
    }

    fn key_of(&self, name: &str) -> Result<Key, StoreError> {
        let key = match (&self.key[..], name) {
            ("", name) => name.to_owned(),
            (key, "") => key.to_owned(),
            (key, name) => format!("{key}/{name}"),
        };
        Key::parse(key).map_err(|_| StoreError::Name {
            name: name.to_owned(),
            why: "it has a backslash or a control character",
        })
    }

    fn wait<T: Send + 'static>(
        &self,
        name: &str,
        answer: impl Future<Output = Result<T, Error>> + Send + 'static,
    ) -> Result<Result<T, Error>, StoreError> {
        let failed = |source| StoreError::io(self.describe(name), source);
        let runtime = RUNTIME
            .as_ref()
            .map_err(|error| failed(io::Error::from(error.kind())))?;
        let (send, receive) = mpsc::sync_channel(1);
        // not on this thread, which may belong to a runtime of the caller
        let task = runtime.spawn(async move {
            // fails if the wait has timed out
            let _ = send.send(answer.await);
        });
        receive.recv_timeout(self.patience).map_err(|error| {
            task.abort();
            failed(match error {
                mpsc::RecvTimeoutError::Timeout => io::ErrorKind::TimedOut.into(),
                mpsc::RecvTimeoutError::Disconnected => io::Error::other("the request failed"),
            })
        })
    }

    fn head(&self, name: &str) -> Result<Option<ObjectMeta>, StoreError> {
        let (client, key) = (self.reader.clone(), self.key(name)?);
        match self.wait(name, async move { client.head(&key).await })? {
            Ok(found) => Ok(Some(found)),
            Err(Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(self.failed(name, &error)),
        }
    }

    fn missing(&self, name: &str) -> StoreError {
        StoreError::Missing {
            name: self.describe(name),
        }
    }

    fn failed(&self, name: &str, error: &Error) -> StoreError {
        let text = one_line(&error.to_string());
        let (message, temporary) = match text.contains(INSTANCE) {
            true => {
                let what = "no credentials; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY";
                (format!("{what} ({text})"), false)
            }
            false => (text, is_temporary(error)),
        };
        StoreError::Service {
            name: self.describe(name),
            message,
            temporary,
        }
    }
}

impl fmt::Debug for S3 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // the client has credentials
        f.debug_struct("S3")
            .field("bucket", &self.bucket)
            .field("key", &self.key)
            .finish_non_exhaustive()
    }
}

impl Store for S3 {
    fn describe(&self, name: &str) -> String {
        match &self.key[..] {
            "" => format!("s3://{}/{name}", self.bucket),
            key => format!("s3://{}/{key}/{name}", self.bucket),
        }
    }

    fn bytes(&self, name: &str) -> Result<Option<u64>, StoreError> {
        Ok(self.head(name)?.map(|found| found.size))
    }

    fn read(&self, name: &str, most: u64) -> Result<Option<Vec<u8>>, StoreError> {
        let (client, key) = (self.reader.clone(), self.key(name)?);
        let answer = self.wait(name, async move {
            let found = client.get(&key).await?;
            let size = found.meta.size;
            // do not download an object that is too long
            let bytes = match size <= most {
                true => found.bytes().await?,
                false => Default::default(),
            };
            Ok((size, bytes))
        })?;
        match answer {
            Ok((size, bytes)) => {
                fits(size, most, || self.describe(name))?;
                Ok(Some(bytes.into()))
            }
            Err(error @ Error::NotFound { .. }) => match is_of_bucket(&error) {
                true => Err(self.failed(name, &error)),
                false => Ok(None),
            },
            Err(error) => Err(self.failed(name, &error)),
        }
    }

    fn read_at(&self, name: &str, offset: u64, into: &mut [u8]) -> Result<(), StoreError> {
        let (client, key) = (self.reader.clone(), self.key(name)?);
        let expected = offset.saturating_add(into.len() as u64);
        let too_short = |found| StoreError::TooShort {
            name: self.describe(name),
            found,
            expected,
        };
        if into.is_empty() || expected == u64::MAX {
            // a request cannot name such a range
            let found = self.head(name)?.ok_or_else(|| self.missing(name))?.size;
            return match expected <= found {
                true => Ok(()),
                false => Err(too_short(found)),
            };
        }
        let answer = self.wait(name, async move {
            let options = GetOptions {
                range: Some(GetRange::Bounded(offset..expected)),
                ..GetOptions::default()
            };
            let found = client.get_opts(&key, options).await?;
            Ok((found.meta.size, found.bytes().await?))
        })?;
        match answer {
            Ok((_, bytes)) if bytes.len() == into.len() => {
                into.copy_from_slice(&bytes);
                Ok(())
            }
            Ok((found, _)) => Err(too_short(found)),
            Err(Error::NotFound { .. }) => Err(self.missing(name)),
            // the range begins at or after the end
            Err(error) if status(&error) == Some(416) => {
                let found = self.head(name)?.ok_or_else(|| self.missing(name))?;
                Err(too_short(found.size))
            }
            Err(error) => Err(self.failed(name, &error)),
        }
    }

    fn create(&self, name: &str, bytes: &[u8]) -> Result<Created, StoreError> {
        let key = self.key(name)?;
        let payload = PutPayload::from(bytes.to_vec());
        let mut tried = 0;
        loop {
            let (client, key, payload) = (self.client.clone(), key.clone(), payload.clone());
            let answer = self.wait(name, async move {
                client.put_opts(&key, payload, PutMode::Create.into()).await
            })?;
            match answer {
                Ok(_) => return Ok(Created::New),
                Err(Error::AlreadyExists { .. }) if self.head(name)?.is_some() => {
                    return Ok(Created::Existed);
                }
                // another writer is at it, and may still fail
                Err(Error::AlreadyExists { .. }) if tried < CONFLICTS => {
                    tried += 1;
                    thread::sleep(Duration::from_millis(200) * tried);
                }
                Err(error) => return Err(self.failed(name, &error)),
            }
        }
    }

    fn list(&self, prefix: &str) -> Result<Listing, StoreError> {
        check_prefix(prefix)?;
        let prefix = self.key_of(prefix)?;
        let found = self.reader.list(Some(&prefix));
        let found = self.wait("", found.try_collect::<Vec<ObjectMeta>>())?;
        let found = found.map_err(|error| self.failed("", &error))?;
        let mut listing = Listing::default();
        for object in found {
            let name = object.location.as_ref();
            let name = match &self.key[..] {
                "" => Some(name),
                key => name
                    .strip_prefix(key)
                    .and_then(|rest| rest.strip_prefix('/')),
            };
            let Some(name) = name else {
                continue; // the folder marker of web consoles
            };
            let file = name.rsplit('/').next().unwrap_or(name);
            if homaes_wire::is_temporary_name(file.as_ref()) {
                continue; // copied here from a folder
            }
            let name = name.to_owned();
            match check_name(&name) {
                Ok(()) => listing.objects.push((name, object.size)),
                Err(_) => listing.others.push(name),
            }
        }
        Ok(listing.sorted())
    }

    fn remove(&self, name: &str) -> Result<(), StoreError> {
        let (client, key) = (self.client.clone(), self.key(name)?);
        match self.wait(name, async move { client.delete(&key).await })? {
            Err(error) if !matches!(error, Error::NotFound { .. }) || is_of_bucket(&error) => {
                Err(self.failed(name, &error))
            }
            _ => Ok(()),
        }
    }
}

/// Occurs in the address of a request for an instance's credentials, which is the last resort.
const INSTANCE: &str = "/latest/api/token";

pub(crate) const ALLOW_HTTP: AmazonS3ConfigKey =
    AmazonS3ConfigKey::Client(ClientConfigKey::AllowHttp);

const NO: [&str; 5] = ["0", "false", "off", "no", "n"];

/// Whether the text is an endpoint; the client does not check.
fn is_endpoint(text: &str) -> bool {
    let rest = text.strip_prefix("http://");
    let rest = rest.or_else(|| text.strip_prefix("https://"));
    let allowed = |c: char| c.is_ascii_alphanumeric() || "-._~:/[]%".contains(c);
    rest.is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '['))
        && text.chars().all(allowed)
}

fn is_of_bucket(error: &Error) -> bool {
    error.to_string().contains("NoSuchBucket")
}

/// The chain of causes of an error, beginning with itself.
fn causes(error: &Error) -> impl Iterator<Item = &(dyn AnyError + 'static)> {
    let first: &(dyn AnyError + 'static) = error;
    std::iter::successors(Some(first), |&error| error.source())
}

/// The status of an answer, parsed from the text because the library's type is private.
fn status(error: &Error) -> Option<u16> {
    causes(error).find_map(|cause| {
        let text = cause.to_string();
        let rest = text.strip_prefix("Server returned non-2xx status code: ")?;
        rest.get(..3)?.parse().ok()
    })
}

fn is_temporary(error: &Error) -> bool {
    if causes(error).any(|cause| cause.is::<HttpError>()) {
        return true; // no answer, or part of one
    }
    let text = error.to_string();
    match status(error) {
        Some(409) => true, // another request is at the same object
        Some(400) => text.contains("RequestTimeout"),
        Some(status) => matches!(status, 408 | 429 | 500..=599),
        // status 200 with an error in the body, or a broken answer whose rest could not be fetched
        None => {
            text.contains("Server returned error response") || text.contains("Content-Range header")
        }
    }
}

/// Joins the lines of an answer.
fn one_line(text: &str) -> String {
    let words: Vec<&str> = text
        .split(|c: char| c.is_whitespace() || c.is_control())
        .collect();
    let words = words.into_iter().filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join(" ")
}
