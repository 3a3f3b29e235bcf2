//! A report on SIGQUIT.

use super::watch::{keep, report};
use heist_sync::process::PerProcess;
use std::io;
use std::sync::{Mutex, PoisonError};

/// From here on, SIGQUIT (Ctrl-\ in a terminal, `kill -QUIT`) prints a [`report`] on standard error, and the program goes on. Without this call the
/// signal ends the program, as ever.
///
/// The signal's handler does nothing but write to an eventfd; a thread of its own reads that and looks. A handler that was there before is called as
/// well. A second call changes nothing. In a child of `fork` the signal does what it did before, until the child calls this itself.
///
/// ```
/// # #[cfg(target_os = "linux")]
/// heist::stall::on_sigquit()?;
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
/// What the system says if it has no eventfd or no thread left. `Unsupported` on systems other than Linux.
pub fn on_sigquit() -> io::Result<()> {
    static IS_ON: PerProcess<Mutex<bool>> = PerProcess::new(Mutex::new(false), Mutex::default);
    let mut is_on = IS_ON.get().lock().unwrap_or_else(PoisonError::into_inner);
    if *is_on {
        return Ok(());
    }
    let quits = heist_os::quit::Quits::new()?;
    let tell = move || {
        while quits.wait() {
            heist_sync::warn(format_args!("{}", report()));
        }
    };
    heist_sync::start_thread("heist-sigquit", Box::new(tell))?;
    heist_os::quit::listen()?;
    keep();
    *is_on = true;
    Ok(())
}
