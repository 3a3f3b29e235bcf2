//! Loops whose types are forgotten, so that any source can be put before any adaptor before any end at run time.
//!
//! Everything is erased on both sides: a source or an adaptor is compiled for one consumer that stands for all, and an
//! end for one loop that stands for all. What is behind still is the real thing: consumers, folders, reducers and
//! producers are divided, fed and dropped exactly as they would be without the boxes.

use crate::ledger::Item;
use heist_iter::iter::plumbing::{Consumer, Folder, Producer, ProducerCallback, Reducer, UnindexedConsumer};
use heist_iter::prelude::*;
use std::any::type_name;

/// A loop of unknown or known length.
pub struct Loop<'c>(Box<dyn AnyLoop + 'c>);

/// A loop that can be cut at an index.
pub struct IndexedLoop<'c>(Box<dyn AnyIndexedLoop + 'c>);

impl<'c> Loop<'c> {
    pub fn new(par_iter: impl ParallelIterator<Item = Item> + 'c) -> Self {
        Loop(Box::new(par_iter))
    }
}

impl<'c> IndexedLoop<'c> {
    pub fn new(par_iter: impl IndexedParallelIterator<Item = Item> + 'c) -> Self {
        IndexedLoop(Box::new(par_iter))
    }
}

// How a consumer may be divided while its folder runs decides which driver a loop gets.
const ANYWHERE: u8 = 0;
const PROMISED: u8 = 1;
const IN_ADVANCE: u8 = 2;

trait AnyLoop: Send {
    fn drive_anywhere<'k>(self: Box<Self>, consumer: AnyConsumer<'k, ANYWHERE>) -> Outcome<'k>;
    fn drive_promised<'k>(self: Box<Self>, consumer: AnyConsumer<'k, PROMISED>) -> Outcome<'k>;
    fn drive_in_advance<'k>(self: Box<Self>, consumer: AnyConsumer<'k, IN_ADVANCE>) -> Outcome<'k>;
    fn any_opt_len(&self) -> Option<usize>;
}

impl<I: ParallelIterator<Item = Item>> AnyLoop for I {
    fn drive_anywhere<'k>(self: Box<Self>, consumer: AnyConsumer<'k, ANYWHERE>) -> Outcome<'k> {
        self.drive_unindexed(consumer)
    }

    fn drive_promised<'k>(self: Box<Self>, consumer: AnyConsumer<'k, PROMISED>) -> Outcome<'k> {
        self.drive_unindexed(consumer)
    }

    fn drive_in_advance<'k>(self: Box<Self>, consumer: AnyConsumer<'k, IN_ADVANCE>) -> Outcome<'k> {
        self.drive_unindexed(consumer)
    }

    fn any_opt_len(&self) -> Option<usize> {
        self.opt_len()
    }
}

trait AnyIndexedLoop: AnyLoop {
    fn drive_indexed_promised<'k>(self: Box<Self>, consumer: AnyConsumer<'k, PROMISED>) -> Outcome<'k>;
    fn drive_indexed_in_advance<'k>(self: Box<Self>, consumer: AnyConsumer<'k, IN_ADVANCE>) -> Outcome<'k>;
    fn any_len(&self) -> usize;
    fn lend_producer(self: Box<Self>, to: &mut dyn FnMut(AnyProducer<'_>));
}

impl<I: IndexedParallelIterator<Item = Item>> AnyIndexedLoop for I {
    fn drive_indexed_promised<'k>(self: Box<Self>, consumer: AnyConsumer<'k, PROMISED>) -> Outcome<'k> {
        self.drive(consumer)
    }

    fn drive_indexed_in_advance<'k>(self: Box<Self>, consumer: AnyConsumer<'k, IN_ADVANCE>) -> Outcome<'k> {
        self.drive(consumer)
    }

    fn any_len(&self) -> usize {
        self.len()
    }

    fn lend_producer(self: Box<Self>, to: &mut dyn FnMut(AnyProducer<'_>)) {
        struct Callback<'f>(&'f mut dyn FnMut(AnyProducer<'_>));
        impl ProducerCallback<Item> for Callback<'_> {
            type Output = ();
            fn callback<P: Producer<Item = Item>>(self, producer: P) {
                (self.0)(AnyProducer(Box::new(producer)));
            }
        }
        self.with_producer(Callback(to));
    }
}

