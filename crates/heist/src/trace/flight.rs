//! The flight recorder's surface.

use heist_pool::raw::recorder::flight::{Config, Flight};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Keeps the last seconds of all pools in memory, and writes them down when you ask, or when something goes wrong.
///
/// By itself it writes at most one file in 10 s, called `heist-flight-PROCESS-NUMBER.json`, and says so on standard error. Files are never
/// written on the thread that has the trouble: it may have little stack.
///
/// ```
/// use heist::trace::FlightRecorder;
/// use std::time::Duration;
///
/// # let directory = std::env::temp_dir();
/// let flight = FlightRecorder::builder()
///     .min_age(Duration::from_secs(5))
///     .max_bytes(4 << 20)
///     .directory(&directory)
///     .slow_poll(Duration::from_millis(100))
///     .start()?;
/// heist::join(|| 1, || 2);
/// # let path = directory.join(format!("heist-flight-doc-{}.json", std::process::id()));
/// flight.write(&path)?;
/// # std::fs::remove_file(path)?;
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
#[must_use = "it stops when it is dropped"]
pub struct FlightRecorder(Flight);

impl FlightRecorder {
    /// How it should be.
    ///
    /// ```
    /// let flight = heist::trace::FlightRecorder::builder().start()?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn builder() -> FlightRecorderBuilder {
        FlightRecorderBuilder::default()
    }

    /// Writes what it has, as JSON for trace viewers, however lately it has written by itself.
    ///
    /// # Errors
    /// Those of the file. In a child of a fork there is nothing to write, which is an error too.
    ///
    /// ```
    /// let flight = heist::trace::FlightRecorder::builder().start()?;
    /// assert!(flight.write("/there/is/no/such/directory").is_err());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn write(&self, path: impl AsRef<Path>) -> io::Result<()> {
        self.0.write(path.as_ref())
    }
}

/// Less is not worth a recorder.
const LEAST_BYTES: usize = 1 << 16;

/// See [`FlightRecorder`].
///
/// ```
/// let builder: heist::trace::FlightRecorderBuilder = heist::trace::FlightRecorder::builder();
/// ```
#[derive(Clone, Debug)]
#[must_use = "nothing is recorded before `start`"]
pub struct FlightRecorderBuilder(Config);

impl Default for FlightRecorderBuilder {
    fn default() -> Self {
        Self(Config {
            min_age: Duration::from_secs(10),
            max_bytes: 16 << 20,
            directory: PathBuf::from("."),
            on_panic: false,
            late_tick: None,
            slow_poll: None,
        })
    }
}

impl FlightRecorderBuilder {
    /// Events are kept for at least this long, if they fit. 10 s, if you do not say.
    ///
    /// ```
    /// let builder = heist::trace::FlightRecorder::builder().min_age(std::time::Duration::from_secs(60));
    /// ```
    pub fn min_age(mut self, age: Duration) -> Self {
        self.0.min_age = age;
        self
    }

    /// The events take no more memory than this. 16 MiB, if you do not say: some 700,000 events.
    ///
    /// ```
    /// let builder = heist::trace::FlightRecorder::builder().max_bytes(1 << 20);
    /// ```
    pub fn max_bytes(mut self, bytes: usize) -> Self {
        self.0.max_bytes = bytes;
        self
    }

    /// Where it writes by itself. The current directory, if you do not say.
    ///
    /// ```
    /// let builder = heist::trace::FlightRecorder::builder().directory("/var/log/server");
    /// ```
    pub fn directory(mut self, path: impl Into<PathBuf>) -> Self {
        self.0.directory = path.into();
        self
    }

    /// A panic makes it write, also one that is caught. It puts a hook in front of the one that is there when it starts.
    ///
    /// ```
    /// let builder = heist::trace::FlightRecorder::builder().on_panic();
    /// ```
    pub fn on_panic(mut self) -> Self {
        self.0.on_panic = true;
        self
    }

    /// A tick that is late by at least this makes it write.
    ///
    /// ```
    /// let builder = heist::trace::FlightRecorder::builder().late_tick(std::time::Duration::from_millis(20));
    /// ```
    pub fn late_tick(mut self, lateness: Duration) -> Self {
        self.0.late_tick = Some(lateness);
        self
    }

    /// A poll that takes at least this long makes it write.
    ///
    /// ```
    /// let builder = heist::trace::FlightRecorder::builder().slow_poll(std::time::Duration::from_millis(100));
    /// ```
    pub fn slow_poll(mut self, took: Duration) -> Self {
        self.0.slow_poll = Some(took);
        self
    }

    /// Starts it.
    ///
    /// # Errors
    /// If the directory is none, if there is room for next to nothing, or its thread cannot be started.
    ///
    /// ```
    /// let flight = heist::trace::FlightRecorder::builder().directory("/there/is/no/such/directory").start();
    /// assert!(flight.is_err());
    /// ```
    pub fn start(self) -> io::Result<FlightRecorder> {
        if self.0.max_bytes < LEAST_BYTES {
            let why =
                format!("max_bytes({}) keeps next to nothing: give at least {LEAST_BYTES}", self.0.max_bytes);
            return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        }
        let directory = &self.0.directory;
        if !directory.is_dir() {
            let why = format!("{} is not a directory: name one that is there", directory.display());
            return Err(io::Error::new(io::ErrorKind::NotADirectory, why));
        }
        Flight::start(self.0).map(FlightRecorder)
    }
}
