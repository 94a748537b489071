//! What keys do.

use hawser_status::control::protocol::Order;
use hawser_status::model::LinkUsage;

use crate::view::{Shown, View};

/// A key, as far as it means something here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    /// A letter or sign.
    Char(char),
    /// To the row above.
    Up,
    /// To the row below.
    Down,
    /// Back, or out.
    Escape,
    /// Ctrl-C.
    Interrupt,
}

/// What is to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Nothing but drawing again.
    Redraw,
    /// The program is to do this.
    Order(Order),
    /// The person has seen enough.
    Quit,
}

/// The modes that `m` goes through.
const MODES: [&str; 4] = ["aggregate", "low-latency", "redundant", "backup"];

/// Keys and what they do, for the help.
pub(crate) const KEYS: [(&str, &str); 10] = [
    ("up, down", "choose a link (k, j)"),
    ("p", "pause the link: nothing goes over it"),
    ("r", "resume it: regular use"),
    ("b", "use it only when no other link works"),
    ("m", "next mode: aggregate, low-latency, redundant, backup"),
    ("+, -", "larger, smaller share (where two links are in use)"),
    ("s", "what schedulers and controllers say of themselves"),
    ("space", "freeze the picture, and go on"),
    ("?", "these keys"),
    ("q", "leave; the program goes on"),
];

/// Takes in a key.
pub fn on_key(view: &mut View, key: Key) -> Action {
    match key {
        Key::Interrupt | Key::Char('q') => return Action::Quit,
        Key::Escape if view.shown == Shown::Links => return Action::Quit,
        Key::Escape => view.shown = Shown::Links,
        Key::Char('?' | 'h') => toggle(view, Shown::Help),
        Key::Char('s') => toggle(view, Shown::Policies),
        Key::Char(' ') => view.frozen = !view.frozen,
        Key::Up | Key::Char('k') => view.selected = view.selected.saturating_sub(1),
        Key::Down | Key::Char('j') => {
            view.selected = (view.selected + 1).min(view.rows().len().saturating_sub(1));
        }
        Key::Char('p') => return link(view, LinkUsage::Paused),
        Key::Char('r') => return link(view, LinkUsage::Available),
        Key::Char('b') => return link(view, LinkUsage::Backup),
        Key::Char('m') => return next_mode(view),
        Key::Char('+' | '=') => return share(view, 10),
        Key::Char('-') => return share(view, -10),
        Key::Char(_) => {}
    }
    Action::Redraw
}

fn toggle(view: &mut View, shown: Shown) {
    view.shown = if view.shown == shown { Shown::Links } else { shown };
}

fn chosen(view: &View) -> Option<String> {
    view.rows().into_iter().nth(view.selected).map(|row| row.name)
}

fn link(view: &View, usage: LinkUsage) -> Action {
    match chosen(view) {
        Some(name) => Action::Order(Order::Link { name, usage }),
        None => Action::Redraw,
    }
}

/// The mode that follows the one of the busiest connection.
fn next_mode(view: &View) -> Action {
    let busiest = view.status.as_ref().and_then(|status| status.connections.first());
    let figures = busiest.map(|connection| &connection.scheduler_figures);
    let now = figures.and_then(|figures| match figures.get("mode") {
        Some(hawser_status::model::Figure::Word(word)) => MODES.iter().position(|mode| mode == word),
        _ => None,
    });
    // Of another scheduler the first mode is what it does already, by and large.
    let next = (now.unwrap_or(0) + 1) % MODES.len();
    Action::Order(Order::Mode { mode: MODES[next].to_owned(), class: None, connection: None })
}

/// Moves the share of the chosen link from what it carries now.
fn share(view: &View, change: i16) -> Action {
    let rows = view.rows();
    let Some(row) = rows.get(view.selected) else { return Action::Redraw };
    let total: f64 = rows.iter().map(|row| row.sent_bps).sum();
    let now = if total > 0.0 { (row.sent_bps / total * 10.0).round() as i16 * 10 } else { 50 };
    let percent = (now + change).clamp(0, 100).unsigned_abs() as u8;
    Action::Order(Order::Share { name: row.name.clone(), percent, connection: None })
}

#[cfg(test)]
mod tests {
    use hawser_status::control::protocol::Line;
    use hawser_status::model::{Connection, Figure, Path, Status};

    use super::*;

    fn view() -> View {
        let path = |name: &str, rate| Path { name: name.to_owned(), rate_sent_bps: rate, ..Path::default() };
        let connection = Connection {
            paths: vec![path("wlan0", 7e6), path("wwan0", 3e6)],
            scheduler_figures: [("mode".to_owned(), Figure::Word("redundant".to_owned()))].into(),
            ..Connection::default()
        };
        let mut view = View::default();
        view.on_line(Line::Sample(Box::new(Status { connections: vec![connection], ..Status::default() })));
        view
    }

    #[test]
    fn keys_act_on_the_chosen_link() {
        let mut view = view();
        let link = |name: &str, usage| Action::Order(Order::Link { name: name.to_owned(), usage });
        assert_eq!(on_key(&mut view, Key::Char('p')), link("wlan0", LinkUsage::Paused));
        for _ in 0..3 {
            assert_eq!(on_key(&mut view, Key::Down), Action::Redraw);
        }
        assert_eq!(on_key(&mut view, Key::Char('b')), link("wwan0", LinkUsage::Backup));
        let share =
            |percent| Action::Order(Order::Share { name: "wwan0".to_owned(), percent, connection: None });
        assert_eq!(on_key(&mut view, Key::Char('+')), share(40));
        assert_eq!(on_key(&mut view, Key::Char('-')), share(20));
        let mode = Order::Mode { mode: "backup".to_owned(), class: None, connection: None };
        assert_eq!(on_key(&mut view, Key::Char('m')), Action::Order(mode));
    }

    #[test]
    fn escape_goes_back_before_it_leaves() {
        let mut view = view();
        on_key(&mut view, Key::Char('?'));
        assert_eq!(view.shown, Shown::Help);
        assert_eq!(on_key(&mut view, Key::Escape), Action::Redraw);
        assert_eq!(on_key(&mut view, Key::Escape), Action::Quit);
        assert_eq!(on_key(&mut View::default(), Key::Char('p')), Action::Redraw, "nothing is chosen");
    }
}
