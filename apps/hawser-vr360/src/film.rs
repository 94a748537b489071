//! A film of tiles: a picture of each tile for each chunk, as ffmpeg encodes them.

use std::path::Path;

use bytes::Bytes;
use hawser_media::panorama::Grid;
use serde::{Deserialize, Serialize};

use hawser_command::exit::{Exit, Failure};
use hawser_command::units;

/// Most bytes of all pictures: they are kept in memory.
const MAX_BYTES: u64 = 1 << 30;
/// Longest description.
const MAX_DESCRIPTION: u64 = 64 << 20;
/// The files of a folder.
const DESCRIPTION: &str = "film.json";
const PICTURES: &str = "tiles.mjpeg";
/// What a description begins with.
const FORMAT: &str = "hawser vr360, version 1";

/// What both ends know of a film.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Shape {
    /// Tiles per row.
    pub(super) columns: u16,
    /// And above each other.
    pub(super) rows: u16,
    /// Pixels of the whole picture.
    pub(super) width: u32,
    pub(super) height: u32,
    /// Pictures per second: a chunk lasts one of them.
    pub(super) rate: f64,
    /// Chunks of the film.
    pub(super) chunks: u32,
}

impl Shape {
    /// Its grid, if the numbers make sense.
    pub(super) fn grid(&self) -> Result<Grid, String> {
        let grid = Grid::new(self.columns, self.rows).map_err(|error| error.to_string())?;
        let (columns, rows) = (u32::from(self.columns), u32::from(self.rows));
        let fits =
            |pixels: u32, tiles: u32| pixels > 0 && pixels <= 16_384 && pixels.is_multiple_of(2 * tiles);
        if !fits(self.width, columns) || !fits(self.height, rows) {
            return Err(format!(
                "a picture of {}x{} pixels cannot be cut into {columns}x{rows} tiles: expected multiples of {} and {}, at \
                 most 16384",
                self.width,
                self.height,
                2 * columns,
                2 * rows
            ));
        }
        if !(0.5..=60.0).contains(&self.rate) {
            return Err(format!("expected 0.5 to 60 pictures per second, found {}", self.rate));
        }
        Ok(grid)
    }
}

/// What the description of a folder says.
#[derive(Debug, Serialize, Deserialize)]
struct Description {
    format: String,
    #[serde(flatten)]
    shape: Shape,
    /// Bytes of each picture, chunk by chunk.
    sizes: Vec<u32>,
}

/// The pictures of a film.
#[derive(Debug)]
pub(super) struct Film {
    pub(super) shape: Shape,
    /// Tile by tile, chunk by chunk.
    pictures: Vec<Bytes>,
}

impl Film {
    /// One of these pictures: what is left over of the last chunk is dropped.
    pub(super) fn new(mut shape: Shape, mut pictures: Vec<Bytes>) -> Self {
        let tiles = usize::from(shape.columns) * usize::from(shape.rows);
        let chunks = pictures.len() / tiles.max(1);
        pictures.truncate(chunks * tiles);
        shape.chunks = u32::try_from(chunks).unwrap_or(u32::MAX);
        Film { shape, pictures }
    }

    /// The picture of a tile. Chunks behind the last one are those from the beginning.
    pub(super) fn picture(&self, chunk: u32, tile: u16) -> Option<&Bytes> {
        let tiles = usize::from(self.shape.columns) * usize::from(self.shape.rows);
        let chunk = chunk.checked_rem(self.shape.chunks)? as usize;
        (usize::from(tile) < tiles).then(|| self.pictures.get(chunk * tiles + usize::from(tile)))?
    }

    /// Bytes of all pictures.
    pub(super) fn bytes(&self) -> u64 {
        self.pictures.iter().map(|picture| picture.len() as u64).sum()
    }

    /// Seconds that it lasts.
    pub(super) fn seconds(&self) -> f64 {
        f64::from(self.shape.chunks) / self.shape.rate
    }

    /// In a few words.
    pub(super) fn describe(&self) -> String {
        let Shape { columns, rows, width, height, rate, chunks } = &self.shape;
        format!(
            "{width}x{height} in {columns}x{rows} tiles, {chunks} chunks of {:.0} ms, {}",
            1e3 / rate,
            units::bytes(self.bytes())
        )
    }

    /// Reads a folder that [`save`](Self::save) wrote.
    pub(super) fn load(folder: &Path) -> Result<Self, Failure> {
        let path = folder.join(DESCRIPTION);
        let wrong = |text: String| {
            let text = format!("{}: {text}; `hawser vr360 make` makes such a folder", path.display());
            Failure::new(Exit::NotRead, text)
        };
        let read = |path: &Path, most: u64| {
            let length = std::fs::metadata(path).map_err(|error| Failure::read(path, &error))?.len();
            if length > most {
                let error =
                    format!("{} are more than the {} of a film", units::bytes(length), units::bytes(most));
                return Err(Failure::new(Exit::NotRead, format!("{}: {error}", path.display())));
            }
            std::fs::read(path).map_err(|error| Failure::read(path, &error))
        };
        let text = read(&path, MAX_DESCRIPTION)?;
        let description: Description = serde_json::from_slice(&text)
            .map_err(|error| wrong(format!("no description of a film: {error}")))?;
        if description.format != FORMAT {
            return Err(wrong(format!("expected the format `{FORMAT}`")));
        }
        description.shape.grid().map_err(wrong)?;
        let pictures = Bytes::from(read(&folder.join(PICTURES), MAX_BYTES)?);
        let total: u64 = description.sizes.iter().map(|size| u64::from(*size)).sum();
        if total != pictures.len() as u64 {
            return Err(wrong(format!("{PICTURES} has {} bytes, expected {total}", pictures.len())));
        }
        let mut rest = pictures;
        let pictures = description.sizes.iter().map(|size| rest.split_to(*size as usize)).collect();
        let film = Film::new(description.shape, pictures);
        if film.shape.chunks == 0 {
            return Err(wrong("there is no whole chunk".to_owned()));
        }
        Ok(film)
    }

