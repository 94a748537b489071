//! A folder as a web site: from a request to a reply, without the network.

mod digests;
mod keys;
mod leftovers;
mod listing;
mod quota;
mod reply;
#[cfg(test)]
mod tests;
mod tree;
mod unfinished;
mod upload;
mod validators;

use std::fs::Metadata;
use std::io;
use std::net::IpAddr;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use http::header::{
    ACCEPT_RANGES, ALLOW, CONTENT_RANGE, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, LAST_MODIFIED,
    LOCATION, TE, WWW_AUTHENTICATE,
};
use http::{HeaderMap, HeaderValue, Method, StatusCode, Uri};

pub(crate) use digests::PendingDigest;
pub(crate) use keys::{Keys, check_key};
pub(crate) use quota::Quota;
pub(crate) use reply::{Body, Refusal, Reply};
pub(crate) use upload::Upload;

use digests::Digests;
use hawser_command::digest::UPLOAD_OFFSET;
use hawser_command::range::Selection;
use listing::Pages;
use tree::{Entry, Location, Tree};
use unfinished::Unfinished;
use validators::Validators;

/// What a browser may do with a file where anybody may have stored it: show it, run nothing of it, and let it see nothing of the
/// other files.
const OF_STRANGERS: &str = "default-src 'none'; img-src 'self' data:; media-src 'self'; style-src 'self' 'unsafe-inline'; \
                            sandbox allow-downloads";

/// What may be done with the folder besides reading it.
#[derive(Clone, Debug)]
pub(crate) struct Rights {
    /// PUT stores files.
    pub(crate) put: bool,
    /// For those who name one of these keys; `None`: for everybody.
    pub(crate) keys: Option<Keys>,
    /// And only for those who showed a certificate.
    pub(crate) certificates: bool,
    /// Also in the place of others.
    pub(crate) replace: bool,
    /// Most bytes of one; `None`: as many as the disk has room for.
    pub(crate) max_upload: Option<u64>,
    /// Bytes that all uploads together may add.
    pub(crate) upload_quota: Quota,
    /// Names that begin with a dot exist.
    pub(crate) hidden: bool,
}

impl Default for Rights {
    /// Reading only.
    fn default() -> Self {
        Rights {
            put: false,
            keys: None,
            certificates: false,
            replace: true,
            max_upload: None,
            upload_quota: Quota::new(None),
            hidden: false,
        }
    }
}

impl Rights {
    /// Returns true if everybody may store files.
    fn are_open(&self) -> bool {
        self.put && self.keys.is_none() && !self.certificates
    }
}

/// Who stores a file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sender {
    /// Where it comes from.
    pub(crate) source: IpAddr,
    /// Whether it showed a certificate that the server accepts.
    pub(crate) is_certified: bool,
}

/// A folder that is served.
#[derive(Debug)]
pub(crate) struct Site {
    tree: Arc<Tree>,
    digests: Digests,
    rights: Rights,
    unfinished: Unfinished,
    pages: Pages,
}

impl Site {
    /// Serves the folder.
    ///
    /// # Errors
    /// When it can not be opened or is not a folder.
    pub(crate) fn open(folder: &Path, rights: Rights) -> io::Result<Self> {
        let tree = Arc::new(Tree::open(folder)?);
        let (digests, unfinished, pages) = (Digests::default(), Unfinished::default(), Pages::default());
        Ok(Site { tree, digests, rights, unfinished, pages })
    }

