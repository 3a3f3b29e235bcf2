//! Who hears the reports of ticks: they are for the whole process, and the tests share one.

use heist::tick::{self, Report};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, Once};

static LISTENERS: Mutex<Vec<(String, Sender<Report>)>> = Mutex::new(Vec::new());

/// Keeps the reports of this process's ticks from being printed.
pub fn hush() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| tick::on_report(tell));
}

fn tell(report: &Report) {
    let (Report::LongRun { name, .. } | Report::Unserved { name, .. } | Report::Panicked { name, .. }) =
        report
    else {
        return;
    };
    for (_, send) in LISTENERS.lock().unwrap().iter().filter(|(of, _)| Some(of) == name.as_ref()) {
        // Its test may be over.
        let _ = send.send(report.clone());
    }
}

/// The reports of ticks with this name.
pub fn reports(name: &str) -> Receiver<Report> {
    hush();
    let (send, receive) = channel();
    LISTENERS.lock().unwrap().push((name.into(), send));
    receive
}