    /// Writes it to a folder, which is made if it is not there.
    pub(super) fn save(&self, folder: &Path) -> Result<(), Failure> {
        std::fs::create_dir_all(folder).map_err(|error| Failure::write(folder, &error))?;
        let sizes = self.pictures.iter().map(|picture| u32::try_from(picture.len()).unwrap_or(u32::MAX));
        let description =
            Description { format: FORMAT.to_owned(), shape: self.shape.clone(), sizes: sizes.collect() };
        let all: Vec<u8> = self.pictures.concat();
        let write = |name: &str, bytes: &[u8]| {
            let path = folder.join(name);
            hawser_files::write(&path, bytes).map_err(|error| Failure::write(&path, &error))
        };
        write(PICTURES, &all)?;
        write(DESCRIPTION, hawser_command::report::to_json(&description).as_bytes())
    }
}

/// Takes pictures (JPEG) from a run of them without anything between.
#[derive(Debug, Default)]
pub(super) struct Splitter {
    buffer: bytes::BytesMut,
    /// Bytes of all pictures so far.
    total: u64,
}

impl Splitter {
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// The next picture, if all of it is there.
    ///
    /// # Errors
    /// Where it is none, or there are too many.
    pub(super) fn next_picture(&mut self) -> Result<Option<Bytes>, String> {
        let Some(length) = jpeg_length(&self.buffer)? else { return Ok(None) };
        self.total += length as u64;
        if self.total > MAX_BYTES {
            let most = units::bytes(MAX_BYTES);
            return Err(format!(
                "more than {most} of pictures: make it shorter (--seconds), smaller or coarser"
            ));
        }
        Ok(Some(self.buffer.split_to(length).freeze()))
    }

    /// Whether a part of a picture is left over.
    pub(super) fn is_empty(&self) -> bool {
        self.buffer.is_empty()
    }
}

/// Length of the picture at the beginning (ITU-T T.81 annex B): segments with lengths up to the scan, whose bytes of 0xff are
/// followed by 0 or by the number of a restart marker.
fn jpeg_length(bytes: &[u8]) -> Result<Option<usize>, String> {
    let wrong = || "ffmpeg gave something that is no JPEG picture".to_owned();
    match bytes {
        [0xff, 0xd8, ..] => {}
        [] | [0xff] => return Ok(None),
        _ => return Err(wrong()),
    }
    let mut at = 2;
    loop {
        let Some([mark, kind]) = bytes.get(at..at + 2) else { return Ok(None) };
        if *mark != 0xff {
            return Err(wrong());
        }
        let Some([high, low]) = bytes.get(at + 2..at + 4) else { return Ok(None) };
        at += 2 + usize::from(u16::from_be_bytes([*high, *low]));
        if *kind == 0xda {
            break;
        }
    }
    let Some(scan) = bytes.get(at..) else { return Ok(None) };
    Ok(scan.windows(2).position(|pair| pair == [0xff, 0xd9]).map(|end| at + end + 2))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Start, a comment that contains the end's mark, a scan with a stuffed byte, the end.
    const PICTURE: &[u8] =
        b"\xff\xd8\xff\xfe\x00\x04\xff\xd9\xff\xda\x00\x03\x01\x55\xff\x00\xff\xd0\x12\xff\xd9";

    #[test]
    fn pictures_are_taken_apart_however_they_come() {
        let run = [PICTURE, PICTURE].concat();
        let mut splitter = Splitter::default();
        let mut found = Vec::new();
        for byte in run {
            splitter.push(&[byte]);
            found.extend(splitter.next_picture().unwrap());
        }
        assert_eq!(found, [PICTURE, PICTURE]);
        assert!(splitter.is_empty());
        splitter.push(b"GIF89a");
        assert!(splitter.next_picture().is_err());
    }

    fn shape() -> Shape {
        Shape { columns: 2, rows: 2, width: 8, height: 4, rate: 4.0, chunks: 0 }
    }

    #[test]
    fn a_film_is_what_its_folder_says_and_begins_anew_behind_its_end() {
        let pictures = (0..9u8).map(|at| Bytes::from(vec![at; 3])).collect();
        let film = Film::new(shape(), pictures);
        let folder = tempfile::tempdir().unwrap();
        film.save(folder.path()).unwrap();
        let read = Film::load(folder.path()).unwrap();
        assert_eq!(read.shape, Shape { chunks: 2, ..shape() });
        assert_eq!(read.picture(3, 1).unwrap()[..], [5, 5, 5]);
        assert!(read.picture(0, 4).is_none());
        std::fs::write(folder.path().join(PICTURES), b"short").unwrap();
        let error = Film::load(folder.path()).unwrap_err().to_string();
        assert!(error.contains("has 5 bytes, expected 24"), "{error}");
    }

    #[test]
    fn shapes_that_cannot_be_are_refused() {
        assert!(shape().grid().is_ok());
        let error = Shape { width: 6, ..shape() }.grid().unwrap_err();
        assert!(error.contains("expected multiples of 4 and 4"), "{error}");
        assert!(Shape { rate: f64::NAN, ..shape() }.grid().is_err());
    }
}