    /// The answer to GET and HEAD; other methods but PUT are refused. Blocks on the disk.
    pub(crate) fn reply(&self, method: &Method, uri: &Uri, headers: &HeaderMap) -> Reply {
        if !matches!(*method, Method::GET | Method::HEAD) {
            let allowed = if self.rights.put { "GET, HEAD, PUT" } else { "GET, HEAD" };
            let text = format!("{method} is not allowed here; allowed are {allowed}");
            let mut reply = Reply::text(StatusCode::METHOD_NOT_ALLOWED, text);
            reply.headers.insert(ALLOW, HeaderValue::from_static(allowed));
            return reply;
        }
        let location = match self.locate(uri) {
            Ok(location) => location,
            Err(refusal) => return *refusal,
        };
        let mut reply = match self.tree.entry(&location) {
            Ok(Entry::File(file, metadata)) => self.file(file, &metadata, &location, headers),
            Ok(Entry::Folder(folder)) if uri.path().ends_with('/') => {
                let index = location.join("index.html");
                match self.tree.entry(&index) {
                    Ok(Entry::File(file, metadata)) => self.file(file, &metadata, &index, headers),
                    _ => self.pages.reply(&folder, &location, self.rights.hidden, Instant::now()),
                }
            }
            // Relative links in a listing resolve against the folder only with the slash.
            Ok(Entry::Folder(_)) => redirect(&format!("{}/", uri.path())),
            Err(error) => failed(&error),
        };
        if method == Method::HEAD {
            reply.keep_headers_only();
            self.tell_offset(&mut reply, &location, headers);
        }
        reply
    }

    /// Says how much there is of an upload that broke off, to a client that has the whole file.
    fn tell_offset(&self, reply: &mut Reply, location: &Location, headers: &HeaderMap) {
        let digest = upload::announced_digest(headers).filter(|_| self.rights.put);
        let offset = digest.and_then(|digest| self.unfinished.offset(location, digest, Instant::now()));
        if let Some(offset) = offset {
            reply.set(UPLOAD_OFFSET, &offset.to_string());
        }
    }

    /// Begins to store a PUT, or goes on with one that broke off. Blocks on the disk.
    ///
    /// # Errors
    /// The reply that says why not.
    pub(crate) fn begin_upload(
        &self,
        sender: Sender,
        uri: &Uri,
        headers: &HeaderMap,
    ) -> Result<Upload, Refusal> {
        if !self.rights.put {
            let text = "uploads are not allowed; the server must be started with --allow-put";
            return Err(Reply::text(StatusCode::METHOD_NOT_ALLOWED, text).into());
        }
        if self.rights.certificates && !sender.is_certified {
            let text = "uploads need a certificate that an authority of this server has signed (hawser put --client-cert)";
            return Err(Reply::text(StatusCode::FORBIDDEN, text).into());
        }
        if self.rights.keys.as_ref().is_some_and(|keys| !keys.admit(headers)) {
            let mut reply = Reply::text(StatusCode::UNAUTHORIZED, "uploads need a key of this server");
            reply.headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            return Err(reply.into());
        }
        let location = self.locate(uri)?;
        if !location.is_plain_text() {
            let text = "names of stored files have no control characters";
            return Err(Reply::text(StatusCode::BAD_REQUEST, text).into());
        }
        if let Some(upload) = self.unfinished.resume(&location, headers, Instant::now())? {
            return Ok(upload);
        }
        Upload::begin(&self.tree, sender.source, &location, headers, &self.rights)
    }

    /// The client of an upload is gone: what came is kept for a while, if it can be gone on with.
    pub(crate) fn keep_unfinished(&self, upload: Upload) {
        self.unfinished.keep(upload, Instant::now());
    }

    /// Removes what a server that was killed left of uploads; returns how many files that were. Blocks, and for long on
    /// a large tree.
    pub(crate) fn remove_leftovers(&self) -> usize {
        if self.rights.put { leftovers::remove(self.tree.path()) } else { 0 }
    }

    fn locate(&self, uri: &Uri) -> Result<Location, Refusal> {
        let location = Location::parse(uri.path())
            .map_err(|problem| Box::new(Reply::text(StatusCode::BAD_REQUEST, problem.to_string())))?;
        let withheld = location.is_temporary() || (location.is_hidden() && !self.rights.hidden);
        if withheld { Err(not_found().into()) } else { Ok(location) }
    }

