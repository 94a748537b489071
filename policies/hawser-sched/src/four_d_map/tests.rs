use hawser_policy::{Composition, PolicyKind, PolicySpec};

use super::*;

/// The registry finds the set's parts where they are; here are some that do nothing.
fn spec(text: &str) -> Result<Parameters, String> {
    let spec: PolicySpec = text.parse().expect("it is a policy");
    Parameters::read(&FourDMap::info().parameters, &spec).map_err(|error| format!("{error:?}"))
}

#[test]
fn every_constant_of_the_paper_can_be_set() {
    let defaults = FourDMapParameters::read(&spec("4d-map").unwrap());
    assert_eq!(defaults, FourDMapParameters::default());
    let text = "4d-map,mechanism=decompensate,only=discard,prelearned=off,first_copied=off,alpha=0.25,masks=off,late=0ms,features=raw,paths=3,memory=0.999,cap=100,\
                reclaim=500ms,deadline=100ms,delta_weight=0.5,horizon=2,feedback_timeout=2s,loss_window=3s,\
                loss_packets=50,high_loss=0.01,frame_rate=25,warm_up=off";
    let ms = std::time::Duration::from_millis;
    let set = FourDMapParameters {
        mechanism: FourDMapChoice::Fixed(FourDMapMechanism::Decompensate),
        only: Some(FourDMapMechanism::Discard),
        prelearned: false,
        first_copied: false,
        alpha: 0.25,
        masks: false,
        late: ms(0),
        features: FourDMapFeatures::Raw,
        paths: 3,
        memory: 0.999,
        cap: 100.0,
        reclaim: ms(500),
        deadline: ms(100),
        delta_weight: 0.5,
        horizon: 2,
        feedback_timeout: ms(2_000),
        loss_window: ms(3_000),
        loss_packets: 50,
        high_loss: 0.01,
        frame_rate: 25.0,
        warm_up: false,
    };
    assert_eq!(FourDMapParameters::read(&spec(text).unwrap()), set);
    assert!(spec("4d-map,paths=5").is_err() && spec("4d-map,mechanism=guess").is_err());
}

/// Without controllers there is no set.
#[test]
fn a_registry_without_its_parts_is_left_as_it_is() {
    let mut registry = Registry::new();
    FourDMap::register(&mut registry);
    assert_eq!(registry.names(PolicyKind::Set).count(), 0);
    assert!(registry.set(&Composition::of("4d-map".parse().unwrap())).is_err());
}
