//! Places for the names of points, so that none covers another or a point.

/// A rectangle in pixels: left, top, right, bottom.
pub(super) type Rect = [f64; 4];

/// Distances of a name from its point, the nearest first. Longer lines between the two are taken for lines to other points.
const DISTANCES: [f64; 4] = [7.0, 13.0, 22.0, 34.0];

/// Directions: right, left, above, below, and between.
const DIRECTIONS: [(f64, f64); 8] = [
    (1.0, 0.0),
    (-1.0, 0.0),
    (0.0, -1.0),
    (0.0, 1.0),
    (0.8, -0.7),
    (-0.8, -0.7),
    (0.8, 0.7),
    (-0.8, 0.7),
];

fn overlap(a: &Rect, b: &Rect) -> bool {
    a[0] < b[2] && b[0] < a[2] && a[1] < b[3] && b[1] < a[3]
}

fn inside(a: &Rect, bounds: &Rect) -> bool {
    a[0] >= bounds[0] && a[1] >= bounds[1] && a[2] <= bounds[2] && a[3] <= bounds[3]
}

/// The point of a rectangle that is nearest to a point.
pub(super) fn nearest(rect: &Rect, (x, y): (f64, f64)) -> (f64, f64) {
    (x.clamp(rect[0], rect[2]), y.clamp(rect[1], rect[3]))
}

/// Whether the line between two points runs through a rectangle, as far as sixteen places on it tell.
fn crosses(a: (f64, f64), b: (f64, f64), rect: &Rect) -> bool {
    (1..16).any(|i| {
        let part = f64::from(i) / 16.0;
        let (x, y) = (a.0 + (b.0 - a.0) * part, a.1 + (b.1 - a.1) * part);
        rect[0] < x && x < rect[2] && rect[1] < y && y < rect[3]
    })
}

/// For every point with the width and height of its name: where the name goes, if there is room within `bounds`. Points are given in the order of
/// their importance.
pub(super) fn place(
    points: &[((f64, f64), f64, f64)],
    marker: f64,
    bounds: Rect,
) -> Vec<Option<Rect>> {
    let markers: Vec<Rect> = points
        .iter()
        .map(|&((x, y), ..)| [x - marker, y - marker, x + marker, y + marker])
        .collect();
    let mut taken: Vec<Rect> = Vec::new();
    let mut lines: Vec<[(f64, f64); 2]> = Vec::new();
    let mut places = Vec::new();
    for &((x, y), width, height) in points {
        let candidates = DISTANCES.iter().flat_map(|&distance| {
            DIRECTIONS.iter().map(move |&(dx, dy)| {
                let (cx, cy) = (x + dx * distance, y + dy * distance);
                // the side of the name that faces the point is at the distance
                let left = cx - width * (1.0 - dx.signum() * f64::from(dx != 0.0)) / 2.0;
                let top = cy - height * (1.0 - dy) / 2.0;
                [left, top, left + width, top + height]
            })
        });
        let free = |rect: &Rect| {
            let end = nearest(rect, (x, y));
            inside(rect, &bounds)
                && !markers.iter().any(|other| overlap(rect, other))
                && !taken.iter().any(|other| overlap(rect, other))
                && !taken.iter().any(|other| crosses((x, y), end, other))
                && !lines.iter().any(|&[a, b]| crosses(a, b, rect))
        };
        let found = candidates.into_iter().find(free);
        lines.extend(found.map(|rect| [(x, y), nearest(&rect, (x, y))]));
        taken.extend(found);
        places.push(found);
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cover_neither_names_nor_points() {
        let bounds = [0.0, 0.0, 400.0, 300.0];
        let points: Vec<_> = (0..24)
            .map(|i| {
                let (x, y) = (
                    120.0 + f64::from(i % 5) * 21.0,
                    60.0 + f64::from(i / 5) * 23.0,
                );
                ((x, y), 60.0, 12.0)
            })
            .collect();
        let places = place(&points, 4.0, bounds);
        let found: Vec<&Rect> = places.iter().flatten().collect();
        assert!(found.len() > 6, "{}", found.len());
        for (i, a) in found.iter().enumerate() {
            assert!(inside(a, &bounds));
            assert!(found[..i].iter().all(|b| !overlap(a, b)));
            for ((x, y), ..) in &points {
                assert!(!overlap(a, &[x - 4.0, y - 4.0, x + 4.0, y + 4.0]));
            }
        }
        // a name alone stands beside its point
        assert_eq!(
            place(&points[..1], 4.0, bounds),
            [Some([127.0, 54.0, 187.0, 66.0])]
        );
        // and nowhere if there is no room
        assert!(place(&points[..1], 4.0, [0.0, 0.0, 130.0, 70.0])[0].is_some());
        assert_eq!(
            place(&[((5.0, 5.0), 60.0, 12.0)], 4.0, [0.0, 0.0, 30.0, 30.0]),
            [None]
        );
    }
}
