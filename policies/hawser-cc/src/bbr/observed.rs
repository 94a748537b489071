//! A registry whose controllers of the family report to an observer: the same ones under the same names.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use hawser_policy::{ControllerInit, Parameters, PolicyInfo, Registry};

use super::observe::{ModelObserver, Watcher};
use super::{Bbr, Model, parameters, v1};

/// Adds BBRv1, BBRv2, BBRv2(alpha, beta), BBRv2+ and BBRv3 under their names, in the place of those that are there.
pub fn register_observed(registry: &mut Registry, observer: &Arc<dyn ModelObserver>) {
    let made = Arc::new(AtomicU64::new(0));
    add(registry, v1::info(), v1::v1, observer, &made);
    add(registry, parameters::info_v2(), parameters::v2, observer, &made);
    add(registry, parameters::info_v2_alpha_beta(), parameters::v2_alpha_beta, observer, &made);
    add(registry, parameters::info_v2_plus(), parameters::v2_plus, observer, &made);
    add(registry, parameters::info_v3(), parameters::v3, observer, &made);
}

/// Makes a controller by value.
type Build<M> = fn(&ControllerInit, &Parameters) -> Bbr<M>;

fn add<M: Model + 'static>(
    registry: &mut Registry,
    info: PolicyInfo,
    build: Build<M>,
    observer: &Arc<dyn ModelObserver>,
    made: &Arc<AtomicU64>,
) {
    let (observer, made) = (observer.clone(), made.clone());
    registry.add_controller_with(info, move |init, parameters| {
        let controller = made.fetch_add(1, Ordering::Relaxed);
        let watcher = Watcher::new(observer.clone(), controller);
        Box::new(Bbr { watcher: Some(watcher), ..build(init, parameters) })
    });
}
