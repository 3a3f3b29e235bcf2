//! `HEIST_PROFILE=file`: a profile of everything that the process does, written when it ends.

use super::clock::stamp;
use super::meter::{Running, new_frame};
use super::session::Begun;
use super::totals;
use crate::queues::forks::hot;
use crate::queues::job::halt_unwinding;
use heist_sync::process::{self, Origin};
use heist_sync::std_atomic::{AtomicBool, Ordering};
use std::path::PathBuf;
use std::sync::OnceLock;

/// A profile of the process.
struct Whole {
    begun: Begun,
    file: PathBuf,
    origin: Origin,
}

static WHOLE: OnceLock<Whole> = OnceLock::new();
static IS_ON: AtomicBool = AtomicBool::new(false);

/// Starts it, if the environment asks for one and it has not been started. A child of a fork writes none.
pub(crate) fn start() {
    static IS_STARTED: AtomicBool = AtomicBool::new(false);
    let Some(value) = std::env::var_os("HEIST_PROFILE").filter(|value| !value.is_empty()) else { return };
    if process::is_child() || IS_STARTED.swap(true, Ordering::Relaxed) {
        return;
    }
    if heist_os::is_privileged() == Some(true) {
        return heist_sync::warn(format_args!(
            "HEIST_PROFILE is ignored: this program has more rights than whoever has set it"
        ));
    }
    let Some(text) = value.to_str() else {
        return heist_sync::warn(format_args!(
            "HEIST_PROFILE={value:?} is not valid Unicode; give the name of a file"
        ));
    };
    let file = PathBuf::from(text.replace("%p", &std::process::id().to_string()));
    let Ok(begun) = Begun::now(None) else {
        return heist_sync::warn(format_args!(
            "HEIST_PROFILE has no effect: a profile with another clock is being taken"
        ));
    };
    if !heist_os::at_exit(write) {
        return heist_sync::warn(format_args!(
            "HEIST_PROFILE has no effect: this system does not tell when the process ends"
        ));
    }
    totals::begin_whole();
    let _ = WHOLE.set(Whole { begun, file, origin: Origin::here() });
    IS_ON.store(true, Ordering::Release);
}

/// Calls a pool, for a thread that may be in none. As a whole it is measured here; a profile that the program takes itself measures it
/// anyway.
#[inline]
pub(crate) fn called(call: &mut dyn FnMut()) {
    if IS_ON.load(Ordering::Acquire) && !process::is_child() && !hot().is_metered() {
        call_measured(call);
    } else {
        call();
    }
}

#[cold]
fn call_measured(call: &mut dyn FnMut()) {
    let mut frame = new_frame(0);
    totals::begin_call(stamp());
    // SAFETY: ended below, also if the call unwinds.
    let running = unsafe { Running::begin(&raw mut frame) };
    let result = halt_unwinding(call);
    running.end();
    totals::end_call(&frame.end(), stamp());
    if let Err(payload) = result {
        std::panic::resume_unwind(payload);
    }
}

extern "C" fn write() {
    // Nothing may unwind into the C library.
    let _ = halt_unwinding(|| {
        let Some(whole) = WHOLE.get().filter(|whole| !whole.origin.is_foreign()) else { return };
        let now = stamp();
        let Some(measured) = totals::whole_now(now) else {
            return heist_sync::warn(format_args!(
                "no profile was written: a thread was in the middle of a call when the process ended"
            ));
        };
        let outside = now.saturating_sub(whole.begun.stamp()).saturating_sub(measured.inside);
        let figures = whole.begun.figures(&measured.sums, measured.path, outside);
        if let Err(error) = std::fs::write(&whole.file, figures.to_string()) {
            heist_sync::warn(format_args!(
                "HEIST_PROFILE: {} could not be written: {error}",
                whole.file.display()
            ));
        }
    });
}
