//! dbg
#![cfg(heist_loom)]
use heist_deque::*;
#[test]
fn dbg() {
    for dependent_looks in [false, true] { for order in 0..3 {
    let n = std::sync::Arc::new(std::sync::Mutex::new(std::collections::BTreeMap::new()));
    let m = n.clone();
    let mut b = loom::model::Builder::new(); b.preemption_bound = Some(2);
    b.check(move || {
        let (owner, thief) = deque_with(Options { capacity: 2, start: (1 << 12) - 2, fenced: false, dependent_looks });
        let (t1, t2) = (thief.clone(), thief);
        if order == 0 {
        let a = heist_sync::thread::spawn(move || t1.force());
        let b = heist_sync::thread::spawn(move || t2.steal());
        owner.push(0);
        let s = (a.join().unwrap(), b.join().unwrap());
        *m.lock().unwrap().entry(format!("{s:?}")).or_insert(0) += 1;
        } else if order == 1 {
        let o = heist_sync::thread::spawn(move || {owner.push(0); owner});
        let a = heist_sync::thread::spawn(move || t1.force());
        let s = t2.steal();
        let s = (a.join().unwrap(), s);
        o.join().unwrap();
        *m.lock().unwrap().entry(format!("{s:?}")).or_insert(0) += 1;
        } else {
        let o = heist_sync::thread::spawn(move || {owner.push(0); owner});
        let a = heist_sync::thread::spawn(move || t2.steal());
        let s = t1.force();
        let s = (s, a.join().unwrap());
        o.join().unwrap();
        *m.lock().unwrap().entry(format!("{s:?}")).or_insert(0) += 1;
        }
    });
    println!("{dependent_looks} {order} {:?}", n.lock().unwrap());
    }}
}
