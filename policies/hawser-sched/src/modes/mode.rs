//! What a connection, or a class of its streams, is for.

use hawser_policy::{FeatureId, Message};

/// The most classes with a mode of their own. What is asked for beyond is ignored.
pub const MAX_MODE_CLASSES: usize = 16;

/// What a connection, or a class of its streams and datagrams, is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Mode {
    /// As much as all paths carry together, none of it later than over the best one.
    #[default]
    Aggregate,
    /// Messages as early as any path delivers them, for at most a budget of copies.
    LowLatency,
    /// Everything on every path, whatever it costs.
    Redundant,
    /// One path, and another one when it falls silent.
    Backup,
}

impl Mode {
    /// All of them.
    pub const ALL: [Mode; 4] = [Mode::Aggregate, Mode::LowLatency, Mode::Redundant, Mode::Backup];

    /// As in a spec.
    pub const fn name(self) -> &'static str {
        match self {
            Mode::Aggregate => "aggregate",
            Mode::LowLatency => "low-latency",
            Mode::Redundant => "redundant",
            Mode::Backup => "backup",
        }
    }

    /// The one of this name.
    pub fn from_name(name: &str) -> Option<Mode> {
        Mode::ALL.into_iter().find(|mode| mode.name() == name)
    }

    /// The message that changes the mode of a connection, for all that has no class of its own rule.
    pub fn for_connection(self) -> Message {
        Message::latest(FeatureId::MODE, [self.code()])
    }

    /// The message that gives streams and datagrams of a class a mode of their own.
    pub fn for_class(self, class: u32) -> Message {
        Message::latest(FeatureId::MODE, with_class(self.code(), class))
    }

    /// The message after which a class has the mode of its connection again.
    pub fn forget_class(class: u32) -> Message {
        Message::latest(FeatureId::MODE, with_class(FORGET, class))
    }

    const fn code(self) -> u8 {
        match self {
            Mode::Aggregate => 0,
            Mode::LowLatency => 1,
            Mode::Redundant => 2,
            Mode::Backup => 3,
        }
    }
}

/// In place of a mode: the class has none of its own any more.
const FORGET: u8 = 0xff;

fn with_class(code: u8, class: u32) -> Vec<u8> {
    let mut payload = vec![code];
    payload.extend(class.to_be_bytes());
    payload
}

/// What a message of [`FeatureId::MODE`] asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ModeChange {
    Connection(Mode),
    Class(u32, Mode),
    Forget(u32),
}

impl ModeChange {
    /// `None` if it is about something else, or unreadable.
    pub(super) fn read(message: &Message) -> Option<ModeChange> {
        if message.feature != FeatureId::MODE {
            return None;
        }
        let mode = |code| Mode::ALL.into_iter().find(|mode| mode.code() == code);
        match *message.payload {
            [code] => mode(code).map(ModeChange::Connection),
            [FORGET, a, b, c, d] => Some(ModeChange::Forget(u32::from_be_bytes([a, b, c, d]))),
            [code, a, b, c, d] => {
                mode(code).map(|mode| ModeChange::Class(u32::from_be_bytes([a, b, c, d]), mode))
            }
            _ => None,
        }
    }
}

/// Which class has which mode.
#[derive(Clone, Debug)]
pub(super) struct Rules {
    mode: Mode,
    classes: Vec<(u32, Mode)>,
}

impl Rules {
    pub(super) fn new(mode: Mode, class: Option<(u32, Mode)>) -> Self {
        Rules { mode, classes: class.into_iter().collect() }
    }

    pub(super) fn has_classes(&self) -> bool {
        !self.classes.is_empty()
    }

    /// Of what has no rule of its own.
    pub(super) fn default_mode(&self) -> Mode {
        self.mode
    }

    pub(super) fn of(&self, class: u32) -> Mode {
        self.classes.iter().find(|(other, _)| *other == class).map_or(self.mode, |(_, mode)| *mode)
    }

    pub(super) fn apply(&mut self, change: ModeChange) {
        match change {
            ModeChange::Connection(mode) => self.mode = mode,
            ModeChange::Forget(class) => self.classes.retain(|(other, _)| *other != class),
            ModeChange::Class(class, mode) => {
                let is_full = self.classes.len() >= MAX_MODE_CLASSES;
                match self.classes.iter_mut().find(|(other, _)| *other == class) {
                    Some(rule) => rule.1 = mode,
                    None if is_full => {}
                    None => self.classes.push((class, mode)),
                }
            }
        }
    }
}