fn drive_any<C: UnindexedConsumer<Item>>(par_iter: Box<dyn AnyLoop + '_>, consumer: C) -> C::Result {
    let ways = Some(Ways { split_off_left: C::split_off_left, to_reducer: C::to_reducer });
    let boxed = Box::new(Typed { consumer, ways });
    let outcome = if C::ANYWHERE {
        par_iter.drive_anywhere(AnyConsumer(boxed))
    } else if C::CUTS_BEGUN {
        par_iter.drive_promised(AnyConsumer(boxed))
    } else {
        par_iter.drive_in_advance(AnyConsumer(boxed))
    };
    outcome.open()
}

impl ParallelIterator for Loop<'_> {
    type Item = Item;

    fn drive_unindexed<C: UnindexedConsumer<Item>>(self, consumer: C) -> C::Result {
        drive_any(self.0, consumer)
    }

    fn opt_len(&self) -> Option<usize> {
        self.0.any_opt_len()
    }
}

impl ParallelIterator for IndexedLoop<'_> {
    type Item = Item;

    fn drive_unindexed<C: UnindexedConsumer<Item>>(self, consumer: C) -> C::Result {
        drive_any(self.0, consumer)
    }

    fn opt_len(&self) -> Option<usize> {
        self.0.any_opt_len()
    }
}

impl IndexedParallelIterator for IndexedLoop<'_> {
    fn len(&self) -> usize {
        self.0.any_len()
    }

    fn drive<C: Consumer<Item>>(self, consumer: C) -> C::Result {
        let boxed = Box::new(Typed { consumer, ways: None });
        let outcome = if C::CUTS_BEGUN {
            self.0.drive_indexed_promised(AnyConsumer(boxed))
        } else {
            self.0.drive_indexed_in_advance(AnyConsumer(boxed))
        };
        outcome.open()
    }

    fn with_producer<CB: ProducerCallback<Item>>(self, callback: CB) -> CB::Output {
        let (mut callback, mut output) = (Some(callback), None);
        self.0.lend_producer(&mut |producer| {
            let callback = callback.take().expect("a producer is lent once");
            output = Some(callback.callback(producer));
        });
        output.expect("a producer is lent")
    }
}

/// The result of a part.
struct Outcome<'k> {
    value: Box<dyn Send + 'k>,
    type_name: &'static str,
}

impl<'k> Outcome<'k> {
    fn new<R: Send + 'k>(result: R) -> Self {
        Outcome { value: Box::new(result), type_name: type_name::<R>() }
    }

    fn open<R: Send + 'k>(self) -> R {
        assert_eq!(self.type_name, type_name::<R>(), "results of two loops were mixed up");
        let value = Box::into_raw(self.value).cast::<R>();
        // SAFETY: `drive_any` and `drive` make a consumer for a type `C` and open what that comes to. An iterator, being
        // generic over its consumer, can get outcomes only from that consumer, and so only of `C::Result`.
        *unsafe { Box::from_raw(value) }
    }
}

struct AnyConsumer<'k, const DIVIDES: u8>(Box<dyn DynConsumer<'k> + 'k>);

type BoxedParts<'k> =
    (Box<dyn DynConsumer<'k> + 'k>, Box<dyn DynConsumer<'k> + 'k>, Box<dyn DynReducer<'k> + 'k>);

trait DynConsumer<'k>: Send {
    fn split_at(self: Box<Self>, index: usize) -> BoxedParts<'k>;
    fn into_folder(self: Box<Self>) -> Box<dyn DynFolder<'k> + 'k>;
    fn full(&self) -> bool;
    fn split_off_left(&self) -> Box<dyn DynConsumer<'k> + 'k>;
    fn to_reducer(&self) -> Box<dyn DynReducer<'k> + 'k>;
}

trait DynReducer<'k> {
    fn reduce(self: Box<Self>, left: Outcome<'k>, right: Outcome<'k>) -> Outcome<'k>;
}

impl<'k, const DIVIDES: u8> Consumer<Item> for AnyConsumer<'k, DIVIDES> {
    type Folder = AnyFolder<'k>;
    type Reducer = AnyReducer<'k>;
    type Result = Outcome<'k>;

    fn split_at(self, index: usize) -> (Self, Self, AnyReducer<'k>) {
        let (left, right, reducer) = self.0.split_at(index);
        (AnyConsumer(left), AnyConsumer(right), AnyReducer(reducer))
    }

    fn into_folder(self) -> AnyFolder<'k> {
        AnyFolder(self.0.into_folder())
    }

    fn full(&self) -> bool {
        self.0.full()
    }

    const CUTS_BEGUN: bool = DIVIDES == PROMISED;

    fn cut_begun(folder: AnyFolder<'k>, index: usize) -> (AnyFolder<'k>, Self, AnyReducer<'k>) {
        let (near, far, reducer) = folder.0.cut_begun(index);
        (AnyFolder(near), AnyConsumer(far), AnyReducer(reducer))
    }
}

