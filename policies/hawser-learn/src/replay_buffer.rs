//! Transitions that are learned from more than once.

use crate::Random;

/// A step of a decision process.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Transition<'a> {
    /// Where the decision was taken.
    pub state: &'a [f32],
    /// What was decided.
    pub action: usize,
    /// What that brought until the next decision.
    pub reward: f32,
    /// Where the next decision is due; `None` where the process ended.
    pub next: Option<&'a [f32]>,
}

/// The newest transitions, as many as fit (Lin 1992): drawn from at random, they are less alike than those that follow each other.
///
/// ```
/// use hawser_learn::{Random, ReplayBuffer, Transition};
/// let mut buffer = ReplayBuffer::new(2, 1);
/// for number in 0..3 {
///     buffer.push(&Transition { state: &[number as f32], action: 0, reward: 0.5, next: None });
/// }
/// assert_eq!(buffer.len(), 2);
/// let drawn = buffer.draw(&mut Random::new(1)).expect("there are some");
/// assert!([[1.0], [2.0]].iter().any(|state| state == drawn.state));
/// ```
#[derive(Debug, Clone)]
pub struct ReplayBuffer {
    capacity: usize,
    width: usize,
    /// Numbers of states and of next states, one transition behind the other.
    states: Vec<f32>,
    nexts: Vec<f32>,
    steps: Vec<Step>,
    /// The place of the next transition, once all are taken.
    oldest: usize,
}

#[derive(Debug, Clone, Copy)]
struct Step {
    action: usize,
    reward: f32,
    ends: bool,
}

impl ReplayBuffer {
    /// For so many transitions between states of `width` numbers.
    ///
    /// # Panics
    /// If either is zero.
    pub fn new(capacity: usize, width: usize) -> Self {
        assert!(capacity > 0 && width > 0, "room for something, not {capacity} of {width}");
        Self { capacity, width, states: Vec::new(), nexts: Vec::new(), steps: Vec::new(), oldest: 0 }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.steps.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// Takes one in, in place of the oldest one if there is no more room.
    ///
    /// # Panics
    /// If a state has another width.
    pub fn push(&mut self, transition: &Transition<'_>) {
        let next = transition.next.unwrap_or(transition.state);
        assert_eq!((transition.state.len(), next.len()), (self.width, self.width), "widths of states");
        let step =
            Step { action: transition.action, reward: transition.reward, ends: transition.next.is_none() };
        if self.steps.len() < self.capacity {
            self.states.extend_from_slice(transition.state);
            self.nexts.extend_from_slice(next);
            self.steps.push(step);
            return;
        }
        let numbers = self.oldest * self.width..(self.oldest + 1) * self.width;
        self.states[numbers.clone()].copy_from_slice(transition.state);
        self.nexts[numbers].copy_from_slice(next);
        self.steps[self.oldest] = step;
        self.oldest = (self.oldest + 1) % self.capacity;
    }

    /// One of them, each equally likely; `None` if there are none.
    pub fn draw(&self, random: &mut Random) -> Option<Transition<'_>> {
        let count = u64::try_from(self.steps.len()).unwrap_or(u64::MAX);
        let at = usize::try_from(random.next_random().checked_rem(count)?).unwrap_or_default();
        let step = self.steps.get(at)?;
        let numbers = at * self.width..(at + 1) * self.width;
        Some(Transition {
            state: &self.states[numbers.clone()],
            action: step.action,
            reward: step.reward,
            next: (!step.ends).then(|| &self.nexts[numbers]),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(count: u16) -> ReplayBuffer {
        let mut buffer = ReplayBuffer::new(10, 2);
        for number in 0..count {
            let state = [f32::from(number), 1.0];
            let next = [f32::from(number) + 0.5, 2.0];
            let next = (number % 2 == 0).then_some(next.as_slice());
            let (action, reward) = (usize::from(number), -f32::from(number));
            buffer.push(&Transition { state: &state, action, reward, next });
        }
        buffer
    }

    #[test]
    fn the_newest_are_kept_and_all_are_drawn() {
        let (buffer, mut random) = (filled(25), Random::new(1));
        assert_eq!(buffer.len(), 10);
        let mut seen = [0; 25];
        for _ in 0..1_000 {
            let drawn = buffer.draw(&mut random).expect("there are some");
            let number = drawn.action as f32;
            assert_eq!((drawn.state, drawn.reward), ([number, 1.0].as_slice(), -number));
            let next = [number + 0.5, 2.0];
            assert_eq!(drawn.next, (drawn.action % 2 == 0).then_some(next.as_slice()));
            seen[drawn.action] += 1;
        }
        assert_eq!(seen[..15], [0; 15]);
        assert!(seen[15..].iter().all(|times| (60..140).contains(times)), "{seen:?}");
    }

    #[test]
    fn nothing_is_drawn_from_nothing() {
        assert!(filled(0).is_empty());
        assert_eq!(filled(0).draw(&mut Random::new(1)), None);
        assert_eq!(filled(3).len(), 3);
    }
}
