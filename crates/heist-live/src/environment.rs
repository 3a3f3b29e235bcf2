//! `HEIST_LIVE=127.0.0.1:7878`: any program that was built with the feature is served, without a change to its code.

use heist_sync::process::PerProcess;
use heist_sync::std_atomic::{AtomicBool, Ordering};

/// Nobody calls into this crate in a program that only sets the variable, and the crates that build pools do not know it. So it makes itself
/// known to them before `main`; that is all that it does there.
#[used]
#[cfg_attr(all(unix, not(target_vendor = "apple")), unsafe(link_section = ".init_array"))]
#[cfg_attr(target_vendor = "apple", unsafe(link_section = "__DATA,__mod_init_func"))]
#[cfg_attr(windows, unsafe(link_section = ".CRT$XCU"))]
static BEFORE_MAIN: extern "C" fn() = before_main;

extern "C" fn before_main() {
    heist_pool::raw::sample::set_observer(start);
}

/// Serves the view, if the environment asks for it and it is not served yet. Called whenever a pool has been built.
fn start() {
    static IS_STARTED: PerProcess<AtomicBool> = PerProcess::new(AtomicBool::new(false), AtomicBool::default);
    let Some(value) = std::env::var_os("HEIST_LIVE").filter(|value| !value.is_empty() && value != "0") else {
        return;
    };
    if IS_STARTED.get().swap(true, Ordering::Relaxed) {
        return;
    }
    if heist_os::is_privileged() == Some(true) {
        return heist_sync::warn(format_args!(
            "HEIST_LIVE is ignored: the program runs with the rights of another user than yours"
        ));
    }
    let Some(addr) = value.to_str().and_then(|text| text.trim().parse::<std::net::SocketAddr>().ok()) else {
        return heist_sync::warn(format_args!(
            "HEIST_LIVE={value:?} is not an address with a port; unset it or give one, for example 127.0.0.1:7878"
        ));
    };
    match crate::serve(addr) {
        Ok(live) => {
            heist_sync::warn(format_args!("live view at {}", live.url()));
            live.detach();
        }
        Err(error) => heist_sync::warn(format_args!("HEIST_LIVE has no effect: {error}")),
    }
}
