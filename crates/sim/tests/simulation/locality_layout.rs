//! The layout that the locality of a workload is measured on is that of the paper's simulated drive, although
//! workloads know no drive.

use tailcut_base::ids::Id;
use tailcut_ssd::config::{Allocation, Order};
use tailcut_ssd::flash::Layout;
use tailcut_ssd::ftl::allocation::Allocator;
use tailcut_ssd::{Preset, Sets};
use tailcut_workload::characterization::ChipLayout;

#[test]
fn pages_lie_as_on_the_papers_drive() {
    let geometry = &Preset::Sprinkler64.config().geometry;
    let allocator = Allocator::new(Allocation::Static, Order::Cwdp, geometry, Sets::one(geometry));
    let (planes, numbering) = (allocator.planes(), Layout::new(geometry));
    let layout = ChipLayout::sprinkler();
    assert_eq!((layout.page_bytes(), layout.planes()), (geometry.page_bytes, geometry.planes));
    assert_eq!(layout.stripe_pages(), planes.len() as u64);
    let pages = u64::from(geometry.pages);
    for page in 0..layout.stripe_pages() * (pages + 1) {
        let (turn, row) = ((page % planes.len() as u64) as usize, page / planes.len() as u64);
        let (lun, place) = numbering.lun_of_plane(planes[turn]);
        let found = layout.place_of(page);
        let expected = (lun.index(), place, (row % pages) as u32);
        assert_eq!((found.unit.index(), found.place, found.offset), expected, "page {page}");
    }
}
