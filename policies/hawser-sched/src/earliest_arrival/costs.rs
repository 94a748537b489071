//! Links that are paid by volume.

use hawser_policy::{LinkId, LinkUpdate, PathId, PathView};

/// Links and paths that are remembered.
//= wire-extensions-1.1.4-3: METERED is remembered for 16 paths at most
const MAX_METERED: usize = 16;

/// Which paths are paid by volume: by our own links, or as the peer says of its.
#[derive(Clone, Debug, Default)]
pub(super) struct Costs {
    links: Vec<LinkId>,
    paths: Vec<PathId>,
}

impl Costs {
    /// Nothing that is worth less than its bytes goes on such a path.
    //= wire-extensions-1.1.4-4: nothing is copied to a path that the peer pays by volume
    pub(super) fn is_metered(&self, path: &PathView) -> bool {
        path.link.is_some_and(|link| self.links.contains(&link)) || self.paths.contains(&path.id)
    }

    pub(super) fn on_link(&mut self, update: &LinkUpdate<'_>) {
        set(&mut self.links, update.link, update.metered);
    }

    pub(super) fn on_notice(&mut self, path: PathId, metered: bool) {
        set(&mut self.paths, path, metered);
    }

    pub(super) fn forget(&mut self, path: PathId) {
        set(&mut self.paths, path, false);
    }
}

fn set<T: PartialEq>(list: &mut Vec<T>, item: T, metered: bool) {
    match list.iter().position(|other| *other == item) {
        Some(at) if !metered => {
            list.swap_remove(at);
        }
        None if metered && list.len() < MAX_METERED => list.push(item),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    //= wire-extensions-1.1.4-3
    #[test]
    fn no_more_paths_are_remembered_than_sixteen() {
        let mut costs = Costs::default();
        (0..100).for_each(|path| costs.on_notice(PathId(path), true));
        let metered =
            |costs: &Costs| (0..100).filter(|p| costs.is_metered(&PathView::new(PathId(*p)))).count();
        assert_eq!(metered(&costs), MAX_METERED);
        // One that goes, or costs nothing any more, makes room.
        costs.forget(PathId(0));
        costs.on_notice(PathId(1), false);
        assert_eq!(metered(&costs), MAX_METERED - 2);
        costs.on_notice(PathId(99), true);
        assert!(costs.is_metered(&PathView::new(PathId(99))));
    }
}
