//! A diagram as a picture: boxes in layers, arrows downwards.

use std::fmt::Write;

use crate::diagram::{Diagram, Kind};

/// Width of a character of the font, and heights of lines, in pixels.
const CHARACTER: f64 = 7.3;
const LINE: f64 = 16.0;
const PADDING: f64 = 10.0;

/// Distances between boxes beside and above each other, and to the border.
const BESIDE: f64 = 24.0;
const BETWEEN: f64 = 44.0;
const MARGIN: f64 = 20.0;

/// Width of the way that an arrow takes past a box.
const LANE: f64 = 10.0;

/// Arrows over more layers take no way around boxes.
const MAX_SPAN: usize = 24;

/// Rounds of ordering, and of moving towards neighbours.
const ROUNDS: usize = 6;

/// A box, or the place where an arrow passes a layer.
struct Item {
    layer: usize,
    width: f64,
    height: f64,
    x: f64,
    above: Vec<usize>,
    below: Vec<usize>,
}

struct Layout {
    items: Vec<Item>,
    layers: Vec<Vec<usize>>,
    /// For each edge the items on its way, both ends included.
    routes: Vec<Vec<usize>>,
    /// Top of each layer.
    tops: Vec<f64>,
    width: f64,
    height: f64,
}

pub(crate) fn text(diagram: &Diagram) -> String {
    let layout = Layout::of(diagram);
    let (width, height) = (layout.width, layout.height);
    let mut out = String::new();
    // Writing to a string cannot fail, here and below.
    _ = writeln!(
        out,
        r#"<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0}" height="{height:.0}" viewBox="0 0 {width:.0} {height:.0}" font-family="monospace" font-size="12">"#
    );
    _ = writeln!(out, "<title>{}</title>", escaped(&diagram.name));
    out.push_str(concat!(
        r##"<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" "##,
        r##"orient="auto"><path d="M0,0 L8,4 L0,8 z" fill="#64748b"/></marker></defs>"##,
        "\n",
    ));
    _ = writeln!(out, r##"<rect width="{width:.0}" height="{height:.0}" fill="#ffffff"/>"##);
    for (route, edge) in layout.routes.iter().zip(&diagram.edges) {
        _ = writeln!(
            out,
            r##"<path d="{}" fill="none" stroke="#64748b" stroke-width="1.2" marker-end="url(#tip)"><title>{}</title></path>"##,
            layout.path(route),
            escaped(&edge.label)
        );
    }
    for (i, node) in diagram.nodes.iter().enumerate() {
        let (fill, stroke) = match node.kind {
            Kind::Input => ("#dbeafe", "#2563eb"),
            Kind::Op => ("#f3f4f6", "#6b7280"),
            Kind::Fused => ("#dcfce7", "#16a34a"),
            Kind::Output => ("#fde68a", "#d97706"),
        };
        let item = &layout.items[i];
        let (left, top) = (item.x - item.width / 2.0, layout.tops[item.layer]);
        out.push_str("<g>");
        if !node.places.is_empty() {
            _ = write!(out, "<title>{}</title>", escaped(&node.places.join("\n")));
        }
        _ = write!(
            out,
            r#"<rect x="{left:.1}" y="{top:.1}" width="{:.1}" height="{:.1}" rx="6" fill="{fill}" stroke="{stroke}"/>"#,
            item.width, item.height
        );
        for (at, line) in node.lines.iter().enumerate() {
            let y = top + PADDING + LINE * (at as f64 + 0.75);
            let weight = if at == 0 { r#" font-weight="bold""# } else { "" };
            _ = write!(
                out,
                r#"<text x="{:.1}" y="{y:.1}" text-anchor="middle"{weight}>{}</text>"#,
                item.x,
                escaped(line)
            );
        }
        out.push_str("</g>\n");
    }
    if let Some(note) = &diagram.note {
        _ = writeln!(out, r#"<text x="{MARGIN}" y="{:.1}">{}</text>"#, height - MARGIN / 2.0, escaped(note));
    }
    out.push_str("</svg>\n");
    out
}

impl Layout {
    fn of(diagram: &Diagram) -> Layout {
        let layer_of = layers_of(diagram);
        let mut items: Vec<Item> = diagram
            .nodes
            .iter()
            .zip(&layer_of)
            .map(|(node, &layer)| {
                let longest = node.lines.iter().map(|line| line.chars().count()).max().unwrap_or(0);
                Item {
                    layer,
                    width: longest as f64 * CHARACTER + 2.0 * PADDING,
                    height: node.lines.len() as f64 * LINE + 2.0 * PADDING,
                    x: 0.0,
                    above: Vec::new(),
                    below: Vec::new(),
                }
            })
            .collect();
        let mut routes = Vec::with_capacity(diagram.edges.len());
        for edge in &diagram.edges {
            let (first, last) = (layer_of[edge.from], layer_of[edge.to]);
            let mut route = vec![edge.from];
            if last - first <= MAX_SPAN {
                for layer in first + 1..last {
                    route.push(items.len());
                    let (above, below) = (Vec::new(), Vec::new());
                    items.push(Item { layer, width: LANE, height: 0.0, x: 0.0, above, below });
                }
            }
            route.push(edge.to);
            for pair in route.windows(2) {
                items[pair[0]].below.push(pair[1]);
                items[pair[1]].above.push(pair[0]);
            }
            routes.push(route);
        }
        let count = items.iter().map(|item| item.layer + 1).max().unwrap_or(0);
        let mut layers: Vec<Vec<usize>> = vec![Vec::new(); count];
        for (i, item) in items.iter().enumerate() {
            layers[item.layer].push(i);
        }
        let mut layout = Layout { items, layers, routes, tops: Vec::new(), width: 0.0, height: 0.0 };
        layout.order();
        layout.place();
        let note = if diagram.note.is_some() { LINE } else { 0.0 };
        layout.size(note);
        layout
    }

    /// Puts items of a layer in the order of their neighbours' middles.
    fn order(&mut self) {
        let mut rank = vec![0.0; self.items.len()];
        for layer in &self.layers {
            layer.iter().enumerate().for_each(|(at, &i)| rank[i] = at as f64);
        }
        for round in 0..ROUNDS {
            let down = round % 2 == 0;
            let count = self.layers.len();
            for step in 0..count {
                let at = if down { step } else { count - 1 - step };
                let mut keyed: Vec<(f64, usize)> = self.layers[at]
                    .iter()
                    .map(|&i| {
                        let near = if down { &self.items[i].above } else { &self.items[i].below };
                        (mean(near.iter().map(|&n| rank[n])).unwrap_or(rank[i]), i)
                    })
                    .collect();
                keyed.sort_by(|a, b| a.0.total_cmp(&b.0));
                self.layers[at] = keyed.into_iter().map(|(_, i)| i).collect();
                self.layers[at].iter().enumerate().for_each(|(place, &i)| rank[i] = place as f64);
            }
        }
    }

    /// Gives every item its x: near its neighbours, in its layer's order.
    fn place(&mut self) {
        for layer in 0..self.layers.len() {
            let wanted = vec![0.0; self.layers[layer].len()];
            self.spread(layer, &wanted);
        }
        for round in 0..2 * ROUNDS {
            let count = self.layers.len();
            for step in 0..count {
                let layer = if round % 2 == 0 { step } else { count - 1 - step };
                let wanted: Vec<f64> = self.layers[layer]
                    .iter()
                    .map(|&i| {
                        let item = &self.items[i];
                        let near = item.above.iter().chain(&item.below).map(|&n| self.items[n].x);
                        mean(near).unwrap_or(item.x)
                    })
                    .collect();
                self.spread(layer, &wanted);
            }
        }
    }

    /// Places a layer's items as near to where they are wanted as their widths
    /// allow.
    fn spread(&mut self, layer: usize, wanted: &[f64]) {
        let mut edge = f64::NEG_INFINITY;
        let mut placed = Vec::with_capacity(wanted.len());
        for (&i, &x) in self.layers[layer].iter().zip(wanted) {
            let half = self.items[i].width / 2.0;
            let x = x.max(edge + half);
            edge = x + half + BESIDE;
            placed.push(x);
        }
        let shift = mean(wanted.iter().zip(&placed).map(|(wanted, placed)| wanted - placed)).unwrap_or(0.0);
        for (&i, x) in self.layers[layer].iter().zip(placed) {
            self.items[i].x = x + shift;
        }
    }

    fn size(&mut self, note: f64) {
        let left = self.items.iter().map(|item| item.x - item.width / 2.0).fold(f64::INFINITY, f64::min);
        let right = self.items.iter().map(|item| item.x + item.width / 2.0).fold(f64::NEG_INFINITY, f64::max);
        if self.items.is_empty() {
            (self.width, self.height) = (2.0 * MARGIN, 2.0 * MARGIN + note);
            return;
        }
        self.items.iter_mut().for_each(|item| item.x += MARGIN - left);
        let mut top = MARGIN;
        for layer in &self.layers {
            self.tops.push(top);
            let height = layer.iter().map(|&i| self.items[i].height).fold(0.0, f64::max);
            top += height + BETWEEN;
        }
        self.width = right - left + 2.0 * MARGIN;
        self.height = top - BETWEEN + MARGIN + note;
    }

    /// The line of an arrow: down from box to box, past those between.
    fn path(&self, route: &[usize]) -> String {
        let mut out = String::new();
        let (mut x, mut y) = (0.0, 0.0);
        for (at, &i) in route.iter().enumerate() {
            let item = &self.items[i];
            let (top, bottom) =
                (self.tops[item.layer], self.tops[item.layer] + self.layer_height(item.layer));
            if at == 0 {
                (x, y) = (item.x, top + item.height);
                _ = write!(out, "M{x:.1},{y:.1}");
                continue;
            }
            let bend = (y + top) / 2.0;
            _ = write!(out, " C{x:.1},{bend:.1} {:.1},{bend:.1} {:.1},{top:.1}", item.x, item.x);
            (x, y) = (item.x, top);
            if at + 1 < route.len() {
                _ = write!(out, " L{x:.1},{bottom:.1}");
                y = bottom;
            }
        }
        out
    }

    fn layer_height(&self, layer: usize) -> f64 {
        self.layers[layer].iter().map(|&i| self.items[i].height).fold(0.0, f64::max)
    }
}

/// The layer of each box: one below the lowest that points to it. A box that
/// nothing points to stands right above what it points to.
fn layers_of(diagram: &Diagram) -> Vec<usize> {
    let mut layer = vec![0; diagram.nodes.len()];
    let mut pointed = vec![false; diagram.nodes.len()];
    let mut highest = vec![usize::MAX; diagram.nodes.len()];
    // Edges come in the order of their ends, and boxes after all that point
    // to them.
    for edge in &diagram.edges {
        layer[edge.to] = layer[edge.to].max(layer[edge.from] + 1);
        pointed[edge.to] = true;
    }
    for edge in &diagram.edges {
        highest[edge.from] = highest[edge.from].min(layer[edge.to]);
    }
    for (i, highest) in highest.into_iter().enumerate() {
        if !pointed[i] && highest != usize::MAX {
            layer[i] = highest - 1;
        }
    }
    layer
}

fn mean(numbers: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, count) = numbers.fold((0.0, 0usize), |(sum, count), x| (sum + x, count + 1));
    (count > 0).then(|| sum / count as f64)
}

/// Text between tags.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' => out.push('\n'),
            // XML has no way to say these.
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use crate::diagram::{Edge, Node};

    use super::*;

    fn diagram(count: usize, edges: &[(usize, usize)]) -> Diagram {
        let node =
            |i: usize| Node { kind: Kind::Op, lines: vec![format!("<{i}>")], places: vec!["a & b".into()] };
        let edge = |&(from, to): &(usize, usize)| Edge { from, to, label: "f32[1]".into() };
        Diagram {
            name: "g".into(),
            nodes: (0..count).map(node).collect(),
            edges: edges.iter().map(edge).collect(),
            note: None,
        }
    }

    #[test]
    fn boxes_stand_below_what_points_to_them_and_apart() {
        let diagram = diagram(6, &[(0, 2), (0, 3), (2, 4), (3, 4), (0, 4), (1, 5), (4, 5)]);
        assert_eq!(layers_of(&diagram), [0, 2, 1, 1, 2, 3]);
        let layout = Layout::of(&diagram);
        assert_eq!(layout.routes[4].len(), 3, "the arrow past a layer has a place in it");
        for layer in &layout.layers {
            for pair in layer.windows(2) {
                let [a, b] = [&layout.items[pair[0]], &layout.items[pair[1]]];
                assert!(a.x + a.width / 2.0 < b.x - b.width / 2.0);
            }
        }
        assert!(layout.items.iter().all(|item| item.x - item.width / 2.0 >= 0.0));
    }

    #[test]
    fn texts_are_escaped_and_empty_diagrams_drawn() {
        let drawn = text(&diagram(1, &[]));
        assert!(drawn.contains("&lt;0&gt;") && drawn.contains("a &amp; b"));
        assert!(text(&diagram(0, &[])).ends_with("</svg>\n"));
    }
}
