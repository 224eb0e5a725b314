//! SVG as PNG, with the fonts of this system.

use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree};

/// Pixels of a picture for each pixel of its SVG, so that it is sharp on dense screens.
const SCALE: f32 = 2.0;

/// Families that show the letters of reports, in the order of preference.
const FAMILIES: [&str; 5] = ["DejaVu Sans", "Noto Sans", "Liberation Sans", "Roboto", "Arial"];

/// Makes pictures of pixels.
pub(crate) struct Rasterizer {
    options: Options<'static>,
}

impl Rasterizer {
    /// Loads the fonts.
    ///
    /// # Errors
    /// There are none.
    pub(crate) fn new() -> Result<Rasterizer, String> {
        let mut options = Options::default();
        let fonts = options.fontdb_mut();
        fonts.load_system_fonts();
        let has =
            |family: &&str| fonts.faces().any(|face| face.families.iter().any(|(name, _)| name == family));
        let any =
            || fonts.faces().next().and_then(|face| face.families.first()).map(|(name, _)| name.clone());
        let family = FAMILIES.iter().copied().find(|family| has(family)).map(str::to_owned).or_else(any);
        let family =
            family.ok_or("no font was found on this system: install one, such as DejaVu, or write SVG")?;
        fonts.set_sans_serif_family(family.clone());
        options.font_family = family;
        Ok(Rasterizer { options })
    }

    /// A picture as the bytes of a PNG file.
    ///
    /// # Errors
    /// It is no SVG, or too large.
    pub(crate) fn png(&self, svg: &str) -> Result<Vec<u8>, String> {
        let tree = Tree::from_str(svg, &self.options).map_err(|error| error.to_string())?;
        let size = tree.size().to_int_size().scale_by(SCALE).ok_or("the picture has no size")?;
        let mut pixels = Pixmap::new(size.width(), size.height()).ok_or("the picture is too large")?;
        resvg::render(&tree, Transform::from_scale(SCALE, SCALE), &mut pixels.as_mut());
        pixels.encode_png().map_err(|error| error.to_string())
    }
}