impl<'k, const DIVIDES: u8> UnindexedConsumer<Item> for AnyConsumer<'k, DIVIDES> {
    const ANYWHERE: bool = DIVIDES == ANYWHERE;

    fn split_off_left(&self) -> Self {
        AnyConsumer(self.0.split_off_left())
    }

    fn to_reducer(&self) -> AnyReducer<'k> {
        AnyReducer(self.0.to_reducer())
    }
}

struct AnyReducer<'k>(Box<dyn DynReducer<'k> + 'k>);

impl<'k> Reducer<Outcome<'k>> for AnyReducer<'k> {
    fn reduce(self, left: Outcome<'k>, right: Outcome<'k>) -> Outcome<'k> {
        self.0.reduce(left, right)
    }
}

/// A consumer whose type is known.
struct Typed<C: Consumer<Item>> {
    consumer: C,
    ways: Option<Ways<C>>,
}

/// What an unindexed consumer can do besides.
struct Ways<C: Consumer<Item>> {
    split_off_left: fn(&C) -> C,
    to_reducer: fn(&C) -> C::Reducer,
}

impl<C: Consumer<Item>> Clone for Ways<C> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<C: Consumer<Item>> Copy for Ways<C> {}

impl<C: Consumer<Item>> Typed<C> {
    fn ways(&self) -> Ways<C> {
        self.ways.expect("a loop that is driven by index divides by index")
    }
}

impl<'k, C: Consumer<Item> + 'k> DynConsumer<'k> for Typed<C> {
    fn split_at(self: Box<Self>, index: usize) -> BoxedParts<'k> {
        let Typed { consumer, ways } = *self;
        let (left, right, reducer) = consumer.split_at(index);
        (
            Box::new(Typed { consumer: left, ways }),
            Box::new(Typed { consumer: right, ways }),
            Box::new(TypedReducer::<C>(reducer)),
        )
    }

    fn into_folder(self: Box<Self>) -> Box<dyn DynFolder<'k> + 'k> {
        let Typed { consumer, ways } = *self;
        Box::new(TypedFolder::<C> { folder: Some(consumer.into_folder()), ways })
    }

    fn full(&self) -> bool {
        self.consumer.full()
    }

    fn split_off_left(&self) -> Box<dyn DynConsumer<'k> + 'k> {
        Box::new(Typed { consumer: (self.ways().split_off_left)(&self.consumer), ways: self.ways })
    }

    fn to_reducer(&self) -> Box<dyn DynReducer<'k> + 'k> {
        Box::new(TypedReducer::<C>((self.ways().to_reducer)(&self.consumer)))
    }
}

struct TypedReducer<C: Consumer<Item>>(C::Reducer);

impl<'k, C: Consumer<Item> + 'k> DynReducer<'k> for TypedReducer<C> {
    fn reduce(self: Box<Self>, left: Outcome<'k>, right: Outcome<'k>) -> Outcome<'k> {
        Outcome::new::<C::Result>(self.0.reduce(left.open(), right.open()))
    }
}

/// A folder that is fed in place.
trait Feed {
    fn feed(&mut self, item: Item);
    fn feed_iter(&mut self, iter: &mut dyn Iterator<Item = Item>);
    fn is_full(&self) -> bool;
}

/// `None` only while it is fed, and for ever if that panics.
impl<F: Folder<Item>> Feed for Option<F> {
    fn feed(&mut self, item: Item) {
        *self = self.take().map(|folder| folder.consume(item));
    }

    fn feed_iter(&mut self, iter: &mut dyn Iterator<Item = Item>) {
        *self = self.take().map(|folder| folder.consume_iter(iter));
    }

    fn is_full(&self) -> bool {
        self.as_ref().expect("a folder is not used after a panic").full()
    }
}

trait DynFolder<'k> {
    fn as_feed(&mut self) -> &mut dyn Feed;
    fn is_full(&self) -> bool;
    fn complete(self: Box<Self>) -> Outcome<'k>;
    #[allow(clippy::type_complexity, reason = "it is BoxedParts with a folder in front")]
    fn cut_begun(
        self: Box<Self>,
        index: usize,
    ) -> (Box<dyn DynFolder<'k> + 'k>, Box<dyn DynConsumer<'k> + 'k>, Box<dyn DynReducer<'k> + 'k>);
}

