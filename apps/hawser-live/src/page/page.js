// Plays the stream of this page through Media Source Extensions: fragments of MP4 come over one request, as they are made.
"use strict";

const element = (id) => document.getElementById(id);
const video = element("video");
// The page of the only stream is at "/".
const base = location.pathname.replace(/\/+$/, "") || "/live";

// Seconds that are to lie between what is shown and what has come; more after each stall, less after a while without one.
const LEAST_AHEAD = 0.25;
const MOST_AHEAD = 2;
// Beyond so many seconds more than that the player jumps; before, it plays a little faster.
const JUMP = 2.5;
const FASTER = 1.08;
// Seconds that are kept behind what is shown.
const KEPT = 20;
// Bytes that may wait for the browser.
const MOST_WAITING = 32 << 20;

const player = {
    ahead: LEAST_AHEAD,
    // Media time in seconds, and when that was made, in milliseconds of the server's clock.
    reference: null,
    // What is to be added to this machine's clock to get the server's.
    offset: 0,
    bytes: 0,
    stalls: 0,
    stalledAt: 0,
    jumps: 0,
    sessions: 0,
};
// For those who watch the page from the browser's console.
window.hawserLive = player;

const sleep = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));

function say(text) {
    element("state").textContent = text;
}

// The difference of the clocks, from the quickest of a few questions.
async function compareClocks() {
    let best = Infinity;
    for (let round = 0; round < 4; round += 1) {
        const asked = Date.now();
        const response = await fetch("/hawser-live.time", { cache: "no-store" });
        const server = Number(await response.text());
        const took = Date.now() - asked;
        if (response.ok && server > 0 && took < best) {
            best = took;
            player.offset = server - (asked + took / 2);
        }
    }
}

// Finds the boxes in a stream of bytes, and reads from those named "prft" when a picture was made.
class References {
    constructor() {
        this.held = new Uint8Array(0);
        this.skip = 0;
    }

    push(bytes) {
        let data = bytes;
        if (this.held.length > 0) {
            data = new Uint8Array(this.held.length + bytes.length);
            data.set(this.held);
            data.set(bytes, this.held.length);
        }
        const view = new DataView(data.buffer, data.byteOffset, data.length);
        let at = Math.min(this.skip, data.length);
        this.skip -= at;
        while (at + 8 <= data.length) {
            const length = view.getUint32(at);
            const isReference = view.getUint32(at + 4) === 0x70726674;
            if (length < 8) {
                throw new Error("the stream is broken");
            }
            if (isReference && at + length > data.length) {
                break;
            }
            if (isReference && length >= 32) {
                const made = (view.getUint32(at + 16) - 2208988800) * 1000 + view.getUint32(at + 20) / 4294967.296;
                player.reference = { media: Number(view.getBigUint64(at + 24)) / 1000, made };
            }
            this.skip = Math.max(0, at + length - data.length);
            at = Math.min(at + length, data.length);
        }
        this.held = data.slice(at);
    }
}

// Milliseconds from the encoder to what is shown now.
function latency() {
    if (!player.reference || video.readyState < 2) {
        return null;
    }
    const made = player.reference.made + (video.currentTime - player.reference.media) * 1000;
    return Date.now() + player.offset - made;
}

// Feeds a buffer of the browser, one piece at a time.
class Feeder {
    constructor(buffer) {
        this.buffer = buffer;
        this.waiting = [];
        this.size = 0;
        this.failure = null;
        buffer.addEventListener("updateend", () => this.next());
        buffer.addEventListener("error", () => { this.failure = new Error("the browser cannot decode the stream"); });
    }

    push(bytes) {
        this.waiting.push(bytes);
        this.size += bytes.length;
        if (this.size > MOST_WAITING) {
            this.failure = new Error("the browser is too slow");
        }
        this.next();
    }

    next() {
        if (this.failure || this.buffer.updating) {
            return;
        }
        try {
            const { buffered } = this.buffer;
            if (buffered.length > 0 && buffered.start(0) < video.currentTime - 2 * KEPT) {
                this.buffer.remove(buffered.start(0), video.currentTime - KEPT);
                return;
            }
            if (this.size === 0) {
                return;
            }
            const all = new Uint8Array(this.size);
            let at = 0;
            for (const piece of this.waiting) {
                all.set(piece, at);
                at += piece.length;
            }
            this.waiting = [];
            this.size = 0;
            this.buffer.appendBuffer(all);
        } catch (error) {
            this.failure = error;
        }
    }
}

const Source = window.ManagedMediaSource || window.MediaSource;

function opened(source) {
    return new Promise((done, fail) => {
        source.addEventListener("sourceopen", () => done(), { once: true });
        setTimeout(() => fail(new Error("the browser does not open the player")), 10000);
    });
}

