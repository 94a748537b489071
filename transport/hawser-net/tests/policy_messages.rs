//! An application and the policies of its connection talk to each other, over sockets.

use std::sync::Arc;
use std::time::Duration;

use hawser_net::policy::{
    Agent, Command, Commands, Composition, Event, FeatureId, FeatureSet, Interests, Message, MessageOrigin,
    PolicySet, PolicySetFactory, SetInit,
};
use hawser_net::{Connection, Endpoint, SendMessageError, TransportConfig, policies};

use crate::common::*;

const TALK: FeatureId = FeatureId(0x7461_6c6b);

/// Says as many messages to the application as the first byte of its message demands, numbered.
struct Parrot;

impl Agent for Parrot {
    fn interests(&self) -> Interests {
        Interests::MESSAGES
    }

    fn on_event(&mut self, event: &Event<'_>, commands: &mut Commands) {
        if let Event::Message { origin: MessageOrigin::Application, message, .. } = event {
            let numbers = 0..message.payload.first().copied().unwrap_or(0);
            commands.extend(numbers.map(|n| Command::Tell(Message::latest(TALK, [n]))));
        }
    }
}

/// The usual parts, with an agent that talks. Messages of the peer are for the application.
struct Talkative(Arc<dyn PolicySetFactory>);

impl PolicySetFactory for Talkative {
    fn build(&self, init: &SetInit) -> PolicySet {
        self.0.build(init).with(|set| set.agent = Some(Box::new(Parrot)))
    }

    fn features(&self) -> FeatureSet {
        FeatureSet::NONE.with(TALK)
    }
}

fn talkative() -> TransportConfig {
    TransportConfig::with_policies(Arc::new(Talkative(policies().set(&Composition::default()).unwrap())))
}

/// A client, and its connection to a server that sends each message back to where it came from.
async fn connect() -> (Endpoint, Connection) {
    let (server, pin) = server_with(talkative());
    serve(&server, |connection| async move {
        while let Ok(message) = connection.read_policy_message().await {
            connection.send_policy_message(message).unwrap();
        }
    });
    let client = Endpoint::client(client_config_with(pin, talkative()), links(&["127.0.0.1"])).unwrap();
    let connection = client.connect(address_of(&server), "localhost").await.unwrap();
    (client, connection)
}

async fn next(connection: &Connection) -> Message {
    let message = tokio::time::timeout(Duration::from_secs(5), connection.read_policy_message());
    message.await.expect("a message").unwrap()
}

#[tokio::test]
async fn the_policies_of_this_end_hear_the_application_and_answer() {
    let (_client, connection) = connect().await;
    // A task that waits is woken.
    let (waiting, ()) = tokio::join!(next(&connection), async {
        tokio::time::sleep(Duration::from_millis(20)).await;
        connection.tell_policies(&Message::latest(TALK, [2]));
    });
    assert_eq!((waiting.payload, next(&connection).await.payload), (vec![0], vec![1]));
    assert_eq!(connection.stats().policy_messages_sent, 0, "nothing of it is for the peer");
}

#[tokio::test]
async fn messages_that_no_policy_takes_come_to_the_application() {
    let (_client, connection) = connect().await;
    connection.send_policy_message(Message::reliable(TALK, b"ping".to_vec())).unwrap();
    assert_eq!(next(&connection).await.payload, b"ping");
    let unknown = connection.send_policy_message(Message::latest(FeatureId(99), []));
    assert_eq!(unknown, Err(SendMessageError::NotNegotiated(FeatureId(99))));
    connection.close(0, b"");
    assert!(connection.read_policy_message().await.is_err());
}

#[tokio::test]
async fn of_messages_that_nobody_reads_the_newest_stay() {
    let (_client, connection) = connect().await;
    for round in 1..=2 {
        connection.tell_policies(&Message::latest(TALK, [40]));
        let missed = if round == 2 { 16 } else { 0 };
        tokio::time::sleep(Duration::from_millis(50)).await;
        eventually("the worker looked", || connection.policy_messages_missed() == missed).await;
    }
    let mut numbers = Vec::new();
    for _ in 0..64 {
        numbers.extend(next(&connection).await.payload);
    }
    assert!(numbers.into_iter().eq((16..40).chain(0..40)));
    let rest = tokio::time::timeout(Duration::from_millis(50), connection.read_policy_message()).await;
    assert!(rest.is_err(), "{rest:?}");
}

/// A whole set is exchanged while the connection runs: only the new one has an agent.
#[tokio::test]
async fn a_set_is_exchanged_while_the_connection_runs() {
    let (server, pin) = server();
    serve(&server, echo);
    let client = client(pin, links(&["127.0.0.1"]));
    let connection = client.connect(address_of(&server), "localhost").await.unwrap();
    connection.tell_policies(&Message::latest(TALK, [1]));
    let silence = tokio::time::timeout(Duration::from_millis(50), connection.read_policy_message()).await;
    assert!(silence.is_err(), "{silence:?}");
    connection.set_policies(&Talkative(policies().set(&Composition::default()).unwrap()));
    connection.tell_policies(&Message::latest(TALK, [1]));
    assert_eq!(next(&connection).await.payload, [0]);
}
