//! Pointers from C to values, and back.

use std::ffi::{CStr, c_char};
use std::slice;

use crate::result::{Failure, HawserResult};

/// A handle.
///
/// # Safety
/// `pointer` is NULL, or points to a `T` that nobody frees or changes for as long as the reference is used.
pub(crate) unsafe fn handle<'a, T>(pointer: *const T, name: &str) -> Result<&'a T, Failure> {
    // SAFETY: as the caller promises.
    unsafe { pointer.as_ref() }.ok_or_else(|| Failure::argument(format_args!("{name} is NULL")))
}

/// A handle that only the caller uses.
///
/// # Safety
/// `pointer` is NULL, or points to a `T` that nobody else uses for as long as the reference is used.
pub(crate) unsafe fn handle_mut<'a, T>(pointer: *mut T, name: &str) -> Result<&'a mut T, Failure> {
    // SAFETY: as the caller promises.
    unsafe { pointer.as_mut() }.ok_or_else(|| Failure::argument(format_args!("{name} is NULL")))
}

/// A text.
///
/// # Safety
/// `pointer` is NULL, or points to bytes with a zero byte at their end, which stay as they are for as long as the text is used.
pub(crate) unsafe fn text<'a>(pointer: *const c_char, name: &str) -> Result<&'a str, Failure> {
    if pointer.is_null() {
        return Err(Failure::argument(format_args!("{name} is NULL")));
    }
    // SAFETY: not NULL; the rest as the caller promises.
    let bytes = unsafe { CStr::from_ptr(pointer) };
    bytes.to_str().map_err(|_| Failure::argument(format_args!("{name} is not UTF-8")))
}

/// Data of the caller. NULL is allowed with a length of 0.
///
/// # Safety
/// `pointer` points to `length` bytes, which stay as they are for as long as the slice is used.
pub(crate) unsafe fn data<'a>(pointer: *const u8, length: usize) -> Result<&'a [u8], Failure> {
    match (pointer.is_null(), length) {
        (_, 0) => Ok(&[]),
        (true, _) => Err(Failure::argument("data is NULL")),
        // SAFETY: not NULL; the rest as the caller promises. Longer than a slice may be, nothing can be allocated.
        (false, _) => Ok(unsafe { slice::from_raw_parts(pointer, length) }),
    }
}

/// Memory of the caller to write `capacity` bytes to.
///
/// # Safety
/// `pointer` points to `capacity` bytes that nobody else uses for as long as the slice is used. (They need not be initialised: nothing
/// reads them before it wrote them.)
pub(crate) unsafe fn buffer<'a>(pointer: *mut u8, capacity: usize) -> Result<&'a mut [u8], Failure> {
    match (pointer.is_null(), capacity) {
        (_, 0) => Ok(&mut []),
        (true, _) => Err(Failure::argument("the buffer is NULL")),
        // SAFETY: not NULL; the rest as the caller promises.
        (false, _) => Ok(unsafe { slice::from_raw_parts_mut(pointer, capacity) }),
    }
}

/// Writes a value where the caller wants it.
///
/// # Safety
/// `out` is NULL, or may be written a `T` to.
pub(crate) unsafe fn put<T>(out: *mut T, value: T) -> Result<HawserResult, Failure> {
    if out.is_null() {
        return Err(Failure::argument("the place for the result is NULL"));
    }
    // SAFETY: not NULL; the rest as the caller promises. What was there is not dropped: it may be garbage.
    unsafe { out.write(value) };
    Ok(HawserResult::Ok)
}

/// Gives a value to the caller, as a handle.
///
/// # Safety
/// As [`put`].
pub(crate) unsafe fn give<T>(out: *mut *mut T, value: T) -> Result<HawserResult, Failure> {
    if out.is_null() {
        return Err(Failure::argument("the place for the result is NULL"));
    }
    // SAFETY: as the caller promises.
    unsafe { put(out, Box::into_raw(Box::new(value))) }
}

/// Drops a handle that was given.
///
/// # Safety
/// `pointer` is NULL, or came from [`give`], was not dropped before, and is used by nobody.
pub(crate) unsafe fn free<T>(pointer: *mut T) {
    if !pointer.is_null() {
        // SAFETY: as the caller promises.
        drop(unsafe { Box::from_raw(pointer) });
    }
}

/// Writes a text and its zero byte to a buffer of the caller.
///
/// # Safety
/// As [`buffer`].
pub(crate) unsafe fn put_text(text: &str, to: *mut c_char, capacity: usize) -> Result<HawserResult, Failure> {
    // SAFETY: as the caller promises; c_char is a byte.
    let buffer = unsafe { buffer(to.cast::<u8>(), capacity) }?;
    if buffer.len() <= text.len() {
        let words = format!("the buffer has {capacity} bytes, and {} are needed", text.len() + 1);
        return Err(Failure::new(HawserResult::TooLarge, words));
    }
    buffer[..text.len()].copy_from_slice(text.as_bytes());
    buffer[text.len()] = 0;
    Ok(HawserResult::Ok)
}

/// A text as an array of a structure, cut to what fits there, always with a zero byte.
pub(crate) fn array<const N: usize>(text: &str) -> [c_char; N] {
    let mut array = [0; N];
    let end = text.floor_char_boundary(N - 1);
    for (place, byte) in array.iter_mut().zip(text[..end].bytes()) {
        *place = byte as c_char;
    }
    array
}