    /// A file or the part of it that was asked for.
    fn file(
        &self,
        file: std::fs::File,
        metadata: &Metadata,
        location: &Location,
        headers: &HeaderMap,
    ) -> Reply {
        let validators = Validators::of(metadata);
        let mut reply = if validators.is_unchanged_for(headers) {
            Reply::empty(StatusCode::NOT_MODIFIED)
        } else {
            let length = metadata.size();
            let selection = if validators.range_applies(headers) {
                Selection::of(headers, length)
            } else {
                Selection::Whole
            };
            let file = Arc::new(file);
            match selection {
                Selection::Whole => self.content(StatusCode::OK, file, metadata, 0..length, headers),
                Selection::Part(range) => {
                    let field = format!("bytes {}-{}/{length}", range.start, range.end - 1);
                    let status = StatusCode::PARTIAL_CONTENT;
                    let mut reply = self.content(status, file, metadata, range, headers);
                    reply.set(CONTENT_RANGE, &field);
                    reply
                }
                Selection::Unsatisfiable => {
                    let mut reply = Reply::text(
                        StatusCode::RANGE_NOT_SATISFIABLE,
                        format!("the file has {length} bytes"),
                    );
                    reply.set(CONTENT_RANGE, &format!("bytes */{length}"));
                    return reply;
                }
            }
        };
        if reply.status != StatusCode::NOT_MODIFIED {
            reply.set(CONTENT_TYPE, &content_type(location));
        }
        if self.rights.are_open() {
            reply.headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(OF_STRANGERS));
        }
        reply.set(ETAG, validators.etag());
        reply.set(LAST_MODIFIED, &validators.last_modified());
        reply.headers.insert(ACCEPT_RANGES, HeaderValue::from_static("bytes"));
        reply
    }

    fn content(
        &self,
        status: StatusCode,
        file: Arc<std::fs::File>,
        metadata: &Metadata,
        range: std::ops::Range<u64>,
        headers: &HeaderMap,
    ) -> Reply {
        let digest = self.digests.start(&file, metadata);
        let mut reply = Reply::file(status, file, range);
        reply.digest = Some(digest);
        reply.accepts_trailers = accepts_trailers(headers);
        reply
    }
}

/// Whether the client wants trailers (RFC 9110 section 10.1.4). Those that do not say so are better off without: some
/// drop them, and Chromium now and then takes a response that ends with trailers for one that broke off.
fn accepts_trailers(headers: &HeaderMap) -> bool {
    let fields = headers.get_all(TE).iter().filter_map(|field| field.to_str().ok());
    fields.flat_map(|field| field.split(',')).any(|coding| coding.trim().eq_ignore_ascii_case("trailers"))
}

/// The type by the name's ending. Text is taken for UTF-8, as nearly all is now.
fn content_type(location: &Location) -> String {
    let kind = mime_guess::from_path(location.name()).first_or_octet_stream();
    if kind.type_() == "text" { format!("{kind}; charset=utf-8") } else { kind.to_string() }
}

fn redirect(path: &str) -> Reply {
    // Two slashes at the front would name another host (RFC 3986 section 4.2).
    let path = format!("/{}", path.trim_start_matches('/'));
    let mut reply = Reply::text(StatusCode::MOVED_PERMANENTLY, format!("see {path}"));
    reply.set(LOCATION, &path);
    reply
}

fn not_found() -> Reply {
    Reply::text(StatusCode::NOT_FOUND, "there is no such file")
}

/// The reply to a failed opening. What lies outside the folder is forbidden, whether it exists or not.
fn failed(error: &io::Error) -> Reply {
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory | io::ErrorKind::InvalidFilename => {
            not_found()
        }
        io::ErrorKind::PermissionDenied => {
            Reply::text(StatusCode::FORBIDDEN, "the server is not allowed to read this file")
        }
        io::ErrorKind::CrossesDevices => {
            Reply::text(StatusCode::FORBIDDEN, "this path leads out of the served folder")
        }
        _ if error.raw_os_error() == Some(nix::libc::ELOOP) => {
            Reply::text(StatusCode::FORBIDDEN, "this path has too many symbolic links")
        }
        _ => Reply::text(StatusCode::INTERNAL_SERVER_ERROR, format!("cannot read the file: {error}")),
    }
}
