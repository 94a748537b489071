// Writes into the page what the browser has got, and over which protocol.
//
// Its requests are synchronous: so the page is not loaded, and not printed, before all of them are answered.
function request(method, url, body) {
  const exchange = new XMLHttpRequest();
  exchange.open(method, url, false);
  // One character of U+00xx or U+F7xx for each byte: a synchronous request of a page has nothing but text.
  exchange.overrideMimeType("text/plain; charset=x-user-defined");
  exchange.send(body);
  return exchange;
}

function bytes(text) {
  return Uint8Array.from({ length: text.length }, (_, index) => text.charCodeAt(index) & 0xff);
}

function look() {
  const large = request("GET", "large.bin");
  // Sent back, so that whoever has both files can compare them.
  const stored = request("PUT", "stored.bin", bytes(large.responseText));
  return { large: large.status, stored: stored.status, missing: request("GET", "nothing-here").status };
}

function protocols() {
  const entries = [...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")];
  return Object.fromEntries(entries.map((entry) => [new URL(entry.name).pathname, entry.nextHopProtocol]));
}

let answers;
try {
  answers = look();
} catch (error) {
  answers = { error: String(error) };
}

addEventListener("load", () => {
  const { naturalWidth, naturalHeight } = document.getElementById("image");
  const result = { ...answers, image: [naturalWidth, naturalHeight], protocols: protocols() };
  document.getElementById("result").textContent = JSON.stringify(result);
});
