//! A thread that keeps records: sessions must not wait for a disk.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

use hawser_lab::data::measure::{Folder, Put, Record, RecordId, RunId, Store};

use hawser_command::exit::{Exit, Failure, is_full};
use hawser_command::output::Output;
use hawser_command::report::remark;

/// Drafts that wait for the disk before further ones are passed over: the next one says more anyway.
const DRAFTS_WAITING: usize = 4;

enum Order {
    Draft(String, Box<Record>),
    Finish(String, Box<Record>),
    Put(Box<Record>),
}

/// Keeps the records of a run. Dropping it does not wait; [`finish`](Keeper::finish) does.
pub(super) struct Keeper {
    run: RunId,
    orders: Sender<Order>,
    next: AtomicU64,
    waiting: Arc<AtomicUsize>,
    dropped: Arc<AtomicU64>,
    thread: JoinHandle<()>,
}

/// Takes a folder for records of at most so many bytes.
pub(super) fn open_store(
    folder: &Path,
    limit: u64,
    run: RunId,
    output: Output,
) -> Result<Store<Folder>, Failure> {
    let taken = Folder::take(folder).map_err(|error| match error.kind() {
        io::ErrorKind::WouldBlock => Failure::new(
            Exit::NotWritten,
            format!(
                "{} belongs to another `hawser measure` that runs; name another folder with --out",
                folder.display()
            ),
        ),
        _ => Failure::write(folder, &error),
    })?;
    let opened = Store::open(taken, limit, run).map_err(|error| Failure::read(folder, &error))?;
    if opened.recovered > 0 {
        let count = opened.recovered;
        output.remark(format_args!("{count} records of a run that was killed are finished now"));
    }
    let mut store = opened.store;
    tell_set_aside(&mut store, folder);
    Ok(store)
}

/// Says once what could not be read.
pub(super) fn tell_set_aside(store: &mut Store<Folder>, folder: &Path) {
    for name in store.take_set_aside() {
        let path = folder.join(name);
        remark(format_args!(
            "hawser: {} is what could not be read; it is kept, and not looked at again",
            path.display()
        ));
    }
}

impl Keeper {
    /// Starts the thread.
    pub(super) fn start(store: Store<Folder>, run: RunId, folder: PathBuf) -> io::Result<Keeper> {
        let (orders, received) = channel();
        let next = AtomicU64::new(store.next_number());
        let waiting = Arc::new(AtomicUsize::new(0));
        let dropped = Arc::new(AtomicU64::new(store.dropped()));
        let dropped_before = store.dropped();
        let (waiting_for, count) = (waiting.clone(), dropped.clone());
        let worker = Worker {
            store,
            folder,
            waiting: waiting_for,
            dropped: count,
            losses: Losses::default(),
            dropped_before,
        };
        let builder = std::thread::Builder::new().name("records".to_owned());
        let thread = builder.spawn(move || worker.work(&received))?;
        Ok(Keeper { run, orders, next, waiting, dropped, thread })
    }

    /// The run.
    pub(super) fn run(&self) -> RunId {
        self.run
    }

    /// An id that no record has.
    pub(super) fn next_id(&self) -> RecordId {
        RecordId::new(self.next.fetch_add(1, Ordering::Relaxed), self.run)
    }

    /// Records that found no room so far.
    pub(super) fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    /// Keeps a record as it is now; it is not finished.
    pub(super) fn draft(&self, slot: &str, record: impl FnOnce() -> Record) {
        if self.waiting.fetch_add(1, Ordering::Relaxed) < DRAFTS_WAITING {
            let _ = self.orders.send(Order::Draft(slot.to_owned(), Box::new(record())));
        } else {
            self.waiting.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Keeps a record in the place of its draft.
    pub(super) fn finish_draft(&self, slot: &str, record: Record) {
        let _ = self.orders.send(Order::Finish(slot.to_owned(), Box::new(record)));
    }

    /// Keeps a record that had no draft.
    pub(super) fn put(&self, record: Record) {
        let _ = self.orders.send(Order::Put(Box::new(record)));
    }

    /// Waits until all is on the disk.
    pub(super) fn finish(self) {
        drop(self.orders);
        let _ = self.thread.join();
    }
}

struct Worker {
    store: Store<Folder>,
    folder: PathBuf,
    waiting: Arc<AtomicUsize>,
    dropped: Arc<AtomicU64>,
    losses: Losses,
    /// Dropped by earlier runs.
    dropped_before: u64,
}

impl Worker {
    fn work(mut self, orders: &Receiver<Order>) {
        while let Ok(order) = orders.recv() {
            match order {
                Order::Draft(slot, record) => {
                    if let Err(error) = self.store.draft(&slot, &record) {
                        tracing::debug!(%error, slot, "a draft was not written");
                    }
                    self.waiting.fetch_sub(1, Ordering::Relaxed);
                }
                Order::Finish(slot, record) => {
                    let put = self.store.finish_draft(&slot, &record);
                    self.note(record.id(), &put);
                }
                Order::Put(record) => {
                    let put = self.store.put(&record);
                    self.note(record.id(), &put);
                }
            }
        }
        let dropped = self.store.dropped() - self.dropped_before;
        if dropped > 0 {
            remark(format_args!("hawser: {dropped} records were dropped from {}", self.folder.display()));
        }
    }

    fn note(&mut self, id: &RecordId, put: &Put) {
        self.dropped.store(self.store.dropped(), Ordering::Relaxed);
        let folder = self.folder.display();
        let reason = match put {
            Put::Stored | Put::Known => {
                return self.losses.stored(self.store.used());
            }
            Put::OnlyDraft(error) => {
                return remark(format_args!(
                    "hawser: {folder}: record {id} ends up to a second early: {error}"
                ));
            }
            Put::NoRoom => {
                "the folder has reached --max-disk; upload what is there, or allow more".to_owned()
            }
            Put::Failed(error) if is_full(error) => "the disk is full".to_owned(),
            Put::Failed(error) => error.to_string(),
        };
        if self.losses.lost(matches!(put, Put::Failed(_)), self.store.used()) {
            remark(format_args!(
                "hawser: {folder}: {reason}. Records are dropped from now on, and counted; those that are there stay"
            ));
        }
    }
}

/// Which loss is news: the first of those that have the same cause.
#[derive(Default)]
struct Losses {
    /// Whether the disk failed at the last loss that is not over, and the bytes of records there were then.
    last: Option<(bool, u64)>,
}

impl Losses {
    /// A record was lost. Whether to say so.
    fn lost(&mut self, disk_failed: bool, used: u64) -> bool {
        self.last.replace((disk_failed, used)).is_none()
    }

    /// A record was kept: a disk that failed works again, or some records went away. That a short one fits into the room that
    /// was too small for a longer one ends nothing.
    fn stored(&mut self, used: u64) {
        self.last = self.last.filter(|&(disk_failed, then)| !disk_failed && used >= then);
    }
}

#[cfg(test)]
mod tests {
    use super::Losses;

    #[test]
    fn a_short_record_that_fits_does_not_make_the_next_loss_news() {
        let mut losses = Losses::default();
        assert!(losses.lost(false, 1_800));
        losses.stored(2_000);
        assert!(!losses.lost(false, 2_000));
        // Some were uploaded.
        losses.stored(400);
        assert!(losses.lost(false, 1_900));
    }

    #[test]
    fn a_disk_that_took_a_record_is_no_longer_full() {
        let mut losses = Losses::default();
        assert!(losses.lost(true, 1_800));
        assert!(!losses.lost(true, 1_800));
        losses.stored(2_400);
        assert!(losses.lost(true, 2_400));
    }
}
