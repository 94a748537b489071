//! What policies note while they decide, for people and experiments.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use crate::{Figure, PathId, Side, Time};

/// Something that a policy noted: a plan, a decision, a reward.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Note {
    /// When.
    pub at: Time,
    /// The end that noted it.
    pub side: Side,
    /// The policy and what it notes, as in `mams.plan`.
    pub name: &'static str,
    /// The path that it is about, if it is about one.
    pub path: Option<PathId>,
    /// Values by name, with the unit at the end of the name. A name that comes several times in a row is a list.
    pub values: Vec<(&'static str, Figure)>,
}

impl Note {
    /// Returns a number by its name; of a list the first.
    pub fn number(&self, name: &str) -> Option<f64> {
        self.numbers(name).next()
    }

    /// Returns all numbers of a list.
    pub fn numbers(&self, name: &str) -> impl Iterator<Item = f64> {
        self.values.iter().filter(move |(own, _)| *own == name).filter_map(|(_, figure)| match figure {
            Figure::Number(value) => Some(*value),
            Figure::Word(_) => None,
        })
    }

    /// Returns a word by its name.
    pub fn word(&self, name: &str) -> Option<&'static str> {
        self.values.iter().find(|(own, _)| *own == name).and_then(|(_, figure)| match figure {
            Figure::Word(word) => Some(*word),
            Figure::Number(_) => None,
        })
    }
}

/// Hears what policies note.
pub trait TraceSink: Send + Sync {
    /// Returns true if it wants notes of this name; all by default. Asked for each of them, so keep it short.
    fn wants(&self, _name: &str) -> bool {
        true
    }

    /// Something was noted. Called while the connection runs; nothing that happens there may follow from it.
    fn note(&self, note: &Note);
}

/// Where the policies of a connection note what they decide: qlog and recorders of the simulator read it, and no policy does.
///
/// While nobody listens a note costs one branch, and its values are not put together.
///
/// ```
/// use std::sync::Arc;
/// use hawser_policy::{Notes, PathId, Side, Time, Trace};
///
/// let notes = Arc::new(Notes::default());
/// let trace = Trace::new(Side::Client, vec![notes.clone()]);
/// trace.note(Time::from_secs(1), "thrifty.turn", Some(PathId(1)), || [("rounds", 3.5.into()), ("uses", "metered".into())]);
///
/// let [note] = &notes.take()[..] else { panic!("there is one note") };
/// assert_eq!((note.number("rounds"), note.word("uses")), (Some(3.5), Some("metered")));
/// ```
#[derive(Clone, Default)]
pub struct Trace(Option<Arc<Listeners>>);

struct Listeners {
    side: Side,
    sinks: Vec<Arc<dyn TraceSink>>,
}

impl Trace {
    /// Returns a trace of this end that these hear; without any it is that of nobody.
    pub fn new(side: Side, sinks: Vec<Arc<dyn TraceSink>>) -> Self {
        Trace((!sinks.is_empty()).then(|| Arc::new(Listeners { side, sinks })))
    }

    /// Returns true if somebody wants notes of this name, for those whose values take some work.
    pub fn wants(&self, name: &str) -> bool {
        self.0.as_ref().is_some_and(|listeners| listeners.wants(name))
    }

    /// Notes something; `values` is called if somebody wants it.
    #[inline]
    pub fn note<V>(&self, at: Time, name: &'static str, path: Option<PathId>, values: impl FnOnce() -> V)
    where
        V: Into<Vec<(&'static str, Figure)>>,
    {
        if let Some(listeners) = self.0.as_ref().filter(|listeners| listeners.wants(name)) {
            listeners.tell(&Note { at, side: listeners.side, name, path, values: values().into() });
        }
    }

    /// Returns a trace that those hear who hear this one, and those who hear the other.
    #[must_use]
    pub fn and(&self, other: &Trace) -> Trace {
        match (&self.0, &other.0) {
            (Some(one), Some(more)) => {
                Trace::new(one.side, one.sinks.iter().chain(&more.sinks).cloned().collect())
            }
            (Some(_), None) => self.clone(),
            (None, _) => other.clone(),
        }
    }
}

impl Listeners {
    fn wants(&self, name: &str) -> bool {
        self.sinks.iter().any(|sink| sink.wants(name))
    }

    fn tell(&self, note: &Note) {
        self.sinks.iter().filter(|sink| sink.wants(note.name)).for_each(|sink| sink.note(note));
    }
}

impl fmt::Debug for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Trace(heard)" } else { "Trace(nobody)" })
    }
}

/// Keeps notes in their order until they are taken, for tests and for readers later.
#[derive(Debug)]
pub struct Notes {
    most: usize,
    kept: Mutex<Vec<Note>>,
}

impl Default for Notes {
    fn default() -> Self {
        Notes::at_most(usize::MAX)
    }
}

impl Notes {
    /// Returns an empty list; once it has so many, further ones are left out until they are taken.
    pub fn at_most(most: usize) -> Self {
        Notes { most, kept: Mutex::default() }
    }

    /// Hands over what was noted since the last time.
    pub fn take(&self) -> Vec<Note> {
        std::mem::take(&mut self.kept.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl TraceSink for Notes {
    fn note(&self, note: &Note) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() < self.most {
            kept.push(note.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Wants plans only.
    #[derive(Default)]
    struct Plans(Notes);

    impl TraceSink for Plans {
        fn wants(&self, name: &str) -> bool {
            name.ends_with(".plan")
        }

        fn note(&self, note: &Note) {
            self.0.note(note);
        }
    }

    #[test]
    fn each_sink_hears_what_it_wants() {
        let (all, plans) = (Arc::new(Notes::default()), Arc::new(Plans::default()));
        let one = Trace::new(Side::Server, vec![plans.clone()]);
        assert!(one.wants("a.plan") && !one.wants("a.turn") && !Trace::default().wants("a.plan"));
        let both = one.and(&Trace::new(Side::Client, vec![all.clone()]));
        for name in ["a.plan", "a.turn"] {
            both.note(Time::ZERO, name, None, || [("n", 1.0.into()), ("n", 2.0.into())]);
        }
        let (all, plans) = (all.take(), plans.0.take());
        assert_eq!((all.len(), plans.len()), (2, 1));
        assert_eq!((plans[0].side, plans[0].name), (Side::Server, "a.plan"));
        assert_eq!(plans[0].numbers("n").collect::<Vec<_>>(), [1.0, 2.0]);
    }

    #[test]
    fn a_bounded_list_leaves_further_notes_out() {
        let notes = Arc::new(Notes::at_most(2));
        let trace = Trace::new(Side::Client, vec![notes.clone()]);
        (0..5).for_each(|second| trace.note(Time::from_secs(second), "a.b", None, || [("n", 1.0.into())]));
        assert_eq!(notes.take().len(), 2);
        trace.note(Time::from_secs(9), "a.b", None, || [("n", 1.0.into())]);
        assert_eq!(notes.take()[0].at, Time::from_secs(9));
    }
}