struct TypedFolder<C: Consumer<Item>> {
    folder: Option<C::Folder>,
    ways: Option<Ways<C>>,
}

impl<'k, C: Consumer<Item> + 'k> DynFolder<'k> for TypedFolder<C> {
    fn as_feed(&mut self) -> &mut dyn Feed {
        &mut self.folder
    }

    fn is_full(&self) -> bool {
        self.folder.is_full()
    }

    fn complete(self: Box<Self>) -> Outcome<'k> {
        Outcome::new::<C::Result>(self.folder.expect("a folder is not used after a panic").complete())
    }

    fn cut_begun(
        self: Box<Self>,
        index: usize,
    ) -> (Box<dyn DynFolder<'k> + 'k>, Box<dyn DynConsumer<'k> + 'k>, Box<dyn DynReducer<'k> + 'k>) {
        let TypedFolder { folder, ways } = *self;
        let (near, far, reducer) = C::cut_begun(folder.expect("a folder is not used after a panic"), index);
        (
            Box::new(TypedFolder::<C> { folder: Some(near), ways }),
            Box::new(Typed { consumer: far, ways }),
            Box::new(TypedReducer::<C>(reducer)),
        )
    }
}

struct AnyFolder<'k>(Box<dyn DynFolder<'k> + 'k>);

impl<'k> Folder<Item> for AnyFolder<'k> {
    type Result = Outcome<'k>;

    fn consume(mut self, item: Item) -> Self {
        self.0.as_feed().feed(item);
        self
    }

    fn consume_iter<I: IntoIterator<Item = Item>>(mut self, iter: I) -> Self {
        self.0.as_feed().feed_iter(&mut iter.into_iter());
        self
    }

    fn complete(self) -> Outcome<'k> {
        self.0.complete()
    }

    fn full(&self) -> bool {
        self.0.is_full()
    }
}

/// Any folder, for as long as a producer feeds it.
struct LentFolder<'f>(&'f mut dyn Feed);

impl Folder<Item> for LentFolder<'_> {
    type Result = ();

    fn consume(self, item: Item) -> Self {
        self.0.feed(item);
        self
    }

    fn consume_iter<I: IntoIterator<Item = Item>>(self, iter: I) -> Self {
        self.0.feed_iter(&mut iter.into_iter());
        self
    }

    fn complete(self) {}

    fn full(&self) -> bool {
        self.0.is_full()
    }
}

struct AnyProducer<'p>(Box<dyn DynProducer<'p> + 'p>);

trait DynProducer<'p>: Send {
    fn into_iter(self: Box<Self>) -> Box<dyn TwoEnded + 'p>;
    fn min_len(&self) -> usize;
    fn max_len(&self) -> usize;
    fn split_at(self: Box<Self>, index: usize) -> (AnyProducer<'p>, AnyProducer<'p>);
    fn fold_with(self: Box<Self>, folder: LentFolder<'_>);
}

trait TwoEnded: DoubleEndedIterator<Item = Item> + ExactSizeIterator {}

impl<I: DoubleEndedIterator<Item = Item> + ExactSizeIterator> TwoEnded for I {}

impl<'p, P: Producer<Item = Item> + 'p> DynProducer<'p> for P {
    fn into_iter(self: Box<Self>) -> Box<dyn TwoEnded + 'p> {
        Box::new(Producer::into_iter(*self))
    }

    fn min_len(&self) -> usize {
        Producer::min_len(self)
    }

    fn max_len(&self) -> usize {
        Producer::max_len(self)
    }

    fn split_at(self: Box<Self>, index: usize) -> (AnyProducer<'p>, AnyProducer<'p>) {
        let (left, right) = Producer::split_at(*self, index);
        (AnyProducer(Box::new(left)), AnyProducer(Box::new(right)))
    }

    fn fold_with(self: Box<Self>, folder: LentFolder<'_>) {
        Producer::fold_with(*self, folder);
    }
}

impl<'p> Producer for AnyProducer<'p> {
    type Item = Item;
    type IntoIter = Box<dyn TwoEnded + 'p>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }

    fn min_len(&self) -> usize {
        self.0.min_len()
    }

    fn max_len(&self) -> usize {
        self.0.max_len()
    }

    fn split_at(self, index: usize) -> (Self, Self) {
        self.0.split_at(index)
    }

    fn fold_with<F: Folder<Item>>(self, folder: F) -> F {
        let mut folder = Some(folder);
        self.0.fold_with(LentFolder(&mut folder));
        folder.expect("a folder is not used after a panic")
    }
}
