// Completes a recorded WebM file: browsers write it as a stream, which knows neither its length nor where its
// key frames are, so players show no seek bar.
//
// A file is a tree of elements: an id, the size of the data, the data (RFC 8794). Here it becomes
// header, Segment { SeekHead, Info with Duration, Tracks, Cues, Cluster, … }.

const ID = {
  segment: 0x18538067, seekHead: 0x114d9b74, seek: 0x4dbb, seekId: 0x53ab, seekPosition: 0x53ac,
  info: 0x1549a966, duration: 0x4489, tracks: 0x1654ae6b, cluster: 0x1f43b675, timecode: 0xe7,
  simpleBlock: 0xa3, blockGroup: 0xa0, block: 0xa1,
  cues: 0x1c53bb6b, cuePoint: 0xbb, cueTime: 0xb3, cueTrackPositions: 0xb7, cueTrack: 0xf7, cueClusterPosition: 0xf1,
};

/** An unsigned number of `length` bytes. */
const whole = (bytes, at, length) => bytes.subarray(at, at + length).reduce((sum, byte) => sum * 256 + byte, 0);

/** The element at a place: its id, and where its data begin and end; an unknown size reaches to `limit`. */
function elementAt(bytes, at, limit) {
  const idLength = Math.clz32(bytes[at]) - 23;
  const sizeAt = at + idLength;
  const sizeLength = Math.clz32(bytes[sizeAt]) - 23;
  const size = whole(bytes, sizeAt, sizeLength) - 2 ** (7 * sizeLength);
  const start = sizeAt + sizeLength;
  const known = size < 2 ** (7 * sizeLength) - 1;
  return { id: whole(bytes, at, idLength), at, start, end: known ? Math.min(limit, start + size) : limit, known };
}

/** The elements from `start` to `end`. A cluster of unknown size ends where the next one begins. */
function elements(bytes, start, end) {
  const list = [];
  for (let at = start; at < end;) {
    const element = elementAt(bytes, at, end);
    if (!element.known) {
      element.end = element.start;
      while (element.end < end) {
        const child = elementAt(bytes, element.end, end);
        if (child.id > 0xffffff) break; // ids of four bytes belong to the segment
        element.end = child.end;
      }
    }
    list.push(element);
    at = element.end;
  }
  return list;
}

const encoded = (value, length) => Uint8Array.from({ length }, (_, i) => Math.floor(value / 256 ** (length - 1 - i)) % 256);

function joined(parts) {
  const out = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    out.set(part, at);
    at += part.length;
  }
  return out;
}

/** An element with eight bytes for its size. */
function made(id, ...parts) {
  const data = joined(parts);
  const idLength = id > 0xffffff ? 4 : id > 0xff ? 2 : 1;
  return joined([encoded(id, idLength), Uint8Array.of(1), encoded(data.length, 7), data]);
}

const number = (id, value) => made(id, encoded(value, 8));

function float(id, value) {
  const data = new DataView(new ArrayBuffer(8));
  data.setFloat64(0, value);
  return made(id, new Uint8Array(data.buffer));
}

/** The data of a cluster, when it and its last picture begin, and whether it begins with a key frame. */
function readCluster(bytes, { start, end }) {
  const children = elements(bytes, start, end);
  const clock = children.find(({ id }) => id === ID.timecode);
  const begin = whole(bytes, clock.start, clock.end - clock.start);
  const blocks = children.flatMap((child) => {
    if (child.id === ID.simpleBlock) return [child];
    return child.id === ID.blockGroup ? elements(bytes, child.start, child.end).filter(({ id }) => id === ID.block) : [];
  });
  // A block: the track in one byte, the time since the cluster's in two, flags.
  const times = blocks.map((block) => ((bytes[block.start + 1] << 24) >> 16) + bytes[block.start + 2]);
  const key = blocks.length > 0 && blocks[0].id === ID.simpleBlock && (bytes[blocks[0].start + 3] & 0x80) !== 0;
  return { data: bytes.subarray(start, end), begin, last: begin + Math.max(0, ...times), key };
}

/** The file with its duration and an index; `frame` is how long a picture lasts, in milliseconds. */
export function completed(bytes, frame) {
  const [header, segment] = elements(bytes, 0, bytes.length).filter(({ id }) => id > 0xffffff);
  // All of it is the segment's: its size was unknown, and so its end was taken for that of an empty one.
  const parts = elements(bytes, segment.start, bytes.length);
  const whatIs = (wanted) => parts.find(({ id }) => id === wanted);
  const copy = ({ at, end }) => bytes.subarray(at, end);
  const oldInfo = whatIs(ID.info);
  const clusters = parts.filter(({ id }) => id === ID.cluster).map((part) => readCluster(bytes, part));
  const others = elements(bytes, oldInfo.start, oldInfo.end).filter(({ id }) => id !== ID.duration).map(copy);
  const info = made(ID.info, ...others, float(ID.duration, clusters[clusters.length - 1].last + frame));
  const tracks = copy(whatIs(ID.tracks));
  const bodies = clusters.map(({ data }) => made(ID.cluster, data));

  const seekHead = (...places) => made(ID.seekHead, ...places.map(([id, place]) => made(
    ID.seek, made(ID.seekId, encoded(id, 4)), number(ID.seekPosition, place),
  )));
  const cuesFrom = (first) => {
    let place = first;
    const points = [];
    clusters.forEach(({ begin, key }, i) => {
      if (key) {
        const positions = made(ID.cueTrackPositions, number(ID.cueTrack, 1), number(ID.cueClusterPosition, place));
        points.push(made(ID.cuePoint, number(ID.cueTime, begin), positions));
      }
      place += bodies[i].length;
    });
    return made(ID.cues, ...points);
  };
  // All numbers have eight bytes, so the sizes are known before the places are.
  const ids = [ID.info, ID.tracks, ID.cues];
  const infoAt = seekHead(...ids.map((id) => [id, 0])).length;
  const tracksAt = infoAt + info.length;
  const cuesAt = tracksAt + tracks.length;
  const cues = cuesFrom(cuesAt + cuesFrom(0).length);
  const head = seekHead([ID.info, infoAt], [ID.tracks, tracksAt], [ID.cues, cuesAt]);
  return joined([copy(header), made(ID.segment, head, info, tracks, cues, ...bodies)]);
}