// One request, until it ends: when the encoder's set-up changes, or the source is done.
async function session() {
    const response = await fetch(`${base}.mp4`, { cache: "no-store" });
    if (!response.ok) {
        throw new Error((await response.text()).trim());
    }
    const type = response.headers.get("content-type");
    if (!Source.isTypeSupported(type)) {
        throw new Error(`this browser does not play ${type}`);
    }
    const source = new Source();
    const address = URL.createObjectURL(source);
    const reader = response.body.getReader();
    try {
        video.disableRemotePlayback = true;
        video.src = address;
        await opened(source);
        const feeder = new Feeder(source.addSourceBuffer(type));
        const references = new References();
        player.reference = null;
        player.sessions += 1;
        for (;;) {
            const { done, value } = await reader.read();
            if (done) {
                return;
            }
            player.bytes += value.length;
            references.push(value);
            feeder.push(value);
            if (feeder.failure || video.error) {
                throw feeder.failure || new Error(video.error.message || "the browser cannot decode the stream");
            }
        }
    } finally {
        reader.cancel().catch(() => {});
        URL.revokeObjectURL(address);
    }
}

// Keeps what is shown near what has come, and over gaps.
function follow() {
    const { buffered } = video;
    if (buffered.length === 0 || video.seeking) {
        return;
    }
    const end = buffered.end(buffered.length - 1);
    const ahead = end - video.currentTime;
    const isPaused = video.paused && !video.ended;
    if (isPaused && player.wasStarted) {
        // Whoever pauses goes on at now.
        video.playbackRate = 1;
        return;
    }
    const isOutside = ![...Array(buffered.length).keys()]
        .some((index) => buffered.start(index) - 0.05 <= video.currentTime && video.currentTime < buffered.end(index));
    const later = [...Array(buffered.length).keys()].map((index) => buffered.start(index))
        .find((start) => start > video.currentTime);
    if (!player.wasStarted || ahead > player.ahead + JUMP) {
        goToNow();
    } else if (isOutside && later !== undefined) {
        player.jumps += 1;
        video.currentTime = later + 0.01;
    }
    video.playbackRate = ahead > player.ahead + 0.3 ? FASTER : 1;
    if (Date.now() - player.stalledAt > 20000) {
        player.ahead = Math.max(LEAST_AHEAD, player.ahead - 0.005);
    }
}

function goToNow() {
    const { buffered } = video;
    if (buffered.length === 0) {
        return;
    }
    const last = buffered.length - 1;
    const wanted = Math.max(buffered.start(last), buffered.end(last) - player.ahead);
    if (wanted > video.currentTime) {
        player.jumps += player.wasStarted ? 1 : 0;
        video.currentTime = wanted;
    }
    player.wasStarted = true;
    video.play().catch(() => say("press play"));
}

let shownBytes = 0;

function show() {
    const late = latency();
    element("latency").textContent = late === null ? "-" : `${(late / 1000).toFixed(2)} s`;
    const isPlaying = !video.paused && video.readyState > 2;
    element("live").className = isPlaying ? (late !== null && late > 3000 ? "late" : "on") : "";
    element("picture").textContent = video.videoWidth > 0 ? `${video.videoWidth}x${video.videoHeight}` : "";
    element("rate").textContent = `${((player.bytes - shownBytes) * 8 / 1e6).toFixed(1)} Mbit/s`;
    shownBytes = player.bytes;
    const quality = video.getVideoPlaybackQuality ? video.getVideoPlaybackQuality() : null;
    const dropped = quality ? quality.droppedVideoFrames : 0;
    const troubles = [[player.stalls, "stalls"], [player.jumps, "jumps"], [dropped, "frames dropped here"]];
    element("trouble").textContent = troubles.filter(([count]) => count > 0).map(([count, name]) => `${count} ${name}`).join(", ");
    element("sound").hidden = !video.muted;
    if (isPlaying) {
        say("");
    }
}

async function run() {
    if (!Source) {
        // Browsers that play HLS themselves.
        video.src = `${base}.m3u8`;
        return;
    }
    setInterval(follow, 200);
    setInterval(show, 1000);
    for (let pause = 250; ; pause = Math.min(2 * pause, 2000)) {
        try {
            await compareClocks();
            player.wasStarted = false;
            await session();
            pause = 125;
            say("the stream has ended; waiting for the next one");
        } catch (error) {
            say(String(error.message || error));
        }
        await sleep(pause);
    }
}

video.addEventListener("waiting", () => {
    if (player.wasStarted && !video.paused && !video.seeking) {
        player.stalls += 1;
        player.stalledAt = Date.now();
        player.ahead = Math.min(MOST_AHEAD, player.ahead + 0.15);
    }
});
video.addEventListener("play", () => { if (player.wasStarted) { goToNow(); } });
element("now").addEventListener("click", goToNow);
element("sound").addEventListener("click", () => { video.muted = false; show(); });
run();
