//! The view on a terminal.

use std::io::{self, IsTerminal};
use std::time::Duration;

use hawser_status::control::protocol::Order;
use hawser_status::control::{Client, ClientError};
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use tokio::sync::mpsc;

use crate::draw::{Palette, draw};
use crate::keys::{Action, Key, on_key};
use crate::view::View;

/// Why there is no view.
#[derive(Debug, thiserror::Error)]
pub enum TopError {
    /// Standard output goes elsewhere.
    #[error("standard output is no terminal; `hawser ctl watch` prints lines")]
    NoTerminal,
    /// The terminal fails.
    #[error("the terminal fails: {0}")]
    Terminal(#[from] io::Error),
    /// The program does not answer.
    #[error(transparent)]
    Client(#[from] ClientError),
}

/// How long a look for keys may take: the thread that looks ends so soon after the view.
const KEY_INTERVAL: Duration = Duration::from_millis(200);

/// Something from the terminal.
enum Input {
    Key(Key),
    /// Another size, or anything else after which it is drawn again.
    Other,
}

/// Shows the program until the person leaves. With a sample each `interval`.
///
/// # Errors
/// [`TopError`].
pub async fn run(mut client: Client, interval: Duration, palette: Palette) -> Result<(), TopError> {
    if !io::stdout().is_terminal() {
        return Err(TopError::NoTerminal);
    }
    let mut view = View::new(client.hello().program.clone());
    let interval_ms = u64::try_from(interval.as_millis()).unwrap_or(u64::MAX);
    client.ask(Order::Watch { interval_ms, after_event: None }).await?;
    let mut terminal = ratatui::try_init()?;
    let (sender, mut inputs) = mpsc::channel(16);
    let reader = std::thread::spawn(move || read_keys(&sender));
    let result = look(&mut client, &mut view, &mut terminal, &mut inputs, palette).await;
    drop(inputs);
    let _ = tokio::task::spawn_blocking(move || reader.join()).await;
    ratatui::try_restore()?;
    result
}

async fn look(
    client: &mut Client,
    view: &mut View,
    terminal: &mut ratatui::DefaultTerminal,
    inputs: &mut mpsc::Receiver<Input>,
    palette: Palette,
) -> Result<(), TopError> {
    loop {
        terminal.draw(|frame| draw(frame, view, palette))?;
        tokio::select! {
            line = client.next(), if !view.ended => match line {
                Ok(line) => view.on_line(line),
                Err(error) => view.on_end(error.to_string()),
            },
            input = inputs.recv() => match input {
                Some(Input::Key(key)) => match on_key(view, key) {
                    Action::Quit => return Ok(()),
                    Action::Redraw => {}
                    Action::Order(_) if view.ended => {}
                    Action::Order(order) => {
                        if let Err(error) = client.send(order).await {
                            view.on_end(error.to_string());
                        }
                    }
                },
                Some(Input::Other) => {}
                None => return Ok(()),
            },
        }
    }
}

/// Reads keys until nobody takes them.
fn read_keys(inputs: &mpsc::Sender<Input>) {
    while !inputs.is_closed() {
        match event::poll(KEY_INTERVAL) {
            Ok(false) => continue,
            Ok(true) => {}
            Err(_) => return,
        }
        let input = match event::read() {
            Ok(Event::Key(key)) => match read_key(key) {
                Some(key) => Input::Key(key),
                None => continue,
            },
            Ok(_) => Input::Other,
            Err(_) => return,
        };
        if inputs.blocking_send(input).is_err() {
            return;
        }
    }
}

fn read_key(key: KeyEvent) -> Option<Key> {
    if key.kind == KeyEventKind::Release {
        return None;
    }
    match key.code {
        KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => Some(Key::Interrupt),
        KeyCode::Char(letter) => Some(Key::Char(letter)),
        KeyCode::Up => Some(Key::Up),
        KeyCode::Down => Some(Key::Down),
        KeyCode::Esc => Some(Key::Escape),
        _ => None,
    }
}
