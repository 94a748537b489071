//! ffmpeg, which cuts a video into tiles.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use clap::Args;
use tokio::io::AsyncReadExt;
use tokio::process::{Child, ChildStderr, ChildStdout, Command};

use super::film::{Film, Shape, Splitter};
use hawser::Printable;
use hawser_command::exit::{Exit, Failure};

/// Bytes read at a time.
const BLOCK: usize = 64 << 10;
/// What of ffmpeg's words is told.
const MAX_WORDS: u64 = 2 << 10;

/// How a video is cut and encoded.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Encoding")]
pub(super) struct Encoding {
    /// Columns and rows of tiles
    #[arg(long, value_name = "COLUMNSxROWS", default_value = "12x6", value_parser = parse_grid)]
    tiles: (u16, u16),
    /// Width of the picture in pixels, to which the video is scaled; its height is half of that
    #[arg(long, value_name = "PIXELS", default_value_t = 1920)]
    width: u32,
    /// Pictures per second: each chunk is one of them
    #[arg(long, value_name = "N", default_value_t = 5.0)]
    rate: f64,
    /// Quality of the tiles, from 2 (best) to 31
    #[arg(long, value_name = "Q", default_value_t = 5, value_parser = clap::value_parser!(u8).range(2..=31))]
    quality: u8,
    /// Seconds of the video that are taken, from its beginning
    #[arg(long, value_name = "SECONDS", default_value_t = 30.0)]
    seconds: f64,
}

impl Encoding {
    /// The shape of its films, which have no chunk yet.
    ///
    /// # Errors
    /// If there can be none.
    pub(super) fn shape(&self) -> Result<Shape, Failure> {
        let (columns, rows) = self.tiles;
        let shape =
            Shape { columns, rows, width: self.width, height: self.width / 2, rate: self.rate, chunks: 0 };
        shape.grid().map_err(Failure::usage)?;
        if !(0.1..=36_000.0).contains(&self.seconds) {
            return Err(Failure::usage(format!("--seconds: expected 0.1 to 36000, found {}", self.seconds)));
        }
        Ok(shape)
    }
}

fn parse_grid(text: &str) -> Result<(u16, u16), String> {
    let sides = text.split_once('x').and_then(|(a, b)| Some((a.parse().ok()?, b.parse().ok()?)));
    sides.ok_or_else(|| format!("`{text}`: expected COLUMNSxROWS, for example 12x6"))
}

/// The film of a folder, of a video, or without either of a test picture.
///
/// # Errors
/// When there is no ffmpeg, or it does not take the file for a video.
pub(super) async fn film(source: Option<&Path>, encoding: &Encoding) -> Result<Film, Failure> {
    if let Some(folder) = source.filter(|path| path.is_dir()) {
        return Film::load(folder);
    }
    let shape = encoding.shape()?;
    // ffmpeg takes URLs and devices as well, and tells less plainly that a file is not there.
    if let Some(path) = source {
        std::fs::File::open(path).map_err(|error| Failure::read(path, &error))?;
    }
    let mut process = start(source, &shape, encoding)?;
    // Both at once: whichever pipe is full stops it.
    let (output, errors) = (process.stdout.take(), process.stderr.take());
    let (pictures, words) = tokio::join!(read_pictures(output), words(errors));
    let status = process.wait().await.map_err(|error| failed(&error.to_string()))?;
    let name = source.map_or_else(|| "the test picture".to_owned(), |path| path.display().to_string());
    let pictures = pictures.map_err(|problem| Failure::new(Exit::NotRead, format!("{name}: {problem}")))?;
    if !status.success() {
        let text = format!("cannot read {name} as a video; ffmpeg says: {words}");
        return Err(Failure::new(Exit::NotRead, text));
    }
    let film = Film::new(shape, pictures);
    if film.shape.chunks == 0 {
        return Err(Failure::new(Exit::NotRead, format!("{name} has no picture")));
    }
    Ok(film)
}

fn start(source: Option<&Path>, shape: &Shape, encoding: &Encoding) -> Result<Child, Failure> {
    let Shape { columns, rows, width, height, rate, .. } = shape;
    let mut command = Command::new("ffmpeg");
    command.args(["-v", "error", "-nostdin"]);
    match source {
        Some(path) => command.arg("-i").arg(file_name(path)),
        None => command.args(["-f", "lavfi", "-i"]).arg(format!("testsrc2=size={width}x{height}:rate=30")),
    };
    command.arg("-t").arg(encoding.seconds.to_string()).args(["-map", "0:v:0"]);
    command.arg("-vf").arg(format!("fps={rate},scale={width}:{height},setsar=1,untile={columns}x{rows}"));
    command.args(["-c:v", "mjpeg", "-pix_fmt", "yuvj420p", "-q:v"]).arg(encoding.quality.to_string());
    command.args(["-f", "image2pipe", "-"]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    command.spawn().map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => {
            Failure::new(Exit::NoCommand, "there is no ffmpeg here, which cuts videos into tiles: install it")
        }
        _ => failed(&error.to_string()),
    })
}

/// Never an option, and never a protocol of ffmpeg's.
fn file_name(path: &Path) -> PathBuf {
    let mut name = std::ffi::OsString::from("file:");
    name.push(path);
    name.into()
}

fn failed(problem: &str) -> Failure {
    Failure::new(Exit::CannotRun, format!("cannot run ffmpeg: {problem}"))
}

async fn read_pictures(output: Option<ChildStdout>) -> Result<Vec<bytes::Bytes>, String> {
    let Some(mut output) = output else { return Ok(Vec::new()) };
    let (mut splitter, mut pictures) = (Splitter::default(), Vec::new());
    let mut block = vec![0; BLOCK];
    loop {
        while let Some(picture) = splitter.next_picture()? {
            pictures.push(picture);
        }
        match output.read(&mut block).await.map_err(|error| error.to_string())? {
            0 if splitter.is_empty() => return Ok(pictures),
            0 => return Err("ffmpeg ended in the middle of a picture".to_owned()),
            count => splitter.push(&block[..count]),
        }
    }
}

/// What it complained of, on one line.
async fn words(errors: Option<ChildStderr>) -> String {
    let mut words = Vec::new();
    if let Some(mut errors) = errors {
        let _ = (&mut errors).take(MAX_WORDS).read_to_end(&mut words).await;
        let _ = tokio::io::copy(&mut errors, &mut tokio::io::sink()).await;
    }
    let words = String::from_utf8_lossy(&words);
    let lines: Vec<&str> = words.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    Printable::new(&lines.join("; ")).to_string()
}
